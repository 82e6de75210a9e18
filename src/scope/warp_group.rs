//! Warpgroup scope: four warps, which execute `wgmma` together.

use crate::lane::Sealed;
use crate::lane::Site;
use crate::lane::{LANES, Lane, LaneCapture, PerLane};
use crate::machine::fixed;
use crate::scope::{Block, Threads, Warp};
use crate::target::{ArchSpecific, BuiltFor};

/// Warpgroup scope: code that the 128 threads of four consecutive warps execute together, each warp
/// converged (PTX ISA 9.7.15.1).
///
/// A plain value is the same in all of them. [`warp`](Self::warp) returns the executing warp, and
/// so values that differ by warp.
///
/// A collective of a warpgroup takes the `WarpGroup` as proof that the executing warp is converged.
/// All four warps must execute it, as for [`Block::sync`]. The simulator reports a warp that does
/// not. On a GPU the others wait for ever, or continue as if it had.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Two warpgroups reverse 128 numbers each, independently.
/// #[kernel(threads = 256)]
/// fn turn(
///     block: &Block,
///     #[shared] tiles: SharedRing<SharedTile<u32, 1, 128>, 2>,
///     d: GlobalMut<u32>,
/// ) {
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
    /// The executing warp's index in the block.
    warp_index: u32,
}

/// Threads of a warpgroup.
const THREADS: usize = 4 * LANES;

impl Block<'_> {
    /// The warpgroup of the executing warp: four consecutive warps.
    ///
    /// In a block of 288 threads the first eight warps form two warpgroups. The last warp can do
    /// work that needs no warpgroup, such as copies.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Two warpgroups double the numbers that a ninth warp has written.
    /// #[kernel(threads = 288, target = "sm_90")]
    /// fn doubled(block: &Block, #[shared] tile: SharedTile<u32, 2, 128>, d: GlobalMut<u32>) {
    ///     if block.warp().index() == 8 {
    ///         tile.fill(block.warp(), |row, col| (row * 128 + col) as u32);
    ///     }
    ///     block.sync();
    ///     if block.warp().index() < 8 {
    ///         let group = block.warp_group();
    ///         let row = group.index();
    ///         group.each_thread(|lane, col| {
    ///             d.set(row * 128 + col, 2 * tile.get(lane, (row, col)))
    ///         });
    ///     }
    /// }
    ///
    /// let mut d = [0; 256];
    /// doubled::simulate(1, &mut d).check();
    /// assert_eq!(d[200], 400);
    /// ```
    ///
    /// # Panics
    /// If the block's threads are no multiple of 128, and the executing warp is one of the last,
    /// incomplete group.
    #[inline]
    #[track_caller]
    pub fn warp_group(&self) -> WarpGroup<'_> {
        let warp = self.warp();
        // SAFETY: block scope is not under lane-dependent control flow; a warp has one index, of
        // those of its block.
        let warp_index = unsafe { self.at.uniform_warp(self.warps()) };
        // No test at run time if all warpgroups are complete.
        assert!(
            self.threads().is_multiple_of(THREADS)
                || (warp_index as usize / 4 + 1) * THREADS <= self.threads(),
            "a warpgroup has four warps, and this warp is in the incomplete group at the end of \
             the block"
        );
        WarpGroup { warp, warp_index }
    }
}

impl<'b> WarpGroup<'b> {
    /// The warpgroup's index in its block.
    #[inline]
    pub fn index(self) -> usize {
        (self.warp_index / 4) as usize
    }

    /// The executing warp.
    #[inline]
    pub fn warp(self) -> Warp<'b> {
        self.warp
    }

    /// The executing warp's index in the warpgroup: it holds rows `16 * rank` to `16 * rank + 15`
    /// of A and D of a `wgmma`.
    #[inline]
    pub fn warp_rank(self) -> usize {
        (self.warp_index % 4) as usize
    }

    /// The warpgroup's block.
    #[inline]
    pub fn block(self) -> &'b Block<'b> {
        self.warp.block()
    }

    /// Releases registers to the block: each thread keeps `COUNT` (`setmaxnreg.dec`, PTX ISA
    /// 9.7.20.5).
    ///
    /// `COUNT` is a multiple of 8, from 24 to 256. Other warpgroups can take the released
    /// registers. Needs a build for one architecture or family from Hopper on, such as sm_90a,
    /// sm_100f or sm_120a.
    ///
    /// The kernel sets `min_blocks` or `max_registers`, or ptxas ignores the instruction, and the
    /// build refuses the kernel. With `min_blocks = 1`, each thread starts with as many registers
    /// as fit the SM: 168 of 384 threads, in the example. Its warpgroups then share 384 x 168
    /// registers, which are 128 x 40 and 256 x 232.
    ///
    /// The code after this instruction is compiled by ptxas to fit `COUNT`. All warps of the
    /// warpgroup execute it at the same source line. They wait for each other
    /// ([`sync`](Self::sync)) before they execute another one. The simulator reports warps that do
    /// not.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// One warpgroup needs few registers, so that the other two can have more than 168.
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
    #[inline]
    #[track_caller]
    pub fn give_registers<const COUNT: u32>(self)
    where
        Self: BuiltFor<ArchSpecific<90>>,
    {
        // SAFETY: the warp is converged. The simulator reports a warpgroup whose warps do not all
        // execute this; on a GPU it may wait for ever. The number of registers concerns ptxas
        // alone, which refuses or ignores a wrong one.
        unsafe { self.block().at.give_registers::<COUNT>(Site::here()) }
    }

    /// Waits until the block has enough free registers, and then gives each thread `COUNT`
    /// (`setmaxnreg.inc`). The conditions are those of [`give_registers`](Self::give_registers).
    #[inline]
    #[track_caller]
    pub fn take_registers<const COUNT: u32>(self)
    where
        Self: BuiltFor<ArchSpecific<90>>,
    {
        // SAFETY: as above.
        unsafe { self.block().at.take_registers::<COUNT>(Site::here()) }
    }

    /// Synchronises the four warps (`bar.sync` of 128 threads, PTX ISA 9.7.13.1).
    ///
    /// Each warp then sees the earlier writes of the others. Each warpgroup of a block has its own
    /// barrier.
    #[inline]
    #[track_caller]
    pub fn sync(self) {
        // Barrier 0 is the block's.
        let barrier = 1 + self.index() as u32;
        // SAFETY: warpgroup scope is not under lane-dependent control flow, and no other warps use
        // this barrier.
        unsafe { self.block().at.sync_named(Site::here(), barrier, THREADS as u32) }
    }
}

impl Sealed for WarpGroup<'_> {}
impl Threads for WarpGroup<'_> {
    #[inline]
    fn count(self) -> usize {
        THREADS
    }

    #[inline]
    #[track_caller]
    fn each_thread<T>(self, value: impl Fn(Lane<'_>, usize) -> T + LaneCapture) -> PerLane<T> {
        let first = self.warp_rank() * LANES;
        // Computed here, and not before an enclosing loop, where it would occupy a register.
        self.warp.each(|lane| value(lane, first + fixed(lane.id() as u32) as usize))
    }
}
