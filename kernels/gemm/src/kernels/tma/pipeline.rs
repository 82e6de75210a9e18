//! A block's stages: one warp has them filled, several steps ahead, also from one tile of D to the next; consumers multiply them.

use crate::kernels::by_maps::{Fill, Left, Memory, Right, Share, Unit, Work};
use ptx_matrix::launch::Early;
use ptx_matrix::*;

/// The stages, and their barriers.
#[derive(Clone, Copy)]
pub struct Pipeline<A, B, const STAGES: usize> {
    /// The tiles on their way, and those that are multiplied.
    pub stages: SharedRing<(A, B), STAGES>,
    /// Whether a stage's tiles have come.
    pub full: BarrierRing<STAGES>,
    /// Whether they have been multiplied, by all consumers.
    pub empty: BarrierRing<STAGES>,
}

impl<A: Left, B: Right, const STAGES: usize> Pipeline<A, B, STAGES> {
    /// Initialises the barriers, and has the maps brought near.
    #[inline(always)]
    pub fn begin<Strip, const STRIPS: usize, const CONSUMERS: usize>(
        block: &Block<'_>,
        memory: &Memory<A, B, Strip, STRIPS, STAGES, CONSUMERS>,
        a: &Early<TensorMap<'_, A::Box, 3>>,
        b: &Early<TensorMap<'_, B::Box, 3>>,
    ) -> Self {
        if block.warp().index() == 0 {
            block.warp().elect(|lane| {
                a.prefetch(lane);
                b.prefetch(lane);
            });
        }
        let (full, empty) = (memory.full.init(block, 1), memory.empty.init(block, CONSUMERS as u32));
        Pipeline { stages: memory.stages, full, empty }
    }
}

/// What a block does of the work, of tiles of `M` x `N`, one behind the other.
#[derive(Clone, Copy)]
pub struct Units<const M: usize, const N: usize> {
    work: Work,
    /// The next unit, where they end, and how far apart they are.
    next: u32,
    end: u32,
    distance: u32,
}

impl<const M: usize, const N: usize> Units<M, N> {
    /// Those of this block.
    #[inline(always)]
    pub fn of_block(work: Work, block: &Block<'_>) -> Self {
        // Which the compiler is to know: there is no other block in its cluster.
        let work = Work { across: false, ..work };
        Units { work, next: block.index().x, end: work.units::<M, N, 1>(), distance: block.grid().x }
    }

    /// The next of them.
    #[inline(always)]
    pub fn next(&mut self) -> Option<Unit> {
        if self.next >= self.end {
            return None;
        }
        let unit = self.work.unit::<M, N, 1>(self.next, 0);
        self.next += self.distance;
        Some(unit)
    }
}

/// What has the stages filled: the tiles of all steps of a block's units, one behind the other. Where warps take turns, each keeps count of all
/// steps, and starts the copies of its own.
pub struct Producer<'k, A: Left, B: Right, const M: usize, const N: usize, const STAGES: usize> {
    /// The stages.
    pub pipeline: Pipeline<A, B, STAGES>,
    /// All of A.
    pub a: TensorMap<'k, A::Box, 3>,
    /// All of B.
    pub b: TensorMap<'k, B::Box, 3>,
    /// The units that it has not begun.
    pub units: Units<M, N>,
    /// What is left of the unit that it is at.
    pub rest: Option<Unit>,
    /// The next stage.
    pub turn: Turn<STAGES>,
    /// How many steps others see to before.
    pub until: u32,
}

impl<A: Left, B: Right, const M: usize, const N: usize, const STAGES: usize> Producer<'_, A, B, M, N, STAGES> {
    /// Goes on to the next step, `K` deep, and says whether there is one: if it is its warp's turn, of `WARPS`, waits until the stage is empty, and
    /// starts to fill it.
    #[inline(always)]
    pub fn fill<const K: usize, const WARPS: usize>(&mut self, warp: Warp<'_>) -> bool {
        let Some(unit) = self.rest.or_else(|| self.units.next()) else { return false };
        let (turn, (row, col, inner)) = (self.turn, unit.start);
        if self.until == 0 {
            let Pipeline { stages, full, empty } = self.pipeline;
            let ((tiles_a, tiles_b), full) = (stages.stage(turn.index()), full.stage(turn.index()));
            let (a, b) = (self.a, self.b);
            empty.stage(turn.index()).wait(warp, turn.phase_before());
            warp.elect(|lane| {
                full.arrive_expecting(lane, A::copied(u32::MAX) + B::copied(u32::MAX));
                let (barrier, batch, wanted, share) = (full, unit.batch, u32::MAX, None::<Share<1>>);
                tiles_a.load(Fill { lane, map: a, at: (row, inner), batch, wanted, barrier, share });
                tiles_b.load(Fill { lane, map: b, at: (inner, col), batch: unit.of_b(), wanted, barrier, share });
            });
        }
        self.until = (self.until + WARPS as u32 - 1) % WARPS as u32;
        self.rest = unit.behind(K as u32);
        self.turn = turn.next();
        true
    }
}
