//! Matrix products that few blocks would compute, cut along K: for few rows or columns, and for batches of small products.
//!
//! Blocks (x, y, z) compute the tile x of the product y of a batch, from the part z of K. Of one part the result is D. Of several
//! it is sums, which go to memory, and which a second kernel adds in the order of the parts: D has the same bits in every run.

use super::block_product::{Problem, Stage, block_product};
use ptx_matrix::*;

/// Columns of D that a block of `add_parts_*` computes, of one row.
pub const ADDED_COLS: usize = 64 * COLS_EACH;
/// Columns of a thread.
const COLS_EACH: usize = 4;

/// One row a kernel, as in [`products`](super); the elements of `sums` are those of M x N row-major matrices, the products of a
/// batch behind each other, for each part of K.
macro_rules! split_products {
    ($($kernel:ident $element:ident $order_a:ident x $order_b:ident, $m:literal x $n:literal x $k:literal,
       $stages:literal stages, warps of $warp_m:literal x $warp_n:literal, $threads:literal threads, $blocks:literal a multiprocessor,
       $target:literal;)*) => {$(
        /// D = f(alpha A x B + beta C + bias) as by the kernels of [`gemm`](super); or, if there is room for `sums`, the sums of each
        /// `k_part` of K.
        #[kernel(threads = $threads, min_blocks = $blocks, target = $target)]
        pub fn $kernel(
            block: &Block,
            #[shared] stages: SharedRing<Stage<$element, $order_a, $order_b, $m, $n, $k>, $stages>,
            a: Global<$element>,
            b: Global<$element>,
            c: Global<$element>,
            bias: Global<$element>,
            d: GlobalMut<$element>,
            sums: GlobalMut<f32>,
            m: u32,
            n: u32,
            k: u32,
            k_part: u32,
            batches: u32,
            lda: u32,
            ldb: u32,
            ldd: u32,
            skip_a: usize,
            skip_b: usize,
            skip_d: usize,
            batch_a: usize,
            batch_b: usize,
            batch_d: usize,
            alpha: f32,
            beta: f32,
            relu: u32,
        ) {
            let (batch, part) = (block.index().y as usize, block.index().z);
            let before = part * k_part;
            let (m, n, k) = (m as usize, n as usize, (k - before).min(k_part) as usize);
            let (lda, ldb, ldd, before) = (lda as usize, ldb as usize, ldd as usize, before as usize);
            let a = a.skip(skip_a + batch * batch_a + if $order_a::ROW_MAJOR { before } else { before * lda });
            let b = b.skip(skip_b + batch * batch_b + if $order_b::ROW_MAJOR { before * ldb } else { before });
            let before_d = skip_d + batch * batch_d;
            let of_part = (part as usize * batches as usize + batch) * m * n;
            let problem = Problem {
                a: GlobalMatrix::<_, $order_a>::new(a, m, k, lda),
                b: GlobalMatrix::<_, $order_b>::new(b, k, n, ldb),
                c: (beta != 0.0).then(|| GlobalMatrix::new(c.skip(before_d), m, n, ldd)),
                bias: (!bias.is_empty()).then_some(bias),
                d: GlobalMatrixMut::new(d.skip(before_d), m, n, ldd),
                sums: (!sums.is_empty()).then(|| GlobalMatrixMut::new(sums.skip(of_part), m, n, n)),
                alpha,
                beta,
                relu: relu != 0,
            };
            block_product::<
                _, _, _, $m, $n, $k, $stages, { $stages - 2 }, $warp_m, $warp_n, { $warp_m / 16 }, { $warp_n / 16 },
                { $m * $k / 8 / $threads }, { $n * $k / 8 / $threads }, { $threads / 32 },
            >(block, stages, &problem);
        }
    )*};
}

