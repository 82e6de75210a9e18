//! The scope of several blocks that run at the same time, and reach each other's shared memory (PTX
//! ISA 2.2.3).

use super::{Blocks, Peer, Peers};
use crate::lane::Grid;
use crate::lane::Sealed;
use crate::lane::Site;
use crate::lane::{Lane, LaneCapture, PerLane};
use crate::raw;
use crate::scope::{Block, Threads};
use crate::target::{AtLeast, BuiltFor};
use core::marker::PhantomData;
use core::ops::Deref;

/// Block scope, as [`Block`], of a block that is one of a cluster of `N`: the first parameter of a
/// kernel with `#[kernel(cluster = ..)]`.
///
/// All that takes a block takes it.
pub struct ClusterBlock<'k, const N: usize> {
    block: Block<'k>,
}

impl<const N: usize> !LaneCapture for ClusterBlock<'_, N> {}

impl<'k, const N: usize> Deref for ClusterBlock<'k, N> {
    type Target = Block<'k>;

    #[inline(always)]
    fn deref(&self) -> &Block<'k> {
        &self.block
    }
}

impl<'k, const N: usize> ClusterBlock<'k, N> {
    /// The scope of a kernel's entry.
    ///
    /// # Safety
    /// As [`Block::enter`]; and the kernel is launched in clusters of `N`.
    #[inline(always)]
    #[doc(hidden)]
    pub unsafe fn enter(threads: usize) -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: the caller's. LLVM learns the bounds of the rank from it.
        unsafe {
            core::hint::assert_unchecked((raw::index::cluster_rank() as usize) < N);
            ClusterBlock { block: Block::enter(threads) }
        }
    }

    /// The same block.
    ///
    /// # Panics
    /// The launch's clusters have another number of blocks.
    #[doc(hidden)]
    #[track_caller]
    pub fn simulated(block: &Block<'k>) -> Self {
        let blocks = block.at.blocks_of_cluster();
        assert!(
            N == blocks,
            "a block of a cluster of {blocks} is taken for one of a cluster of {N}"
        );
        ClusterBlock { block: Block { at: block.at } }
    }

    /// The cluster that the block is of.
    #[inline(always)]
    pub fn cluster(&self) -> Cluster<'_, N>
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        Cluster { block: &self.block }
    }
}

impl<const N: usize> Sealed for &ClusterBlock<'_, N> {}
impl<const N: usize> Threads for &ClusterBlock<'_, N> {
    #[inline(always)]
    fn count(self) -> usize {
        (&self.block).count()
    }

    #[inline(always)]
    #[track_caller]
    fn each_thread<T>(self, value: impl Fn(Lane<'_>, usize) -> T + LaneCapture) -> PerLane<T> {
        (&self.block).each_thread(value)
    }
}

/// Cluster scope: code that all warps of the cluster's `N` blocks run. `#[kernel(cluster = ..)]`
/// says how many blocks that is, and [`ClusterBlock::cluster`] leads here. A cluster's blocks run
/// at the same time, on neighbouring multiprocessors.
///
/// Of its tiles and barriers a block knows where they lie in the others
/// ([`SharedTile::of`](crate::memory::SharedTile::of), [`Barrier::of`](crate::sync::Barrier::of)),
/// and may touch them there, from a [`sync`](Self::sync) of the cluster on, before which nothing
/// says that the others run, or have initialised their barriers, until they end: mostly a second
/// `sync` is the last that they do. Needs sm_90.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Each block of a pair writes the sum of its numbers into the other's memory.
/// #[kernel(threads = 32, cluster = 2, target = "sm_90")]
/// fn other_sum(block: &ClusterBlock<2>, #[shared] sum: SharedTile<u32, 1, 4>, a: Global<u32>, d: GlobalMut<u32>) {
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
/// assert_eq!(d, [1520, 496, 3568, 2544]); // of blocks 1, 0, 3 and 2
/// assert!(other_sum::simulate(3, &a, &mut d).is_err()); // no whole clusters
/// ```
pub struct Cluster<'b, const N: usize> {
    block: &'b Block<'b>,
}

impl<const N: usize> Clone for Cluster<'_, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<const N: usize> Copy for Cluster<'_, N> {}

impl<const N: usize> !LaneCapture for Cluster<'_, N> {}

