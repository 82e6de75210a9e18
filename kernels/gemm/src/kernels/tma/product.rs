//! What a block does: warps that multiply tiles of A and B, and one beside them that has these brought, or all by turns.
//!
//! There are as many blocks as multiprocessors, and each computes tile after tile. Between its beginning and its end no warp waits for
//! all others: they go on as soon as a stage is full, and what a warp has summed it brings away itself, while others may still multiply. A warp that
//! only has tiles brought is the ninth, and three warps of one scheduler have at most 168 registers each, too few for sums and two sets of fragments: so it
//! is one of a warpgroup, which gives its registers away. (One that multiplied too would be later than the others, who would wait for it in the
//! end.) Where eight take turns instead, as with f64, a stage is filled again half a step after the warp that sees to it has given it back
//! itself, for the next tile of D too; then the others are mostly done with it.

use super::consumer::Consumer;
use super::pipeline::{Pipeline, Producer, Units};
use super::results::{ROWS, Strip, put, wait};
use super::roles::Roles;
use crate::kernels::by_maps::{Left, Memory, Results, Right, Work};
use crate::kernels::product::Product;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// Computes the block's tiles of D, `M` x `N` each, of which each of `CONSUMERS` warps has `WARP_M` x `WARP_N`. Sums of `SUMS` columns take as much memory
/// as a strip of `COLS`.
#[inline(always)]
pub fn product<
    'k,
    P: Product,
    A: Left<Element = P::Input>,
    B: Right<Element = P::Input>,
    L: Order,
    R: Roles,
    const M: usize,
    const N: usize,
    const K: usize,
    const COLS: usize,
    const SUMS: usize,
    const STAGES: usize,
    const CONSUMERS: usize,
    const WARP_M: usize,
    const WARP_N: usize,
    const I: usize,
    const J: usize,
>(
    block: &ClusterBlock<'_, 1>,
    memory: Memory<A, B, Strip<P::Output, L, COLS>, 2, STAGES, CONSUMERS>,
    a: Early<TensorMap<'k, A::Box, 3>>,
    b: Early<TensorMap<'k, B::Box, 3>>,
    work: Work,
    results: impl FnOnce(AheadEnded<'_>) -> Results<'k, P::Output, Swizzle128, L, ROWS, COLS>,
) {
    const {
        assert!(M * N == CONSUMERS * WARP_M * WARP_N && N.is_multiple_of(WARP_N), "the warps compute the block's tile");
        assert!(WARP_M == I * P::Shape::M && WARP_N == J * 2 * P::Shape::N, "a warp computes I x J pairs of fragments");
        assert!(K * size_of::<P::Input>() == 128, "the lines of a stage's tiles are the swizzle's");
    }
    let pipeline = Pipeline::begin(block, &memory, &a, &b);
    // What the kernels ahead wrote is read from here on.
    let ended = block.wait_for_kernels_ahead();
    let (a, b, results) = (a.get(ended), b.get(ended), results(ended));
    let mut units = Units::<M, N>::of_block(work, block);
    let group = block.warp_group();
    let (warp, index) = (group.warp(), group.index() * 4 + group.warp_rank());
    let multiplies_only = R::FIRST > 0;
    let until = if multiplies_only { 0 } else { index as u32 };
    let mut producer = Producer { pipeline, a, b, units, rest: None, turn: Turn::FIRST, until };
    if multiplies_only && group.index() == 0 {
        R::give_registers(group);
        if group.warp_rank() == 0 {
            while producer.fill::<K, 1>(warp) {}
        }
        return;
    }
    R::take_registers(group);
    if !multiplies_only {
        // All but one, which is the first to be filled in the main loop.
        for _ in 0..STAGES - 1 {
            producer.fill::<K, CONSUMERS>(warp);
        }
    }
    let index = index - R::FIRST;
    let at = (index / (N / WARP_N) * WARP_M, index % (N / WARP_N) * WARP_N);
    let strips = memory.strips.part(index);
    let mut consumer = Consumer { warp, at, pipeline, turn: Turn::FIRST };
    while let Some(unit) = units.next() {
        let (row, col, _) = unit.start;
        let sums = consumer.sum::<P, I, J>(unit.inner.div_ceil(K as u32), || {
            if !multiplies_only {
                producer.fill::<K, CONSUMERS>(warp);
            }
        });
        put::<P, L, COLS, SUMS, I, J>(&results, warp, strips, &unit, (row + at.0 as u32, col + at.1 as u32), &sums);
    }
    // Shared memory is there until strips have been read.
    wait::<0>(warp);
}
