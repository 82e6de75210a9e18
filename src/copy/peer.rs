//! Stores and reductions of single elements in another block's shared memory (DSMEM), which
//! complete bytes on its barrier.

use super::reduction::SharedReduction;
use crate::element::Element;
use crate::lane::{Lane, Site};
use crate::memory::{
    Coordinate, Order, PeerTile, SharedTile, Single, Swizzle, Vector, check_known,
};
use crate::raw;
use crate::sync::PeerBarrier;

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    PeerTile<T, ROWS, COLS, S, O>
{
    /// Stores `N` elements from registers to another block's tile, asynchronously
    /// (`st.async.shared::cluster.mbarrier::complete_tx::bytes`, PTX ISA 9.7.9.12).
    ///
    /// The elements are adjacent along the contiguous dimension from `at` on. They have 4, 8 or 16
    /// bytes, and start at a multiple of `N` elements. The lane does not wait. The barrier belongs
    /// to the tile's block. The store completes its bytes there, and threads that have waited for
    /// the phase see them. Needs sm_90.
    ///
    /// Like any store it needs no proxy fence after other stores. Before `wgmma` and bulk copies
    /// use the elements, the threads that have waited execute a
    /// [`fence_for_bulk`](crate::scope::Warp::fence_for_bulk).
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Each block sends its numbers to the next block of the cluster, without global memory.
    /// #[kernel(threads = 32, cluster = 4, target = "sm_90")]
    /// fn rotate(
    ///     block: &ClusterBlock<4>,
    ///     #[shared] row: SharedTile<f32, 1, 32>,
    ///     #[shared] full: BarrierMemory,
    ///     a: Global<f32>,
    ///     d: GlobalMut<f32>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     let rank = cluster.rank();
    ///     warp.elect(|lane| {
    ///         full.arrive_expecting(lane, 32 * 4);
    ///     });
    ///     cluster.sync();
    ///     let next = cluster.peer((rank + 1) % 4);
    ///     let (row_of_next, full_of_next) = (row.of(next), full.of(next));
    ///     warp.each(|lane| {
    ///         row_of_next.send(lane, (0, lane.id()), [a.get(rank * 32 + lane.id())], full_of_next)
    ///     });
    ///     full.wait(warp, Phase::FIRST);
    ///     row.for_each(warp, |_, col, value| d.set(rank * 32 + col, value));
    /// }
    ///
    /// let a: Vec<f32> = (0..128).map(|i| i as f32).collect();
    /// let mut d = [0.0; 128];
    /// rotate::simulate(4, &a, &mut d).check();
    /// assert_eq!((d[0], d[32], d[127]), (96.0, 0.0, 95.0));
    /// ```
    #[inline]
    #[track_caller]
    pub fn send<C: Coordinate, const N: usize>(
        self,
        lane: Lane<'_>,
        at: C,
        values: [T; N],
        barrier: PeerBarrier,
    ) {
        const { check_known::<C, Vector<SharedTile<T, ROWS, COLS, S, O>, N>>() };
        let bytes = const {
            let bytes = N * size_of::<T>();
            assert!(matches!(bytes, 4 | 8 | 16), "4, 8 or 16 bytes are sent at once");
            bytes
        };
        let _ = lane;
        let (row, col) = at.resolve::<Vector<SharedTile<T, ROWS, COLS, S, O>, N>>(
            self.tile.address(),
            Site::here(),
        );
        let to = self.tile.address() + SharedTile::<T, ROWS, COLS, S, O>::offset(row, col);
        let word = |index: usize| {
            bytemuck::pod_read_unaligned::<u32>(&bytemuck::bytes_of(&values)[4 * index..][..4])
        };
        // SAFETY: the elements are in bounds, as resolved, and aligned, as tiles are. The simulator
        // checks that the barrier belongs to the same block, that the block runs, and that nobody
        // touches the elements meanwhile.
        unsafe {
            match bytes {
                4 => raw::st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_b32(
                    to,
                    word(0),
                    barrier.address(),
                ),
                8 => raw::st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v2_b32(
                    to,
                    [word(0), word(1)],
                    barrier.address(),
                ),
                _ => raw::st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v4_b32(
                    to,
                    core::array::from_fn(word),
                    barrier.address(),
                ),
            }
        }
    }

    /// Reduces an element of another block's tile by a value, asynchronously
    /// (`red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes`, PTX ISA
    /// 9.7.13.7).
    ///
    /// The reduction is atomic with respect to other reductions of the element. Before it, the
    /// element must have been written, and the write must be visible to this lane. The rest is as
    /// for [`send`](Self::send). Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::{copy::reduction, prelude::*};
    ///
    /// /// Counts in block 0 how many numbers of all blocks end with each digit.
    /// #[kernel(threads = 32, cluster = 2, target = "sm_90")]
    /// fn digits(
    ///     block: &ClusterBlock<2>,
    ///     #[shared] counts: SharedTile<u32, 1, 16>,
    ///     #[shared] full: BarrierMemory,
    ///     a: Global<u32>,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     let (rank, first) = (cluster.rank(), cluster.peer(0));
    ///     counts.fill(warp, |_, _| 0);
    ///     if rank == 0 {
    ///         warp.elect(|lane| {
    ///             full.arrive_expecting(lane, 64 * 4);
    ///         });
    ///     }
    ///     cluster.sync(); // All counts are zero.
    ///     let (counts_of_first, full_of_first) = (counts.of(first), full.of(first));
    ///     warp.each(|lane| {
    ///         let digit = a.get(rank * 32 + lane.id()) % 10;
    ///         counts_of_first.reduce(lane, reduction::Add, (0, digit as usize), 1, full_of_first);
    ///     });
    ///     if rank == 0 {
    ///         full.wait(warp, Phase::FIRST);
    ///         counts.for_each(warp, |_, digit, count| if digit < 10 { d.set(digit, count) });
    ///     }
    /// }
    ///
    /// let a: Vec<u32> = (0..64).collect();
    /// let mut d = [0; 10];
    /// digits::simulate(2, &a, &mut d).check();
    /// assert_eq!(d, [7, 7, 7, 7, 6, 6, 6, 6, 6, 6]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn reduce<C: Coordinate, R: SharedReduction<T>>(
        self,
        lane: Lane<'_>,
        reduction: R,
        at: C,
        value: T,
        barrier: PeerBarrier,
    ) {
        const { check_known::<C, Single<SharedTile<T, ROWS, COLS, S, O>>>() };
        let _ = (lane, reduction);
        let to = self.element(at, Site::here());
        // SAFETY: as above; the reduction exists for the element type.
        unsafe { R::reduce_by(to, value, barrier.address()) }
    }
}
