//! The scopes of execution: a block of warps, and a warp of 32 lanes.

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
use crate::lane::{LANES, Lane, LaneCapture, PerLane};
use crate::target::{AtLeast, BuiltFor};
#[cfg(not(target_arch = "nvptx64"))]
use crate::{engine as sim, lane::Site};
use core::marker::PhantomData;

/// Block scope: code that all warps of a block run. What it computes from the block's index and the kernel's
/// arguments is the same in all of them; [`warp`](Block::warp) leads to what differs by warp.
///
/// A kernel is given it as its first parameter; there is no other way to get one.
pub struct Block<'k> {
    #[cfg(target_arch = "nvptx64")]
    threads: usize,
    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) simulated: sim::WarpOfBlock<'k>,
    _kernel: PhantomData<&'k ()>,
}

impl !LaneCapture for Block<'_> {}

/// Warp scope: code that the 32 lanes of a warp run together, converged. Plain values in it are the same in
/// all lanes; what differs by lane is a [`PerLane`].
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
    /// The kernel was launched with blocks of `threads` threads in one dimension, a multiple of 32, and all
    /// threads of the block call this.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    #[doc(hidden)]
    pub unsafe fn enter(threads: usize) -> Self {
        // SAFETY: the caller's; nothing but the bound depends on the number. LLVM learns the bounds of the warp's index from it.
        unsafe { core::hint::assert_unchecked((crate::raw::index::thread() as usize) < threads) };
        Block { threads, _kernel: PhantomData }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn simulated(simulated: sim::WarpOfBlock<'k>) -> Self {
        Block { simulated, _kernel: PhantomData }
    }

    /// This block's index in the grid (`%ctaid`).
    #[inline(always)]
    pub fn index(&self) -> Grid {
        #[cfg(target_arch = "nvptx64")]
        return crate::raw::index::block().into();
        #[cfg(not(target_arch = "nvptx64"))]
        return self.simulated.block_index();
    }

    /// The grid: how many blocks there are (`%nctaid`).
    #[inline(always)]
    pub fn grid(&self) -> Grid {
        #[cfg(target_arch = "nvptx64")]
        return crate::raw::index::grid().into();
        #[cfg(not(target_arch = "nvptx64"))]
        return self.simulated.grid();
    }

    /// Threads in the block, as `#[kernel(threads = ..)]` says.
    #[inline(always)]
    pub fn threads(&self) -> usize {
        #[cfg(target_arch = "nvptx64")]
        return self.threads;
        #[cfg(not(target_arch = "nvptx64"))]
        return self.simulated.threads();
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

    /// The same number, from which the compiler computes nothing before here: for what is rarely needed in a loop that has no register to
    /// spare. It is no instruction.
    #[inline(always)]
    pub fn late(&self, number: u32) -> u32 {
        crate::machine::fixed(number)
    }

    /// All warps wait for each other; what each wrote to memory before, all see after (`bar.sync 0`, PTX ISA
    /// 9.7.13.1).
    ///
    /// All warps of the block must come to a `sync`, as often as each other: the simulator reports a warp that
    /// does not; on a GPU the others wait for ever.
    #[inline(always)]
    #[track_caller]
    pub fn sync(&self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: block scope is not under lane-dependent control flow, so each warp is converged.
        unsafe {
            crate::raw::bar_sync();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.simulated.sync(Site::here());
    }
}

impl<'b> Warp<'b> {
    /// The warp's index in its block.
    #[inline(always)]
    pub fn index(self) -> usize {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the quotient is the same in all lanes of a warp.
        return unsafe { crate::raw::index::thread() } as usize / LANES;
        #[cfg(not(target_arch = "nvptx64"))]
        return self.block.simulated.warp();
    }

    /// The block that the warp is of.
    #[inline(always)]
    pub fn block(self) -> &'b Block<'b> {
        self.block
    }

    /// Runs the lane closure in each lane: `value(lane)`.
    ///
    /// The closure may branch on what differs by lane; it can reach no collective (see [`LaneCapture`]).
    #[inline(always)]
    #[track_caller]
    pub fn each<T>(self, value: impl Fn(Lane<'_>) -> T + LaneCapture) -> PerLane<T> {
        #[cfg(target_arch = "nvptx64")]
        return {
            let _ = self;
            PerLane::from_own(value(Lane::current()))
        };
        #[cfg(not(target_arch = "nvptx64"))]
        return sim::each_lane(self.block.simulated, &value);
    }

    /// Runs the lane closure in each lane, with that lane's value to change. (The closure is handed the value as if it had
    /// captured it, so the value must be one that it may capture.)
    #[inline(always)]
    #[track_caller]
    pub fn update<T: LaneCapture>(self, values: &mut PerLane<T>, change: impl Fn(Lane<'_>, &mut T) + LaneCapture) {
        #[cfg(target_arch = "nvptx64")]
        change(Lane::current(), values.own_mut());
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let values = sim::taken_in_turn(values);
            sim::each_lane(self.block.simulated, &|lane: Lane<'_>| {
                change(lane, values[lane.id()].take().expect("each lane runs once"));
            });
        }
    }

    /// Runs the lane closure in one lane, which the hardware elects, the same each time (`elect.sync`, PTX ISA 9.7.14.14): what one
    /// thread is to do for all. Needs sm_90.
    ///
    /// It need not be the first: in the simulator the seed says which one it is. What the other lanes did before, that lane need not see: put a
    /// [`sync`](Self::sync) before it where that matters.
    #[inline(always)]
    #[track_caller]
    pub fn elect(self, work: impl Fn(Lane<'_>) + LaneCapture)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: warp scope is not under lane-dependent control flow.
        if unsafe { crate::raw::elect_sync() } {
            work(Lane::current());
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            sim::note_collective(Site::here(), "elect.sync");
            let elected = self.block.simulated.elected();
            self.each(|lane| {
                if lane.id() == elected {
                    work(lane);
                }
            });
        }
    }

    /// The same number, of which the assembler learns that all lanes have it (`shfl.sync`, PTX ISA 9.7.9.6): of one that was read from
    /// memory it does not know. What follows from it is kept in uniform registers, and branched on whole: as `wgmma`'s operands need it.
    #[inline(always)]
    pub fn uniform(self, number: u32) -> u32 {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: warp scope is not under lane-dependent control flow, and what is no `PerLane` is the same in all lanes.
        return unsafe { crate::machine::uniform(number) };
        #[cfg(not(target_arch = "nvptx64"))]
        number
    }

    /// The lanes wait for each other; what each wrote to memory before, all see after (`bar.warp.sync`, PTX ISA
    /// 9.7.13.2).
    #[inline(always)]
    #[track_caller]
    pub fn sync(self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: warp scope is not under lane-dependent control flow.
        unsafe {
            crate::raw::bar_warp_sync();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.block.simulated.sync_warp();
            sim::note_collective(Site::here(), "bar.warp.sync");
        }
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
