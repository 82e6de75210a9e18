//! What a block does for a matrix product: its tile of D.
//!
//! The block goes along K in steps. Tiles of A and B come by `cp.async` into a ring of stages in shared memory, several steps
//! ahead. Within a step, each warp goes along K in slices of 16: while it multiplies the fragments of one, it loads those of
//! the next, and starts a part of the copies for the step that is furthest ahead.

use ptx_matrix::target::AtLeast;
use ptx_matrix::*;

/// K of one `mma`, and of a slice.
const SLICE: usize = 16;
/// Columns of a pair of fragments of B, which one `ldmatrix` loads.
const PAIR: usize = 16;
/// Rows of a fragment of A.
const TALL: usize = 16;

type TileA<T, O, const M: usize, const K: usize> = SharedTile<T, M, K, Swizzle128, O>;
type TileB<T, O, const K: usize, const N: usize> = SharedTile<T, K, N, Swizzle128, O>;
/// The tiles of one step.
pub type Stage<T, OA, OB, const M: usize, const N: usize, const K: usize> = (TileA<T, OA, M, K>, TileB<T, OB, K, N>);

/// What a warp multiplies in one slice: a column of fragments of A, and a row of pairs of fragments of B.
type Factors<T, const I: usize, const J: usize> = ([FragmentA<M16N8K16, T>; I], [[FragmentB<M16N8K16, T>; 2]; J]);

/// D = f(alpha A x B + beta C + bias), where f is the identity or `relu`. The sums are of `f32`, rounded once.
pub struct Problem<'k, T, OA, OB> {
    /// M x K. Its lines start at multiples of 16 bytes.
    pub a: GlobalMatrix<'k, T, OA>,
    /// K x N. Its lines start at multiples of 16 bytes.
    pub b: GlobalMatrix<'k, T, OB>,
    /// M x N; none for `beta` = 0.
    pub c: Option<GlobalMatrix<'k, T>>,
    /// One for each column.
    pub bias: Option<Global<'k, T>>,
    /// M x N.
    pub d: GlobalMatrixMut<'k, T>,
    /// M x N, where the sums of A x B go as they are, instead of D's elements to D.
    pub sums: Option<GlobalMatrixMut<'k, f32>>,
    /// The factor of the product.
    pub alpha: f32,
    /// The factor of C.
    pub beta: f32,
    /// Whether what is negative becomes zero.
    pub relu: bool,
}

impl<T: Rounded, OA, OB> Problem<'_, T, OA, OB> {
    /// The element of D, from alpha times its sum.
    #[inline(always)]
    fn finish(&self, row: usize, col: usize, mut sum: f32) -> f32 {
        if row < self.d.rows() && col < self.d.cols() {
            if let Some(c) = self.c {
                sum += self.beta * c.get(row, col).widen();
            }
            if let Some(bias) = self.bias {
                sum += bias.get(col).widen();
            }
        }
        // Written so that what is not a number stays so.
        if self.relu && sum < 0.0 { 0.0 } else { sum }
    }
}

/// Computes the tile of D that is this block's.
#[inline(always)]
pub fn block_product<
    T: Rounded<Width = Bits16>,
    OA: Order,
    OB: Order,
    const M: usize,
    const N: usize,
    const K: usize,
    const STAGES: usize,
    const IN_FLIGHT: u32,
    const WARP_M: usize,
    const WARP_N: usize,
    const I: usize,
    const J: usize,
    const COPIES_A: usize,
    const COPIES_B: usize,
    const WARPS: usize,
