//! Barriers of a pipeline's stages, and a way round them.

use super::{Barrier, BarrierMemory, Phase};
use crate::memory::{RingIndex, SharedRing};
use crate::scope::Block;
use crate::target::{AtLeast, BuiltFor};

/// `N` barriers, one for each stage of a pipeline: [`SharedRing`]'s `init` makes it.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Warp 0 hands rows to warp 1, up to three rows ahead.
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
///     let mut turn = Turn::FIRST;
///     for round in 0..count {
///         let row = rows.stage(turn.index());
///         if warp.index() == 0 {
///             // The row's last round is over: in the first, from the beginning.
///             empty.stage(turn.index()).wait(warp, turn.phase_before());
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
    /// The barriers that the memory was made.
    #[inline(always)]
    pub(super) const fn of_memory(memory: SharedRing<BarrierMemory, N>) -> Self {
        BarrierRing { memory }
    }

    /// The barrier of this index.
    #[inline(always)]
    pub fn stage(self, index: RingIndex<N>) -> Barrier {
        Barrier { address: self.memory.stage(index).address }
    }

    /// Barrier `index`, less than `N`.
    #[inline(always)]
    #[track_caller]
    pub fn part(self, index: usize) -> Barrier {
        Barrier { address: self.memory.part(index).address }
    }

    /// The memory, for something else, once all warps of the block have come here and need none of
    /// the barriers any more: as [`Barrier::invalidate`]. Needs sm_90.
    #[inline(always)]
    #[track_caller]
    pub fn invalidate(self, block: &Block<'_>) -> SharedRing<BarrierMemory, N>
    where
        BarrierMemory: BuiltFor<AtLeast<90>>,
    {
        super::barrier::invalidate(block, |index| self.part(index).address, N);
        self.memory
    }
}

/// A stage of a ring of `N`, and how often the ring was gone round: the phase that the stage's
/// barrier is in.
///
/// ```
/// use ptx_matrix::sync::{Phase, Turn};
/// let second = Turn::<2>::FIRST.next();
/// assert_eq!((second.index().get(), second.phase()), (1, Phase::FIRST));
/// let third = second.next();
/// assert_eq!((third.index().get(), third.phase(), third.phase_before()), (0, Phase::FIRST.next(), Phase::FIRST));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn<const N: usize> {
    index: RingIndex<N>,
    phase: Phase,
}

impl<const N: usize> Turn<N> {
    /// Stage 0, for the first time.
    pub const FIRST: Self = Turn { index: RingIndex::FIRST, phase: Phase::FIRST };

    /// The next stage; behind the last, the first, for one time more.
    #[inline(always)]
    #[must_use]
    pub const fn next(self) -> Self {
        let index = self.index.next();
        let phase = if index.get() == 0 { self.phase.next() } else { self.phase };
        Turn { index, phase }
    }

    /// The stage.
    #[inline(always)]
    pub const fn index(self) -> RingIndex<N> {
        self.index
    }

    /// The phase of this time.
    #[inline(always)]
    pub const fn phase(self) -> Phase {
        self.phase
    }

    /// The phase of the time before.
    #[inline(always)]
    pub const fn phase_before(self) -> Phase {
        Phase(self.phase.0.wrapping_sub(1))
    }
}
