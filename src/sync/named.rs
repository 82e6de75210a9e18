//! Barriers of a block that count threads and have a number (`bar`, PTX ISA 9.7.13.1).

use crate::lane::{LANES, Site};
use crate::scope::Warp;

/// A barrier for some warps of a block. A warp waits there ([`sync`](Self::sync)), or arrives
/// without waiting ([`arrive`](Self::arrive)).
///
/// A phase of the barrier is complete when `threads` threads have come, 32 for each warp. Then the
/// waiting warps continue, and see the earlier writes of all warps that came. The barrier is ready
/// for the next phase at once. It needs no shared memory and no initialisation, and every GPU has
/// it. A [`Barrier`](super::Barrier) also counts single lanes and the bytes of copies.
///
/// A block has seven of these, numbered from 0. ([`Block::sync`](crate::scope::Block::sync) and
/// [`WarpGroup::sync`](crate::scope::WarpGroup::sync) have others.)
///
/// The barrier counts threads, whichever they are. So a warp that has arrived comes again only
/// after it knows that the phase is complete: it waits for something that the other warps do after
/// it. The same holds for warps that were not among those of the last phase. The simulator reports
/// warps that may be counted in a wrong phase, and threads that never come.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Two warpgroups add to the sums in turn: each waits for its own barrier, and arrives at the
/// /// other's.
/// #[kernel(threads = 256)]
/// fn in_turn(block: &Block, #[shared] sums: SharedTile<u32, 1, 128>, d: GlobalMut<u32>) {
///     let group = block.warp_group();
///     let turn = NamedBarrier::new(group.index(), 256);
///     let others_turn = NamedBarrier::new(1 - group.index(), 256);
///     if group.index() == 1 {
///         sums.fill(group, |_, _| 0);
///         others_turn.arrive(group.warp());
///     }
///     for round in 0..4 {
///         turn.sync(group.warp());
///         group.each_thread(|lane, col| {
///             let sum = sums.get(lane, (0, col));
///             sums.set((0, col), sum * 3 + round);
///         });
///         // The second warpgroup passes on its last turn to nobody.
///         if group.index() == 0 || round < 3 {
///             others_turn.arrive(group.warp());
///         }
///     }
///     if group.index() == 1 {
///         sums.for_each(group, |_, col, sum| d.set(col, sum));
///     }
/// }
///
/// let mut d = [0; 128];
/// in_turn::simulate(1, &mut d).check();
/// let expected = (0..4).fold(0, |sum, round| (sum * 3 + round) * 3 + round);
/// assert_eq!(d, [expected; 128]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct NamedBarrier {
    number: u32,
    threads: u32,
}

impl NamedBarrier {
    /// The number of barriers that a block has.
    pub const COUNT: usize = 7;

    /// The first number in PTX. Number 0 is the block's, and 1 to 8 are those of its warpgroups.
    const FIRST: u32 = 9;

    /// The barrier with this number, from 0 to 6, for this many threads: 32 for each warp that
    /// comes in a phase.
    ///
    /// All warps that come to a barrier give the same `threads`. In PTX and in reports, its number
    /// is 9 more.
    ///
    /// # Panics
    /// If there is no such barrier, or `threads` is no multiple of 32 from 32 to 1024.
    #[inline]
    #[track_caller]
    pub const fn new(number: usize, threads: usize) -> Self {
        assert!(number < Self::COUNT, "the named barriers of a block have the numbers 0 to 6");
        assert!(
            threads > 0 && threads <= 1024 && threads.is_multiple_of(LANES),
            "a named barrier is for whole warps: a multiple of 32 threads, from 32 to 1024"
        );
        NamedBarrier { number: Self::FIRST + number as u32, threads: threads as u32 }
    }

    /// Counts the warp, and waits until the phase is complete (`bar.sync`).
    #[inline]
    #[track_caller]
    pub fn sync(self, warp: Warp<'_>) {
        // SAFETY: at warp scope the warp is converged. The number and the threads are valid.
        unsafe { warp.block().at.sync_named(Site::here(), self.number, self.threads) }
    }

    /// Counts the warp, and does not wait (`bar.arrive`). Warps that wait for this phase see the
    /// warp's earlier writes.
    #[inline]
    #[track_caller]
    pub fn arrive(self, warp: Warp<'_>) {
        // SAFETY: as above.
        unsafe { warp.block().at.arrive_named(Site::here(), self.number, self.threads) }
    }
}
