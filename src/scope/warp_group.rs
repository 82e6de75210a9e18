//! The scope of four warps: what executes `wgmma`.

use crate::lane::Sealed;
use crate::lane::Site;
use crate::lane::{LANES, Lane, LaneCapture, PerLane};
use crate::machine::fixed;
use crate::scope::{Block, Threads, Warp};
use crate::target::{ArchSpecific, BuiltFor};

/// Warpgroup scope: code that the 128 threads of four warps in a row run together, each warp
/// converged (PTX ISA 9.7.15.1). Plain values in it are the same in all of them; what differs by
/// warp is led to by [`warp`](Self::warp).
///
/// Collectives of a warpgroup take it as proof that a warp is converged. That all four warps come
/// is, as of [`Block::sync`], the kernel's to see to: the simulator reports those that do not; on a
/// GPU the others wait for ever, or are served as if they were there.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Each of two warpgroups turns its 128 numbers round, without waiting for the other.
/// #[kernel(threads = 256)]
/// fn turn(block: &Block, #[shared] tiles: SharedRing<SharedTile<u32, 1, 128>, 2>, d: GlobalMut<u32>) {
///     let group = block.warp_group();
///     let tile = tiles.part(group.index());
///     tile.fill(group, |_, col| col as u32);
///     group.sync();
///     let first = group.index() * 128;
///     group.each_thread(|lane, rank| d.set(first + rank, tile.get(lane, (0, 127 - rank))));
/// }
///
/// let mut d = [0; 256];
/// turn::simulate(1, &mut d).check();
/// assert_eq!((d[0], d[130]), (127, 125));
/// ```
#[derive(Clone, Copy)]
pub struct WarpGroup<'b> {
    warp: Warp<'b>,
    /// Its index.
    warp_index: u32,
}

impl !LaneCapture for WarpGroup<'_> {}

/// Threads of a warpgroup.
const THREADS: usize = 4 * LANES;

impl Block<'_> {
    /// The four warps that the executing one is of: in a block of 288 threads, say, of the first
    /// eight warps; the last is for what needs no warpgroup, such as copies.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Two warpgroups double what a warp has brought.
    /// #[kernel(threads = 288, target = "sm_90")]
    /// fn doubled(block: &Block, #[shared] tile: SharedTile<u32, 2, 128>, d: GlobalMut<u32>) {
    ///     if block.warp().index() == 8 {
    ///         tile.fill(block.warp(), |row, col| (row * 128 + col) as u32);
    ///     }
    ///     block.sync();
    ///     if block.warp().index() < 8 {
    ///         let group = block.warp_group();
    ///         let row = group.index();
    ///         group.each_thread(|lane, col| d.set(row * 128 + col, 2 * tile.get(lane, (row, col))));
    ///     }
    /// }
    ///
    /// let mut d = [0; 256];
    /// doubled::simulate(1, &mut d).check();
    /// assert_eq!(d[200], 400);
    /// ```
    ///
    /// # Panics
    /// If the executing warp is one of the last of a block whose threads are no multiple of 128:
    /// these are fewer than four.
    #[inline(always)]
    #[track_caller]
    pub fn warp_group(&self) -> WarpGroup<'_> {
        let warp = self.warp();
        // SAFETY: block scope is not under lane-dependent control flow; a warp has one index, of
        // its block's.
        let warp_index = unsafe { self.at.uniform_warp(self.warps()) };
        // Where all are whole, nothing is asked.
        assert!(
            self.threads().is_multiple_of(THREADS)
                || (warp_index as usize / 4 + 1) * THREADS <= self.threads(),
            "a warpgroup has four warps, and this is one of the block's last, of which there are fewer"
        );
        WarpGroup { warp, warp_index }
    }
}

impl<'b> WarpGroup<'b> {
    /// The warpgroup's index in its block.
    #[inline(always)]
    pub fn index(self) -> usize {
        (self.warp_index / 4) as usize
    }

    /// The executing warp.
    #[inline(always)]
    pub fn warp(self) -> Warp<'b> {
        self.warp
    }

    /// The executing warp's index in the warpgroup: it holds rows `16 * rank` to `16 * rank + 15`
    /// of a `wgmma`'s A and D.
    #[inline(always)]
    pub fn warp_rank(self) -> usize {
        (self.warp_index % 4) as usize
    }

    /// The block that the warpgroup is of.
    #[inline(always)]
    pub fn block(self) -> &'b Block<'b> {
        self.warp.block()
    }

    /// Each thread keeps `COUNT` registers, and the block has the others back, for other warpgroups
    /// to take (`setmaxnreg.dec`, PTX ISA 9.7.20.5). `COUNT` is a multiple of 8, from 24 to
    /// 256. Needs a build for one architecture or family from Hopper on, such as sm_90a, sm_100f or
    /// sm_120a.
    ///
    /// A block begins with as many for each thread as fit a multiprocessor, if the kernel's
    /// `threads` and `min_blocks` say how many threads that is; what a warpgroup does from here
    /// on, the assembler makes fit. All its warps come here, at one line, and wait for each other
    /// ([`sync`](Self::sync)) before they come to another: the simulator reports those that do not.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// One warpgroup needs few registers; so the other two have more than 168.
    /// #[kernel(threads = 384, min_blocks = 1, target = "sm_90a")]
    /// fn share(block: &Block) {
    ///     let group = block.warp_group();
    ///     if group.index() == 0 {
    ///         group.give_registers::<40>();
    ///     } else {
    ///         group.take_registers::<232>();
    ///     }
    /// }
    ///
    /// share::simulate(1).check();
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn give_registers<const COUNT: u32>(self)
    where
        Self: BuiltFor<ArchSpecific<90>>,
    {
        // SAFETY: warpgroup scope is converged. How many registers there are concerns the
        // assembler, which knows and refuses, or ignores it.
        unsafe { self.block().at.give_registers::<COUNT>(Site::here()) }
    }

    /// Waits until the block has as many registers free, then each thread has `COUNT`
    /// (`setmaxnreg.inc`): as [`give_registers`](Self::give_registers).
    #[inline(always)]
    #[track_caller]
    pub fn take_registers<const COUNT: u32>(self)
    where
        Self: BuiltFor<ArchSpecific<90>>,
    {
        // SAFETY: as above.
        unsafe { self.block().at.take_registers::<COUNT>(Site::here()) }
    }

    /// The four warps wait for each other; what each wrote to memory before, all see after
    /// (`bar.sync` of 128 threads, PTX ISA 9.7.13.1). Each warpgroup of a block has a barrier
    /// of its own.
    #[inline(always)]
    #[track_caller]
    pub fn sync(self) {
        // Barrier 0 is the block's.
        let barrier = 1 + self.index() as u32;
        // SAFETY: warpgroup scope is not under lane-dependent control flow, and no others come to
        // this barrier.
        unsafe { self.block().at.sync_named(Site::here(), barrier, THREADS as u32) }
    }
}

impl Sealed for WarpGroup<'_> {}
impl Threads for WarpGroup<'_> {
    #[inline(always)]
    fn count(self) -> usize {
        THREADS
    }

    #[inline(always)]
    #[track_caller]
    fn each_thread<T>(self, value: impl Fn(Lane<'_>, usize) -> T + LaneCapture) -> PerLane<T> {
        let first = self.warp_rank() * LANES;
        // Computed here, and not before a loop around it, where it would take a register.
        self.warp.each(|lane| value(lane, first + fixed(lane.id() as u32) as usize))
    }
}
