//! SM90 GEMM with cluster split-K: the blocks of a cluster split the K of one tile.
//!
//! It is for GEMMs with few tiles. The steps:
//! 1. Mainloop: each block accumulates its k-tiles, as in [`sm90_wgmma`](super::sm90_wgmma).
//! 2. Each block writes its accumulators to its shared memory, over the operand tiles.
//! 3. Reduction: each block adds its `REDUCE_N` columns of all blocks, in rank order, through
//!    distributed shared memory (DSMEM).
//! 4. Epilogue: each block stores these columns.
//!
//! So no partial accumulators go through global memory, and there is no second launch.

use super::sm90_wgmma::{
    CONSUMER_REGISTERS, Config, Consumer, Mainloop, PRODUCER_REGISTERS, Shared,
};
use crate::parts::tma::{WGMMA_M, wait_for_stores};
use crate::parts::{
    EpilogueStore, MatrixCoord, Multicast, Number, OperandA, OperandB, Output, ProblemShape,
    Staging, TmaArgs, TmaLoad, TmaOperands, TmaStore, WHOLE_TILE, WgmmaA,
};
use ptx_matrix::copy::BoxTile;
use ptx_matrix::element::Bits32;
use ptx_matrix::launch::PrecedingEnded;
use ptx_matrix::mma::{GroupAccumulator, M64, SharedAccumulator, WgmmaColumns};
use ptx_matrix::prelude::*;

/// [`gemm_split_k`] with the arguments and the epilogue of the table's kernels.
#[inline]
pub fn run<
    C,
    Tile,
    const EPI_N: usize,
    const REDUCE_N: usize,
    const N: usize,
    const STAGES: usize,
    const CONSUMERS: usize,
    const CLUSTER: usize,
>(
    block: &ClusterBlock<'_, CLUSTER>,
    shared: Shared<C, STAGES, CONSUMERS>,
    args: TmaArgs<'_, C::A, C::B, Tile>,
) where
    C: Config,
    C::Mainloop: Mainloop<
            C::A,
            C::B,
            Accumulators = [GroupAccumulator<N, <Tile::Element as Output>::Acc>; 1],
        >,
    Tile: BoxTile<Element: Output<Acc: Element<Width = Bits32>>>,
    M64<N>: WgmmaColumns<Bits32>,
    M64<REDUCE_N>: WgmmaColumns<Bits32>,
    for<'k> TmaStore<'k, Tile, EPI_N>:
        EpilogueStore<C::Staging, [GroupAccumulator<REDUCE_N, <Tile::Element as Output>::Acc>; 1]>,
{
    let (operands, shape, store) = args.split::<EPI_N>();
    gemm_split_k::<C, _, _, N, REDUCE_N, _, _, _>(block, shared, operands, shape, store);
}

/// Computes the tile of a cluster.
///
/// The mainloop of `C` accumulates 64 x `N`; a block reduces and stores `REDUCE_N` columns of it:
/// `N` divided by the cluster size. The five constants are sizes of types, and Rust cannot compute
/// one from another there.
#[inline]
pub fn gemm_split_k<
    C,
    T: Number + Element<Width = Bits32>,
    E: EpilogueStore<C::Staging, [GroupAccumulator<REDUCE_N, T>; 1]>,
    const N: usize,
    const REDUCE_N: usize,
    const STAGES: usize,
    const CONSUMERS: usize,
    const CLUSTER: usize,
