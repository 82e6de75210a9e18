//! What a block does: a warpgroup that brings tiles of A and B, and others that multiply them.
//!
//! There are as many blocks as multiprocessors, and each computes tile after tile. Of the producer's warps one has tiles copied, for the
//! next tile of D too while the consumers bring their sums away. It needs few registers, and leaves the others to the consumers' sums.

use super::consumer::Consumer;
use super::results::{ROWS, Strip, finish, put};
use crate::gemm::by_maps::{Columns, Left, Memory, Multiplied, Pipeline, Producer, Results, Work};
use crate::gemm::epilogue::Output;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// Registers of a producer's thread, and of a consumer's: together, for one and two warpgroups, what a multiprocessor has. With one consumer
/// all have enough.
const PRODUCER: u32 = 40;
const CONSUMER: u32 = 232;

/// Computes the block's tiles of D, `M` x `N` each, `PART` columns at once: see `Consumer::sum`.
#[inline(always)]
pub fn product<
    'k,
    A: Left,
    B: Columns<N> + Columns<PART>,
    O: Output<Sum: Element<Width = Bits32>>,
    S: TensorSwizzle,
    const M: usize,
    const N: usize,
    const K: usize,
    const COLS: usize,
    const STRIPS: usize,
    const STAGES: usize,
    const CONSUMERS: usize,
    const PART: usize,
    const BLOCKS: usize,
>(
    block: &ClusterBlock<'_, BLOCKS>,
    memory: Memory<A, B, Strip<O, S, COLS>, STRIPS, STAGES, CONSUMERS>,
    a: Early<TensorMap<'k, A::Box, 3>>,
    b: Early<TensorMap<'k, B::Box, 3>>,
    work: Work,
    results: impl FnOnce(AheadEnded<'_>) -> Results<'k, O, S, ROWS, COLS>,
) where
    M64<N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
    M64<PART>: WgmmaColumns<Bits32>,
    M16N8K16: FragmentShape<RoleC, O::Width>,
    Wgmma<N, Multiplied<A::Element>, Multiplied<B::Element>, O::Sum>:
        WgmmaForm<Registers = <M64<N> as WgmmaColumns<Bits32>>::Registers>,
    Wgmma<PART, Multiplied<A::Element>, Multiplied<B::Element>, O::Sum>:
        WgmmaForm<Registers = <M64<PART> as WgmmaColumns<Bits32>>::Registers>,
{
    const {
        assert!(M == CONSUMERS * Consumer::<A, B, STAGES, BLOCKS>::ROWS, "each consumer computes 64 rows");
        assert!(N.is_multiple_of(PART), "the parts are all columns");
        assert!(K * size_of::<A::Element>() == 128, "the lines of a stage's tiles are the swizzle's");
    }
    let group = block.warp_group();
    let pipeline = Pipeline::begin(block, &memory, &a, &b);
    let cluster = block.cluster();
    // What the kernels ahead wrote is read from here on.
    let ended = block.wait_for_kernels_ahead();
    let (a, b, results) = (a.get(ended), b.get(ended), results(ended));
    let mut units = work.of_block::<M, N, BLOCKS>(block);

    if group.index() == 0 {
        if CONSUMERS > 1 {
            group.give_registers::<PRODUCER>();
        }
        if group.warp_rank() == 0 {
            let mut producer = Producer::new(pipeline, cluster, units, a, b);
            while producer.fill::<K>(group.warp()) {}
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
    let Pipeline { stages, full, empty } = pipeline;
    let empty: [_; BLOCKS] = core::array::from_fn(|rank| empty.of(cluster.peer(rank)));
    let mut consumer = Consumer { group, index, stages, full, empty, turn: Turn::FIRST };
    while let Some(unit) = units.next() {
        let (row, col, _) = unit.start;
        let sums = consumer.sum::<_, N, PART>(unit.inner.div_ceil(K as u32));
        put(&results, group, strips, &unit, (row + consumer.row() as u32, col), &sums);
    }
    // Anew, so that until here no register has the warpgroup's index.
    finish(block.warp_group());
    if BLOCKS > 1 {
        // Others may still tell this block's barriers.
        cluster.sync();
    }
}
