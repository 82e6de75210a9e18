//! SM90 GEMM: persistent, warp-specialized, cooperative; TMA loads, `wgmma`, TMA store.
//!
//! ```text
//!                    full[s]: the tiles have landed
//!   producer warp  ------------------------------->  consumer warpgroups  --->  D
//!   TMA: A, B to    <-------------------------------  wgmma, accumulators in     staging tiles,
//!   stage s           empty[s]: they have been read   registers                  TMA store
//! ```
//!
//! One persistent block runs on each SM and computes tile after tile. The producer runs up to
//! `STAGES` stages ahead, across tile boundaries: it fills the pipeline during the epilogue. The
//! blocks of a cluster have adjacent tiles. Along M they share B, along N they share A; each block
//! loads a slice of the shared operand by TMA multicast.

use crate::parts::tma::{WGMMA_M, wait_for_stores};
use crate::parts::{
    EpilogueStore, MatrixCoord, Multicast, Multiplied, Number, OperandA, OperandB, Output, Staging,
    TileRow, TileScheduler, TileShape, TileWalk, TmaLoad, TmaOperands, TmaStore, Unroll,
    WHOLE_TILE, WgmmaA, WgmmaB, WorkTile,
};
use core::marker::PhantomData;
use ptx_matrix::element::Bits32;
use ptx_matrix::fragment::{FragmentShape, Order, RoleC};
use ptx_matrix::launch::PrecedingEnded;
use ptx_matrix::memory::TensorSwizzle;
use ptx_matrix::mma::{
    GroupAccumulator, InFlight, M64, Multiplicand, Wgmma, WgmmaColumns, WgmmaForm,
};
use ptx_matrix::prelude::*;
use ptx_matrix::sync::{BarrierRing, BarrierToken, PeerBarrierRing};

/// Registers per thread of a producer and of a consumer: 168 on average with two consumers. With
/// one consumer, each thread gets enough at the launch.
pub const PRODUCER_REGISTERS: u32 = 24;
pub const CONSUMER_REGISTERS: u32 = 240;
/// K-slices of a stage: 128 bytes along K, of which one `wgmma` takes 32.
pub const K_SLICES: usize = 4;

/// The types of a GEMM.
pub trait Config: Sized + 'static {
    /// The tiles of A, and of B, in one stage.
    type A: WgmmaA;
    type B: OperandB<Element: Multiplicand>;
    /// How a consumer accumulates: [`Accumulate`], [`Promote`](super::sm90_promotion::Promote).
    type Mainloop: Mainloop<Self::A, Self::B>;
    /// The staging tiles of one consumer.
    type Staging: SharedLayout + Copy;
    /// The block's tile of D, and K of a stage. The consumers split it along M, or along N.
    const TILE: TileShape;
}

/// The accumulators of one consumer.
pub type Accumulators<C> =
    <<C as Config>::Mainloop as Mainloop<<C as Config>::A, <C as Config>::B>>::Accumulators;

/// The shared memory of a block: operand tiles, staging tiles of each consumer, barriers.
///
/// A `SharedRing<T, N>` is an array of `N` of `T` in shared memory: a ring of pipeline stages, from
/// which `stage(index)` takes one, or a plain array, such as `staging`, with `part(i)`.
pub struct Shared<C: Config, const STAGES: usize, const CONSUMERS: usize> {
    pub stages: SharedRing<(C::A, C::B), STAGES>,
    pub staging: SharedRing<C::Staging, CONSUMERS>,
    /// Phase completes when the stage's tiles have landed.
    pub full: SharedRing<BarrierMemory, STAGES>,
    /// Phase completes when the consumers have released the stage.
    pub empty: SharedRing<BarrierMemory, STAGES>,
    /// Phase completes when C is in the consumer's staging tiles.
    pub c_full: SharedRing<BarrierMemory, CONSUMERS>,
}

/// Computes all tiles of a block.
#[inline]
pub fn gemm<
    C: Config,
    E: EpilogueStore<C::Staging, Accumulators<C>>,
    const STAGES: usize,
    const CONSUMERS: usize,
    const CLUSTER: usize,
