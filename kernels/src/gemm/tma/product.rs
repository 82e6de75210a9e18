//! What a block does: warps that multiply tiles of A and B, of which one has them brought, too, or all by turns.
//!
//! There are as many blocks as multiprocessors, and each computes tile after tile. Between its beginning and its end no warp waits for
//! all others: they go on as soon as a stage is full, and what a warp has summed it brings away itself, while others may still multiply. A
//! stage is filled again half a step after the warp that sees to it has given it back itself, for the next tile of D too; then the others are
//! mostly done with it. A warp that did nothing else would be the ninth, and three warps of one scheduler have at most 168 registers each: too
//! few for sums and two sets of fragments. But one that sees to all stages multiplies later than the others, who wait for it in the end: where
//! that costs more than that all of them keep count, as with f64, they take turns.

use super::consumer::Consumer;
use super::pipeline::{Pipeline, Producer, Units};
use super::results::{ROWS, Strip, put, wait};
use crate::gemm::by_maps::{Left, Memory, Results, Right, Work};
use crate::gemm::product::Product;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// Computes the block's tiles of D, `M` x `N` each, of which each of `CONSUMERS` warps has `WARP_M` x `WARP_N`. The first `PRODUCERS` of them have
/// tiles brought; sums of `SUMS` columns take as much memory as a strip of `COLS`.
#[inline(always)]
pub fn product<
    'k,
    P: Product,
    A: Left<Element = P::Input>,
    B: Right<Element = P::Input>,
    L: Order,
    const M: usize,
    const N: usize,
    const K: usize,
    const COLS: usize,
    const SUMS: usize,
    const STAGES: usize,
    const CONSUMERS: usize,
    const PRODUCERS: usize,
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
    let until = (index % PRODUCERS) as u32;
    let mut producer = Producer { pipeline, a, b, units, rest: None, turn: Turn::FIRST, until };
    let produces = index < PRODUCERS;
    if produces {
        // All but one, which is the first to be filled in the main loop.
        for _ in 0..STAGES - 1 {
            producer.fill::<K, PRODUCERS>(warp);
        }
    }
    let at = (index / (N / WARP_N) * WARP_M, index % (N / WARP_N) * WARP_N);
    let strips = memory.strips.part(index);
    let mut consumer = Consumer { warp, at, pipeline, turn: Turn::FIRST };
    while let Some(unit) = units.next() {
        let (row, col, _) = unit.start;
        let sums = consumer.sum::<P, I, J>(unit.inner.div_ceil(K as u32), || {
            if produces {
                producer.fill::<K, PRODUCERS>(warp);
            }
        });
        put::<P, L, COLS, SUMS, I, J>(&results, warp, strips, &unit, (row + at.0 as u32, col + at.1 as u32), &sums);
    }
    // Shared memory is there until strips have been read.
    wait::<0>(warp);
}
