//! Cluster scope: blocks that run at the same time and access each other's shared memory (DSMEM,
//! PTX ISA 2.2.3).

use super::{ClusterMask, Peer, Peers};
use crate::lane::Grid;
use crate::lane::Sealed;
use crate::lane::Site;
use crate::lane::{Lane, LaneCapture, PerLane};
use crate::raw;
use crate::scope::{Block, Threads};
use crate::target::{AtLeast, BuiltFor};
use core::marker::PhantomData;
use core::ops::Deref;

/// Block scope, like [`Block`], of a block in a cluster of `N`.
///
/// It is the first parameter of a kernel with `#[kernel(cluster = ..)]`. It derefs to [`Block`],
/// and may be passed wherever a block is expected.
pub struct ClusterBlock<'k, const N: usize> {
    block: Block<'k>,
}

impl<'k, const N: usize> Deref for ClusterBlock<'k, N> {
    type Target = Block<'k>;

    #[inline]
    fn deref(&self) -> &Block<'k> {
        &self.block
    }
}

impl<'k, const N: usize> ClusterBlock<'k, N> {
    /// Makes the scope of a kernel's entry.
    ///
    /// # Safety
    /// As for [`Block::enter`]. The kernel is launched in clusters of `N`.
    #[inline]
    #[doc(hidden)]
    pub unsafe fn enter(threads: usize) -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: the caller upholds the conditions. LLVM learns the bounds of the rank from them.
        unsafe {
            core::hint::assert_unchecked((raw::index::cluster_rank() as usize) < N);
            ClusterBlock { block: Block::enter(threads) }
        }
    }

    /// Makes the scope for a simulated block.
    ///
    /// # Panics
    /// If the launch's clusters have another number of blocks.
    #[doc(hidden)]
    #[track_caller]
    pub fn simulated(block: &Block<'k>) -> Self {
        let blocks = block.at.blocks_of_cluster();
        assert!(
            N == blocks,
            "the launch has clusters of {blocks} blocks, but this `ClusterBlock` is for clusters \
             of {N}"
        );
        ClusterBlock { block: Block { at: block.at } }
    }

    /// The block's cluster.
    #[inline]
    pub fn cluster(&self) -> Cluster<'_, N>
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        Cluster { block: &self.block }
    }
}

impl<const N: usize> Sealed for &ClusterBlock<'_, N> {}
impl<const N: usize> Threads for &ClusterBlock<'_, N> {
    #[inline]
    fn count(self) -> usize {
        (&self.block).count()
    }

    #[inline]
    #[track_caller]
    fn each_thread<T>(self, value: impl Fn(Lane<'_>, usize) -> T + LaneCapture) -> PerLane<T> {
        (&self.block).each_thread(value)
    }
}

/// Cluster scope: code that all warps of the cluster's `N` blocks execute.
///
/// `#[kernel(cluster = ..)]` sets the number of blocks, and [`ClusterBlock::cluster`] returns the
/// scope. The blocks of a cluster run at the same time, on neighbouring SMs. Needs sm_90.
///
/// [`SharedTile::of`](crate::memory::SharedTile::of) and [`Barrier::of`](crate::sync::Barrier::of)
/// give a block access to tiles and barriers of the others (DSMEM). Such an access comes after a
/// [`sync`](Self::sync) of the cluster: before it, another block may not run yet, or its barriers
/// may not be initialised. It also comes before the other block ends, so that most kernels end with
/// a second `sync`.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Each block of a pair writes the sum of its numbers into the other's shared memory.
/// #[kernel(threads = 32, cluster = 2, target = "sm_90")]
/// fn other_sum(
///     block: &ClusterBlock<2>,
///     #[shared] sum: SharedTile<u32, 1, 4>,
///     a: Global<u32>,
///     d: GlobalMut<u32>,
/// ) {
///     let (warp, cluster, index) = (block.warp(), block.cluster(), block.index().x as usize);
///     let others = sum.of(cluster.peer(1 - cluster.rank()));
///     cluster.sync(); // The other block runs.
///     warp.elect(|lane| {
///         others.set(lane, (0, 0), (0..32).map(|i| a.get(index * 32 + i)).sum());
///     });
///     cluster.sync(); // Both have written.
///     warp.elect(|lane| d.set(index, sum.get(lane, (0, 0))));
/// }
///
/// let a: Vec<u32> = (0..128).collect();
/// let mut d = [0; 4];
/// other_sum::simulate(4, &a, &mut d).check();
/// assert_eq!(d, [1520, 496, 3568, 2544]); // The sums of blocks 1, 0, 3 and 2.
/// assert!(other_sum::simulate(3, &a, &mut d).is_err()); // Not a multiple of the cluster.
/// ```
pub struct Cluster<'b, const N: usize> {
    block: &'b Block<'b>,
}

impl<const N: usize> Clone for Cluster<'_, N> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<const N: usize> Copy for Cluster<'_, N> {}