>(
    block: &ClusterBlock<'_, CLUSTER>,
    shared: Shared<C, STAGES, CONSUMERS>,
    operands: TmaOperands<'_, C::A, C::B>,
    scheduler: impl TileScheduler,
    epilogue: impl FnOnce(PrecedingEnded<'_>) -> E,
) {
    const { check::<C>(CONSUMERS) }
    let (tile_m, tile_n, tile_k) = (C::TILE.m as u32, C::TILE.n as u32, C::TILE.k as u32);
    let group = block.warp_group();
    if block.warp().index() == 0 {
        operands.prefetch(group.warp());
    }
    let full = shared.full.init(block, 1);
    let empty = shared.empty.init(block, (CLUSTER * CONSUMERS) as u32);
    let c_full = shared.c_full.init(block, 1);
    let (cluster, rank) = (block.cluster(), block.cluster().rank());
    if CLUSTER > 1 {
        // `init` syncs the block. Other blocks of the cluster arrive on these barriers too.
        cluster.sync();
    }
    // Memory that the preceding kernels wrote is read only after this wait (PDL).
    let ended = block.wait_for_preceding_kernels();
    let ((a, b), epilogue) = (operands.get(ended), epilogue(ended));
    let (stages, mut state) = (shared.stages, PipelineState::FIRST);
    // A static tile scheduler. `index` counts cluster tiles: a tile for each block of a cluster.
    let mut scheduler = scheduler.begin(C::TILE, CLUSTER as u32, ended);
    let (mut index, step) = (block.index().x / CLUSTER as u32, block.grid().x / CLUSTER as u32);

    // Producer: warp 0 loads. Warps 1 to 3 only give up registers, and join the cluster's last
    // sync.
    if group.index() == 0 {
        if CONSUMERS > 1 {
            group.give_registers::<PRODUCER_REGISTERS>();
        }
        let warp = group.warp();
        if group.warp_rank() == 0 {
            let multicast = Multicast::<CLUSTER> { rank, blocks: cluster.all() };
            let multicast_a = scheduler.cluster_along_n().then_some(multicast);
            let multicast_b = (!scheduler.cluster_along_n()).then_some(multicast);
            while scheduler.advance_to(warp, index) {
                let tile = scheduler.work_tile(index, rank as u32);
                for k_tile in 0..tile.k_tiles(C::TILE.k) {
                    let (tiles_a, tiles_b) = stages.stage(state.index());
                    let barrier = full.stage(state.index());
                    let k = tile.k_start + k_tile * tile_k;
                    // At the edge of D, TMA fills boxes wholly outside with zeros, slower than a
                    // copy. Only a tile's first `STAGES` steps load them, once into each stage.
                    // Later ones find the zeros. `tile.rows` x `tile.cols` are inside.
                    let loads_all =
                        k_tile < STAGES as u32 || tile.rows >= tile_m && tile.cols >= tile_n;
                    // Until the consumers have released it; at once in the ring's first round.
                    empty.stage(state.index()).wait(warp, state.prev_phase());
                    warp.elect(|lane| {
                        let load = |rows, cols| {
                            let bytes = C::A::load_bytes(rows) + C::B::load_bytes(cols);
                            barrier.arrive_expecting(lane, bytes);
                            tiles_a.load(TmaLoad {
                                lane,
                                map: a,
                                at: MatrixCoord { row: tile.row, col: k },
                                batch: tile.batch,
                                in_bounds: rows,
                                barrier,
                                multicast: multicast_a,
                            });
                            tiles_b.load(TmaLoad {
                                lane,
                                map: b,
                                at: MatrixCoord { row: k, col: tile.col },
                                batch: tile.batch_of_b(),
                                in_bounds: cols,
                                barrier,
                                multicast: multicast_b,
                            });
                        };
                        // Two copies of the code: whole tiles then take the fewest instructions.
                        if loads_all {
                            load(WHOLE_TILE, WHOLE_TILE)
                        } else {
                            load(tile.rows, tile.cols)
                        }
                    });
                    state = state.next();
                }
                index += step;
            }
        }
        if CLUSTER > 1 {
            cluster.sync();
        }
        return;
    }

    // Consumer
    if CONSUMERS > 1 {
        group.take_registers::<CONSUMER_REGISTERS>();
    }
    let consumer_index = group.index() - 1;
    let tiles = shared.staging.part(consumer_index);
    let mut staging = Staging::new(tiles, c_full.part(consumer_index));
    let (rows, cols) = (C::Mainloop::ROWS, C::Mainloop::COLS);
    let along_m = cols == C::TILE.n;
    let (index_m, index_n) = if along_m { (consumer_index, 0) } else { (0, consumer_index) };
    let (rows_a, tile_b) = (C::A::consumer_tile(index_m, rows), index_n);
    let peers_empty: [_; CLUSTER] = core::array::from_fn(|peer| empty.of(cluster.peer(peer)));
    let mut consumer = Consumer { group, rows_a, tile_b, stages, full, empty: peers_empty, state };
    while scheduler.advance_to(group.warp(), index) {
        let tile = scheduler.work_tile(index, rank as u32);
        let at = tile.origin().offset((index_m * rows) as u32, (index_n * cols) as u32);
        epilogue.begin(group, &mut staging, &tile, at);
        let accumulators = C::Mainloop::run(&mut consumer, tile.k_tiles(C::TILE.k));
        epilogue.store(group, &mut staging, &tile, at, &accumulators);
        index += step;
    }
    // Not `group`: keeping it alive until here costs a register.
    wait_for_stores(block.warp_group());
    if CLUSTER > 1 {
        // Other blocks may still arrive on this block's barriers.
        cluster.sync();
    }
}

/// Checks a configuration at compile time.
const fn check<C: Config>(consumers: usize) {
    let TileShape { m, n, k } = C::TILE;
    let (rows, cols) = (C::Mainloop::ROWS, C::Mainloop::COLS);
    assert!(consumers <= 2, "three consumers would wait forever for their registers");
    assert!(
        cols == n && m == consumers * rows || m == rows && n == consumers * cols,
        "the consumers' tiles are the block's tile: they are adjacent along M, or along N"
    );
    assert!(
        cols == n || !C::B::ROW_MAJOR && C::B::BOX_COLS == cols,
        "consumers along N: B is K-major, and one of its boxes has the columns of one consumer"
    );
    assert!(k * size_of::<<C::A as OperandA>::Element>() == 128, "a stage has 128 bytes along K");
}

// Mainloop
/// A consumer warpgroup and its pipeline state.
pub struct Consumer<'k, A, B, const STAGES: usize, const CLUSTER: usize> {
    pub group: WarpGroup<'k>,
    /// Its first row of A.
    pub rows_a: TileRow,
    /// Its first tile of B.
    pub tile_b: usize,
    pub stages: SharedRing<(A, B), STAGES>,
    pub full: BarrierRing<STAGES>,
    /// The empty barriers to arrive on. With multicast: of all blocks of the cluster, as each
    /// loads some of the tiles. In cluster split-K: of this block.
    pub empty: [PeerBarrierRing<STAGES>; CLUSTER],
    /// The next stage.
    pub state: PipelineState<STAGES>,
}