>(
    block: &Block,
    stages: SharedRing<Stage<T, OA, OB, M, N, K>, STAGES>,
    problem: &Problem<T, OA, OB>,
) where
    Mma<M16N8K16, T, T, f32>: MmaForm<
            A = FragmentA<M16N8K16, T>,
            B = FragmentB<M16N8K16, T>,
            C = Accumulator<M16N8K16, f32>,
            D = Accumulator<M16N8K16, f32>,
            Needs = AtLeast<80>,
        >,
{
    const {
        assert!(IN_FLIGHT as usize == STAGES - 2, "of the stages, one is multiplied and one must have landed");
        assert!(WARP_M == I * TALL && WARP_N == J * PAIR, "a warp computes I x J fragments");
        assert!(M * N == WARPS * WARP_M * WARP_N && N.is_multiple_of(WARP_N), "the warps compute the block's tile");
        assert!(K.is_multiple_of(2 * SLICE), "slices alternate between two sets of fragments");
    }
    let warp = block.warp();
    let (rows, cols, inner) = (problem.d.rows(), problem.d.cols(), problem.a.cols());
    let (tile_row, tile_col) = raster(block.index().x, rows.div_ceil(M) as u32, cols.div_ceil(N) as u32);
    let (top, left) = (tile_row as usize * M, tile_col as usize * N);
    let mut read_a = TileReader::<TileA<T, OA, M, K>, COPIES_A>::new(block, problem.a, (top, 0), Along::Cols);
    let mut read_b = TileReader::<TileB<T, OB, K, N>, COPIES_B>::new(block, problem.b, (0, left), Along::Rows);

    // All stages but one are filled before the first step. Where K ends within a step, that step comes first, so that all those
    // that the main loop copies are whole.
    let steps = (inner as u32).div_ceil(K as u32);
    let last_first = !inner.is_multiple_of(K);
    if last_first {
        read_a.advance(steps as isize - 1);
        read_b.advance(steps as isize - 1);
    }
    for step in 0..STAGES - 1 {
        if step < steps as usize {
            let (tile_a, tile_b) = stages.part(step);
            read_a.copy(block, &tile_a);
            read_b.copy(block, &tile_b);
            let next = if last_first && step == 0 { 1 - steps as isize } else { 1 };
            read_a.advance(next);
            read_b.advance(next);
        }
        // Also where there is nothing left: then the newest groups are empty, and the waits stay the same.
        CpAsync::<16>::commit(warp);
    }

    // The warp's place in the block's tile.
    let (down, right) = (warp.index() / (N / WARP_N) * WARP_M, warp.index() % (N / WARP_N) * WARP_N);
    let load = |stage: RingIndex<STAGES>, slice: usize| -> Factors<T, I, J> {
        let (tile_a, tile_b) = stages.stage(stage);
        (
            FragmentA::load_run(warp, &tile_a, (down, slice * SLICE)),
            FragmentB::load_pairs(warp, &tile_b, (slice * SLICE, right)),
        )
    };

    let mut sums: [[[Accumulator<M16N8K16, f32>; 2]; J]; I] = Zeroable::zeroed();
    let mut stage = RingIndex::FIRST;
    CpAsync::<16>::wait::<IN_FLIGHT>(warp);
    block.sync();
    let mut fragments = load(stage, 0);
    let slices = K / SLICE;
    for step in 1..=steps {
        let free = stages.stage(stage.before());
        for slice in 0..slices {
            if slice == slices - 1 {
                // What the others copied for the next step has landed too; and all have loaded the last of this one, whose stage is
                // filled next.
                CpAsync::<16>::wait::<IN_FLIGHT>(warp);
                block.sync();
                // After the last step there is none: then what is loaded once more is not used.
                stage = if step < steps { stage.next() } else { stage };
            }
            let next = load(stage, (slice + 1) % slices);
            let (a, b) = &fragments;
            for i in 0..I {
                if i == I - 1 && slice < slices - 1 {
                    read_a.copy_part(block, &free.0, slice, slices - 1);
                    read_b.copy_part(block, &free.1, slice, slices - 1);
                }
                // There and back again: the last fragment of B is the next row's first.
                for j in 0..2 * J {
                    let j = if i % 2 == 0 { j } else { 2 * J - 1 - j };
                    let sum = &mut sums[i][j / 2][j % 2];
                    Mma::<M16N8K16, T, T, f32>::accumulate(warp, sum, &a[i], &b[j / 2][j % 2]);
                }
            }
            if slice == slices - 2 {
                CpAsync::<16>::commit(warp);
                read_a.advance(1);
                read_b.advance(1);
            }
            fragments = next;
        }
    }

    CpAsync::<16>::wait::<0>(warp);
    let (top, left) = (top + down, left + right);
    block.sync();
    if let Some(to) = problem.sums {
        let parts: SharedRing<SharedTile<f32, WARP_M, WARP_N, Swizzle128>, WARPS> = stages.reuse();
        let part = parts.part(warp.index());
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.as_flattened().iter().enumerate() {
                sum.store(warp, &part, (i * TALL, j * PAIR / 2));
            }
        }
        warp.sync();
        part.copy_to(warp, to, (top, left));
        return;
    }
    // Each warp's results go through a part of the stages, so that they are stored by whole lines.
    for sum in sums.as_flattened_mut().as_flattened_mut() {
        *sum = sum.map(warp, |_, _, sum| problem.alpha * sum);
    }
    // What is rarely asked for is kept out of the way: asked for each element, it would take longer than the rest.
    if problem.c.is_some() || problem.bias.is_some() || problem.relu {
        for (i, sums) in sums.iter_mut().enumerate() {
            for (j, pair) in sums.iter_mut().enumerate() {
                for (half, sum) in pair.iter_mut().enumerate() {
                    let (top, left) = (top + i * TALL, left + j * PAIR + half * PAIR / 2);
                    *sum = sum.map(warp, |row, col, sum| problem.finish(top + row, left + col, sum));
                }
            }
        }
    }
    let results: SharedRing<SharedTile<T, WARP_M, WARP_N, Swizzle128>, WARPS> = stages.reuse();
    let result = results.part(warp.index());
    for (i, sums) in sums.iter().enumerate() {
        for (j, pair) in sums.iter().enumerate() {
            for (half, sum) in pair.iter().enumerate() {
                let (down, right) = (i * TALL, j * PAIR + half * PAIR / 2);
                sum.round::<T>(warp).store(warp, &result, (down, right));
            }
        }
    }
    warp.sync();
    result.copy_to(warp, problem.d, (top, left));
}

/// The tile of D that block `index` computes. Blocks that run at the same time go down the rows of a group, then right: what they
/// read of A and B stays in the second-level cache.
#[inline(always)]
fn raster(index: u32, tiles_down: u32, tiles_right: u32) -> (u32, u32) {
    const GROUP: u32 = 8;
    let first = index / (GROUP * tiles_right) * GROUP;
    let height = (tiles_down - first).min(GROUP);
    let index = index % (GROUP * tiles_right);
    (first + index % height, index / height)
}
