//! Barriers of another block of the cluster (DSMEM).

use super::{Barrier, BarrierMemory, BarrierRing};
use crate::lane::{Lane, Site};
use crate::machine::check;
use crate::memory::{RingIndex, SharedRing};
use crate::raw;
use crate::scope::Peer;
use crate::target::{AtLeast, BuiltFor};

/// A [`Barrier`] of another block of the cluster, from [`Barrier::of`].
///
/// Any block of the cluster may arrive at it, but only its own block may wait. It is valid from the
/// cluster's [`sync`](crate::scope::Cluster::sync) after its initialisation until its block ends.
/// The simulator reports uses before, and uses that may come after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerBarrier {
    address: u32,
}

impl Barrier {
    /// The barrier at the same place in another block of the cluster (`mapa`, PTX ISA 9.7.9.23).
    /// Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Block 0 passes a number to block 1.
    /// #[kernel(threads = 32, cluster = 2, target = "sm_90")]
    /// fn hand_over(
    ///     block: &ClusterBlock<2>,
    ///     #[shared] tile: SharedTile<u32, 1, 4>,
    ///     #[shared] full: BarrierMemory,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     cluster.sync(); // The other block's barrier is initialised.
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
    #[inline]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerBarrier
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        PeerBarrier { address: peer.map(self.address()) }
    }
}

/// For each kind of arrival: its method, the raw function, and the operands.
macro_rules! arrivals {
    ($($(#[$doc:meta])* $name:ident($($operand:ident)*) $raw:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[track_caller]
        pub fn $name(self, lane: Lane<'_>, $($operand: u32)*) {
            let _ = lane;
            // SAFETY: the address is that of a barrier in a block of the cluster, by `Barrier::of`.
            // The simulator checks that it is initialised, and that its block runs: it reports a
            // missing `sync`.
            unsafe { raw::$raw(self.address, $($operand)*) }
        }
    )*};
}

impl PeerBarrier {
    arrivals! {
        /// Arrives once (`mbarrier.arrive.release.cluster.shared::cluster`). Threads of the other
        /// block see the lane's earlier writes, and those it knew of, after a
        /// [`wait_for_cluster`](Barrier::wait_for_cluster).
        arrive() mbarrier_arrive_release_cluster_shared_cluster_b64;
        /// Arrives `count` times, at least once.
        arrive_times(count) mbarrier_arrive_release_cluster_shared_cluster_b64_count;
        /// Expects `bytes` more bytes in the phase, and arrives once (`mbarrier.arrive.expect_tx`).
        arrive_expecting(bytes) mbarrier_arrive_expect_tx_release_cluster_shared_cluster_b64;
        /// Arrives once, and lowers the arrival count of the following phases by one
        /// (`mbarrier.arrive_drop.release.cluster.shared::cluster`, PTX ISA 9.7.13.15.14).
        ///
        /// It serves a block that has no more data to send. The block may end when the barrier's
        /// own block has waited for the phase.
        ///
        /// ```
        /// use ptx_matrix::prelude::*;
        ///
        /// /// Blocks 1 to 3 send block 0 as many numbers as their rank, and then leave.
        /// #[kernel(threads = 32, cluster = 4, target = "sm_90")]
        /// fn gather(
        ///     block: &ClusterBlock<4>,
        ///     #[shared] row: SharedTile<u32, 1, 4>,
        ///     #[shared] come: BarrierMemory,
        ///     d: GlobalMut<u32>,
        /// ) {
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
        ///                 if rank == round {
        ///                     come_of_first.arrive_drop(lane)
        ///                 } else {
        ///                     come_of_first.arrive(lane)
        ///                 }
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
        ///         warp.elect(|lane| {
        ///             (1..4).for_each(|from| d.set(from, row.get(lane, (0, from))));
        ///         });
        ///     }
        /// }
        ///
        /// let mut d = [0; 4];
        /// gather::simulate(4, &mut d).check();
        /// assert_eq!(d, [0, 11, 22, 33]);
        /// ```
        arrive_drop() mbarrier_arrive_drop_release_cluster_shared_cluster_b64;
        /// Arrives `count` times, at least once, and lowers the arrival count of the following
        /// phases by `count`.
        arrive_drop_times(count) mbarrier_arrive_drop_release_cluster_shared_cluster_b64_count;
        /// Expects `bytes` more bytes in the phase, arrives once, and lowers the arrival count of
        /// the following phases by one
        /// (`mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster`).
        arrive_drop_expecting(bytes)
            mbarrier_arrive_drop_expect_tx_release_cluster_shared_cluster_b64;
        /// Arrives once, for a lane that has only read (`mbarrier.arrive.shared::cluster`).
        ///
        /// It says that the earlier reads of the lane, and those that it knows of, are done: the
        /// other block may overwrite the data. Earlier writes need not be visible there. It is
        /// faster than [`arrive`](Self::arrive), which waits until earlier writes have reached
        /// memory.
        arrive_having_read() mbarrier_arrive_shared_cluster_b64;
        /// Expects `bytes` more bytes in the phase (`mbarrier.expect_tx`).
        expect(bytes) mbarrier_expect_tx_relaxed_cluster_shared_cluster_b64;
        /// Completes `bytes` of the expected bytes (`mbarrier.complete_tx`).
        complete(bytes) mbarrier_complete_tx_relaxed_cluster_shared_cluster_b64;
    }

    /// The barrier's address in the `.shared::cluster` window.
    #[inline]
    pub const fn address(self) -> u32 {
        self.address
    }
}

/// A [`BarrierRing`] of another block of the cluster, from [`BarrierRing::of`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerBarrierRing<const N: usize> {
    address: u32,
}

impl<const N: usize> BarrierRing<N> {
    /// The barriers at the same place in another block of the cluster (`mapa`). Needs sm_90.
    #[inline]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerBarrierRing<N>
    where
        Barrier: BuiltFor<AtLeast<90>>,
    {
        PeerBarrierRing { address: peer.map(self.stage(RingIndex::FIRST).address()) }
    }
}

impl<const N: usize> PeerBarrierRing<N> {
    /// The barrier of the stage `index`.
    #[inline]
    pub fn stage(self, index: RingIndex<N>) -> PeerBarrier {
        PeerBarrier {
            address: self.address + index.get() as u32 * SharedRing::<BarrierMemory, N>::STRIDE,
        }
    }

    /// Barrier `index`, less than `N`; otherwise the kernel stops.
    #[inline]
    #[track_caller]
    pub fn part(self, index: usize) -> PeerBarrier {
        check!(index < N, Site::here(), RingOutOfBounds { address: self.address, index, len: N });
        PeerBarrier {
            address: self.address + index as u32 * SharedRing::<BarrierMemory, N>::STRIDE,
        }
    }
}