/// The mainloop of a consumer.
pub trait Mainloop<A, B> {
    type Accumulators;
    /// Rows and columns of a consumer's accumulators.
    const ROWS: usize;
    const COLS: usize;
    /// Whether 8-bit floats use fast accumulation: in the tensor cores, with 13 bits of fraction.
    const FAST_ACCUMULATION: bool;

    /// Accumulates `k_tiles` stages, from zero. With 0 the accumulators stay zero: in cluster
    /// split-K, for a block without a share of a short K.
    fn run<const STAGES: usize, const CLUSTER: usize>(
        consumer: &mut Consumer<'_, A, B, STAGES, CLUSTER>,
        k_tiles: u32,
    ) -> Self::Accumulators;
}

/// `M64_TILES` x `m64nNk*`, accumulated by `wgmma` along all of K: see
/// [`Mainloop::FAST_ACCUMULATION`]. The bounds say that PTX has this `wgmma`, and unroll arrays.
pub struct Accumulate<const M64_TILES: usize, const N: usize, T>(PhantomData<T>);

impl<A, B, T, const M64_TILES: usize, const N: usize> Mainloop<A, B> for Accumulate<M64_TILES, N, T>
where
    A: WgmmaA,
    B: WgmmaB<N>,
    T: Number + Element<Width = Bits32>,
    M64<N>: WgmmaColumns<Bits32>,
    Op<N, A, B, T>: WgmmaForm<Registers = <M64<N> as WgmmaColumns<Bits32>>::Registers>,
    [InFlight<N, T>; M64_TILES]: Unroll<InFlight<N, T>, M64_TILES>,
    for<'a> [&'a mut InFlight<N, T>; M64_TILES]: Unroll<&'a mut InFlight<N, T>, M64_TILES>,
{
    type Accumulators = [GroupAccumulator<N, T>; M64_TILES];
    const ROWS: usize = M64_TILES * WGMMA_M;
    const COLS: usize = N;
    const FAST_ACCUMULATION: bool = size_of::<A::Element>() == 1 && T::IS_FLOAT;

    #[inline]
    fn run<const STAGES: usize, const CLUSTER: usize>(
        consumer: &mut Consumer<'_, A, B, STAGES, CLUSTER>,
        k_tiles: u32,
    ) -> Self::Accumulators {
        // A thread has M64_TILES * N / 2 accumulators. Up to 132 leave registers to test
        // the next stage's full barrier in advance.
        let tests_ahead = const { M64_TILES * N <= 264 };
        let group = consumer.group;
        let mut accumulators = <[_; M64_TILES]>::from_each(
            #[inline]
            |_| GroupAccumulator::<N, T>::zero().begin(group),
        );
        let mut previous = consumer.state;
        let mut token = tests_ahead.then(|| consumer.test_wait(consumer.state));
        for k_tile in 0..k_tiles {
            match token {
                Some(token) => _ = token.wait(group.warp()),
                None => consumer.wait(),
            }
            let index = consumer.state.index();
            // All lanes have the same index, but ptxas cannot know. After a `shfl.sync` it is in a
            // uniform register, from which `wgmma` takes descriptors.
            let (a, b) = consumer.stages.stage(if tests_ahead {
                index.uniform(group.warp())
            } else {
                index
            });
            let (rows_a, tile_b) = (consumer.rows_a, consumer.tile_b);
            // `map_each` is an unrolled loop, which keeps the accumulators in registers.
            accumulators.each_mut().map_each(
                #[inline]
                |m64, accumulator| {
                    Op::<N, A, B, T>::issue(group, accumulator, |issue| {
                        for k_slice in 0..K_SLICES {
                            issue.accumulate(
                                a.descriptor(rows_a, m64, k_slice),
                                b.descriptor(tile_b, 0, k_slice),
                            );
                        }
                    });
                    if m64 == 0 {
                        token = tests_ahead.then(|| consumer.test_wait(consumer.state.next()));
                        accumulator.wait::<1>(group);
                        // All groups but the newest have ended, also of other accumulators.
                        if k_tile > 0 {
                            consumer.release(previous, tests_ahead);
                        }
                    }
                },
            );
            previous = consumer.state;
            consumer.state = consumer.state.next();
        }
        let accumulators = accumulators.map_each(
            #[inline]
            |_, accumulator| accumulator.finish(group),
        );
        // `finish` has waited. With `k_tiles` = 0 (cluster split-K: one tile) nobody needs this.
        consumer.release(previous, tests_ahead);
        accumulators
    }
}