>(
    block: &ClusterBlock<'_, CLUSTER>,
    shared: Shared<C, STAGES, CONSUMERS>,
    operands: TmaOperands<'_, C::A, C::B>,
    shape: ProblemShape,
    epilogue: impl FnOnce(PrecedingEnded<'_>) -> E,
) where
    C: Config<Mainloop: Mainloop<C::A, C::B, Accumulators = [GroupAccumulator<N, T>; 1]>>,
    M64<N>: WgmmaColumns<Bits32>,
    M64<REDUCE_N>: WgmmaColumns<Bits32>,
{
    const {
        assert!(CONSUMERS == 2, "the registers are those of two consumers");
        assert!(
            C::TILE.m == CONSUMERS * WGMMA_M && C::TILE.n == N && N == CLUSTER * REDUCE_N,
            "consumers have all columns, and blocks reduce as many each"
        );
        assert!(
            C::TILE.k * size_of::<<C::A as OperandA>::Element>() == 128,
            "a stage has 128 bytes along K, as a row of the swizzle pattern"
        );
    }
    let group = block.warp_group();
    if block.warp().index() == 0 {
        operands.prefetch(group.warp());
    }
    let full = shared.full.init(block, 1);
    let empty = shared.empty.init(block, CONSUMERS as u32);
    let c_full = shared.c_full.init(block, 1);
    let cluster = block.cluster();
    let rank = cluster.rank();
    // Memory that the preceding kernels wrote is read only after this wait (PDL).
    let ended = block.wait_for_preceding_kernels();
    let ((a, b), epilogue) = (operands.get(ended), epilogue(ended));
    let stages = shared.stages;
    let tile = shape.work_tile(C::TILE, 1, block.index().x / CLUSTER as u32, 0);
    let k_tiles = tile.k_tiles(C::TILE.k);
    let [first, end] = [rank, rank + 1].map(|rank| k_tiles * rank as u32 / CLUSTER as u32);
    let mut state = PipelineState::FIRST;

    // Producer
    if group.index() == 0 {
        group.give_registers::<PRODUCER_REGISTERS>();
        let warp = group.warp();
        if group.warp_rank() == 0 {
            for k_tile in first..end {
                let ((tiles_a, tiles_b), barrier) =
                    (stages.stage(state.index()), full.stage(state.index()));
                let k = tile.k_start + k_tile * C::TILE.k as u32;
                // Out-of-bounds boxes are zeroed once per stage, as in `sm90_wgmma`.
                let (rows, cols) = if k_tile - first < STAGES as u32 {
                    (WHOLE_TILE, WHOLE_TILE)
                } else {
                    (tile.rows, tile.cols)
                };
                empty.stage(state.index()).wait(warp, state.prev_phase());
                warp.elect(|lane| {
                    barrier.arrive_expecting(lane, C::A::load_bytes(rows) + C::B::load_bytes(cols));
                    let (batch, multicast) = (tile.batch, None::<Multicast<1>>);
                    tiles_a.load(TmaLoad {
                        lane,
                        map: a,
                        at: MatrixCoord { row: tile.row, col: k },
                        batch,
                        in_bounds: rows,
                        barrier,
                        multicast,
                    });
                    tiles_b.load(TmaLoad {
                        lane,
                        map: b,
                        at: MatrixCoord { row: k, col: tile.col },
                        batch,
                        in_bounds: cols,
                        barrier,
                        multicast,
                    });
                });
                state = state.next();
            }
        }
        // Joins the consumers' block sync, their cluster sync, and their `arrive` and `wait`.
        block.sync();
        cluster.sync();
        cluster.sync();
        return;
    }

    // Consumer
    group.take_registers::<CONSUMER_REGISTERS>();
    let index = group.index() - 1;
    let empty = [empty.of(cluster.peer(rank))];
    let rows_a = C::A::consumer_tile(index, WGMMA_M);
    let mut consumer = Consumer { group, rows_a, tile_b: 0, stages, full, empty, state };
    let at = tile.origin().offset((index * WGMMA_M) as u32, (rank * REDUCE_N) as u32);
    let mut staging = Staging::new(shared.staging.part(index), c_full.part(index));
    epilogue.begin(group, &mut staging, &tile, at);
    let [accumulator] = C::Mainloop::run(&mut consumer, end - first);

    // Reduction: the sync shows that all consumers have read the stages.
    block.sync();
    let n_slices = stages
        .reuse::<SharedRing<SharedRing<SharedAccumulator<REDUCE_N, T>, CLUSTER>, CONSUMERS>>()
        .part(index);
    for n_slice in 0..CLUSTER {
        n_slices.part(n_slice).put(group, &accumulator.columns(n_slice * REDUCE_N));
    }
    cluster.sync();
    let of_blocks: [_; CLUSTER] =
        core::array::from_fn(|block| n_slices.of(cluster.peer(block)).part(rank).get(group));
    let reduced = of_blocks.into_iter().reduce(|acc: GroupAccumulator<REDUCE_N, T>, of_block| {
        acc.zip(group, 0, &of_block, |acc, of_block| acc.plus(T::ONE, of_block))
    });
    // This block no longer reads the memory of another block.
    let arrived = cluster.arrive();

    // Epilogue
    let accumulators = [reduced.expect("a cluster has a block")];
    epilogue.store(group, &mut staging, &tile, at, &accumulators);
    wait_for_stores(group);
    cluster.wait(arrived);
}