/// The token of [`Cluster::arrive`]: the warp has arrived at its cluster's barrier, and has still
/// to wait. [`Cluster::wait`] takes it.
#[must_use = "a warp that has arrived at the cluster's barrier must wait there before it arrives \
              again"]
pub struct ClusterArrival<'b, const N: usize> {
    _cluster: PhantomData<Cluster<'b, N>>,
}

impl<'b, const N: usize> Cluster<'b, N> {
    /// The number of blocks in the cluster.
    pub const SIZE: usize = N;

    /// The block's rank in the cluster (`%cluster_ctarank`): less than `N`, x fastest.
    #[inline]
    pub fn rank(self) -> usize {
        let rank = raw::index::cluster_rank() as usize;
        // SAFETY: the kernel was launched in clusters of `N`.
        unsafe { core::hint::assert_unchecked(rank < N) };
        rank
    }

    /// The block's index in the cluster along each dimension (`%cluster_ctaid`).
    #[inline]
    pub fn block_index(self) -> Grid {
        raw::index::block_in_cluster().into()
    }

    /// The cluster's index in the grid of clusters (`%clusterid`).
    #[inline]
    pub fn index(self) -> Grid {
        raw::index::cluster().into()
    }

    /// The blocks of the cluster, as a value that lane closures may capture.
    #[inline]
    pub fn peers(self) -> Peers<N> {
        Peers::new()
    }

    /// The block of this rank, which may be the executing block. A rank of `N` or more stops the
    /// kernel.
    #[inline]
    #[track_caller]
    pub fn peer(self, rank: usize) -> Peer {
        self.peers().get(rank)
    }

    /// All blocks of the cluster, for a multicast.
    #[inline]
    pub fn all(self) -> ClusterMask {
        self.peers().all()
    }

    /// Synchronises all warps of the cluster's blocks (`barrier.cluster.arrive.release`,
    /// `barrier.cluster.wait.acquire`, PTX ISA 9.7.13.3).
    ///
    /// Each warp then sees the earlier writes of all the others. All warps that still run must call
    /// it, equally often. The simulator reports a warp that waits elsewhere; on a GPU the others
    /// wait for ever.
    #[inline]
    #[track_caller]
    pub fn sync(self) {
        self.wait(self.arrive());
    }

    /// Arrives at the cluster's barrier without waiting (`barrier.cluster.arrive.release.aligned`).
    ///
    /// Warps see the earlier writes of this warp after their [`wait`](Self::wait).
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Blocks exchange a number each. Between arrival and wait they do other work.
    /// #[kernel(threads = 32, cluster = 2, target = "sm_90")]
    /// fn exchange(
    ///     block: &ClusterBlock<2>,
    ///     #[shared] own: SharedTile<u32, 1, 4>,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let (warp, cluster, index) = (block.warp(), block.cluster(), block.index().x as usize);
    ///     warp.elect(|_| own.set((0, 0), index as u32 * 10));
    ///     warp.sync();
    ///     let arrival = cluster.arrive();
    ///     warp.elect(|_| d.set(index + 2, 7)); // Nobody waits for this.
    ///     cluster.wait(arrival);
    ///     let other = own.of(cluster.peer(1 - cluster.rank()));
    ///     warp.elect(|lane| d.set(index, other.get(lane, (0, 0))));
    ///     cluster.sync(); // The other block has read before this one ends.
    /// }
    ///
    /// let mut d = [0; 4];
    /// exchange::simulate(2, &mut d).check();
    /// assert_eq!(d, [10, 0, 7, 7]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn arrive(self) -> ClusterArrival<'b, N> {
        // SAFETY: cluster scope is not under lane-dependent control flow. The simulator reports a
        // warp that arrives again before it has waited; on a GPU, it may wait for ever.
        unsafe { self.block.at.arrive_at_cluster(Site::here()) };
        ClusterArrival { _cluster: PhantomData }
    }

    /// Like [`arrive`](Self::arrive), without making this warp's writes visible
    /// (`barrier.cluster.arrive.relaxed.aligned`).
    ///
    /// It does not wait until the writes have reached memory. Warps that have waited only know that
    /// the blocks run, and that their barriers are initialised.
    #[inline]
    #[track_caller]
    pub fn arrive_relaxed(self) -> ClusterArrival<'b, N> {
        // SAFETY: as above.
        unsafe { self.block.at.arrive_at_cluster_relaxed(Site::here()) };
        ClusterArrival { _cluster: PhantomData }
    }

    /// Waits until all warps of the cluster's blocks have arrived or ended
    /// (`barrier.cluster.wait.acquire.aligned`).
    #[inline]
    #[track_caller]
    pub fn wait(self, arrival: ClusterArrival<'b, N>) {
        let _ = arrival;
        // SAFETY: cluster scope is not under lane-dependent control flow. The warp has arrived.
        unsafe { self.block.at.wait_for_cluster(Site::here()) }
    }

    /// The executing block.
    #[inline]
    pub fn block(self) -> &'b Block<'b> {
        self.block
    }
}
