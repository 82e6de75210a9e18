//! Products of few tiles, or of one: the blocks of a cluster compute a tile together, each the sums of a part of K.
//!
//! When all of them have multiplied, each leaves its sums in shared memory, where the stages were; and each adds up a share of the columns, as all blocks
//! have it, always in the same order, and brings it away. So no sums go by way of global memory, and no second launch adds them up, as where K is cut by
//! `Gemm`.

use super::consumer::Consumer;
use super::results::{ROWS, Sink, Strip, finish};
use super::{strip, sums_of};
use crate::kernels::by_maps::{
    CONSUMER, Columns, Fill, Left, Memory, Multiplied, PRODUCER, Results, Right, Rows, Share, Work, kernel, table,
    tiles,
};
use crate::kernels::epilogue::{Activation, Number, Output};
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernels::{Buffers, Kernel, Numbers};
use pastey::paste;
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// Computes the cluster's tile of D, `M` x `N`, of which each consumer has 64 rows, and each block finishes `SHARE` columns.
#[inline(always)]
fn product<
    'k,
    A: Rows,
    B: Columns<N>,
    O: Output<Sum: Element<Width = Bits32>>,
    S: TensorSwizzle,
    const M: usize,
    const N: usize,
    const K: usize,
    const SHARE: usize,
    const COLS: usize,
    const STRIPS: usize,
    const SUMS: usize,
    const STAGES: usize,
    const CONSUMERS: usize,
    const BLOCKS: usize,
