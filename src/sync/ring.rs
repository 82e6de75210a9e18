//! The barriers of a pipeline's stages, and the pipeline's state.

use super::{Barrier, BarrierMemory, Phase};
use crate::memory::{RingIndex, SharedRing};
use crate::scope::Block;
use crate::target::{AtLeast, BuiltFor};

/// `N` barriers, one for each stage of a pipeline, from [`SharedRing`]'s `init`.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Warp 0 passes rows to warp 1, up to three rows ahead.
/// #[kernel(threads = 64, target = "sm_90")]
/// fn hand_over(
///     block: &Block,
///     #[shared] rows: SharedRing<SharedTile<u32, 1, 32>, 3>,
///     #[shared] full: SharedRing<BarrierMemory, 3>,
///     #[shared] empty: SharedRing<BarrierMemory, 3>,
///     d: GlobalMut<u32>,
/// ) {
///     let (full, empty) = (full.init(block, 32), empty.init(block, 32));
///     let (warp, count) = (block.warp(), d.len() / 32);
///     let mut turn = PipelineState::FIRST;
///     for round in 0..count {
///         let row = rows.stage(turn.index());
///         if warp.index() == 0 {
/// // The consumer has released the row's previous round. In the first round it is free.
///             empty.stage(turn.index()).wait(warp, turn.prev_phase());
///             warp.each(|lane| {
///                 row.set((0, lane.id()), (round * 32 + lane.id()) as u32);
///                 full.stage(turn.index()).arrive(lane);
///             });
///         } else {
///             full.stage(turn.index()).wait(warp, turn.phase());
///             warp.each(|lane| {
///                 d.set(round * 32 + lane.id(), row.get(lane, (0, lane.id() ^ 1)));
///                 empty.stage(turn.index()).arrive(lane);
///             });
///         }
///         turn = turn.next();
///     }
/// }
///
/// let mut d = [0; 320];
/// hand_over::simulate(1, &mut d).check();
/// assert_eq!((d[0], d[319]), (1, 318));
/// ```
#[derive(Clone, Copy)]
pub struct BarrierRing<const N: usize> {
    pub(super) memory: SharedRing<BarrierMemory, N>,
}

impl<const N: usize> BarrierRing<N> {
    /// Takes the barriers that `init` has made in this memory.
    #[inline]
    pub(super) const fn of_memory(memory: SharedRing<BarrierMemory, N>) -> Self {
        BarrierRing { memory }
    }

    /// The barrier of the stage `index`.
    #[inline]
    pub fn stage(self, index: RingIndex<N>) -> Barrier {
        Barrier { address: self.memory.stage(index).address }
    }

    /// Barrier `index`, less than `N`; otherwise the kernel stops.
    #[inline]
    #[track_caller]
    pub fn part(self, index: usize) -> Barrier {
        Barrier { address: self.memory.part(index).address }
    }

    /// Invalidates the barriers and returns their memory: as [`Barrier::invalidate`]. Needs sm_90.
    #[inline]
    #[track_caller]
    pub fn invalidate(self, block: &Block<'_>) -> SharedRing<BarrierMemory, N>
    where
        BarrierMemory: BuiltFor<AtLeast<90>>,
    {
        super::barrier::invalidate(block, |index| self.part(index).address, N);
        self.memory
    }
}

/// The state of a pipeline with `N` stages: the current stage, and the phase of its barriers
/// (CUTLASS's `PipelineState`).
///
/// ```
/// use ptx_matrix::sync::{Phase, PipelineState};
/// let second = PipelineState::<2>::FIRST.next();
/// assert_eq!((second.index().get(), second.phase()), (1, Phase::FIRST));
/// let third = second.next();
/// assert_eq!(
///     (third.index().get(), third.phase(), third.prev_phase()),
///     (0, Phase::FIRST.next(), Phase::FIRST)
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineState<const N: usize> {
    index: RingIndex<N>,
    phase: Phase,
}

impl<const N: usize> PipelineState<N> {
    /// Stage 0, in the first round.
    pub const FIRST: Self = PipelineState { index: RingIndex::FIRST, phase: Phase::FIRST };

    /// The next stage. After the last stage comes stage 0, with the next phase.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        let index = self.index.next();
        let phase = if index.get() == 0 { self.phase.next() } else { self.phase };
        PipelineState { index, phase }
    }

    /// The state `steps` stages later, as after so many calls of [`next`](Self::next). A warpgroup
    /// that leaves the steps of another one out calls it (ping-pong).
    ///
    /// ```
    /// use ptx_matrix::sync::{Phase, PipelineState};
    ///
    /// let state = PipelineState::<3>::FIRST.next().advance(7);
    /// assert_eq!((state.index().get(), state.phase()), (2, Phase::FIRST.after(2)));
    /// ```
    #[inline]
    #[must_use]
    pub const fn advance(self, steps: u32) -> Self {
        let (index, rounds) = self.index.advance(steps);
        PipelineState { index, phase: self.phase.after(rounds) }
    }

    /// The index of the stage.
    #[inline]
    pub const fn index(self) -> RingIndex<N> {
        self.index
    }

    /// The phase of this round: the consumer waits for it on the full barrier.
    #[inline]
    pub const fn phase(self) -> Phase {
        self.phase
    }

    /// The phase of the previous round: the producer waits for it on the empty barrier.
    #[inline]
    pub const fn prev_phase(self) -> Phase {
        Phase(self.phase.0.wrapping_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::PipelineState;

    fn advances_like_next<const N: usize>() {
        let mut start = PipelineState::<N>::FIRST;
        for _ in 0..2 * N {
            let mut state = start;
            for steps in 0..5 * N as u32 {
                assert_eq!(start.advance(steps), state, "{steps} steps of {N} stages");
                state = state.next();
            }
            start = start.next();
        }
    }

    #[test]
    fn advance_is_as_many_calls_of_next() {
        advances_like_next::<1>();
        advances_like_next::<2>();
        advances_like_next::<3>();
        advances_like_next::<7>();
    }
}
