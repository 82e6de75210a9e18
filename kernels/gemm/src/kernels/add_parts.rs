//! What follows a product that was cut along K: its parts' sums are added, in the order of the parts, so that D has the same bits in
//! every run.

use super::epilogue::{Activation, Epilogue, Number, Output};
use ptx_matrix::*;

/// Columns of D that a block computes, of one row.
pub const ADDED_COLS: usize = 64 * COLS_EACH;
/// Columns of a thread.
const COLS_EACH: usize = 4;

/// Where the elements of an `add_parts_*` are.
struct Parts<'k, D: Output> {
    sums: Global<'k, D::Sum>,
    d: GlobalMatrixMut<'k, D>,
    epilogue: Epilogue<'k, D>,
    parts: u32,
    batches: usize,
}

/// Computes this block's elements of a row.
#[inline(always)]
fn add_parts<D: Output>(block: &Block, of: &Parts<'_, D>) {
    let (m, n, batch) = (of.d.rows(), of.d.cols(), block.index().y as usize);
    let across = n.div_ceil(ADDED_COLS) as u32;
    let row = (block.index().x / across) as usize;
    let first = (block.index().x % across) as usize * ADDED_COLS + block.warp().index() * COLS_EACH * 32;
    block.warp().each(|lane| {
        let col = |i: usize| first + i * 32 + lane.id();
        // What a thread reads of a part does not wait for what it has read before.
        let mut total = [D::Sum::ZERO; COLS_EACH];
        for part in 0..of.parts {
            let before = ((part as usize * of.batches + batch) * m + row) * n;
            let of_part: [D::Sum; COLS_EACH] =
                core::array::from_fn(|i| if col(i) < n { of.sums.get(before + col(i)) } else { D::Sum::ZERO });
            for i in 0..COLS_EACH {
                total[i] = total[i].plus(D::Sum::ONE, of_part[i]);
            }
        }
        // Without parts, whatever alpha is: not a number times zero would be none.
        let scaled = total.map(|total| if of.parts == 0 { D::Sum::ZERO } else { total.times(of.epilogue.alpha) });
        let (places, is_inside) = (core::array::from_fn(|i| (row, col(i))), core::array::from_fn(|i| col(i) < n));
        let finished = of.epilogue.finish_scaled(places, is_inside, scaled);
        for i in 0..COLS_EACH {
            if is_inside[i] {
                of.d.set(row, col(i), finished[i]);
            }
        }
    });
}

/// One row a kernel, the oldest GPU that rounds to its elements, and those.
macro_rules! kernels {
    ($($kernel:ident $target:literal $element:ident;)*) => {$(
        /// D = f(alpha (the sum of `parts` matrices) + beta C + bias), for each product of a batch: what follows a product that was
        /// cut along K. Without parts, it is what is left of a product with alpha = 0, or without terms.
        ///
        /// The grid has a block for each [`ADDED_COLS`] of each row, and the batch along y.
        #[kernel(threads = 64, early = true, target = $target)]
        pub fn $kernel(
            block: &Block,
            sums: Global<<$element as Output>::Sum>,
            c: Global<$element>,
            bias: Global<$element>,
            d: GlobalMut<$element>,
            m: u32,
            n: u32,
            parts: u32,
            batches: u32,
            ldd: u32,
            skip_d: usize,
            batch_d: usize,
            alpha: <$element as Output>::Sum,
            beta: <$element as Output>::Sum,
            bias_of_rows: u32,
            activation: u32,
        ) {
            let (m, n, ldd) = (m as usize, n as usize, ldd as usize);
            let before_d = skip_d + block.index().y as usize * batch_d;
            let of = Parts {
                sums,
                d: GlobalMatrixMut::new(d.skip(before_d), m, n, ldd),
                epilogue: Epilogue {
                    c: (beta != <<$element as Output>::Sum as Number>::ZERO).then(|| GlobalMatrix::new(c.skip(before_d), m, n, ldd)),
                    bias,
                    bias_of_rows: bias_of_rows != 0,
                    alpha,
                    beta,
                    activation: Activation::of(activation),
                },
                parts,
                batches: batches as usize,
            };
            add_parts(block, &of);
        }
    )*};
}

kernels! {
    add_parts_bf16 "sm_80" bf16;
    add_parts_f16 "sm_75" f16;
    add_parts_f32 "sm_75" f32;
    add_parts_f64 "sm_75" f64;
    add_parts_s32 "sm_75" i32;
}
