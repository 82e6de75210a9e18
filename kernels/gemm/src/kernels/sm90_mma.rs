//! SM90 GEMM on `mma.sync`, for f64, which `wgmma` does not support: persistent; TMA loads, TMA
//! store.
//!
//! `global --TMA--> stage s (full[s]) --> fragments --mma--> accumulators --> staging --TMA--> D`
//!
//! There is no producer warp: the warps issue the loads round-robin. The main loop has no block
//! sync. Each warp waits only for full stages, so one may store its accumulators while others still
//! multiply. The warp that loads a stage refills it half a k-tile after its own release. By then
//! most other warps have released it too.

use crate::parts::TmaArgs;
use crate::parts::mma::{Acc, AccumulatorFragment, F64Paired};
use crate::parts::{
    MatrixCoord, MmaOp, Multicast, OperandA, OperandB, Output, ProblemShape, TileShape, TmaLoad,
    TmaOperands, TmaStore, WHOLE_TILE, WorkTile,
};
use core::marker::PhantomData;
use ptx_matrix::fragment::{Order, Shape};
use ptx_matrix::launch::PrecedingEnded;
use ptx_matrix::prelude::*;
use ptx_matrix::sync::BarrierRing;

/// Bytes of a stage along K.
const K_BYTES: usize = 128;

/// Fragments of B that one load returns.
const PAIR: usize = 2;

/// Rows of a staging tile: those of a fragment.
pub const STAGING_ROWS: usize = 16;

/// The types of a GEMM.
pub trait Config: Sized + 'static {
    /// The instruction.
    type Op: MmaOp;
    /// The tiles of A in one stage.
    type A: OperandA<Element = <Self::Op as MmaOp>::Input>;
    /// The tiles of B in one stage.
    type B: OperandB<Element = <Self::Op as MmaOp>::Input>;
    /// The two staging tiles of a warp.
    type Staging: SharedLayout + Copy;
    /// The block's tile of D, and K of a stage.
    const TILE: TileShape;
    /// Columns of D per warp.
    const WARP_N: usize;
}

/// f64, with column-major A and B. D is row-major, or column-major for GEMMs of row-major A and B,
/// which compute Dᵀ = BᵀAᵀ: `L`.
pub struct F64Gemm<L>(PhantomData<L>);

/// The tiles of A: 128 x 16.
pub type F64TilesA = SharedRing<SharedTile<f64, 16, 16, Swizzle128, ColMajor>, 8>;

/// The tiles of B: 16 x 128.
pub type F64TilesB = SharedRing<SharedTile<f64, 16, 128, Swizzle128, ColMajor>, 1>;

impl<L: Order> Config for F64Gemm<L> {
    type Op = F64Paired;
    type A = F64TilesA;
    type B = F64TilesB;
    type Staging = SharedRing<SharedTile<f64, STAGING_ROWS, 16, Swizzle128, L>, 2>;
    const TILE: TileShape = TileShape { m: 128, n: 128, k: 16 };
    const WARP_N: usize = 32;
}

/// Eight warps, each with a 64 x 32 warp tile.
#[kernel(threads = 256, min_blocks = 1, cluster = 1, dependent = true, target = "sm_90", instances(
    sm90_f64_nn_128x128x16 = <ColMajor>,
    sm90_f64_tt_128x128x16 = <RowMajor>,
))]
pub fn gemm_f64<L: Order>(
    block: &ClusterBlock<1>,
    #[shared] stages: SharedRing<(F64TilesA, F64TilesB), 6>,
    #[shared] staging: SharedRing<<F64Gemm<L> as Config>::Staging, 8>,
    #[shared] full: SharedRing<BarrierMemory, 6>,
    #[shared] empty: SharedRing<BarrierMemory, 6>,
    args: TmaArgs<F64TilesA, F64TilesB, SharedTile<f64, STAGING_ROWS, 16, Swizzle128, L>>,
) {
    let (operands, shape, store) = args.split::<16>();
    let shared = Shared::<F64Gemm<L>, _, _> { stages, staging, full, empty };
    gemm::<_, _, _, _, 4, 2>(block, shared, operands, shape, store);
}

