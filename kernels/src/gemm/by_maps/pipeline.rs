//! A block's stages: one warp has them filled, several steps ahead, also from one tile of D to the next; consumers multiply them.
//!
//! A barrier for each stage, `full`, is told when its tiles have come; another, `empty`, by each consumer when it has read them. Blocks of
//! a cluster compute tiles of D below each other, for which they need the same tiles of B, or beside each other, with the same of A: each
//! brings a share of these to all of them.

use super::factor::{Left, Right, Share};
use super::work::{Unit, Units};
use ptx_matrix::launch::Early;
use ptx_matrix::*;

/// A block's shared memory.
pub struct Memory<A, B, Strip, const STRIPS: usize, const STAGES: usize, const CONSUMERS: usize> {
    /// The tiles on their way, and those that are multiplied.
    pub stages: SharedRing<(A, B), STAGES>,
    /// What goes to D, for each consumer.
    pub strips: SharedRing<SharedRing<Strip, STRIPS>, CONSUMERS>,
    /// Whether a stage's tiles have come.
    pub full: SharedRing<BarrierMemory, STAGES>,
    /// Whether they have been multiplied.
    pub empty: SharedRing<BarrierMemory, STAGES>,
}

/// The stages, and their barriers.
#[derive(Clone, Copy)]
pub struct Pipeline<A, B, const STAGES: usize> {
    /// The tiles on their way, and those that are multiplied.
    pub stages: SharedRing<(A, B), STAGES>,
    /// Whether a stage's tiles have come.
    pub full: BarrierRing<STAGES>,
    /// Whether they have been multiplied, by all consumers of the cluster.
    pub empty: BarrierRing<STAGES>,
}

impl<A: Left, B: Right, const STAGES: usize> Pipeline<A, B, STAGES> {
    /// Initialises the barriers, and has the maps brought near. Behind it, those of the whole cluster are some.
    #[inline(always)]
    pub fn begin<Strip, const STRIPS: usize, const CONSUMERS: usize, const BLOCKS: usize>(
        block: &ClusterBlock<'_, BLOCKS>,
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
        let full = memory.full.init(block, 1);
        let empty = memory.empty.init(block, (BLOCKS * CONSUMERS) as u32);
        if BLOCKS > 1 {
            // So that the others' barriers are some, and they run.
            block.cluster().sync();
        }
        Pipeline { stages: memory.stages, full, empty }
    }
}

/// What has the stages filled: the tiles of all steps of a block's units, one behind the other.
pub struct Producer<'k, A: Left, B: Right, const M: usize, const N: usize, const STAGES: usize, const BLOCKS: usize> {
    pipeline: Pipeline<A, B, STAGES>,
    a: TensorMap<'k, A::Box, 3>,
    b: TensorMap<'k, B::Box, 3>,
    /// What it brings of the tiles that all blocks of the cluster need.
    share: Share<BLOCKS>,
    units: Units<M, N, BLOCKS>,
    /// What is left of the unit that it is at.
    rest: Option<Unit>,
    /// The next stage.
    turn: Turn<STAGES>,
}

impl<'k, A: Left, B: Right, const M: usize, const N: usize, const STAGES: usize, const BLOCKS: usize>
    Producer<'k, A, B, M, N, STAGES, BLOCKS>
{
    /// One that has filled none.
    #[inline(always)]
    pub fn new(
        pipeline: Pipeline<A, B, STAGES>,
        cluster: Cluster<'_, BLOCKS>,
        units: Units<M, N, BLOCKS>,
        a: TensorMap<'k, A::Box, 3>,
        b: TensorMap<'k, B::Box, 3>,
    ) -> Self {
        let share = Share { rank: cluster.rank(), blocks: cluster.all() };
        Producer { pipeline, a, b, share, units, rest: None, turn: Turn::FIRST }
    }

    /// Waits until the next stage is empty, and starts to fill it with the tiles of the next step, `K` deep. Says whether there is one.
    #[inline(always)]
    pub fn fill<const K: usize>(&mut self, warp: Warp<'_>) -> bool {
        let Some(unit) = self.rest.or_else(|| self.units.next()) else { return false };
        let (turn, (row, col, inner)) = (self.turn, unit.start);
        let ((tiles_a, tiles_b), full) =
            (self.pipeline.stages.stage(turn.index()), self.pipeline.full.stage(turn.index()));
        let (across, share) = (self.units.across(), self.share);
        let (of_a, of_b) = (across.then_some(share), (!across).then_some(share));
        let (a, b) = (self.a, self.b);
        self.pipeline.empty.stage(turn.index()).wait(warp, turn.phase_before());
        warp.elect(|lane| {
            full.arrive_expecting(lane, A::COPIED + B::COPIED);
            tiles_a.load(lane, a, (row, inner), unit.batch, full, of_a);
            tiles_b.load(lane, b, (inner, col), unit.of_b(), full, of_b);
        });
        self.rest = unit.behind(K as u32);
        self.turn = turn.next();
        true
    }
}
