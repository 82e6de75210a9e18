//! What a block does: a warpgroup that brings tiles of A and B, and others that multiply them.
//!
//! There are as many blocks as multiprocessors, and each computes tile after tile. Those of a cluster compute tiles of D below each other,
//! for which they need the same tiles of B, or beside each other, with the same of A: each brings a share of these to all of them. The
//! producer, of whose warps one has tiles copied, is as many stages ahead as there are, also from one tile of D to the next: while the consumers bring their sums
//! away, it fills the stages again. It needs few registers, and leaves the others to the consumers' sums.
//!
//! A barrier for each stage, `full`, is told when its tiles have come; another, `empty`, by each consumer when it has read them.

use super::consumer::{Consumer, loses_bits};
use super::heights::{Heights, High};
use super::results::{ROWS, Sink, Strip, finish};
use super::schedule::{Schedule, Walk};
use crate::kernels::by_maps::{CONSUMER, Columns, Fill, Memory, Multiplied, PRODUCER, Rows, Share};
use crate::kernels::epilogue::Output;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// Computes the block's tiles of D, `M` x `N` each, of which each consumer has `HIGH` times 64 rows and `WIDE` columns, `PART` columns at once, and
/// fast or not: see `Consumer::sum`.
///
/// Consumers have all columns, and lie below each other; or all rows, and lie beside each other.
#[inline(always)]
pub fn product<
    'k,
    A: Rows,
    B: Columns<WIDE> + Columns<PART>,
    O: Output<Sum: Element<Width = Bits32>>,
    S: TensorSwizzle,
    L: Order,
    R: Sink<O, S, L, COLS>,
    const M: usize,
    const N: usize,
    const K: usize,
    const COLS: usize,
    const STRIPS: usize,
    const SUMS: usize,
    const STAGES: usize,
    const CONSUMERS: usize,
    const HIGH: usize,
    const WIDE: usize,
    const PART: usize,
    const FAST: bool,
    const BLOCKS: usize,
