//! Tests of a phase that do not block, and a later wait.

use super::{Barrier, Phase};
use crate::lane::Site;
use crate::machine::mbarrier::LookAhead;
use crate::scope::Warp;
use crate::target::{AtLeast, BuiltFor};
use core::fmt;

/// The token of a non-blocking test of a phase ([`Barrier::begin_wait`]).
///
/// Each lane has its own answer, and the answers may differ. Only [`wait`](Self::wait) uses them,
/// and nothing prints or compares them.
#[derive(Clone, Copy)]
#[must_use = "nothing has been waited for until `wait`"]
pub struct BarrierToken {
    barrier: Barrier,
    phase: Phase,
    answer: LookAhead,
}

/// Prints the test without its answer.
impl fmt::Debug for BarrierToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BarrierToken { barrier, phase, .. } = self;
        f.debug_struct("BarrierToken")
            .field("barrier", barrier)
            .field("phase", phase)
            .finish_non_exhaustive()
    }
}

impl Barrier {
    /// Tests whether a phase is over, without blocking (`mbarrier.test_wait.parity`, PTX ISA
    /// 9.7.13.15.16). [`BarrierToken::wait`] uses the answer.
    ///
    /// CUTLASS calls it `test_wait`, and the token `ConsumerToken`. PTX's `mbarrier.try_wait`,
    /// which may suspend the thread, is [`try_wait`](Self::try_wait).
    ///
    /// The warp may work between the two, and so hides the latency of the test. Needs sm_90.
    ///
    /// `phase` is the current phase, or the preceding one, as for [`wait`](Self::wait). For a later
    /// phase the hardware would answer that it is over; the simulator reports that. Whatever the
    /// answer, the writes of other threads are visible only after [`BarrierToken::wait`].
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Warp 0 passes rows to warp 1, which tests for the next row before it uses a row.
    /// #[kernel(threads = 64, target = "sm_90")]
    /// fn sums(
    ///     block: &Block,
    ///     #[shared] rows: SharedTile<u32, 4, 32>,
    ///     #[shared] come: SharedRing<BarrierMemory, 4>,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let (come, warp) = (come.init(block, 32), block.warp());
    ///     if warp.index() == 0 {
    ///         warp.each(|lane| {
    ///             for row in 0..4 {
    ///                 rows.set((row, lane.id()), (10 * row + lane.id()) as u32);
    ///                 come.part(row).arrive(lane);
    ///             }
    ///         });
    ///     } else {
    ///         let mut token = come.part(0).begin_wait(warp, Phase::FIRST);
    ///         for row in 0..4 {
    ///             token.wait(warp);
    ///             if row < 3 {
    ///                 token = come.part(row + 1).begin_wait(warp, Phase::FIRST);
    ///             }
    ///             warp.each(|lane| {
    ///                 d.set(row * 32 + lane.id(), rows.get(lane, (row, 31 - lane.id())))
    ///             });
    ///         }
    ///     }
    /// }
    ///
    /// let mut d = [0; 128];
    /// sums::simulate(1, &mut d).check();
    /// assert_eq!((d[0], d[127]), (31, 30));
    /// ```
    #[inline]
    #[track_caller]
    pub fn begin_wait(self, warp: Warp<'_>, phase: Phase) -> BarrierToken
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = warp;
        // SAFETY: `init` has initialised the barrier.
        let answer = unsafe { LookAhead::at(Site::here(), self.address, phase.0) };
        BarrierToken { barrier: self, phase, answer }
    }
}

impl BarrierToken {
    /// Waits until the phase is over, unless the test has already found it over.
    ///
    /// Visibility and result are those of [`Barrier::wait`].
    #[inline]
    #[track_caller]
    pub fn wait(self, warp: Warp<'_>) -> Phase
    where
        Barrier: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: warp scope is not under lane-dependent control flow.
        if unsafe { self.answer.is_over() } {
            return self.phase.next();
        }
        self.barrier.wait(warp, self.phase)
    }
}
