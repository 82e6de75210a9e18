//! The scopes of execution: warps, warpgroups, blocks and clusters.
//!
//! A kernel gets its [`Block`], or its [`ClusterBlock`]. From it come the scopes whose threads
//! execute an instruction together.
//!
//! | item | purpose |
//! | --- | --- |
//! | [`Block`] | the block: its place in the grid, [`Block::sync`], its warps |
//! | [`Warp`] | 32 lanes; [`Warp::each`] runs a lane closure, [`Warp::elect`] runs it in one lane |
//! | [`WarpGroup`] | four warps, as `wgmma` takes them |
//! | [`ClusterBlock`], [`Cluster`] | a block of a cluster, and the cluster: ranks and barriers |
//! | [`Peer`], [`Peers`], [`Blocks`] | other blocks of the cluster; a set of them for multicast |
//! | [`Threads`] | the threads that share work: a warp's, or a block's |
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
mod peer;
pub(crate) mod shuffle;
mod warp_group;

pub use cluster::{Cluster, ClusterArrival, ClusterBlock};
pub use peer::{Blocks, Peer, Peers};
pub use warp_group::WarpGroup;

use crate::lane::Grid;
use crate::lane::Sealed;
use crate::lane::{LANES, Lane, LaneCapture, PerLane, Site};
use crate::machine::{BlockRef, fixed, uniform};
use crate::target::{AtLeast, BuiltFor};

/// Block scope: code that all warps of a block run. What it computes from the block's index and the
/// kernel's arguments is the same in all of them; [`warp`](Block::warp) leads to what differs by
/// warp.
///
/// A kernel is given it as its first parameter; there is no other way to get one.
pub struct Block<'k> {
    pub(crate) at: BlockRef<'k>,
}

impl !LaneCapture for Block<'_> {}

/// Warp scope: code that the 32 lanes of a warp run together, converged. Plain values in it are the
/// same in all lanes; what differs by lane is a [`PerLane`].
///
/// Collectives take it as proof that all lanes are there: a lane closure cannot capture it.
#[derive(Clone, Copy)]
pub struct Warp<'b> {
    block: &'b Block<'b>,
}

impl !LaneCapture for Warp<'_> {}

impl<'k> Block<'k> {
    /// The scope of a kernel's entry.
    ///
    /// # Safety
    /// The kernel was launched with blocks of `threads` threads in one dimension, a multiple of 32,
    /// and all threads of the block call this.
    #[inline(always)]
    #[doc(hidden)]
    pub unsafe fn enter(threads: usize) -> Self {
        // SAFETY: the caller's.
        Block { at: unsafe { BlockRef::enter(threads) } }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn simulated(simulated: crate::engine::WarpOfBlock<'k>) -> Self {
        Block { at: BlockRef::simulated(simulated) }
    }

    /// This block's index in the grid (`%ctaid`).
    #[inline(always)]
    pub fn index(&self) -> Grid {
        self.at.index()
    }

    /// The grid: how many blocks there are (`%nctaid`).
    #[inline(always)]
    pub fn grid(&self) -> Grid {
        self.at.grid()
    }

    /// Threads in the block, as `#[kernel(threads = ..)]` says.
    #[inline(always)]
    pub fn threads(&self) -> usize {
        self.at.threads()
    }

    /// Warps in the block.
    #[inline(always)]
    pub fn warps(&self) -> usize {
        self.threads() / LANES
    }

    /// The executing warp.
    #[inline(always)]
    pub fn warp(&self) -> Warp<'_> {
        Warp { block: self }
    }

    /// The same number, from which the compiler computes nothing before here: for what is rarely
    /// needed in a loop that has no register to spare. It is no instruction.
    #[inline(always)]
    pub fn late(&self, number: u32) -> u32 {
        fixed(number)
    }

    /// All warps wait for each other; what each wrote to memory before, all see after (`bar.sync
    /// 0`, PTX ISA 9.7.13.1).
    ///
    /// All warps of the block must come to a `sync`, as often as each other: the simulator reports
    /// a warp that does not; on a GPU the others wait for ever.
    #[inline(always)]
    #[track_caller]
    pub fn sync(&self) {
        // SAFETY: block scope is not under lane-dependent control flow, so each warp is converged.
        unsafe { self.at.sync(Site::here()) }
    }
}