>(
    block: &ClusterBlock<'_, BLOCKS>,
    memory: Memory<A, B, Strip<O, S, L, COLS>, STRIPS, STAGES, CONSUMERS>,
    a: Early<TensorMap<'k, A::Box, 3>>,
    b: Early<TensorMap<'k, B::Box, 3>>,
    work: impl Schedule,
    results: impl FnOnce(AheadEnded<'_>) -> R,
) where
    High<HIGH>: Heights<HIGH>,
    M64<WIDE>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
    M64<PART>: WgmmaColumns<Bits32>,
    M16N8K16: FragmentShape<RoleC, O::Width>,
    Wgmma<WIDE, Multiplied<A::Element>, Multiplied<B::Element>, O::Sum>:
        WgmmaForm<Registers = <M64<WIDE> as WgmmaColumns<Bits32>>::Registers>,
    Wgmma<PART, Multiplied<A::Element>, Multiplied<B::Element>, O::Sum>:
        WgmmaForm<Registers = <M64<PART> as WgmmaColumns<Bits32>>::Registers>,
{
    const {
        assert!(
            WIDE == N && M == CONSUMERS * HIGH * ROWS || M == HIGH * ROWS && N == CONSUMERS * WIDE,
            "consumers have all columns, or all rows"
        );
        assert!(
            HIGH == 1 || FAST || !loses_bits::<A::Element, O::Sum>(),
            "of sums that are taken out there is room for 64 rows"
        );
        assert!(
            PART == WIDE || WIDE.is_multiple_of(PART) && loses_bits::<A::Element, O::Sum>() && !FAST,
            "columns are multiplied by parts only where each part's sums are taken out"
        );
        assert!(!FAST || loses_bits::<A::Element, O::Sum>(), "what is fast is so as bits are lost");
        assert!(K * size_of::<A::Element>() == 128, "the lines of a stage's tiles are the swizzle's");
    }
    let group = block.warp_group();
    if block.warp().index() == 0 {
        group.warp().elect(|lane| {
            a.prefetch(lane);
            b.prefetch(lane);
        });
    }
    let full = memory.full.init(block, 1);
    let empty = memory.empty.init(block, (BLOCKS * CONSUMERS) as u32);
    let cluster = block.cluster();
    let rank = cluster.rank();
    if BLOCKS > 1 {
        // So that the others' barriers are some, and they run.
        cluster.sync();
    }
    // What the kernels ahead wrote is read from here on.
    let ended = block.wait_for_kernels_ahead();
    let (a, b, results) = (a.get(ended), b.get(ended), results(ended));
    let stages = memory.stages;
    let mut work = work.begin::<M, N, BLOCKS>(ended);
    let (first, distance) = (block.index().x / BLOCKS as u32, block.grid().x / BLOCKS as u32);
    let mut turn = Turn::FIRST;

    if group.index() == 0 {
        if CONSUMERS > 1 {
            group.give_registers::<PRODUCER>();
        }
        let warp = group.warp();
        if group.warp_rank() == 0 {
            let share = Share::<BLOCKS> { rank, blocks: cluster.all() };
            let (of_a, of_b) = (work.across().then_some(share), (!work.across()).then_some(share));
            let mut next = first;
            while work.goes_to(warp, next) {
                let unit = work.unit(next, rank as u32);
                let (row, col, start) = unit.start;
                for step in 0..unit.inner.div_ceil(K as u32) {
                    let ((tiles_a, tiles_b), full) = (stages.stage(turn.index()), full.stage(turn.index()));
                    let inner = start + step * K as u32;
                    // What is beyond the product comes once to each stage, as zeros, and then no more: zeros take longer than elements.
                    let all = step < STAGES as u32 || unit.inside.0 >= M as u32 && unit.inside.1 >= N as u32;
                    empty.stage(turn.index()).wait(warp, turn.phase_before());
                    warp.elect(|lane| {
                        let barrier = full;
                        let fill = |rows, cols| {
                            full.arrive_expecting(lane, A::copied(rows) + B::copied(cols));
                            let (batch, share, wanted) = (unit.batch, of_a, rows);
                            tiles_a.load(Fill { lane, map: a, at: (row, inner), batch, wanted, barrier, share });
                            let (batch, share, wanted) = (unit.of_b(), of_b, cols);
                            tiles_b.load(Fill { lane, map: b, at: (inner, col), batch, wanted, barrier, share });
                        };
                        // One beside the other in the program, so that whole tiles take no more instructions than they need.
                        if all { fill(u32::MAX, u32::MAX) } else { fill(unit.inside.0, unit.inside.1) }
                    });
                    turn = turn.next();
                }
                next += distance;
            }
        }
        if BLOCKS > 1 {
            cluster.sync();
        }
        return;
    }

    if CONSUMERS > 1 {
        group.take_registers::<CONSUMER>();
    }
    let index = group.index() - 1;
    let strips = memory.strips.part(index);
    let empty: [_; BLOCKS] = core::array::from_fn(|rank| empty.of(cluster.peer(rank)));
    // Below each other, they have all of B's tiles; beside each other, all of A's, and of B's one each.
    let (down, right) = if WIDE == N { (index, 0) } else { (0, index) };
    let at = (down * HIGH * ROWS, right * WIDE);
    let rows = A::first(down, HIGH * ROWS);
    let mut consumer = Consumer { group, rows, columns: right, stages, full, empty, turn };
    let mut next = first;
    while work.goes_to(group.warp(), next) {
        let unit = work.unit(next, rank as u32);
        let (row, col, _) = unit.start;
        let (row, col) = (row + at.0 as u32, col + at.1 as u32);
        let sums = consumer.sum::<_, WIDE, HIGH, PART, FAST>(unit.inner.div_ceil(K as u32));
        results.put::<WIDE, HIGH, STRIPS, SUMS>(group, strips, &unit, (row, col), &sums);
        next += distance;
    }
    // Anew, so that until here no register has the warpgroup's index.
    finish(block.warp_group());
    if BLOCKS > 1 {
        // Others may still tell this block's barriers.
        cluster.sync();
    }
}
