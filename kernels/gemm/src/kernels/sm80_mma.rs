//! GEMM on `mma.sync`: one block per tile of D; operand tiles by `cp.async` (sm_80), or through
//! registers (sm_75, and elements that `cp.async` does not copy).
//!
//! `global --cp.async--> stage (shared) --ldmatrix--> fragments --mma--> accumulators`
//!
//! A multistage pipeline: the [`Source`]s load tiles of A and B into a ring of stages, several
//! k-tiles ahead. Within a k-tile, each warp walks along K in k-slices, as long as one `mma`. While
//! it multiplies the fragments of one k-slice, it loads those of the next, and starts to load a
//! part of the newest stage.

use crate::parts::mma::{Acc, AccumulatorFragment, SelectSwizzle, Stage, TileA, TileB};
use crate::parts::source::{CopyGroups as _, Source};
use crate::parts::{AsyncArgs, EpilogueArgs, GroupCursor, Groups, MmaOp, Output, ProblemShape};
use ptx_matrix::copy::Along;
use ptx_matrix::fragment::Shape;
use ptx_matrix::memory::{GlobalMatrixMut, RingIndex};
use ptx_matrix::prelude::*;

/// Fragments of B that one load returns.
const PAIR: usize = 2;

/// A warp's fragments of one k-slice: a column of A fragments, and a row of pairs of B fragments.
type Fragments<P, const I: usize, const J: usize> =
    ([<P as MmaOp>::A; I], [[<P as MmaOp>::B; PAIR]; J]);

/// The types of a GEMM with `M` x `N` tiles and k-tiles of `K`.
pub trait Config<const M: usize, const N: usize, const K: usize>: 'static {
    /// The instruction.
    type Op: MmaOp;
    /// The order of A's tiles.
    type OrderA: SelectSwizzle;
    /// The order of B's tiles.
    type OrderB: SelectSwizzle;
    /// The loader of A's tiles.
    type SourceA<'k>: Source<'k, TileA<Self::Op, Self::OrderA, M, K>>;
    /// The loader of B's tiles.
    type SourceB<'k>: Source<'k, TileB<Self::Op, Self::OrderB, K, N>>;
}

/// The operand tiles of one stage of a configuration.
pub type StageOf<C, const M: usize, const N: usize, const K: usize> = Stage<
    <C as Config<M, N, K>>::Op,
    <C as Config<M, N, K>>::OrderA,
    <C as Config<M, N, K>>::OrderB,
    M,
    N,
    K,
>;

/// The arguments of a configuration's kernel.
pub type Args<'k, P> = AsyncArgs<'k, <P as MmaOp>::Input, <P as MmaOp>::Output>;

/// One tile of D, and its operands.
struct Problem<'k, P: MmaOp, A, B> {
    m: usize,
    n: usize,
    k: usize,
    a: A,
    b: B,
    /// The index of the tile.
    tile: u32,
    /// The GEMM of the batch.
    batch: usize,
    /// The offset of its partial accumulators.
    partial: usize,
    args: EpilogueArgs<'k, P::Output>,
}

/// Computes the tile of block (tile, batch, split).
///
/// `IN_FLIGHT` is `STAGES` - 2; a warp computes `I` x `J` pairs of fragments. The eleven generic
/// parameters are sizes of types, and Rust cannot compute one from another there.
#[inline]
pub fn gemm<
    C: Config<M, N, K>,
    const M: usize,
    const N: usize,
    const K: usize,
    const STAGES: usize,
    const IN_FLIGHT: u32,
    const WARP_M: usize,
    const WARP_N: usize,
    const I: usize,
    const J: usize,
    const WARPS: usize,
>(
    block: &Block,
    stages: SharedRing<StageOf<C, M, N, K>, STAGES>,
    args: Args<'_, C::Op>,
) {
    let AsyncArgs { a, b, a_layout, b_layout, shape, epilogue: of_d, .. } = args;
    let (batch, split) = (block.index().y as usize, block.index().z);
    let k_start = split * shape.k_per_split;
    let k = (shape.k - k_start).min(shape.k_per_split) as usize;
    let (m, n, k_start) = (shape.m as usize, shape.n as usize, k_start as usize);
    let (lda, ldb) = (a_layout.ld as usize, b_layout.ld as usize);
    let row_major_a = C::SourceA::ROW_MAJOR.unwrap_or(a_layout.row_major);
    let row_major_b = C::SourceB::ROW_MAJOR.unwrap_or(b_layout.row_major);
    let a = a.skip(a_layout.start(batch) + if row_major_a { k_start } else { k_start * lda });
    let b = b.skip(b_layout.start(batch) + if row_major_b { k_start * ldb } else { k_start });
    let partial = (split as usize * shape.batches as usize + batch) * m * n;
    let problem = Problem {
        m,
        n,
        k,
        a: C::SourceA::matrix(row_major_a, a, m, k, lda),
        b: C::SourceB::matrix(row_major_b, b, k, n, ldb),
        tile: block.index().x,
        batch,
        partial,
        args: of_d,
    };
    tile::<C, M, N, K, STAGES, IN_FLIGHT, WARP_M, WARP_N, I, J, WARPS>(block, stages, &problem);
}