impl<'b> Warp<'b> {
    /// The warp's index in its block.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.block.at.warp()
    }

    /// The block that the warp is of.
    #[inline(always)]
    pub fn block(self) -> &'b Block<'b> {
        self.block
    }

    /// Runs the lane closure in each lane: `value(lane)`.
    ///
    /// The closure may branch on what differs by lane; it can reach no collective (see
    /// [`LaneCapture`]).
    #[inline(always)]
    #[track_caller]
    pub fn each<T>(self, value: impl Fn(Lane<'_>) -> T + LaneCapture) -> PerLane<T> {
        self.block.at.each(value)
    }

    /// Runs the lane closure in each lane, with that lane's value to change. (The closure is handed
    /// the value as if it had captured it, so the value must be one that it may capture.)
    #[inline(always)]
    #[track_caller]
    pub fn update<T: LaneCapture>(
        self,
        values: &mut PerLane<T>,
        change: impl Fn(Lane<'_>, &mut T) + LaneCapture,
    ) {
        self.block.at.update(values, change);
    }

    /// Runs the lane closure in one lane, which the hardware elects, the same each time
    /// (`elect.sync`, PTX ISA 9.7.14.14): what one thread is to do for all. Needs sm_90.
    ///
    /// It need not be the first: in the simulator the seed says which one it is. What the other
    /// lanes did before, that lane need not see: put a [`sync`](Self::sync) before it where
    /// that matters.
    #[inline(always)]
    #[track_caller]
    pub fn elect(self, work: impl Fn(Lane<'_>) + LaneCapture)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: warp scope is not under lane-dependent control flow.
        unsafe { self.block.at.elect(work) }
    }

    /// The same number, of which the assembler learns that all lanes have it (`shfl.sync`, PTX ISA
    /// 9.7.9.6): of one that was read from memory it does not know. What follows from it is
    /// kept in uniform registers, and branched on whole: as `wgmma`'s operands need it.
    #[inline(always)]
    pub fn uniform(self, number: u32) -> u32 {
        // SAFETY: warp scope is not under lane-dependent control flow, and what is no `PerLane` is
        // the same in all lanes.
        unsafe { uniform(number) }
    }

    /// The lanes wait for each other; what each wrote to memory before, all see after
    /// (`bar.warp.sync`, PTX ISA 9.7.13.2).
    #[inline(always)]
    #[track_caller]
    pub fn sync(self) {
        // SAFETY: warp scope is not under lane-dependent control flow.
        unsafe { self.block.at.sync_warp(Site::here()) }
    }
}

/// The threads among which work is shared out: a [`Warp`]'s 32, or all of a [`Block`].
pub trait Threads: Sealed + Copy {
    /// How many there are.
    fn count(self) -> usize;
    /// The value `value(lane, rank)` in each thread, `rank` counting them from 0.
    #[track_caller]
    fn each_thread<T>(self, value: impl Fn(Lane<'_>, usize) -> T + LaneCapture) -> PerLane<T>;
}

impl Sealed for Warp<'_> {}
impl Threads for Warp<'_> {
    #[inline(always)]
    fn count(self) -> usize {
        LANES
    }

    #[inline(always)]
    #[track_caller]
    fn each_thread<T>(self, value: impl Fn(Lane<'_>, usize) -> T + LaneCapture) -> PerLane<T> {
        self.each(|lane| value(lane, lane.id()))
    }
}

impl Sealed for &Block<'_> {}
impl Threads for &Block<'_> {
    #[inline(always)]
    fn count(self) -> usize {
        self.threads()
    }

    #[inline(always)]
    #[track_caller]
    fn each_thread<T>(self, value: impl Fn(Lane<'_>, usize) -> T + LaneCapture) -> PerLane<T> {
        let first = self.warp().index() * LANES;
        self.warp().each(|lane| value(lane, first + lane.id()))
    }
}
