//! The consumer: a warpgroup with 64 queries. For each tile of keys and values: scores S = Q x K^T,
//! powers P of the scores (online softmax), O += P x V.

use crate::kernel::{KEYS, Mask, Queries, SLICE, STAGES};
use crate::producer::Tiles;
use crate::softmax::{MASKED_SCORE, Softmax};
use ptx_matrix::element::{Bits16, Bits32};
use ptx_matrix::target::BuiltFor;

use ptx_matrix::mma::{
    GroupAccumulator, InFlight, M64, Multiplicand, Rounded, Wgmma, WgmmaColumns, WgmmaForm,
};
use ptx_matrix::prelude::*;
use ptx_matrix::sync::{BarrierRing, BarrierToken};

/// The queries of a consumer.
#[derive(Clone, Copy)]
pub struct ConsumerTile {
    /// The consumer's index in the block: 0 or 1.
    pub index: usize,
    /// The block's first query.
    pub first: u32,
    /// The head of the queries.
    pub head: u32,
}

/// One of a block's two consumers.
pub struct Consumer<'k, T: Element, const PARTS: usize> {
    /// The warpgroup.
    pub group: WarpGroup<'k>,
    /// The block's tiles and barriers.
    pub tiles: Tiles<T, PARTS>,
    /// Its queries.
    pub tile: ConsumerTile,
    /// The mask.
    pub mask: Mask,
    /// The scale of the scores, times log2(e): powers are of two.
    pub scale_log2: f32,
}

/// The state of a consumer between two tiles of keys.
struct State<T: Element, const FEATURES: usize>
where
    M64<FEATURES>: WgmmaColumns<Bits32>,
    M64<KEYS>: WgmmaColumns<T::Width>,
{
    /// The online softmax.
    softmax: Softmax,
    /// The accumulators of P x V, without the last tile.
    acc: GroupAccumulator<FEATURES, f32>,
    /// The powers P of the last tile.
    powers: GroupAccumulator<KEYS, T>,
    /// The stage of the last tile, and its phase.
    pipeline: PipelineState<STAGES>,
    /// The phase of the order between the two consumers.
    order: PipelineState<1>,
}

/// The scores of a tile: 64 queries x keys.
type Scores = GroupAccumulator<KEYS, f32>;