/// A warp's accumulators: `I` x `J` pairs of fragments.
pub type Accumulators<P, const I: usize, const J: usize> = [[[AccumulatorFragment<P>; PAIR]; J]; I];

/// The epilogue, for one warp.
pub trait WarpStore<C: Config, const I: usize, const J: usize> {
    /// Stores a warp's accumulators; their first element is at `at` of D.
    fn store(
        &self,
        warp: Warp<'_>,
        staging: C::Staging,
        tile: &WorkTile,
        at: MatrixCoord,
        accumulators: &Accumulators<C::Op, I, J>,
    );
}

/// The shared memory of a block.
pub struct Shared<C: Config, const STAGES: usize, const WARPS: usize> {
    /// Operand tiles.
    pub stages: SharedRing<(C::A, C::B), STAGES>,
    /// Staging tiles of each warp.
    pub staging: SharedRing<C::Staging, WARPS>,
    /// Phase completes when the stage's tiles have landed.
    pub full: SharedRing<BarrierMemory, STAGES>,
    /// Phase completes when all warps have released the stage.
    pub empty: SharedRing<BarrierMemory, STAGES>,
}

/// Computes all tiles of a block. The six generic parameters are needed because Rust has no arrays
/// whose length is a trait's constant.
#[inline]
pub fn gemm<
    C: Config,
    E: WarpStore<C, I, J>,
    const STAGES: usize,
    const WARPS: usize,
    const I: usize,
    const J: usize,
>(
    block: &ClusterBlock<'_, 1>,
    shared: Shared<C, STAGES, WARPS>,
    operands: TmaOperands<'_, C::A, C::B>,
    shape: ProblemShape,
    epilogue: impl FnOnce(PrecedingEnded<'_>) -> E,
) {
    let (warp_m, warp_n) = (I * <C::Op as MmaOp>::Shape::M, J * PAIR * <C::Op as MmaOp>::Shape::N);
    const {
        let TileShape { m, n, k } = C::TILE;
        let (warp_m, warp_n) =
            (I * <C::Op as MmaOp>::Shape::M, J * PAIR * <C::Op as MmaOp>::Shape::N);
        assert!(
            m * n == WARPS * warp_m * warp_n && n.is_multiple_of(warp_n),
            "the warps compute the block's tile"
        );
        assert!(C::WARP_N == warp_n, "a warp computes I x J pairs of fragments");
        assert!(
            k * size_of::<<C::Op as MmaOp>::Input>() == K_BYTES,
            "a stage has 128 bytes along K"
        );
    }
    let (warp, index) = (block.warp(), block.warp().index());
    if index == 0 {
        operands.prefetch(warp);
    }
    let (full, empty) = (shared.full.init(block, 1), shared.empty.init(block, WARPS as u32));
    let pipeline = Pipeline::<C, STAGES> { stages: shared.stages, full, empty };
    // Memory that the preceding kernels wrote is read only after this wait (PDL).
    let ended = block.wait_for_preceding_kernels();
    let ((a, b), epilogue) = (operands.get(ended), epilogue(ended));
    let mut tiles = Tiles::<C>::of_block(shape, block);
    let mut producer = Producer {
        pipeline,
        a,
        b,
        tiles,
        rest: None,
        state: PipelineState::FIRST,
        until: index as u32,
        warps: WARPS as u32,
    };
    // Prologue: fill all stages but one. The main loop fills that one first.
    for _ in 0..STAGES - 1 {
        producer.fill(warp);
    }
    let (row, col) = (index / (C::TILE.n / warp_n) * warp_m, index % (C::TILE.n / warp_n) * warp_n);
    let staging = shared.staging.part(index);
    let mut consumer = Consumer { warp, row, col, pipeline, state: PipelineState::FIRST };
    while let Some(tile) = tiles.next() {
        let accumulators = consumer.mainloop::<I, J>(tile.k_tiles(C::TILE.k), || {
            producer.fill(warp);
        });
        let at = tile.origin().offset(row as u32, col as u32);
        epilogue.store(warp, staging, &tile, at, &accumulators);
    }
    // Shared memory must live until the TMA stores have read the staging tiles.
    wait_for_stores::<0>(warp);
}

/// The stages and their barriers.
struct Pipeline<C: Config, const STAGES: usize> {
    stages: SharedRing<(C::A, C::B), STAGES>,
    full: BarrierRing<STAGES>,
    empty: BarrierRing<STAGES>,
}

impl<C: Config, const STAGES: usize> Clone for Pipeline<C, STAGES> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Config, const STAGES: usize> Copy for Pipeline<C, STAGES> {}

/// The tile scheduler of a block.
struct Tiles<C> {
    shape: ProblemShape,
    next: u32,
    end: u32,
    step: u32,
    _config: PhantomData<fn() -> C>,
}

impl<C> Clone for Tiles<C> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for Tiles<C> {}

impl<C: Config> Tiles<C> {
    #[inline]
    fn of_block(shape: ProblemShape, block: &Block<'_>) -> Self {
        // A constant: the cluster has one block, so its direction has no effect.
        let shape = ProblemShape { cluster_along_n: false, ..shape };
        let (next, end, step) = (block.index().x, shape.count(C::TILE, 1), block.grid().x);
        Tiles { shape, next, end, step, _config: PhantomData }
    }

    #[inline]
    fn next(&mut self) -> Option<WorkTile> {
        if self.next >= self.end {
            return None;
        }
        let tile = self.shape.work_tile(C::TILE, 1, self.next, 0);
        self.next += self.step;
        Some(tile)
    }
}

// Producer

/// The loads of one warp: it counts all k-tiles, and issues the loads of every `warps`th.
struct Producer<'k, C: Config, const STAGES: usize> {
    pipeline: Pipeline<C, STAGES>,
    a: TensorMap<'k, <C::A as OperandA>::Box, 3>,
    b: TensorMap<'k, <C::B as OperandB>::Box, 3>,
    /// The tiles that remain.
    tiles: Tiles<C>,
    /// The rest of its current tile.
    rest: Option<WorkTile>,
    state: PipelineState<STAGES>,
    /// K-tiles that other warps load before this warp's next one.
    until: u32,
    warps: u32,
}