/// The `wgmma` of `N` columns for operands `A` and `B`.
pub type Op<const N: usize, A, B, T> =
    Wgmma<N, Multiplied<<A as OperandA>::Element>, Multiplied<<B as OperandB>::Element>, T>;

impl<A: SharedLayout, B: SharedLayout, const STAGES: usize, const CLUSTER: usize>
    Consumer<'_, A, B, STAGES, CLUSTER>
{
    /// Waits until the tiles of the next stage have landed.
    #[inline]
    pub fn wait(&self) {
        self.full.stage(self.state.index()).wait(self.group.warp(), self.state.phase());
    }

    /// Tests once whether the tiles of a stage have landed, by PTX `mbarrier.test_wait`: CUTLASS's
    /// `consumer_test_wait`. The token's `wait` blocks.
    #[inline]
    pub fn test_wait(&self, state: PipelineState<STAGES>) -> BarrierToken {
        self.full.stage(state.index()).begin_wait(self.group.warp(), state.phase())
    }

    /// Releases a stage: one lane of the warpgroup's warp 0 arrives. A `wgmma` ends for the four
    /// warps as one, so no `sync` is needed. The arrival says that tiles were read; it publishes no
    /// writes. With tests in advance, lane 0 takes fewer registers than an elected one.
    #[inline]
    pub fn release(&self, state: PipelineState<STAGES>, by_lane_0: bool) {
        let (empty, is_first) = (self.empty, self.group.warp_rank() == 0);
        let arrive = |lane: Lane<'_>| {
            for empty in empty {
                empty.stage(state.index()).arrive_having_read(lane);
            }
        };
        if by_lane_0 {
            self.group.warp().each(|lane| {
                if is_first && lane.id() == 0 {
                    arrive(lane);
                }
            });
        } else if is_first {
            self.group.warp().elect(arrive);
        }
    }
}

