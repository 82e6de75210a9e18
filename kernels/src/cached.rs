//! Copies with a policy for the second-level cache.

use ptx_matrix::*;

/// The tile that is copied.
pub type Tile = SharedTile<u16, 8, 64>;

/// Each block copies a tile of the source to the output, `by` tiles further.
#[kernel(threads = 32, target = "sm_90")]
pub fn cached_bulk(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    source: Global<u16>,
    by: u32,
    out: GlobalMut<u16>,
) {
    let full = full.init(block, 1);
    let (warp, index) = (block.warp(), block.index().x);
    let (keep, drop) = (CachePolicy::evict_last(), CachePolicy::evict_first());
    let to = (index + by) % block.grid().x;
    warp.elect(|lane| {
        full.arrive_expecting(lane, Tile::BULK_BYTES);
        tile.load_bulk_cached(lane, keep, source, index as usize * 512, full);
    });
    full.wait(warp, Phase::FIRST);
    warp.elect(|lane| {
        tile.store_bulk_cached(lane, drop, out, to as usize * 512);
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}

/// A box that is copied.
pub type Copied = SharedTile<u16, 16, 64, Swizzle128>;
/// One line, likewise.
pub type CopiedLine = SharedTile<u16, 1, 64, Unswizzled128>;

/// Copies the box at the first coordinates to those behind them.
#[inline(always)]
fn copy<const ROWS: usize, S: TensorSwizzle, const RANK: usize>(
    block: &Block,
    tile: SharedTile<u16, ROWS, 64, S>,
    full: BarrierMemory,
    from: TensorMap<SharedTile<u16, ROWS, 64, S>, RANK>,
    to: TensorMapMut<SharedTile<u16, ROWS, 64, S>, RANK>,
    at: Global<i32>,
) where
    [i32; RANK]: BoxAt,
{
    let full = full.init(block, 1);
    let warp = block.warp();
    let (usual, same) = (CachePolicy::evict_normal(), CachePolicy::evict_unchanged());
    warp.elect(|lane| {
        full.arrive_expecting(lane, SharedTile::<u16, ROWS, 64, S>::BOX_BYTES);
        tile.load_box_cached(lane, usual, from, core::array::from_fn(|dimension| at.get(dimension)), full);
    });
    full.wait(warp, Phase::FIRST);
    warp.elect(|lane| {
        tile.store_box_cached(lane, same, to, core::array::from_fn(|dimension| at.get(RANK + dimension)));
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}

/// Kernels that copy boxes: their names, tiles and ranks.
macro_rules! copies {
    ($($name:ident $tile:ty, $rank:literal;)*) => {$(
        /// Copies the box at the first coordinates to those behind them. (For sm_120 ptxas makes a call of that, which takes local memory.)
        #[kernel(threads = 32, target = "sm_90a")]
        pub fn $name(
            block: &Block,
            #[shared] tile: $tile,
            #[shared] full: BarrierMemory,
            from: TensorMap<$tile, $rank>,
            to: TensorMapMut<$tile, $rank>,
            at: Global<i32>,
        ) {
            copy(block, tile, full, from, to, at);
        }
    )*};
}

copies! {
    cached_1d CopiedLine, 1;
    cached_2d Copied, 2;
    cached_3d Copied, 3;
    cached_4d Copied, 4;
    cached_5d Copied, 5;
}
