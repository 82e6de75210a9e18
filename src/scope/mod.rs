//! The scopes of execution: warps, warpgroups, blocks and clusters.
//!
//! A kernel receives its [`Block`], or its [`ClusterBlock`]. The other scopes come from it: the
//! warps, warpgroups and clusters whose threads execute an instruction together.
//!
//! | item | purpose |
//! | --- | --- |
//! | [`Block`] | the block: its index in the grid, [`Block::sync`], its warps |
//! | [`Warp`] | 32 lanes; [`Warp::each`] runs a lane closure, [`Warp::elect`] runs it in one lane |
//! | [`WarpGroup`] | four warps, which execute `wgmma` together |
//! | [`ClusterBlock`], [`Cluster`] | a block of a cluster, and the cluster: ranks and barriers |
//! | [`Peer`], [`Peers`], [`ClusterMask`] | blocks of a cluster by rank; a set for multicast |
//! | [`Threads`] | threads that divide work: of a warp, a warpgroup or a block |
//!
//! Values that differ from lane to lane, and lane closures, are in [`lane`](crate::lane).
//!
//! ```
//! use ptx_matrix::prelude::*;
//!
//! /// Each block writes its index with the threads of all its warps.
//! #[kernel(threads = 64)]
//! fn number(block: &Block, d: GlobalMut<u32>) {
//!     let index = block.index().x as usize;
//!     let first = index * block.threads();
//!     block.each_thread(|_, rank| d.set(first + rank, index as u32));
//! }
//!
//! let mut d = [9; 128];
//! number::simulate(2, &mut d).check();
//! assert_eq!((d[63], d[64]), (0, 1));
//! ```

mod clock;
mod cluster;
#[cfg(target_arch = "nvptx64")]
mod device;
mod peer;
pub(crate) mod shuffle;
mod warp_group;

pub use cluster::{Cluster, ClusterArrival, ClusterBlock};
pub use peer::{ClusterMask, Peer, Peers};
pub use warp_group::WarpGroup;

use crate::lane::Grid;
use crate::lane::Sealed;
use crate::lane::{LANES, Lane, LaneCapture, PerLane, Site};
use crate::machine::{BlockRef, fixed, uniform};
use crate::target::{AtLeast, BuiltFor};

/// Block scope: code that all warps of a block execute.
///
/// Values computed from the block's index and the kernel's arguments are the same in all warps.
/// [`warp`](Block::warp) is the executing warp: values from it may differ from warp to warp.
///
/// A kernel receives it as its first parameter. There is no other way to get one.
pub struct Block<'k> {
    pub(crate) at: BlockRef<'k>,
}

/// Warp scope: code that the 32 lanes of a warp execute together, converged.
///
/// A plain value is the same in all lanes there. A value that differs by lane is a [`PerLane`]. A
/// collective takes the `Warp` as proof that all lanes are present: a lane closure cannot capture
/// it.
#[derive(Clone, Copy)]
pub struct Warp<'b> {
    block: &'b Block<'b>,
}

impl<'k> Block<'k> {
    /// Makes the scope of a kernel's entry.
    ///
    /// # Safety
    /// The kernel was launched with blocks of `threads` threads in one dimension, a multiple of 32,
    /// and all threads of the block call this.
    #[inline]
    #[doc(hidden)]
    pub unsafe fn enter(threads: usize) -> Self {
        // SAFETY: the caller upholds the conditions.
        Block { at: unsafe { BlockRef::enter(threads) } }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn simulated(simulated: crate::engine::WarpOfBlock<'k>) -> Self {
        Block { at: BlockRef::simulated(simulated) }
    }

    /// The block's index in the grid (`%ctaid`).
    #[inline]
    pub fn index(&self) -> Grid {
        self.at.index()
    }

    /// The number of blocks in the grid along each dimension (`%nctaid`).
    #[inline]
    pub fn grid(&self) -> Grid {
        self.at.grid()
    }

    /// Threads in the block, from `#[kernel(threads = ..)]`.
    #[inline]
    pub fn threads(&self) -> usize {
        self.at.threads()
    }

    /// Warps in the block.
    #[inline]
    pub fn warps(&self) -> usize {
        self.threads() / LANES
    }

    /// The executing warp.
    #[inline]
    pub fn warp(&self) -> Warp<'_> {
        Warp { block: self }
    }

    /// Hides a number from the optimiser: an optimisation barrier, without an instruction.
    ///
    /// The compiler computes nothing from the result before this point. Use it for rarely needed
    /// values in a loop that has no register to spare.
    #[inline]
    pub fn opaque(&self, number: u32) -> u32 {
        fixed(number)
    }

