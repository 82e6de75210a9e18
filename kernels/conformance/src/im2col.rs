//! TMA copies of pixels in im2col mode, for each rank and swizzle: load, read, store.

use ptx_matrix::copy::{BoxTile, CachePolicy, Im2col, reduction};
use ptx_matrix::memory::Unswizzled128;
use ptx_matrix::prelude::*;

/// The tile without a swizzle.
pub type Plain = SharedTile<u16, 48, 40, Unswizzled128>;
/// The tile with the 32-byte swizzle.
pub type Of32 = SharedTile<u32, 40, 8, Swizzle32>;
/// The tile with the 64-byte swizzle; its columns are pixels.
pub type Of64 = SharedTile<u16, 32, 56, Swizzle64, ColMajor>;
/// The tile with the 128-byte swizzle.
pub type Of128 = SharedTile<u16, 64, 64, Swizzle128>;

/// Makes copy kernels, from names, ranks, dimensions of an image, and tiles.
macro_rules! copies {
    ($($name:ident $cached:ident $rank:literal $spatial:literal $tile:ty;)*) => {$(
        /// Loads the pixels from the first coordinates on, with the offsets at the end. Writes
        /// their elements to the output, row by row, and stores them from the second coordinates
        /// on.
        #[kernel(threads = 64, target = "sm_90")]
        pub fn $name(
            block: &Block,
            #[shared] tile: $tile,
            #[shared] full: BarrierMemory,
            from: TensorMap<$tile, $rank, Im2col>,
            to: TensorMapMut<$tile, $rank, Im2col>,
            at: Global<i32>,
            out: GlobalMut<<$tile as BoxTile>::Element>,
        ) {
            let full = full.init(block, 1);
            let warp = block.warp();
            if warp.index() == 0 {
                warp.elect(|lane| {
                    from.prefetch(lane);
                    to.prefetch(lane);
                    let offsets = core::array::from_fn(|d| at.get(2 * $rank + d) as u16);
                let at = core::array::from_fn(|d| at.get(d));
                    from.at(at, offsets).prefetch(lane);
                    full.arrive_expecting(lane, <$tile>::BOX_BYTES);
                    tile.load_tma(lane, from.at(at, offsets), full);
                });
            }
            full.wait(warp, Phase::FIRST);
            let cols = <$tile>::COLS;
            tile.for_each(block, |row, col, value| out.set(row * cols + col, value));
            if warp.index() == 1 {
                warp.elect(|lane| {
                    tile.store_tma(lane, to.at(core::array::from_fn(|d| at.get($rank + d))));
                    BulkGroup::commit(lane);
                    BulkGroup::wait_read::<0>(lane);
                });
            }
        }

        /// Multicasts to both blocks of a cluster: pixels that the first block loads, and those of
        /// the second, without offsets and with a cache policy. Each block writes out both. The
        /// second stores its own, with policies. (For sm_120, ptxas makes calls of these, which use
        /// local memory.)
        #[kernel(threads = 32, cluster = 2, target = "sm_90a")]
        pub fn $cached(
            block: &ClusterBlock<2>,
            #[shared] (tiles, own): (SharedRing<$tile, 2>, $tile),
            #[shared] (full, full_own): (BarrierMemory, BarrierMemory),
            from: TensorMap<$tile, $rank, Im2col>,
            to: TensorMapMut<$tile, $rank, Im2col>,
            at: Global<i32>,
            out: GlobalMut<<$tile as BoxTile>::Element>,
        ) {
            let (full, full_own) = (full.init(block, 1), full_own.init(block, 1));
            let (warp, cluster) = (block.warp(), block.cluster());
            let (rank, all, keep) = (cluster.rank(), cluster.all(), CachePolicy::evict_last());
            warp.elect(|lane| {
                full.arrive_expecting(lane, 2 * <$tile>::BOX_BYTES);
                full_own.arrive_expecting(lane, <$tile>::BOX_BYTES);
            });
            cluster.sync();
            warp.elect(|lane| {
                let offsets = core::array::from_fn(|d| at.get(2 * $rank + d) as u16);
                let at = core::array::from_fn(|d| at.get(d));
                if rank == 0 {
                    tiles.part(0).load_tma(lane, from.at(at, offsets).multicast(all), full);
                } else {
                    tiles.part(1).load_tma(
                        lane,
                        from.at(at, [0; $spatial]).multicast(all).cached(keep),
                        full,
                    );
                }
                own.load_tma(lane, from.at(at, offsets).cached(keep), full_own);
            });
            full.wait(warp, Phase::FIRST);
            let (rows, cols) = (<$tile>::ROWS, <$tile>::COLS);
            for part in 0..2 {
                let first = (rank * 2 + part) * rows * cols;
                tiles
                    .part(part)
                    .for_each(warp, |row, col, value| out.set(first + row * cols + col, value));
            }
            full_own.wait(warp, Phase::FIRST);
            if rank == 1 {
                warp.elect(|lane| {
                    own.store_tma(
                        lane,
                        to.at(core::array::from_fn(|d| at.get($rank + d))).cached(keep),
                    );
                    BulkGroup::commit(lane);
                    BulkGroup::wait_read::<0>(lane);
                });
            }
        }
    )*};
}

copies! {
    im2col_3d im2col_multicast_3d 3 1 Plain;
    im2col_4d im2col_multicast_4d 4 2 Of128;
    im2col_4d_swizzle_64 im2col_multicast_4d_swizzle_64 4 2 Of64;
    im2col_5d im2col_multicast_5d 5 3 Of32;
}

/// Makes reduction kernels, from names and ranks.
macro_rules! reductions {
    ($($name:ident $rank:literal;)*) => {$(
        /// Reduces the pixels from these coordinates on by the source's elements. The reduction is
        /// an index into [`REDUCTIONS`](crate::REDUCTIONS).
        #[kernel(threads = 32, target = "sm_90")]
        pub fn $name(
            block: &Block,
            #[shared] tile: Of32,
            source: Global<u32>,
            at: Global<i32>,
            which: u32,
            out: TensorMapMut<Of32, $rank, Im2col>,
        ) {
            let warp = block.warp();
            tile.fill(warp, |row, col| source.get(row * 8 + col));
            warp.fence_for_bulk();
            warp.sync();
            warp.elect(|lane| {
                let at = core::array::from_fn(|d| at.get(d));
                match which {
                    0 => tile.reduce_tma(lane, reduction::Add, out.at(at)),
                    1 => tile.reduce_tma(lane, reduction::Min, out.at(at)),
                    2 => tile.reduce_tma(lane, reduction::Max, out.at(at)),
                    3 => tile.reduce_tma(lane, reduction::Inc, out.at(at)),
                    4 => tile.reduce_tma(lane, reduction::Dec, out.at(at)),
                    5 => tile.reduce_tma(lane, reduction::And, out.at(at)),
                    6 => tile.reduce_tma(lane, reduction::Or, out.at(at)),
                    _ => tile.reduce_tma(lane, reduction::Xor, out.at(at)),
                }
                BulkGroup::commit(lane);
                BulkGroup::wait::<0>(lane);
            });
        }
    )*};
}

reductions! {
    im2col_reduce_3d 3;
    im2col_reduce_4d 4;
    im2col_reduce_5d 5;
}