/// Computes a tile of a grouped GEMM. There are at least as many blocks as tiles. The generic
/// parameters are those of [`gemm`].
#[inline]
pub fn grouped_gemm<
    C: Config<M, N, K>,
    const M: usize,
    const N: usize,
    const K: usize,
    const STAGES: usize,
    const IN_FLIGHT: u32,
    const WARP_M: usize,
    const WARP_N: usize,
    const I: usize,
    const J: usize,
    const WARPS: usize,
>(
    block: &Block,
    stages: SharedRing<StageOf<C, M, N, K>, STAGES>,
    args: Args<'_, C::Op>,
) {
    let AsyncArgs { a, b, a_layout, b_layout, shape, epilogue: mut of_d, group_ends: ends, .. } =
        args;
    let groups = Groups { ends, rows: shape.m };
    let tiles = |rows: u32| rows.div_ceil(M as u32) * shape.n.div_ceil(N as u32);
    let found = groups.find(block.warp(), GroupCursor::FIRST, block.index().x, tiles);
    let Some(GroupCursor { group, tiles_before }) = found else { return };
    let (index, first, rows) =
        (group.index as usize, group.first as usize, (group.end - group.first) as usize);
    let (n, k, lda, ldb) =
        (shape.n as usize, shape.k as usize, a_layout.ld as usize, b_layout.ld as usize);
    // C, D and the bias of the group.
    of_d.d_layout.offset += first * of_d.d_layout.ld as usize;
    if !of_d.bias.is_empty() {
        of_d.bias = of_d.bias.skip(if of_d.scalars.bias_per_row != 0 { first } else { index * n });
    }
    let problem = Problem {
        m: rows,
        n,
        k,
        a: C::SourceA::matrix(true, a.skip(a_layout.offset + first * lda), rows, k, lda),
        b: C::SourceB::matrix(b_layout.row_major, b.skip(b_layout.start(index)), k, n, ldb),
        tile: block.index().x - tiles_before,
        batch: 0,
        partial: 0,
        args: of_d,
    };
    tile::<C, M, N, K, STAGES, IN_FLIGHT, WARP_M, WARP_N, I, J, WARPS>(block, stages, &problem);
}

/// Computes one tile of D. The generic parameters are those of [`gemm`].
#[inline]
#[allow(clippy::type_complexity, reason = "the matrices that a source reads are its own types")]
fn tile<
    'k,
    C: Config<M, N, K>,
    const M: usize,
    const N: usize,
    const K: usize,
    const STAGES: usize,
    const IN_FLIGHT: u32,
    const WARP_M: usize,
    const WARP_N: usize,
    const I: usize,
    const J: usize,
    const WARPS: usize,
