//! Asking whether a phase is over, and waiting for it later.

use super::{Barrier, Phase};
use crate::lane::Site;
use crate::machine::mbarrier::LookAhead;
use crate::scope::Warp;
use crate::target::{AtLeast, BuiltFor};
use core::fmt;

/// What a warp has asked of a barrier ([`Barrier::look`]).
///
/// The answer is each lane's own, and lanes may have come to different ones: only
/// [`wait`](Self::wait) takes it, and nothing prints or compares it.
#[derive(Clone, Copy)]
#[must_use = "nothing has been waited for until `wait`"]
pub struct Look {
    barrier: Barrier,
    phase: Phase,
    answer: LookAhead,
}

/// The question, without the answer.
impl fmt::Debug for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Look { barrier, phase, .. } = self;
        f.debug_struct("Look")
            .field("barrier", barrier)
            .field("phase", phase)
            .finish_non_exhaustive()
    }
}

impl Barrier {
    /// The warp asks whether a phase is over, and does something else before it needs the answer,
    /// with which [`Look::wait`] begins (`mbarrier.test_wait.parity`, PTX ISA 9.7.13.15.16): so
    /// the time that an answer takes is spent on something. Needs sm_90.
    ///
    /// It is the current phase, or the one before, as of [`wait`](Self::wait): of a later one the
    /// hardware would say that it is over, which the simulator reports. Of what others did,
    /// nothing is known before the wait, whatever the answer is.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Warp 0 hands rows to warp 1, which asks for each before it is done with the one before.
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
    ///         let mut look = come.part(0).look(warp, Phase::FIRST);
    ///         for row in 0..4 {
    ///             look.wait(warp);
    ///             if row < 3 {
    ///                 look = come.part(row + 1).look(warp, Phase::FIRST);
    ///             }
    ///             warp.each(|lane| d.set(row * 32 + lane.id(), rows.get(lane, (row, 31 - lane.id()))));
    ///         }
    ///     }
    /// }
    ///
    /// let mut d = [0; 128];
    /// sums::simulate(1, &mut d).check();
    /// assert_eq!((d[0], d[127]), (31, 30));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn look(self, warp: Warp<'_>, phase: Phase) -> Look
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = warp;
        // SAFETY: a barrier, which `init` has made.
        let answer = unsafe { LookAhead::at(Site::here(), self.address, phase.0) };
        Look { barrier: self, phase, answer }
    }
}

impl Look {
    /// Waits until the phase is over, if it was not when the warp looked. What is seen then, and
    /// what is returned, is as of [`Barrier::wait`].
    #[inline(always)]
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