    /// Synchronises all warps of the block (`bar.sync 0`, PTX ISA 9.7.13.1).
    ///
    /// Each warp then sees the earlier writes of all the others. All warps of the block must call
    /// it, equally often. The simulator reports a warp that does not; on a GPU the others wait for
    /// ever.
    #[inline]
    #[track_caller]
    pub fn sync(&self) {
        // SAFETY: block scope is not under lane-dependent control flow, so each warp is converged.
        unsafe { self.at.sync(Site::here()) }
    }
}

impl<'b> Warp<'b> {
    /// The warp's index in its block.
    #[inline]
    pub fn index(self) -> usize {
        self.block.at.warp()
    }

    /// The warp's block.
    #[inline]
    pub fn block(self) -> &'b Block<'b> {
        self.block
    }

    /// Runs a lane closure in each lane: `value(lane)`.
    ///
    /// The closure may branch on lane-dependent values. It cannot call a collective (see
    /// [`LaneCapture`]).
    #[inline]
    #[track_caller]
    pub fn each<T>(self, value: impl Fn(Lane<'_>) -> T + LaneCapture) -> PerLane<T> {
        self.block.at.each(value)
    }

    /// Runs a lane closure in each lane, with mutable access to the lane's value.
    ///
    /// The closure receives the value as if it had captured it, so that its type must be
    /// [`LaneCapture`].
    #[inline]
    #[track_caller]
    pub fn update<T: LaneCapture>(
        self,
        values: &mut PerLane<T>,
        change: impl Fn(Lane<'_>, &mut T) + LaneCapture,
    ) {
        self.block.at.update(values, change);
    }

    /// Runs a lane closure in one elected lane (`elect.sync`, PTX ISA 9.7.14.14). Needs sm_90.
    ///
    /// The hardware elects the same lane each time, which need not be lane 0. In the simulator the
    /// seed determines it. Earlier writes of the other lanes are visible to the elected lane only
    /// after a [`sync`](Self::sync).
    #[inline]
    #[track_caller]
    pub fn elect(self, work: impl Fn(Lane<'_>) + LaneCapture)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: warp scope is not under lane-dependent control flow.
        unsafe { self.block.at.elect(work) }
    }

    /// Marks a number for ptxas as equal in all lanes (`shfl.sync`, PTX ISA 9.7.9.6).
    ///
    /// ptxas does not know this of a value that was read from memory. It keeps values derived from
    /// the result in uniform registers, and branches on them for the whole warp. The operands of
    /// `wgmma` need that.
    #[inline]
    pub fn uniform(self, number: u32) -> u32 {
        // SAFETY: warp scope is not under lane-dependent control flow, and a value that is no
        // `PerLane` is the same in all lanes.
        unsafe { uniform(number) }
    }

    /// Synchronises the lanes (`bar.warp.sync`, PTX ISA 9.7.13.2). Each lane then sees the earlier
    /// writes of all the others.
    #[inline]
    #[track_caller]
    pub fn sync(self) {
        // SAFETY: warp scope is not under lane-dependent control flow.
        unsafe { self.block.at.sync_warp(Site::here()) }
    }
}

/// Threads that divide work: the 32 of a [`Warp`], the 128 of a [`WarpGroup`], or all of a
/// [`Block`] or [`ClusterBlock`].
pub trait Threads: Sealed + Copy {
    /// The number of threads.
    fn count(self) -> usize;
    /// Evaluates `value(lane, rank)` in each thread; `rank` counts the threads from 0.
    #[track_caller]
    fn each_thread<T>(self, value: impl Fn(Lane<'_>, usize) -> T + LaneCapture) -> PerLane<T>;
}

impl Sealed for Warp<'_> {}
impl Threads for Warp<'_> {
    #[inline]
    fn count(self) -> usize {
        LANES
    }

    #[inline]
    #[track_caller]
    fn each_thread<T>(self, value: impl Fn(Lane<'_>, usize) -> T + LaneCapture) -> PerLane<T> {
        self.each(|lane| value(lane, lane.id()))
    }
}

impl Sealed for &Block<'_> {}
impl Threads for &Block<'_> {
    #[inline]
    fn count(self) -> usize {
        self.threads()
    }

    #[inline]
    #[track_caller]
    fn each_thread<T>(self, value: impl Fn(Lane<'_>, usize) -> T + LaneCapture) -> PerLane<T> {
        let first = self.warp().index() * LANES;
        self.warp().each(|lane| value(lane, first + lane.id()))
    }
}