impl<T, const PARTS: usize> Consumer<'_, T, PARTS>
where
    T: Rounded + Multiplicand<As = T, Width = Bits16>,
    Scores: BuiltFor<T::Needs>,
    Wgmma<KEYS, T, T, f32>: WgmmaForm<Registers = <M64<KEYS> as WgmmaColumns<Bits32>>::Registers>,
{
    /// Computes O for this consumer's queries, over `steps` tiles of keys.
    ///
    /// P x V of one tile is issued after Q x K^T of the next, so the softmax of the next tile
    /// overlaps P x V. The two consumers alternate (pingpong): while one uses the tensor cores, the
    /// other computes its softmax, which takes about as long.
    #[inline]
    pub fn attend<const FEATURES: usize>(&self, steps: u32, o: TensorMapMut<'_, Queries<T>, 3>)
    where
        M64<FEATURES>: WgmmaColumns<Bits32> + WgmmaColumns<Bits16>,
        GroupAccumulator<FEATURES, f32>: BuiltFor<T::Needs>,
        Wgmma<FEATURES, T, T, f32>: WgmmaForm<
                Registers = <M64<FEATURES> as WgmmaColumns<Bits32>>::Registers,
                Shape = M16N8K16,
            >,
    {
        const { assert!(FEATURES == PARTS * SLICE, "tiles have all features") }
        let Consumer { group, tiles, mask, .. } = *self;
        let first = self.first_query();
        let mut state = State::<T, FEATURES> {
            softmax: Softmax::new(),
            acc: GroupAccumulator::zero(),
            powers: GroupAccumulator::zero(),
            pipeline: PipelineState::FIRST,
            order: PipelineState::FIRST,
        };
        tiles.queries_full.wait(group.warp(), Phase::FIRST);
        if steps > 0 {
            self.begin(&mut state);
            // Unmasked tiles first: no branch interrupts the softmax while the tensor cores work.
            let whole = (mask.visible_before(first + 1) / KEYS as u32).min(steps);
            for step in 1..whole {
                self.step::<FEATURES, false>(&mut state, step);
            }
            for step in whole.max(1)..steps {
                self.step::<FEATURES, true>(&mut state, step);
            }
            let values = self.test(tiles.values_full, state.pipeline);
            state.acc =
                self.start_values(state.acc, &state.powers, state.pipeline, values).finish(group);
        }
        let scales = state.softmax.finish(group.warp());
        // A fully masked row is zero, whatever the values of its tiles are.
        let normalize = |value: f32, scale: f32| if scale == 0.0 { 0.0 } else { value * scale };
        let output = state.acc.map_rows(group, &scales, normalize).round::<T>(group);
        self.store(&output, o);
    }

    /// Handles the first tile of keys.
    #[inline]
    fn begin<const FEATURES: usize>(&self, state: &mut State<T, FEATURES>)
    where
        M64<FEATURES>: WgmmaColumns<Bits32>,
    {
        let Consumer { group, tiles, scale_log2, .. } = *self;
        self.test_order(state.order).wait(group.warp());
        let keys = self.test(tiles.keys_full, state.pipeline);
        let scores = self.start_scores(state.pipeline, keys);
        self.pass_order();
        let scores = scores.finish(group);
        self.arrive_on(tiles.keys_empty.stage(state.pipeline.index()));
        let (powers, _) = state.softmax.add::<KEYS, true>(group, &self.seen(scores, 0), scale_log2);
        state.powers = powers.round::<T>(group);
    }

    /// Handles the next tile of keys, and the values of the tile before. `MASKED`: some queries may
    /// not see some of the keys.
    #[inline]
    fn step<const FEATURES: usize, const MASKED: bool>(
        &self,
        state: &mut State<T, FEATURES>,
        step: u32,
    ) where
        M64<FEATURES>: WgmmaColumns<Bits32>,
        Wgmma<FEATURES, T, T, f32>: WgmmaForm<
                Registers = <M64<FEATURES> as WgmmaColumns<Bits32>>::Registers,
                Shape = M16N8K16,
            >,
    {
        let Consumer { group, tiles, scale_log2, .. } = *self;
        let next = state.pipeline.next();
        state.order = state.order.next();
        // All three tests come first, so that their latencies overlap.
        let order = self.test_order(state.order);
        let keys = self.test(tiles.keys_full, next);
        let values = self.test(tiles.values_full, state.pipeline);
        order.wait(group.warp());
        let scores = self.start_scores(next, keys);
        let next_acc = self.start_values(state.acc, &state.powers, state.pipeline, values);
        self.pass_order();
        let scores = scores.finish_behind::<1>(group);
        let scores = if MASKED { self.seen(scores, step) } else { scores };
        let (powers, scales) = state.softmax.add::<KEYS, MASKED>(group, &scores, scale_log2);
        // The powers are computed before the wait. Nothing needs them before, so the compiler would
        // move them after it; and ptxas leaves them in place only if there is a branch in between.
        // The release of the keys is that branch.
        let powers = powers.settled(group);
        self.arrive_on(tiles.keys_empty.stage(next.index()));
        let next_acc = next_acc.finish(group);
        self.arrive_on(tiles.values_empty.stage(state.pipeline.index()));
        state.acc = next_acc.map_rows(group, &scales, |value, scale| value * scale);
        state.powers = powers.round::<T>(group);
        state.pipeline = next;
    }

    /// The consumer's first query.
    #[inline]
    fn first_query(&self) -> u32 {
        self.tile.first + self.tile.index as u32 * 64
    }

    /// Waits for a tile of keys, with the answer of a test, and issues Q x K^T.
    #[inline]
    fn start_scores(
        &self,
        pipeline: PipelineState<STAGES>,
        full: BarrierToken,
    ) -> InFlight<KEYS, f32> {
        let Consumer { group, tiles, tile, .. } = *self;
        full.wait(group.warp());
        let (queries, keys) = (tiles.queries.part(tile.index), tiles.keys.stage(pipeline.index()));
        let mut scores = Scores::zero().begin(group);
        Wgmma::<KEYS, T, T, f32>::issue(group, &mut scores, |issue| {
            for part in 0..PARTS {
                let (queries, keys) = (queries.part(part), keys.part(part));
                for slice in (0..SLICE).step_by(16) {
                    let (a, b) = (queries.matrix_a((0, slice)), keys.matrix_b((slice, 0)));
                    if part == 0 && slice == 0 {
                        issue.multiply(a, b)
                    } else {
                        issue.accumulate(a, b)
                    }
                }
            }
        });
        scores
    }

    /// Waits for a tile of values, with the answer of a test, and issues P x V.
    #[inline]
    fn start_values<const FEATURES: usize>(
        &self,
        acc: GroupAccumulator<FEATURES, f32>,
        powers: &GroupAccumulator<KEYS, T>,
        pipeline: PipelineState<STAGES>,
        full: BarrierToken,
    ) -> InFlight<FEATURES, f32>
    where
        M64<FEATURES>: WgmmaColumns<Bits32>,
        Wgmma<FEATURES, T, T, f32>: WgmmaForm<
                Registers = <M64<FEATURES> as WgmmaColumns<Bits32>>::Registers,
                Shape = M16N8K16,
            >,
    {
        let Consumer { group, tiles, .. } = *self;
        full.wait(group.warp());
        let values = tiles.values.stage(pipeline.index());
        let mut acc = acc.begin(group);
        Wgmma::<FEATURES, T, T, f32>::issue(group, &mut acc, |issue| {
            for k_slice in 0..KEYS / 16 {
                let (a, b) = (powers.operand_a(k_slice), values.matrix_b((k_slice * 16, 0)));
                issue.accumulate_registers(&a, b);
            }
        });
        acc
    }

    /// Masks the scores of tile `step`: `MASKED_SCORE` where a query does not see a key.
    #[inline]
    fn seen(&self, scores: Scores, step: u32) -> Scores {
        let (mask, query, key) = (self.mask, self.first_query(), step * KEYS as u32);
        scores.map(self.group, |row, col, score| {
            if mask.is_visible(query + row as u32, key + col as u32) { score } else { MASKED_SCORE }
        })
    }

    /// Tests once whether it is this consumer's turn on the tensor cores. The first consumer
    /// begins.
    #[inline]
    fn test_order(&self, order: PipelineState<1>) -> BarrierToken {
        let phase = if self.tile.index == 0 { order.prev_phase() } else { order.phase() };
        self.tiles.order_barriers.part(self.tile.index).begin_wait(self.group.warp(), phase)
    }

    /// Tests once whether the tiles of a stage have landed.
    #[inline]
    fn test(&self, full: BarrierRing<STAGES>, pipeline: PipelineState<STAGES>) -> BarrierToken {
        full.stage(pipeline.index()).begin_wait(self.group.warp(), pipeline.phase())
    }

    /// Passes the tensor cores to the other consumer. Each warp arrives: a phase must not end
    /// before all four warps have waited for the phase before.
    #[inline]
    fn pass_order(&self) {
        let barrier = self.tiles.order_barriers.part(1 - self.tile.index);
        self.group.warp().elect(|lane| _ = barrier.arrive(lane));
    }

    /// Arrives on a barrier, once for this consumer: it has read a stage, for example.
    #[inline]
    fn arrive_on(&self, barrier: Barrier) {
        if self.group.warp_rank() == 0 {
            self.group.warp().elect(|lane| _ = barrier.arrive(lane));
        }
    }

    /// Stores rows of O by TMA, through the shared memory of its queries.
    #[inline]
    fn store<const FEATURES: usize>(
        &self,
        output: &GroupAccumulator<FEATURES, T>,
        o: TensorMapMut<'_, Queries<T>, 3>,
    ) where
        M64<FEATURES>: WgmmaColumns<Bits16>,
    {
        let Consumer { group, tiles, tile, .. } = *self;
        let (tiles_o, first) = (tiles.queries.part(tile.index), self.first_query());
        for part in 0..PARTS {
            output.store(group, &tiles_o.part(part), part * SLICE);
        }
        group.warp().fence_for_bulk();
        group.sync();
        if group.warp_rank() == 0 {
            group.warp().elect(|lane| {
                for part in 0..PARTS {
                    let at = [(part * SLICE) as i32, first as i32, tile.head as i32];
                    tiles_o.part(part).store_tma(lane, o.at(at));
                }
                BulkGroup::commit(lane);
                BulkGroup::wait_read::<0>(lane);
            });
        }
    }
}
