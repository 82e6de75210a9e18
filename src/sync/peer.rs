//! Barriers of another block of the cluster.

use super::{Barrier, BarrierMemory, BarrierRing};
use crate::lane::{Lane, Site};
use crate::machine::check;
use crate::memory::{RingIndex, SharedRing};
use crate::raw;
use crate::scope::Peer;
use crate::target::{AtLeast, BuiltFor};

/// A [`Barrier`] of another block of the cluster: [`Barrier::of`] makes it. Others can arrive at
/// it, but only its own block can wait.
///
/// It is one behind the [`sync`](crate::scope::Cluster::sync) of the cluster that comes behind its
/// initialisation, and as long as its block has not ended: the simulator reports whoever comes
/// before, or may come after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerBarrier {
    address: u32,
}

impl Barrier {
    /// The same barrier of another block of the cluster (`mapa`, PTX ISA 9.7.9.23). Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Block 0 hands a number to block 1.
    /// #[kernel(threads = 32, cluster = 2, target = "sm_90")]
    /// fn hand_over(
    ///     block: &ClusterBlock<2>,
    ///     #[shared] tile: SharedTile<u32, 1, 4>,
    ///     #[shared] full: BarrierMemory,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     cluster.sync(); // The other block's barrier is one.
    ///     let other = cluster.peer(1);
    ///     if cluster.rank() == 0 {
    ///         warp.elect(|lane| {
    ///             tile.of(other).set(lane, (0, 0), 42);
    ///             full.of(other).arrive(lane);
    ///         });
    ///     } else {
    ///         full.wait_for_cluster(warp, Phase::FIRST);
    ///         warp.elect(|lane| d.set(0, tile.get(lane, (0, 0))));
    ///     }
    /// }
    ///
    /// let mut d = [0];
    /// hand_over::simulate(2, &mut d).check();
    /// assert_eq!(d, [42]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerBarrier
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        PeerBarrier { address: peer.map(self.address()) }
    }
}

/// One arrival: its function, the raw one, its operands.
macro_rules! arrivals {
    ($($(#[$doc:meta])* $name:ident($($operand:ident)*) $raw:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $name(self, lane: Lane<'_>, $($operand: u32)*) {
            let _ = lane;
            // SAFETY: a barrier of a block of the cluster, as `Barrier::of` said. That it is one by now, and its block runs, is the
            // simulator's to check, as of a missing `sync`.
            unsafe { raw::$raw(self.address, $($operand)*) }
        }
    )*};
}

impl PeerBarrier {
    arrivals! {
        /// One arrival (`mbarrier.arrive.release.cluster.shared::cluster`): what the lane wrote before, and what it knows of, the other block
        /// sees who waits by [`wait_for_cluster`](Barrier::wait_for_cluster).
        arrive() mbarrier_arrive_release_cluster_shared_cluster_b64;
        /// As many at once, at least one.
        arrive_times(count) mbarrier_arrive_release_cluster_shared_cluster_b64_count;
        /// The phase waits for so many bytes more, and one has arrived (`mbarrier.arrive.expect_tx`).
        arrive_expecting(bytes) mbarrier_arrive_expect_tx_release_cluster_shared_cluster_b64;
        /// One arrival, and from the next phase on one fewer is needed (`mbarrier.arrive_drop.release.cluster.shared::cluster`, PTX ISA
        /// 9.7.13.15.14): of a block that has no more to bring, and may end when the barrier's own block knows of it.
        ///
        /// ```
        /// use ptx_matrix::prelude::*;
        ///
        /// /// Blocks 1 to 3 bring block 0 as many numbers as their rank; who has no more leaves.
        /// #[kernel(threads = 32, cluster = 4, target = "sm_90")]
        /// fn gather(block: &ClusterBlock<4>, #[shared] row: SharedTile<u32, 1, 4>, #[shared] come: BarrierMemory, d: GlobalMut<u32>) {
        ///     let come = come.init(block, 4);
        ///     let (warp, cluster) = (block.warp(), block.cluster());
        ///     let (rank, first) = (cluster.rank(), cluster.peer(0));
        ///     cluster.sync();
        ///     let (row_of_first, come_of_first) = (row.of(first), come.of(first));
        ///     let mut phase = Phase::FIRST;
        ///     for round in 1..=3 {
        ///         if rank >= round {
        ///             warp.elect(|lane| {
        ///                 row_of_first.set(lane, (0, rank), (rank * 10 + round) as u32);
        ///                 if rank == round { come_of_first.leave(lane) } else { come_of_first.arrive(lane) }
        ///             });
        ///         } else if rank == 0 {
        ///             warp.elect(|lane| {
        ///                 come.arrive(lane);
        ///             });
        ///             phase = come.wait_for_cluster(warp, phase);
        ///         }
        ///         cluster.sync(); // Nobody arrives in a phase twice.
        ///     }
        ///     if rank == 0 {
        ///         warp.elect(|lane| (1..4).for_each(|from| d.set(from, row.get(lane, (0, from)))));
        ///     }
        /// }
        ///
        /// let mut d = [0; 4];
        /// gather::simulate(4, &mut d).check();
        /// assert_eq!(d, [0, 11, 22, 33]);
        /// ```
        leave() mbarrier_arrive_drop_release_cluster_shared_cluster_b64;
        /// As many at once, at least one.
        leave_times(count) mbarrier_arrive_drop_release_cluster_shared_cluster_b64_count;
        /// The phase waits for so many bytes more, one has arrived, and later phases need one fewer
        /// (`mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster`).
        leave_expecting(bytes) mbarrier_arrive_drop_expect_tx_release_cluster_shared_cluster_b64;
        /// One arrival (`mbarrier.arrive.shared::cluster`), of a lane that has only read: what it, and who it knows of, read before may be
        /// overwritten then. What they wrote the other block need not see. It is quick: [`arrive`](Self::arrive) waits until
        /// what was written has come to memory.
        arrive_having_read() mbarrier_arrive_shared_cluster_b64;
        /// The phase waits for so many bytes more (`mbarrier.expect_tx`).
        expect(bytes) mbarrier_expect_tx_relaxed_cluster_shared_cluster_b64;
        /// So many bytes have come (`mbarrier.complete_tx`).
        complete(bytes) mbarrier_complete_tx_relaxed_cluster_shared_cluster_b64;
    }

    /// Where it lies, in the `.shared::cluster` window.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        self.address
    }
}

/// A [`BarrierRing`] of another block of the cluster: [`BarrierRing::of`] makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerBarrierRing<const N: usize> {
    address: u32,
}

impl<const N: usize> BarrierRing<N> {
    /// The same barriers of another block of the cluster (`mapa`). Needs sm_90.
    #[inline(always)]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerBarrierRing<N>
    where
        Barrier: BuiltFor<AtLeast<90>>,
    {
        PeerBarrierRing { address: peer.map(self.stage(RingIndex::FIRST).address()) }
    }
}

impl<const N: usize> PeerBarrierRing<N> {
    /// The barrier of this index.
    #[inline(always)]
    pub fn stage(self, index: RingIndex<N>) -> PeerBarrier {
        PeerBarrier {
            address: self.address + index.get() as u32 * SharedRing::<BarrierMemory, N>::STRIDE,
        }
    }

    /// Barrier `index`, less than `N`.
    #[inline(always)]
    #[track_caller]
    pub fn part(self, index: usize) -> PeerBarrier {
        check!(index < N, Site::here(), RingOutOfBounds { index, len: N });
        PeerBarrier {
            address: self.address + index as u32 * SharedRing::<BarrierMemory, N>::STRIDE,
        }
    }
}