impl<C: Config, const STAGES: usize> Producer<'_, C, STAGES> {
    /// Counts the next k-tile. If this warp loads it, waits until the stage is empty, and issues
    /// the loads.
    #[inline]
    fn fill(&mut self, warp: Warp<'_>) {
        let Some(tile) = self.rest.or_else(|| self.tiles.next()) else { return };
        let (state, k) = (self.state, tile.k_start);
        if self.until == 0 {
            let Pipeline { stages, full, empty } = self.pipeline;
            let ((tiles_a, tiles_b), barrier) =
                (stages.stage(state.index()), full.stage(state.index()));
            let (a, b) = (self.a, self.b);
            empty.stage(state.index()).wait(warp, state.prev_phase());
            warp.elect(|lane| {
                barrier.arrive_expecting(
                    lane,
                    C::A::load_bytes(WHOLE_TILE) + C::B::load_bytes(WHOLE_TILE),
                );
                let (in_bounds, multicast) = (WHOLE_TILE, None::<Multicast<1>>);
                let (at, batch) = (MatrixCoord { row: tile.row, col: k }, tile.batch);
                tiles_a.load(TmaLoad { lane, map: a, at, batch, in_bounds, barrier, multicast });
                let (at, batch) = (MatrixCoord { row: k, col: tile.col }, tile.batch_of_b());
                tiles_b.load(TmaLoad { lane, map: b, at, batch, in_bounds, barrier, multicast });
            });
        }
        self.until = (self.until + self.warps - 1) % self.warps;
        self.rest = tile.after(C::TILE.k as u32);
        self.state = state.next();
    }
}

// Consumer

/// A warp and its pipeline state.
struct Consumer<'k, C: Config, const STAGES: usize> {
    warp: Warp<'k>,
    /// The first row of its warp tile in the block's tile.
    row: usize,
    /// The first column.
    col: usize,
    pipeline: Pipeline<C, STAGES>,
    state: PipelineState<STAGES>,
}