>(
    block: &Block,
    stages: SharedRing<StageOf<C, M, N, K>, STAGES>,
    problem: &Problem<
        'k,
        C::Op,
        <C::SourceA<'k> as Source<'k, TileA<C::Op, C::OrderA, M, K>>>::Matrix,
        <C::SourceB<'k> as Source<'k, TileB<C::Op, C::OrderB, K, N>>>::Matrix,
    >,
) {
    let (mma_m, mma_n, mma_k) =
        (<C::Op as MmaOp>::Shape::M, <C::Op as MmaOp>::Shape::N, <C::Op as MmaOp>::Shape::K);
    const {
        assert!(
            IN_FLIGHT as usize == STAGES - 2,
            "of the stages, one is multiplied and one must have landed"
        );
        assert!(
            WARP_M == I * <C::Op as MmaOp>::Shape::M
                && WARP_N == J * PAIR * <C::Op as MmaOp>::Shape::N,
            "a warp computes I x J fragments"
        );
        assert!(
            M * N == WARPS * WARP_M * WARP_N && N.is_multiple_of(WARP_N),
            "the warps compute the block's tile"
        );
        assert!(
            C::SourceA::<'k>::FILL_PARTS == C::SourceB::<'k>::FILL_PARTS,
            "the prologue fills the same parts of A and B together"
        );
        assert!(
            K.is_multiple_of(2 * <C::Op as MmaOp>::Shape::K),
            "k-slices alternate between two sets of fragments"
        );
    }
    let warp = block.warp();
    let (rows, cols, inner) = (problem.m, problem.n, problem.k);
    let (tile_row, tile_col) = ProblemShape::raster(
        problem.tile,
        (SWIZZLE_ROWS / M) as u32,
        rows.div_ceil(M) as u32,
        cols.div_ceil(N) as u32,
    );
    let (top, left) = (tile_row as usize * M, tile_col as usize * N);
    let mut read_a = C::SourceA::<'k>::new(block, problem.a, (top, 0), Along::Cols);
    let mut read_b = C::SourceB::<'k>::new(block, problem.b, (0, left), Along::Rows);

    // Prologue: fill all stages but one. A partial last k-tile comes first, so that the mainloop
    // copies whole tiles only.
    let steps = (inner as u32).div_ceil(K as u32);
    let last_first = !inner.is_multiple_of(K);
    if last_first {
        read_a.advance(steps as isize - 1);
        read_b.advance(steps as isize - 1);
    }
    // A condition on the step alone would have the compiler copy the loop's body for the first one.
    let back_after = if last_first { 0 } else { usize::MAX };
    let filled = (steps as usize).min(STAGES - 1);
    let parts = C::SourceA::<'k>::FILL_PARTS;
    for load in 0..filled * parts {
        let (step, part) = (load / parts, load % parts);
        let (tile_a, tile_b) = stages.part(step);
        let held_a = read_a.fill(block, &tile_a, part);
        let held_b = read_b.fill(block, &tile_b, part);
        read_a.put(block, &tile_a, &held_a, part, parts);
        read_b.put(block, &tile_b, &held_b, part, parts);
        if part == parts - 1 {
            let next = if step == back_after { 1 - steps as isize } else { 1 };
            read_a.advance(next);
            read_b.advance(next);
            CopyGroups::<C, M, N, K>::commit(warp);
        }
    }
    // Commit also where nothing is left: the newest groups are then empty, and the waits stay the
    // same.
    for _ in filled..STAGES - 1 {
        CopyGroups::<C, M, N, K>::commit(warp);
    }

    // The warp's place in the block's tile.
    let (down, right) =
        (warp.index() / (N / WARP_N) * WARP_M, warp.index() % (N / WARP_N) * WARP_N);
    let load_a = |stage, slice: usize| -> [<C::Op as MmaOp>::A; I] {
        C::Op::load_a(warp, &stages.stage(stage).0, (down, slice * mma_k))
    };
    let load_b = |stage, slice: usize| -> [[<C::Op as MmaOp>::B; PAIR]; J] {
        C::Op::load_b(warp, &stages.stage(stage).1, (slice * mma_k, right))
    };

    let mut accumulators: [[[AccumulatorFragment<C::Op>; PAIR]; J]; I] = Zeroable::zeroed();
    let mut stage = RingIndex::FIRST;
    CopyGroups::<C, M, N, K>::wait::<IN_FLIGHT>(warp);
    block.sync();
    let mut fragments: Fragments<C::Op, I, J> = (load_a(stage, 0), load_b(stage, 0));
    let slices = K / mma_k;
    // Fragments of the next k-slice are loaded after the first of many rows, so that not all warps
    // of an SM wait for their loads after the sync. Large fragments leave no registers for two
    // slices: then A waits for the last row, and B until this slice is multiplied.
    let is_large = <C::Op as MmaOp>::Shape::M
        * <C::Op as MmaOp>::Shape::K
        * size_of::<<C::Op as MmaOp>::Input>()
        / LANES
        > 32;
    let load_row = if is_large { I - 1 } else { I / 4 };
    // Elements that a thread holds in the meantime take registers.
    let fetch_row = if size_of::<InRegisters<C, M, N, K>>() == 0 { I / 2 } else { I - 1 };
    for step in 0..steps {
        let free = stages.stage(stage.before());
        for slice in 0..slices {
            if slice == slices - 1 {
                // After the wait and the sync, the tiles of the next k-tile have landed from all
                // threads. All warps have loaded the last slice of this one: its stage is
                // filled next.
                CopyGroups::<C, M, N, K>::wait::<IN_FLIGHT>(warp);
                block.sync();
                // After the last k-tile, the stage is loaded once more, and not used.
                stage = if step + 1 < steps { stage.next() } else { stage };
            }
            let mut next = fragments;
            let (a, b) = &fragments;
            let load_parts = slices - 1;
            let mut held = None;
            for i in 0..I {
                if i == load_row {
                    next.0 = load_a(stage, (slice + 1) % slices);
                    if !is_large {
                        next.1 = load_b(stage, (slice + 1) % slices);
                    }
                }
                if i == fetch_row && slice < load_parts {
                    let held_a = read_a.fetch(block, &free.0, slice, load_parts);
                    held = Some((held_a, read_b.fetch(block, &free.1, slice, load_parts)));
                }
                // Boustrophedon order: the last fragment of B is the first of the next row.
                for j in 0..PAIR * J {
                    let j = if i % 2 == 0 { j } else { PAIR * J - 1 - j };
                    C::Op::multiply(
                        warp,
                        &mut accumulators[i][j / PAIR][j % PAIR],
                        &a[i],
                        &b[j / PAIR][j % PAIR],
                    );
                }
            }
            if is_large {
                next.1 = load_b(stage, (slice + 1) % slices);
            }
            if let Some((held_a, held_b)) = &held {
                read_a.put(block, &free.0, held_a, slice, load_parts);
                read_b.put(block, &free.1, held_b, slice, load_parts);
            }
            if slice == slices - 2 {
                CopyGroups::<C, M, N, K>::commit(warp);
                read_a.advance(1);
                read_b.advance(1);
            }
            fragments = next;
        }
    }

    CopyGroups::<C, M, N, K>::wait::<0>(warp);
    block.sync();
    let at = (top + down, left + right);
    // Computed here and not before the mainloop, where registers are short.
    let args = &problem.args;
    let d = args.matrix_d::<RowMajor>(problem.batch, rows, cols);
    let epilogue = &args.epilogue::<RowMajor>(problem.batch, rows, cols);
    if args.partials.is_empty() && epilogue.only_scales() {
        // Each warp stages its results in shared memory, to store whole rows.
        let results: SharedRing<
            SharedTile<<C::Op as MmaOp>::Output, WARP_M, WARP_N, Swizzle128>,
            WARPS,
        > = stages.reuse();
        let result = results.part(warp.index());
        for (i, row) in accumulators.iter().enumerate() {
            for (j, accumulator) in row.as_flattened().iter().enumerate() {
                let scaled = accumulator.map(warp, |_, _, acc| epilogue.scaled(acc));
                <C::Op as MmaOp>::Output::narrow_all(warp, &scaled).store(
                    warp,
                    &result,
                    (i * mma_m, j * mma_n),
                );
            }
        }
        warp.sync();
        result.copy_to(warp, d, at);
        return;
    }
    // Rare epilogues go through shared memory too. Branches on each element in its register would
    // cost more time than the rest of the epilogue.
    let subtiles: SharedRing<SharedTile<Acc<C::Op>, WARP_M, WARP_N, Swizzle128>, WARPS> =
        stages.reuse();
    let subtile = subtiles.part(warp.index());
    for (i, row) in accumulators.iter().enumerate() {
        for (j, accumulator) in row.as_flattened().iter().enumerate() {
            accumulator.store(warp, &subtile, (i * mma_m, j * mma_n));
        }
    }
    warp.sync();
    if !args.partials.is_empty() {
        let to = GlobalMatrixMut::<_, RowMajor>::new(
            args.partials.skip(problem.partial),
            rows,
            cols,
            cols,
        );
        subtile.copy_to(warp, to, at);
        return;
    }
    epilogue.apply::<2, _, _, _>(warp, subtile, at, (rows, cols), |_, to, element| {
        if let Some((row, col)) = to {
            d.set(row, col, element);
        }
    });
}

/// The copy groups of A; those of B are the same.
type CopyGroups<C, const M: usize, const N: usize, const K: usize> =
    <<C as Config<M, N, K>>::SourceA<'static> as Source<
        'static,
        TileA<<C as Config<M, N, K>>::Op, <C as Config<M, N, K>>::OrderA, M, K>,
    >>::CopyGroups;

/// The elements that a thread holds of loads through registers.
type InRegisters<C, const M: usize, const N: usize, const K: usize> = (
    <<C as Config<M, N, K>>::SourceA<'static> as Source<
        'static,
        TileA<<C as Config<M, N, K>>::Op, <C as Config<M, N, K>>::OrderA, M, K>,
    >>::InRegisters,
    <<C as Config<M, N, K>>::SourceB<'static> as Source<
        'static,
        TileB<<C as Config<M, N, K>>::Op, <C as Config<M, N, K>>::OrderB, K, N>,
    >>::InRegisters,
);

/// Rows of D that consecutive blocks cover along M before they go on along N (rasterization): about
/// as many as the concurrent blocks cover along N. Together they then read the least of A and B.
const SWIZZLE_ROWS: usize = 2048;
