//! The second launch of split-K: adds the partial accumulators in the order of the splits, so D has
//! the same bits in every run.

use crate::parts::{Epilogue, EpilogueArgs, Number, Output, ProblemShape};
use ptx_matrix::memory::GlobalMatrixMut;
use ptx_matrix::prelude::*;

/// Columns of D per block, all of one row.
pub const REDUCED_COLS: usize = 64 * COLS_EACH;
/// Columns per thread.
const COLS_EACH: usize = 4;

/// The arguments of a `split_k_reduce_*` kernel.
#[derive(Clone, Copy, KernelArgs)]
pub struct ReduceArgs<'k, O: Output> {
    /// The epilogue's arguments, and the partial accumulators.
    pub epilogue: EpilogueArgs<'k, O>,
    /// The sizes.
    pub shape: ProblemShape,
    /// The number of splits. Zero computes the rest of a GEMM with alpha = 0 or K = 0.
    pub splits: u32,
}

/// The operands of one GEMM of the batch.
struct Partials<'k, D: Output> {
    partials: GlobalMut<'k, D::Acc>,
    d: GlobalMatrixMut<'k, D>,
    epilogue: Epilogue<'k, D>,
    splits: u32,
    batches: usize,
}

/// Reduces this block's elements of a row.
#[inline]
fn reduce<D: Output>(block: &Block, of: &Partials<'_, D>) {
    let (m, n, batch) = (of.d.rows(), of.d.cols(), block.index().y as usize);
    let across = n.div_ceil(REDUCED_COLS) as u32;
    let row = (block.index().x / across) as usize;
    let first =
        (block.index().x % across) as usize * REDUCED_COLS + block.warp().index() * COLS_EACH * 32;
    block.warp().each(|lane| {
        let col = |i: usize| first + i * 32 + lane.id();
        // The loads of one split are independent of each other.
        let mut total = [D::Acc::ZERO; COLS_EACH];
        for split in 0..of.splits {
            let before = ((split as usize * of.batches + batch) * m + row) * n;
            let of_split: [D::Acc; COLS_EACH] = core::array::from_fn(|i| {
                if col(i) < n { of.partials.get(lane, before + col(i)) } else { D::Acc::ZERO }
            });
            for i in 0..COLS_EACH {
                total[i] = total[i].plus(D::Acc::ONE, of_split[i]);
            }
        }
        // Without splits, alpha is ignored: NaN times zero would be NaN.
        let scaled = total
            .map(|total| if of.splits == 0 { D::Acc::ZERO } else { of.epilogue.scaled(total) });
        let (places, is_inside) =
            (core::array::from_fn(|i| (row, col(i))), core::array::from_fn(|i| col(i) < n));
        let elements = of.epilogue.apply_scaled(places, is_inside, scaled);
        for i in 0..COLS_EACH {
            if is_inside[i] {
                of.d.set(row, col(i), elements[i]);
            }
        }
    });
}

/// D = f(alpha (sum of the partials) + beta C + bias), for each GEMM of a batch. The grid has one
/// block for each [`REDUCED_COLS`] columns of each row along x, and the batch along y.
#[kernel(threads = 64, dependent = true, instances(
    split_k_reduce_bf16(target = "sm_80") = <bf16>,
    split_k_reduce_f16 = <f16>,
    split_k_reduce_f32 = <f32>,
    split_k_reduce_f64 = <f64>,
    split_k_reduce_s32 = <i32>,
))]
pub fn split_k_reduce<O: Output>(block: &Block, args: ReduceArgs<O>) {
    let (m, n, batch) = (args.shape.m as usize, args.shape.n as usize, block.index().y as usize);
    let partials = Partials {
        partials: args.epilogue.partials,
        d: args.epilogue.matrix_d(batch, m, n),
        epilogue: args.epilogue.epilogue(batch, m, n),
        splits: args.splits,
        batches: args.shape.batches as usize,
    };
    reduce(block, &partials);
}
