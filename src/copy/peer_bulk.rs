//! Bulk copies from a tile to another block's of the cluster, which they also reduce.

use crate::copy::reduction::SharedReduction;
use crate::element::Element;
use crate::lane::Lane;
use crate::memory::{Order, SharedTile, Swizzle};
use crate::raw;
use crate::scope::Peer;
use crate::sync::Barrier;
use crate::target::{AtLeast, BuiltFor};

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// Starts to copy the tile to `to` of another block of the cluster, whose `barrier` is told
    /// (`cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes`, PTX ISA
    /// 9.7.9.25.4): this block's handles, which lie in the other at the same place. Until the
    /// other has waited, nobody writes this tile. Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    /// type Tile = SharedTile<u32, 1, 32>;
    ///
    /// /// Blocks hand their tiles round.
    /// #[kernel(threads = 32, cluster = 4, target = "sm_90")]
    /// fn round(
    ///     block: &ClusterBlock<4>,
    ///     #[shared] (own, come): (Tile, Tile),
    ///     #[shared] full: BarrierMemory,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     let rank = cluster.rank();
    ///     own.fill(warp, |_, col| (rank * 100 + col) as u32);
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     warp.elect(|lane| {
    ///         full.arrive_expecting(lane, Tile::COPIED_BYTES);
    ///     });
    ///     cluster.sync();
    ///     let next = cluster.peer((rank + 1) % 4);
    ///     warp.elect(|lane| own.copy_bulk_to(lane, next, come, full));
    ///     full.wait(warp, Phase::FIRST);
    ///     come.for_each(warp, |_, col, value| d.set(rank * 32 + col, value));
    ///     cluster.sync(); // What is sent has been read before its block ends.
    /// }
    ///
    /// let mut d = [0; 128];
    /// round::simulate(4, &mut d).check();
    /// assert_eq!((d[0], d[33]), (300, 1));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn copy_bulk_to(self, lane: Lane<'_>, peer: Peer, to: Self, barrier: Barrier)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: two tiles of so many bytes, aligned to 16 at least, and a barrier in the same
        // block as the second. The rest is the simulator's to check, as above.
        unsafe {
            raw::cp_async_bulk_shared_cluster_shared_cta_mbarrier_complete_tx_bytes(
                peer.map(to.address()),
                self.address(),
                Self::COPIED_BYTES,
                peer.map(barrier.address()),
            );
        }
    }

    /// Starts to reduce the elements of `to` of another block of the cluster by this tile's, and
    /// has its `barrier` told (`cp.reduce.async.bulk.shared::cluster.shared::cta.
    /// mbarrier::complete_tx::bytes`, PTX ISA 9.7.9.25.4): this block's handles, as of
    /// [`copy_bulk_to`](Self::copy_bulk_to). The barrier is told of
    /// [`COPIED_BYTES`](Self::COPIED_BYTES).
    ///
    /// Each element is reduced as a whole, so that several blocks may reduce the same tile at once;
    /// in which order they come is not said, which [`Inc`](crate::copy::reduction::Inc) and
    /// [`Dec`](crate::copy::reduction::Dec) tell. Who else touches it has waited for the
    /// barriers that all of them tell, and what ordinary stores left in it is behind a
    /// [`fence_for_bulk`](crate::scope::Warp::fence_for_bulk) of who stored it. The simulator
    /// has a reduction land as late as that allows. [`SharedReduction`] says which elements have
    /// which; in global memory ([`reduce_tma`](SharedTile::reduce_tma)) there are more. The block
    /// itself may be the other one: so it is on an H200, where compute-sanitizer's memcheck
    /// (2025.3) says that it is an invalid write, and stops it. Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::{copy::reduction, prelude::*};
    /// type Tile = SharedTile<u32, 1, 32>;
    ///
    /// /// The blocks' numbers are added up in block 0, without a word of global memory between.
    /// #[kernel(threads = 32, cluster = 4, target = "sm_90")]
    /// fn total(block: &ClusterBlock<4>, #[shared] (own, sums): (Tile, Tile), #[shared] full: BarrierMemory, a: Global<u32>, d: GlobalMut<u32>) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     let rank = cluster.rank();
    ///     own.fill(warp, |_, col| a.get(rank * 32 + col));
    ///     sums.fill(warp, |_, _| 0);
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     if rank == 0 {
    ///         warp.elect(|lane| {
    ///             full.arrive_expecting(lane, 4 * Tile::COPIED_BYTES);
    ///         });
    ///     }
    ///     cluster.sync(); // The sums of block 0 are zero, and its barrier expects the bytes.
    ///     let first = cluster.peer(0);
    ///     warp.elect(|lane| own.reduce_bulk_to(lane, reduction::Add, first, sums, full));
    ///     if rank == 0 {
    ///         full.wait(warp, Phase::FIRST);
    ///         sums.for_each(warp, |_, col, sum| d.set(col, sum));
    ///     }
    ///     cluster.sync(); // What is sent has been read before its block ends.
    /// }
    ///
    /// let a: Vec<u32> = (0..128).collect();
    /// let mut d = [0; 32];
    /// total::simulate(4, &a, &mut d).check();
    /// assert_eq!(d, core::array::from_fn(|col| (0..4).map(|rank| (rank * 32 + col) as u32).sum::<u32>()));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn reduce_bulk_to<R: SharedReduction<T>>(
        self,
        lane: Lane<'_>,
        reduction: R,
        peer: Peer,
        to: Self,
        barrier: Barrier,
    ) where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = (lane, reduction);
        let (to, barrier) = (peer.map(to.address()), peer.map(barrier.address()));
        // SAFETY: as above; the elements have the reduction.
        unsafe { R::reduce_shared(to, self.address(), Self::COPIED_BYTES, barrier) }
    }

    /// The bytes of [`copy_bulk_to`](Self::copy_bulk_to) and of
    /// [`reduce_bulk_to`](Self::reduce_bulk_to), which a barrier is told of.
    pub const COPIED_BYTES: u32 = (ROWS * COLS * size_of::<T>()) as u32;
}