impl<C: Config, const STAGES: usize> Consumer<'_, C, STAGES> {
    /// Accumulates `k_tiles` stages, at least one.
    ///
    /// Registers hold one set of fragments, and one more fragment of A. While one row of fragments
    /// is multiplied, the next fragment of A is loaded. During the last row, B of the next k-slice
    /// is loaded too. The wait for the next stage comes one row before its loads, so that the
    /// multiplication hides it. `produce` is called in the middle of each k-tile, when most warps
    /// have released the previous stage.
    #[inline]
    fn mainloop<const I: usize, const J: usize>(
        &mut self,
        k_tiles: u32,
        mut produce: impl FnMut(),
    ) -> Accumulators<C::Op, I, J> {
        const { assert!(I > 1, "the next stage is waited for in the last row but one") }
        let (warp, first_row, first_col) = (self.warp, self.row, self.col);
        let (mma_m, pair_n, mma_k) = (
            <C::Op as MmaOp>::Shape::M,
            PAIR * <C::Op as MmaOp>::Shape::N,
            <C::Op as MmaOp>::Shape::K,
        );
        let slices = K_BYTES / (mma_k * size_of::<<C::Op as MmaOp>::Input>());
        let load_a = |(a, _): (C::A, C::B), i: usize, slice: usize| {
            let [a] = a.fragments::<C::Op, 1>(warp, first_row + i * mma_m, slice * mma_k);
            a
        };
        let load_b = |(_, b): (C::A, C::B), j: usize, slice: usize| {
            let [pair] = b.fragments::<C::Op, 1>(warp, slice * mma_k, first_col + j * pair_n);
            pair
        };
        let mut accumulators: Accumulators<C::Op, I, J> = Zeroable::zeroed();
        let mut tiles = self.wait();
        let (mut before, mut next_tiles) = (self.state, tiles);
        let mut a = load_a(tiles, 0, 0);
        let mut b: [[<C::Op as MmaOp>::B; PAIR]; J] = core::array::from_fn(
            #[inline]
            |j| load_b(tiles, j, 0),
        );
        for k_tile in 0..k_tiles {
            for slice in 0..slices {
                for (i, row) in accumulators.iter_mut().enumerate() {
                    if i == I / 2 && slice == slices / 2 {
                        produce();
                    }
                    let is_last = i == I - 1;
                    let goes_on = slice == slices - 1 && k_tile + 1 < k_tiles;
                    let next = if is_last { (slice + 1) % slices } else { slice };
                    let mut next_a = a;
                    for count in 0..J {
                        let j = if i % 2 == 0 || is_last { count } else { J - 1 - count };
                        for half in 0..PAIR {
                            C::Op::multiply(warp, &mut row[j][half], &a, &b[j][half]);
                        }
                        if count == 0 {
                            if is_last && goes_on {
                                self.release(before);
                                tiles = next_tiles;
                            }
                            // After the last k-tile, this loads a fragment that is not used.
                            next_a = load_a(tiles, (i + 1) % I, next);
                            if i == I - 2 && goes_on {
                                before = self.state;
                                self.state = self.state.next();
                                next_tiles = self.wait();
                            }
                        }
                        if is_last {
                            b[j] = load_b(tiles, j, next);
                        }
                    }
                    a = next_a;
                }
            }
        }
        self.release(self.state);
        self.state = self.state.next();
        accumulators
    }

    /// Waits for the next stage, and returns its tiles.
    #[inline]
    fn wait(&self) -> (C::A, C::B) {
        self.pipeline.full.stage(self.state.index()).wait(self.warp, self.state.phase());
        self.pipeline.stages.stage(self.state.index())
    }

    /// Releases a stage to its producer.
    #[inline]
    fn release(&self, state: PipelineState<STAGES>) {
        let empty = self.pipeline.empty.stage(state.index());
        self.warp.sync();
        self.warp.elect(|lane| {
            empty.arrive(lane);
        });
    }
}

// Epilogue