split_products! {
    gemm_bf16_nn_16x64 bf16 RowMajor x RowMajor, 16 x 64 x 64, 8 stages, warps of 16 x 16, 128 threads, 2 a multiprocessor, "sm_80";
    gemm_bf16_nn_16x128 bf16 RowMajor x RowMajor, 16 x 128 x 64, 4 stages, warps of 16 x 32, 128 threads, 3 a multiprocessor, "sm_80";
    gemm_bf16_nt_16x64 bf16 RowMajor x ColMajor, 16 x 64 x 64, 8 stages, warps of 16 x 16, 128 threads, 2 a multiprocessor, "sm_80";
    gemm_bf16_nt_16x128 bf16 RowMajor x ColMajor, 16 x 128 x 64, 4 stages, warps of 16 x 32, 128 threads, 3 a multiprocessor, "sm_80";
    gemm_bf16_nn_64x128 bf16 RowMajor x RowMajor, 64 x 128 x 64, 4 stages, warps of 32 x 32, 256 threads, 2 a multiprocessor, "sm_80";
    gemm_bf16_nt_64x128 bf16 RowMajor x ColMajor, 64 x 128 x 64, 4 stages, warps of 32 x 32, 256 threads, 2 a multiprocessor, "sm_80";
    gemm_bf16_nn_64x64 bf16 RowMajor x RowMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, "sm_80";
    gemm_bf16_nt_64x64 bf16 RowMajor x ColMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, "sm_80";
    gemm_bf16_tn_64x64 bf16 ColMajor x RowMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, "sm_80";
    gemm_bf16_tt_64x64 bf16 ColMajor x ColMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, "sm_80";
    gemm_f16_nn_16x64 f16 RowMajor x RowMajor, 16 x 64 x 64, 8 stages, warps of 16 x 16, 128 threads, 2 a multiprocessor, "sm_80";
    gemm_f16_nn_16x128 f16 RowMajor x RowMajor, 16 x 128 x 64, 4 stages, warps of 16 x 32, 128 threads, 3 a multiprocessor, "sm_80";
    gemm_f16_nt_16x64 f16 RowMajor x ColMajor, 16 x 64 x 64, 8 stages, warps of 16 x 16, 128 threads, 2 a multiprocessor, "sm_80";
    gemm_f16_nt_16x128 f16 RowMajor x ColMajor, 16 x 128 x 64, 4 stages, warps of 16 x 32, 128 threads, 3 a multiprocessor, "sm_80";
    gemm_f16_nn_64x128 f16 RowMajor x RowMajor, 64 x 128 x 64, 4 stages, warps of 32 x 32, 256 threads, 2 a multiprocessor, "sm_80";
    gemm_f16_nt_64x128 f16 RowMajor x ColMajor, 64 x 128 x 64, 4 stages, warps of 32 x 32, 256 threads, 2 a multiprocessor, "sm_80";
    gemm_f16_nn_64x64 f16 RowMajor x RowMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, "sm_80";
    gemm_f16_nt_64x64 f16 RowMajor x ColMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, "sm_80";
    gemm_f16_tn_64x64 f16 ColMajor x RowMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, "sm_80";
    gemm_f16_tt_64x64 f16 ColMajor x ColMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, "sm_80";
}

/// One row a kernel and its elements.
macro_rules! add_parts {
    ($($kernel:ident $element:ident;)*) => {$(
        /// D = f(alpha (the sum of `parts` matrices) + beta C + bias), for each product of a batch: what follows a product that was
        /// cut along K. Without parts, it is what is left of a product with alpha = 0, or without terms.
        ///
        /// The grid has a block for each [`ADDED_COLS`] of each row, and the batch along y.
        #[kernel(threads = 64)]
        pub fn $kernel(
            block: &Block,
            sums: Global<f32>,
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
            alpha: f32,
            beta: f32,
            relu: u32,
        ) {
            let (m, n, ldd, batch) = (m as usize, n as usize, ldd as usize, block.index().y as usize);
            let across = n.div_ceil(ADDED_COLS) as u32;
            let row = (block.index().x / across) as usize;
            let first = (block.index().x % across) as usize * ADDED_COLS + block.warp().index() * COLS_EACH * 32;
            let before_d = skip_d + batch * batch_d;
            let d = GlobalMatrixMut::<_, RowMajor>::new(d.skip(before_d), m, n, ldd);
            let c = (beta != 0.0).then(|| GlobalMatrix::<_, RowMajor>::new(c.skip(before_d), m, n, ldd));
            block.warp().each(|lane| {
                let col = |i: usize| first + i * 32 + lane.id();
                // What a thread reads of a part does not wait for what it has read before.
                let mut total = [0.0; COLS_EACH];
                for part in 0..parts {
                    let before = ((part as usize * batches as usize + batch) * m + row) * n;
                    let of_part: [f32; COLS_EACH] =
                        core::array::from_fn(|i| if col(i) < n { sums.get(before + col(i)) } else { 0.0 });
                    for i in 0..COLS_EACH {
                        total[i] += of_part[i];
                    }
                }
                for i in 0..COLS_EACH {
                    let col = col(i);
                    if col < n {
                        let mut sum = if parts == 0 { 0.0 } else { alpha * total[i] };
                        if let Some(c) = c {
                            sum += beta * c.get(row, col).to_f32();
                        }
                        if !bias.is_empty() {
                            sum += bias.get(col).to_f32();
                        }
                        d.set(row, col, $element::from_f32(if relu != 0 && sum < 0.0 { 0.0 } else { sum }));
                    }
                }
            });
        }
    )*};
}

add_parts! {
    add_parts_bf16 bf16;
    add_parts_f16 f16;
}