// Epilogue
/// The common path is D = alpha A x B. It scales and rounds the accumulators in registers, and
/// copies them to staging tiles. Warp 0 stores these by TMA, while the next tile is multiplied.
///
/// [`TmaStore::store_general`] has the other cases: beta != 0, a bias, an activation, split-K in
/// two launches, and a D that TMA cannot store.
impl<
    O,
    S,
    L,
    const COLS: usize,
    const TILES: usize,
    const EPI_N: usize,
    const N: usize,
    const M64_TILES: usize,
>
    EpilogueStore<
        SharedRing<SharedTile<O, WGMMA_M, COLS, S, L>, TILES>,
        [GroupAccumulator<N, O::Acc>; M64_TILES],
    > for TmaStore<'_, SharedTile<O, WGMMA_M, COLS, S, L>, EPI_N>
where
    O: Output<Acc: Element<Width = Bits32>>,
    S: TensorSwizzle,
    L: Order,
    M64<N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
    M64<EPI_N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
    M16N8K16: FragmentShape<RoleC, O::Width>,
    for<'a> [&'a GroupAccumulator<N, O::Acc>; M64_TILES]:
        Unroll<&'a GroupAccumulator<N, O::Acc>, M64_TILES>,
{
    #[inline]
    fn begin(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<SharedRing<SharedTile<O, WGMMA_M, COLS, S, L>, TILES>>,
        tile: &WorkTile,
        at: MatrixCoord,
    ) {
        self.begin_c::<TILES, N, M64_TILES>(group, staging, tile, at);
    }

    #[inline]
    fn store(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<SharedRing<SharedTile<O, WGMMA_M, COLS, S, L>, TILES>>,
        tile: &WorkTile,
        at: MatrixCoord,
        accumulators: &[GroupAccumulator<N, O::Acc>; M64_TILES],
    ) {
        let rounds = const { (M64_TILES * N.div_ceil(TILES * COLS)) as u32 };
        let first_load = staging.count_loads(if self.c.is_some() { rounds } else { 0 });
        if !self.args.only_scales() || self.map.is_none() || self.c.is_some() {
            return self.store_general(group, staging, first_load, tile, at, accumulators);
        }
        // beta is 0: C is not read. `Gemm::plan` launches no GEMM kernel for alpha = 0.
        accumulators.each_ref().map_each(
            #[inline]
            |m64, accumulator| {
                let scaled = accumulator.map(group, |_, _, acc| self.args.scalars.scaled(acc));
                let elements = O::narrow_group(group, &scaled);
                // Each round fills up to `TILES` staging tiles, of `COLS` columns each.
                for col in (0..N).step_by(TILES * COLS) {
                    let count = TILES.min((N - col) / COLS);
                    // The lane of the previous stores waits until they have read the tiles.
                    wait_for_stores(group);
                    for index in 0..count {
                        elements.store(group, &staging.tiles.part(index), col + index * COLS);
                    }
                    let to = at.offset((m64 * WGMMA_M) as u32, col as u32);
                    // A proxy fence, a sync of the warpgroup, and one bulk group of stores.
                    self.store_group(group, staging.tiles, 0..count, to, tile.batch);
                }
            },
        );
    }
}
