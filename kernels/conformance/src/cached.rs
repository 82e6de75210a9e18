//! Copies and reductions with an L2 cache policy.

use crate::{im2col, tensor};
use ptx_matrix::copy::{CachePolicy, Im2col, Priority, RestPriority, TmaCoord, reduction};
use ptx_matrix::memory::{TensorSwizzle, Unswizzled128};
use ptx_matrix::prelude::*;

/// The tile of the copies.
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
        tile.load_tma(lane, source.bulk(index as usize * 512).cached(keep), full);
    });
    full.wait(warp, Phase::FIRST);
    warp.elect(|lane| {
        tile.store_tma(lane, out.bulk(to as usize * 512).cached(drop));
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}

/// The box of the TMA copies.
pub type Copied = SharedTile<u16, 16, 64, Swizzle128>;
/// A box of one row.
pub type CopiedLine = SharedTile<u16, 1, 64, Unswizzled128>;

/// Copies the box at the first coordinates to the coordinates after them.
#[inline]
fn copy<const ROWS: usize, S: TensorSwizzle, const RANK: usize>(
    block: &Block,
    tile: SharedTile<u16, ROWS, 64, S>,
    full: BarrierMemory,
    from: TensorMap<SharedTile<u16, ROWS, 64, S>, RANK>,
    to: TensorMapMut<SharedTile<u16, ROWS, 64, S>, RANK>,
    at: Global<i32>,
) where
    [i32; RANK]: TmaCoord,
{
    let full = full.init(block, 1);
    let warp = block.warp();
    let (usual, same) = (CachePolicy::evict_normal(), CachePolicy::evict_unchanged());
    warp.elect(|lane| {
        full.arrive_expecting(lane, SharedTile::<u16, ROWS, 64, S>::BOX_BYTES);
        tile.load_tma(
            lane,
            from.at(core::array::from_fn(|dimension| at.get(dimension))).cached(usual),
            full,
        );
    });
    full.wait(warp, Phase::FIRST);
    warp.elect(|lane| {
        tile.store_tma(
            lane,
            to.at(core::array::from_fn(|dimension| at.get(RANK + dimension))).cached(same),
        );
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}

/// Makes kernels that copy boxes, from names, tiles and ranks.
macro_rules! copies {
    ($($name:ident $tile:ty, $rank:literal;)*) => {$(
        /// Copies the box at the first coordinates to the coordinates after them. (For sm_120,
        /// ptxas makes a call of this, which uses local memory.)
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

/// The fractional policies.
pub const PARTS: usize = 8;

/// Each block copies a tile of the source to the output, with one of the fractional policies.
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
        tile.load_tma(lane, source.bulk(index * 512).cached(policy), full);
    });
    full.wait(warp, Phase::FIRST);
    warp.elect(|lane| {
        tile.store_tma(lane, out.bulk(index * 512).cached(policy));
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}

/// Makes reduction kernels, from names, tiles, ranks, the maps' mode, and the offsets of pixels.
macro_rules! reductions {
    ($($name:ident $tile:ty, $rank:literal ($($mode:ty)?) ($($offsets:expr)?);)*) => {$(
        /// Reduces the box at these coordinates by the source. The reduction is an index into
        /// [`REDUCTIONS`](crate::REDUCTIONS).
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
                from.at([0; $rank] $(, $offsets)?).cached(once).prefetch(lane);
                full.arrive_expecting(lane, <$tile>::BOX_BYTES);
                tile.load_tma(lane, from.at([0; $rank] $(, $offsets)?), full);
            });
            full.wait(warp, Phase::FIRST);
            warp.elect(|lane| {
                let out = out.at(core::array::from_fn(|dimension| at.get(dimension))).cached(keep);
                match which {
                    0 => tile.reduce_tma(lane, reduction::Add, out),
                    1 => tile.reduce_tma(lane, reduction::Min, out),
                    2 => tile.reduce_tma(lane, reduction::Max, out),
                    3 => tile.reduce_tma(lane, reduction::Inc, out),
                    4 => tile.reduce_tma(lane, reduction::Dec, out),
                    5 => tile.reduce_tma(lane, reduction::And, out),
                    6 => tile.reduce_tma(lane, reduction::Or, out),
                    _ => tile.reduce_tma(lane, reduction::Xor, out),
                }
                BulkGroup::commit(lane);
                BulkGroup::wait::<0>(lane);
            });
        }
    )*};
}

reductions! {
    cached_reduce_1d tensor::Line, 1 () ();
    cached_reduce_2d tensor::Of32, 2 () ();
    cached_reduce_3d tensor::Of32, 3 () ();
    cached_reduce_4d tensor::Of32, 4 () ();
    cached_reduce_5d tensor::Of32, 5 () ();
    cached_reduce_im2col_3d im2col::Of32, 3 (Im2col) ([0; 1]);
    cached_reduce_im2col_4d im2col::Of32, 4 (Im2col) ([0; 2]);
    cached_reduce_im2col_5d im2col::Of32, 5 (Im2col) ([0; 3]);
}