>(
    block: &ClusterBlock<'_, BLOCKS>,
    memory: Memory<A, B, Strip<O, S, RowMajor, COLS>, STRIPS, STAGES, CONSUMERS>,
    a: Early<TensorMap<'k, A::Box, 3>>,
    b: Early<TensorMap<'k, B::Box, 3>>,
    work: Work,
    results: impl FnOnce(AheadEnded<'_>) -> Results<'k, O, S, RowMajor, ROWS, COLS>,
) where
    M64<N>: WgmmaColumns<Bits32>,
    M64<SHARE>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
    M16N8K16: FragmentShape<RoleC, O::Width>,
    Wgmma<N, Multiplied<A::Element>, Multiplied<B::Element>, O::Sum>:
        WgmmaForm<Registers = <M64<N> as WgmmaColumns<Bits32>>::Registers>,
{
    const {
        assert!(
            M == CONSUMERS * ROWS && N == BLOCKS * SHARE,
            "consumers have all columns, and blocks finish as many each"
        );
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
    let empty = memory.empty.init(block, CONSUMERS as u32);
    let cluster = block.cluster();
    let rank = cluster.rank();
    // What the kernels ahead wrote is read from here on.
    let ended = block.wait_for_kernels_ahead();
    let (a, b, results) = (a.get(ended), b.get(ended), results(ended));
    let stages = memory.stages;
    let unit = work.unit::<M, N, 1>(block.index().x / BLOCKS as u32, 0);
    let (row, col, start) = unit.start;
    let steps = unit.inner.div_ceil(K as u32);
    let [first, end] = [rank, rank + 1].map(|rank| steps * rank as u32 / BLOCKS as u32);
    let mut turn = Turn::FIRST;

    if group.index() == 0 {
        group.give_registers::<PRODUCER>();
        let warp = group.warp();
        if group.warp_rank() == 0 {
            for step in first..end {
                let ((tiles_a, tiles_b), barrier) = (stages.stage(turn.index()), full.stage(turn.index()));
                let inner = start + step * K as u32;
                // As `product` of a tile each.
                let inside = if step - first < STAGES as u32 { (u32::MAX, u32::MAX) } else { unit.inside };
                empty.stage(turn.index()).wait(warp, turn.phase_before());
                warp.elect(|lane| {
                    barrier.arrive_expecting(lane, A::copied(inside.0) + B::copied(inside.1));
                    let (batch, share) = (unit.batch, None::<Share<1>>);
                    tiles_a.load(Fill { lane, map: a, at: (row, inner), batch, wanted: inside.0, barrier, share });
                    tiles_b.load(Fill { lane, map: b, at: (inner, col), batch, wanted: inside.1, barrier, share });
                });
                turn = turn.next();
            }
        }
        block.sync();
        cluster.sync();
        cluster.sync();
        return;
    }

    group.take_registers::<CONSUMER>();
    let index = group.index() - 1;
    let empty = [empty.of(cluster.peer(rank))];
    let rows = A::first(index, ROWS);
    let mut consumer = Consumer { group, rows, columns: 0, stages, full, empty, turn };
    let [sums] = consumer.sum::<O::Sum, N, 1, N, false>(end - first);
    // All consumers have read the stages.
    block.sync();
    let shares =
        stages.reuse::<SharedRing<SharedRing<SharedAccumulator<SHARE, O::Sum>, BLOCKS>, CONSUMERS>>().part(index);
    for share in 0..BLOCKS {
        shares.part(share).put(group, &sums.columns(share * SHARE));
    }
    cluster.sync();
    let of_blocks: [_; BLOCKS] = core::array::from_fn(|block| shares.of(cluster.peer(block)).part(rank).get(group));
    let sums = of_blocks.into_iter().reduce(|sums: GroupAccumulator<SHARE, O::Sum>, of_block| {
        sums.zip(group, 0, &of_block, |sum, of_block| sum.plus(O::Sum::ONE, of_block))
    });
    // The others' memory is read no more.
    let read = cluster.arrive();
    let at = (row + (index * ROWS) as u32, col + (rank * SHARE) as u32);
    let sums = [sums.expect("a cluster has a block")];
    results.put::<SHARE, 1, STRIPS, SUMS>(group, memory.strips.part(index), &unit, at, &sums);
    finish(group);
    cluster.wait(read);
}

/// The table of these kernels, for hosts.
#[cfg(not(target_arch = "nvptx64"))]
pub struct Together;

/// The kernels, grouped by elements as in `kernels!` of a tile each. A row is of a kernel for each of some orders of A and B: what names have behind that;
/// what a cluster computes, and how deep its steps are; its stages; the blocks of a cluster; the strips that a block's share of the columns goes through, as
/// there; and the rate, as in `products!`. Blocks wait for their copies, so A comes in boxes of 32 rows, as in low tiles there.
macro_rules! kernels {
    ($($($input:ident into $output:ident as $elements:ident),+: $rows:tt)*) => {
        $($(of_elements! { $input into $output as $elements $rows })+)*
    };
}

/// The kernels of a group for some elements of it.
macro_rules! of_elements {
    ($input:ident into $output:ident as $elements:ident {$(
        [$($orders:ident)+] $tile:literal $m:literal x $n:literal x $k:literal, $stages:literal stages, clusters of $blocks:literal, strips of $strip:tt,
        $rate:literal;
    )*}) => { paste! {
        $($(kernel! {
            [<hopper_ $elements _ $orders $tile>] $input into $output, $orders into RowMajor, $m x $n x $k, boxes of 32 x 64, $stages stages,
            { 256 / $strip } strips of strip!($output $strip), 2 consumers, 384 threads, clusters of $blocks, tiles of $blocks, "sm_90a", fast false, $rate,
            by product::<
                _, _, _, _, $m, $n, $k, { $n / $blocks }, { $strip / size_of::<$output>() }, { 256 / $strip }, { sums_of($strip, size_of::<$output>()) },
                $stages, 2, $blocks,
            >
        })+)*
        table! { Together of $input into $output: $($([<hopper_ $elements _ $orders $tile>])+)* }
    }};
}

kernels! {
    bf16 into bf16 as bf16, f16 into f16 as f16: {
        [nn nt] "_128x128_k2" 128 x 128 x 64, 6 stages, clusters of 2, strips of 128, 1.6;
        [nn nt] "_128x128_k4" 128 x 128 x 64, 6 stages, clusters of 4, strips of 64, 1.6;
        [nn nt] "_128x128_k8" 128 x 128 x 64, 6 stages, clusters of 8, strips of 32, 1.6;
    }
    f32 into f32 as tf32: {
        [nt] "_128x128_k2" 128 x 128 x 32, 6 stages, clusters of 2, strips of 128, 1.65;
        [nt] "_128x128_k4" 128 x 128 x 32, 6 stages, clusters of 4, strips of 128, 1.65;
    }
    i8 into i32 as s8: {
        [nt] "_128x128_k2" 128 x 128 x 128, 6 stages, clusters of 2, strips of 128, 1.2;
        [nt] "_128x128_k4" 128 x 128 x 128, 6 stages, clusters of 4, strips of 128, 1.2;
    }
    F8E4M3 into bf16 as e4m3_bf16: {
        [nt] "_128x128_k2" 128 x 128 x 128, 6 stages, clusters of 2, strips of 128, 2.2;
        [nt] "_128x128_k4" 128 x 128 x 128, 6 stages, clusters of 4, strips of 64, 2.2;
    }
}
