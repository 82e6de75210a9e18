//! What a block does for a matrix product: its tile of D.
//!
//! The block goes along K in steps. Tiles of A and B come from their [`Source`]s into a ring of stages in shared memory, several steps
//! ahead. Within a step, each warp goes along K in slices, as long as an `mma` is: while it multiplies the fragments of one, it
//! loads those of the next, and starts to bring a part of the tiles for the step that is furthest ahead.

use super::epilogue::{Epilogue, Number, Output};
use super::product::{Lines, Product, Stage, Sum, Sums, TileA, TileB};
use super::source::{Groups, Source};
use ptx_matrix::*;

/// Fragments of B that are loaded together.
const PAIR: usize = 2;

/// What a warp multiplies in one slice: a column of fragments of A, and a row of pairs of fragments of B.
type Factors<P, const I: usize, const J: usize> = ([<P as Product>::A; I], [[<P as Product>::B; PAIR]; J]);

/// D = f(alpha A x B + beta C + bias), with sums that are rounded once.
pub struct Problem<'k, P: Product, A, B> {
    /// K.
    pub inner: usize,
    /// M x K.
    pub a: A,
    /// K x N.
    pub b: B,
    /// M x N.
    pub d: GlobalMatrixMut<'k, P::Output>,
    /// Which of its tiles is the block's.
    pub tile: u32,
    /// M x N, where the sums of A x B go as they are, instead of D's elements to D.
    pub sums: Option<GlobalMatrixMut<'k, Sum<P>>>,
    /// What becomes of the sums.
    pub epilogue: Epilogue<'k, P::Output>,
}

