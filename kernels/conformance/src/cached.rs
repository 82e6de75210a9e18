//! Copies and reductions with a policy for the second-level cache.

use crate::{im2col, tensor};
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

/// Policies for a part of what is touched.
pub const PARTS: usize = 8;

/// Each block copies a tile of the source to the output, with one of the policies for a part of it.
#[kernel(threads = 32, target = "sm_90")]
pub fn cached_parts(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    source: Global<u16>,
    out: GlobalMut<u16>,
) {
    let full = full.init(block, 1);
    let (warp, index) = (block.warp(), block.index().x as usize);
    let policy = match index % PARTS {
        0 => CachePolicy::of_part::<1>(Priority::EvictFirst, RestPriority::EvictFirst),
        1 => CachePolicy::of_part::<25>(Priority::EvictFirst, RestPriority::EvictUnchanged),
        2 => CachePolicy::of_part::<33>(Priority::EvictLast, RestPriority::EvictFirst),
        3 => CachePolicy::of_part::<50>(Priority::EvictLast, RestPriority::EvictUnchanged),
        4 => CachePolicy::of_part::<60>(Priority::EvictNormal, RestPriority::EvictFirst),
        5 => CachePolicy::of_part::<75>(Priority::EvictNormal, RestPriority::EvictUnchanged),
        6 => CachePolicy::of_part::<99>(Priority::EvictUnchanged, RestPriority::EvictFirst),
        _ => CachePolicy::of_part::<100>(Priority::EvictUnchanged, RestPriority::EvictUnchanged),
    };
    warp.elect(|lane| {
        full.arrive_expecting(lane, Tile::BULK_BYTES);
        tile.load_bulk_cached(lane, policy, source, index * 512, full);
    });
    full.wait(warp, Phase::FIRST);
    warp.elect(|lane| {
        tile.store_bulk_cached(lane, policy, out, index * 512);
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}

/// Kernels that reduce: their names, tiles, ranks, maps' mode, what they bring the source by, what they reduce by, and, of pixels, offsets.
macro_rules! reductions {
    ($($name:ident $tile:ty, $rank:literal ($($mode:ty)?) $prefetch:ident $load:ident $reduce:ident ($($offsets:expr)?);)*) => {$(
        /// Reduces what begins at these coordinates by the source, by the reduction of this number in `im2col::REDUCTIONS`.
        #[kernel(threads = 32, target = "sm_90")]
        pub fn $name(
            block: &Block,
            #[shared] tile: $tile,
            #[shared] full: BarrierMemory,
            from: TensorMap<$tile, $rank $(, $mode)?>,
            at: Global<i32>,
            which: u32,
            out: TensorMapMut<$tile, $rank $(, $mode)?>,
        ) {
            let full = full.init(block, 1);
            let warp = block.warp();
            let (once, keep) = (CachePolicy::evict_first(), CachePolicy::evict_last());
            warp.elect(|lane| {
                from.$prefetch(lane, once, [0; $rank] $(, $offsets)?);
                full.arrive_expecting(lane, <$tile>::BOX_BYTES);
                tile.$load(lane, from, [0; $rank], $($offsets,)? full);
            });
            full.wait(warp, Phase::FIRST);
            warp.elect(|lane| {
                let at = core::array::from_fn(|dimension| at.get(dimension));
                match which {
                    0 => tile.$reduce(lane, keep, reduction::Add, out, at),
                    1 => tile.$reduce(lane, keep, reduction::Min, out, at),
                    2 => tile.$reduce(lane, keep, reduction::Max, out, at),
                    3 => tile.$reduce(lane, keep, reduction::Inc, out, at),
                    4 => tile.$reduce(lane, keep, reduction::Dec, out, at),
                    5 => tile.$reduce(lane, keep, reduction::And, out, at),
                    6 => tile.$reduce(lane, keep, reduction::Or, out, at),
                    _ => tile.$reduce(lane, keep, reduction::Xor, out, at),
                }
                BulkGroup::commit(lane);
                BulkGroup::wait::<0>(lane);
            });
        }
    )*};
}

reductions! {
    cached_reduce_1d tensor::Line, 1 () prefetch_box_cached load_box reduce_box_cached ();
    cached_reduce_2d tensor::Of32, 2 () prefetch_box_cached load_box reduce_box_cached ();
    cached_reduce_3d tensor::Of32, 3 () prefetch_box_cached load_box reduce_box_cached ();
    cached_reduce_4d tensor::Of32, 4 () prefetch_box_cached load_box reduce_box_cached ();
    cached_reduce_5d tensor::Of32, 5 () prefetch_box_cached load_box reduce_box_cached ();
    cached_reduce_im2col_3d im2col::Of32, 3 (Im2col) prefetch_im2col_cached load_im2col reduce_im2col_cached ([0; 1]);
    cached_reduce_im2col_4d im2col::Of32, 4 (Im2col) prefetch_im2col_cached load_im2col reduce_im2col_cached ([0; 2]);
    cached_reduce_im2col_5d im2col::Of32, 5 (Im2col) prefetch_im2col_cached load_im2col reduce_im2col_cached ([0; 3]);
}