/// That a warp has arrived at its cluster's barrier, and is to wait there: [`Cluster::wait`] takes
/// it, which alone ends what [`Cluster::arrive`] began.
#[must_use = "a warp that has arrived at the cluster's barrier waits there before it arrives again"]
pub struct ClusterArrival<'b, const N: usize> {
    _cluster: PhantomData<Cluster<'b, N>>,
}

impl<'b, const N: usize> Cluster<'b, N> {
    /// How many blocks the cluster has.
    pub const SIZE: usize = N;

    /// The block's number in the cluster (`%cluster_ctarank`): less than `N`, x first.
    #[inline(always)]
    pub fn rank(self) -> usize {
        let rank = raw::index::cluster_rank() as usize;
        // SAFETY: the kernel was launched in clusters of `N`.
        unsafe { core::hint::assert_unchecked(rank < N) };
        rank
    }

    /// The block's index in the cluster (`%cluster_ctaid`), where that has several dimensions.
    #[inline(always)]
    pub fn block_index(self) -> Grid {
        raw::index::block_in_cluster().into()
    }

    /// The cluster's index among the grid's clusters (`%clusterid`).
    #[inline(always)]
    pub fn index(self) -> Grid {
        raw::index::cluster().into()
    }

    /// The blocks of the cluster, which lane closures may capture.
    #[inline(always)]
    pub fn peers(self) -> Peers<N> {
        Peers::new()
    }

    /// The block of this rank, less than `N`; the executing one is one of them.
    #[inline(always)]
    #[track_caller]
    pub fn peer(self, rank: usize) -> Peer {
        self.peers().get(rank)
    }

    /// All blocks of the cluster, for a copy to go to.
    #[inline(always)]
    pub fn all(self) -> Blocks {
        self.peers().all()
    }

    /// All warps of the cluster's blocks wait for each other; what each wrote to memory before, all
    /// see after (`barrier.cluster.arrive.release`, `barrier.cluster.wait.acquire`, PTX ISA
    /// 9.7.13.3).
    ///
    /// All warps must come, as often as each other, but for those that have ended: the simulator
    /// reports a warp that waits elsewhere; on a GPU the others wait for ever.
    #[inline(always)]
    #[track_caller]
    pub fn sync(self) {
        self.wait(self.arrive());
    }

    /// The warp has come to the cluster's barrier, and goes on: what it wrote to memory before, all
    /// see who have waited (`barrier.cluster.arrive.release.aligned`).
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Blocks that exchange a number each, and do something else meanwhile.
    /// #[kernel(threads = 32, cluster = 2, target = "sm_90")]
    /// fn exchange(block: &ClusterBlock<2>, #[shared] own: SharedTile<u32, 1, 4>, d: GlobalMut<u32>) {
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
    #[inline(always)]
    #[track_caller]
    pub fn arrive(self) -> ClusterArrival<'b, N> {
        // SAFETY: cluster scope is not under lane-dependent control flow; before it arrives again,
        // the warp waits.
        unsafe { self.block.at.arrive_at_cluster(Site::here()) };
        ClusterArrival { _cluster: PhantomData }
    }

    /// The same, but that nobody learns by it of what the warp wrote
    /// (`barrier.cluster.arrive.relaxed.aligned`), which need not have come to memory then:
    /// those who have waited know that the blocks run, and of the barriers that they had
    /// initialised.
    #[inline(always)]
    #[track_caller]
    pub fn arrive_relaxed(self) -> ClusterArrival<'b, N> {
        // SAFETY: as above.
        unsafe { self.block.at.arrive_at_cluster_relaxed(Site::here()) };
        ClusterArrival { _cluster: PhantomData }
    }

    /// Waits until all warps of the cluster's blocks have arrived, or ended
    /// (`barrier.cluster.wait.acquire.aligned`).
    #[inline(always)]
    #[track_caller]
    pub fn wait(self, arrival: ClusterArrival<'b, N>) {
        let _ = arrival;
        // SAFETY: cluster scope is not under lane-dependent control flow; the warp has arrived.
        unsafe { self.block.at.wait_for_cluster(Site::here()) }
    }

    /// The executing block.
    #[inline(always)]
    pub fn block(self) -> &'b Block<'b> {
        self.block
    }
}