/// Computes the tile of D that is this block's.
#[inline(always)]
pub fn block_product<
    'k,
    P: Product,
    OA: Lines,
    OB: Lines,
    SA: Source<'k, TileA<P, OA, M, K>>,
    SB: Source<'k, TileB<P, OB, K, N>>,
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
    stages: SharedRing<Stage<P, OA, OB, M, N, K>, STAGES>,
    problem: &Problem<'k, P, SA::Matrix, SB::Matrix>,
) {
    let (tall, wide, long) = (P::Shape::M, PAIR * P::Shape::N, P::Shape::K);
    const {
        assert!(IN_FLIGHT as usize == STAGES - 2, "of the stages, one is multiplied and one must have landed");
        assert!(WARP_M == I * P::Shape::M && WARP_N == J * PAIR * P::Shape::N, "a warp computes I x J fragments");
        assert!(M * N == WARPS * WARP_M * WARP_N && N.is_multiple_of(WARP_N), "the warps compute the block's tile");
        assert!(K.is_multiple_of(2 * P::Shape::K), "slices alternate between two sets of fragments");
    }
    let warp = block.warp();
    let (rows, cols, inner) = (problem.d.rows(), problem.d.cols(), problem.inner);
    let (tile_row, tile_col) =
        raster(problem.tile, (GROUP_ROWS / M) as u32, rows.div_ceil(M) as u32, cols.div_ceil(N) as u32);
    let (top, left) = (tile_row as usize * M, tile_col as usize * N);
    let mut read_a = SA::new(block, problem.a, (top, 0), Along::Cols);
    let mut read_b = SB::new(block, problem.b, (0, left), Along::Rows);

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
            read_a.fill(block, &tile_a);
            read_b.fill(block, &tile_b);
            let next = if last_first && step == 0 { 1 - steps as isize } else { 1 };
            read_a.advance(next);
            read_b.advance(next);
        }
        // Also where there is nothing left: then the newest groups are empty, and the waits stay the same.
        SA::Groups::commit(warp);
    }

    // The warp's place in the block's tile.
    let (down, right) = (warp.index() / (N / WARP_N) * WARP_M, warp.index() % (N / WARP_N) * WARP_N);
    let load_a = |stage, slice: usize| -> [P::A; I] { P::load_a(warp, &stages.stage(stage).0, (down, slice * long)) };
    let load_b =
        |stage, slice: usize| -> [[P::B; PAIR]; J] { P::load_b(warp, &stages.stage(stage).1, (slice * long, right)) };

    let mut sums: [[[Sums<P>; PAIR]; J]; I] = Zeroable::zeroed();
    let mut stage = RingIndex::FIRST;
    SA::Groups::wait::<IN_FLIGHT>(warp);
    block.sync();
    let mut fragments: Factors<P, I, J> = (load_a(stage, 0), load_b(stage, 0));
    let slices = K / long;
    // The next slice's are loaded behind the first of many rows, so that not all warps of a multiprocessor wait for their loads when they
    // have met. Where they take so many registers that there are not enough for those of two slices, A's wait for the last row, and B's
    // until this slice's are used.
    let is_large = P::Shape::M * P::Shape::K * size_of::<P::Input>() / LANES > 32;
    let load_row = if is_large { I - 1 } else { I / 4 };
    // What a thread holds meanwhile takes registers.
    let fetch_row = if size_of::<(SA::Held, SB::Held)>() == 0 { I / 2 } else { I - 1 };
    for step in 0..steps {
        let free = stages.stage(stage.before());
        for slice in 0..slices {
            if slice == slices - 1 {
                // What the others copied for the next step has landed too; and all have loaded the last of this one, whose stage is
                // filled next.
                SA::Groups::wait::<IN_FLIGHT>(warp);
                block.sync();
                // After the last step there is none: then what is loaded once more is not used.
                stage = if step + 1 < steps { stage.next() } else { stage };
            }
            let mut next = fragments;
            let (a, b) = &fragments;
            let parts = slices - 1;
            let mut held = None;
            for i in 0..I {
                if i == load_row {
                    next.0 = load_a(stage, (slice + 1) % slices);
                    if !is_large {
                        next.1 = load_b(stage, (slice + 1) % slices);
                    }
                }
                if i == fetch_row && slice < parts {
                    let held_a = read_a.fetch(block, &free.0, slice, parts);
                    held = Some((held_a, read_b.fetch(block, &free.1, slice, parts)));
                }
                // There and back again: the last fragment of B is the next row's first.
                for j in 0..PAIR * J {
                    let j = if i % 2 == 0 { j } else { PAIR * J - 1 - j };
                    P::multiply(warp, &mut sums[i][j / PAIR][j % PAIR], &a[i], &b[j / PAIR][j % PAIR]);
                }
            }
            if is_large {
                next.1 = load_b(stage, (slice + 1) % slices);
            }
            if let Some((held_a, held_b)) = &held {
                read_a.put(block, &free.0, held_a, slice, parts);
                read_b.put(block, &free.1, held_b, slice, parts);
            }
            if slice == slices - 2 {
                SA::Groups::commit(warp);
                read_a.advance(1);
                read_b.advance(1);
            }
            fragments = next;
        }
    }

    SA::Groups::wait::<0>(warp);
    block.sync();
    let at = (top + down, left + right);
    let epilogue = &problem.epilogue;
    if problem.sums.is_none() && epilogue.is_a_factor() {
        // Each warp's results go through a part of the stages, so that they are stored by whole lines.
        let results: SharedRing<SharedTile<P::Output, WARP_M, WARP_N, Swizzle128>, WARPS> = stages.reuse();
        let result = results.part(warp.index());
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.as_flattened().iter().enumerate() {
                let sum = sum.map(warp, |_, _, sum| sum.times(epilogue.alpha));
                P::Output::narrow_all(warp, &sum).store(warp, &result, (i * tall, j * (wide / PAIR)));
            }
        }
        warp.sync();
        result.copy_to(warp, problem.d, at);
        return;
    }
    // What is rarely asked for is kept out of the way: asked for each element in its register, it would take longer than the rest.
    let parts: SharedRing<SharedTile<Sum<P>, WARP_M, WARP_N, Swizzle128>, WARPS> = stages.reuse();
    let part = parts.part(warp.index());
    for (i, sums) in sums.iter().enumerate() {
        for (j, sum) in sums.as_flattened().iter().enumerate() {
            sum.store(warp, &part, (i * tall, j * (wide / PAIR)));
        }
    }
    warp.sync();
    if let Some(to) = problem.sums {
        part.copy_to(warp, to, at);
        return;
    }
    let d = problem.d;
    epilogue.finish::<2, _, _, _>(warp, part, at, (rows, cols), |_, to, element| {
        if let Some((row, col)) = to {
            d.set(row, col, element);
        }
    });
}

/// Rows of D that blocks go down before they go right: about as many as those that run at the same time then go right, so that
/// together they read the least of A and B.
const GROUP_ROWS: usize = 2048;

/// The tile of D that block `index` computes, where `group` tiles lie below each other in a group. Blocks that run at the same time
/// go down the rows of a group, then right: what they read of A and B stays in the second-level cache.
#[inline(always)]
pub fn raster(index: u32, group: u32, tiles_down: u32, tiles_right: u32) -> (u32, u32) {
    let first = index / (group * tiles_right) * group;
    let height = (tiles_down - first).min(group);
    let index = index % (group * tiles_right);
    (first + index % height, index / height)
}