impl<C, L: Order, const COLS: usize, const EPI_N: usize, const I: usize, const J: usize>
    WarpStore<C, I, J>
    for TmaStore<'_, SharedTile<<C::Op as MmaOp>::Output, STAGING_ROWS, COLS, Swizzle128, L>, EPI_N>
where
    C: Config<
        Staging = SharedRing<
            SharedTile<<<C as Config>::Op as MmaOp>::Output, STAGING_ROWS, COLS, Swizzle128, L>,
            2,
        >,
    >,
{
    /// One staging tile is filled while the other is stored.
    #[inline]
    fn store(
        &self,
        warp: Warp<'_>,
        staging: C::Staging,
        tile: &WorkTile,
        at: MatrixCoord,
        accumulators: &Accumulators<C::Op, I, J>,
    ) {
        let mma_n = <C::Op as MmaOp>::Shape::N;
        let cols = PAIR * J * mma_n;
        assert!(
            <C::Op as MmaOp>::Shape::M == STAGING_ROWS && cols.is_multiple_of(COLS),
            "staging tiles have rows of fragments, whole"
        );
        let store = |index: usize, to| {
            warp.fence_for_bulk();
            warp.sync();
            self.store_tiles(warp, staging, index..index + 1, to, tile.batch);
        };
        if self.args.only_scales() && self.map.is_some() {
            for (i, row) in accumulators.iter().enumerate() {
                let row = row.as_flattened();
                for first in (0..cols).step_by(COLS) {
                    let index = (i * (cols / COLS) + first / COLS) % 2;
                    wait_for_stores::<1>(warp);
                    for col in (0..COLS).step_by(mma_n) {
                        let scaled = row[(first + col) / mma_n]
                            .map(warp, |_, _, acc| self.args.scalars.scaled(acc));
                        <C::Op as MmaOp>::Output::narrow_all(warp, &scaled).store(
                            warp,
                            &staging.part(index),
                            (0, col),
                        );
                    }
                    store(index, at.offset((i * STAGING_ROWS) as u32, first as u32));
                }
            }
            return;
        }
        // Rare cases go from one staging tile to the other, in a loop that is not unrolled.
        let opaque = |number| warp.block().opaque(number);
        let subtile = staging
            .reuse::<SharedRing<SharedTile<Acc<C::Op>, STAGING_ROWS, EPI_N, Swizzle128, L>, 2>>()
            .part(0);
        let subtiles = cols / EPI_N;
        let mut index = opaque(0);
        while index < (I * subtiles) as u32 {
            let (down, first) =
                (index as usize / subtiles * STAGING_ROWS, index as usize % subtiles * EPI_N);
            let done = first % COLS;
            if done == 0 {
                wait_for_stores::<0>(warp);
            }
            for (i, row) in accumulators.iter().enumerate() {
                for (j, fragments) in row.as_flattened().chunks_exact(EPI_N / mma_n).enumerate() {
                    // Opaque to the compiler, so that it does not replace this constant by `index`.
                    if opaque((i * subtiles + j) as u32) == index {
                        for (j, accumulator) in fragments.iter().enumerate() {
                            accumulator.store(warp, &subtile, (0, j * mma_n));
                        }
                    }
                }
            }
            warp.sync();
            let to = at.offset(down as u32, first as u32);
            let set = |row, col, element| staging.part(1).set((row, done + col), element);
            // Large accumulators leave registers for fewer elements at a time.
            let by_tma = if const { size_of::<Acc<C::Op>>() > size_of::<u32>() } {
                self.apply_subtile::<1>(warp.block(), warp, subtile, tile, to, set)
            } else {
                self.apply_subtile::<4>(warp.block(), warp, subtile, tile, to, set)
            };
            if by_tma && done + EPI_N == COLS {
                store(1, MatrixCoord { col: to.col - done as u32, ..to });
            } else {
                warp.sync();
            }
            index += 1;
        }
    }
}

/// Waits until all of the warp's TMA stores but the newest `BUT` have read their staging tiles.
#[inline]
fn wait_for_stores<const BUT: u32>(warp: Warp<'_>) {
    warp.elect(|lane| BulkGroup::wait_read::<BUT>(lane));
    warp.sync();
}
