//! Matrix products of any size on `mma.sync`: D = f(alpha A x B + beta C + bias).

mod block_product;
pub mod split_k;

use block_product::block_product;
pub use block_product::{Problem, Stage};
use ptx_matrix::*;

/// Blocks to launch for a product of `m` x `n` with a kernel whose blocks compute `tile.0` x `tile.1` each.
pub const fn blocks(m: usize, n: usize, tile: (usize, usize)) -> u32 {
    (m.div_ceil(tile.0) * n.div_ceil(tile.1)) as u32
}

/// One row a kernel: its elements, the orders of A and B, what a block computes and how deep its steps are, the stages of its
/// pipeline, what a warp computes, its threads, how many blocks share a
/// multiprocessor, and the oldest GPU that has the shared memory.
macro_rules! products {
    ($($kernel:ident $element:ident $order_a:ident x $order_b:ident, $m:literal x $n:literal x $k:literal,
       $stages:literal stages, warps of $warp_m:literal x $warp_n:literal, $threads:literal threads, $blocks:literal a multiprocessor,
       $target:literal;)*) => {$(
        /// D = f(alpha A x B + beta C + bias), see [`Problem`]. Blocks (x, y) compute the tile x of the product y of a batch: its
        /// matrices start `skip_a`, `skip_b` and `skip_d` (C's too) elements into the slices, and those of the next product
        /// `batch_a`, `batch_b` and `batch_d` further on.
        #[kernel(threads = $threads, min_blocks = $blocks, target = $target)]
        pub fn $kernel(
            block: &Block,
            #[shared] stages: SharedRing<Stage<$element, $order_a, $order_b, $m, $n, $k>, $stages>,
            a: Global<$element>,
            b: Global<$element>,
            c: Global<$element>,
            bias: Global<$element>,
            d: GlobalMut<$element>,
            m: u32,
            n: u32,
            k: u32,
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
            let batch = block.index().y as usize;
            let (a, b) = (a.skip(skip_a + batch * batch_a), b.skip(skip_b + batch * batch_b));
            let before_d = skip_d + batch * batch_d;
            let problem = Problem {
                a: GlobalMatrix::<_, $order_a>::new(a, m as usize, k as usize, lda as usize),
                b: GlobalMatrix::<_, $order_b>::new(b, k as usize, n as usize, ldb as usize),
                c: (beta != 0.0).then(|| GlobalMatrix::new(c.skip(before_d), m as usize, n as usize, ldd as usize)),
                bias: (!bias.is_empty()).then_some(bias),
                d: GlobalMatrixMut::new(d.skip(before_d), m as usize, n as usize, ldd as usize),
                sums: None,
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

products! {
    gemm_bf16_nn bf16 RowMajor x RowMajor, 128 x 256 x 64, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, "sm_90";
    gemm_bf16_nt bf16 RowMajor x ColMajor, 128 x 256 x 64, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, "sm_90";
    gemm_bf16_tn bf16 ColMajor x RowMajor, 128 x 256 x 64, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, "sm_90";
    gemm_bf16_tt bf16 ColMajor x ColMajor, 128 x 256 x 64, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, "sm_90";
    gemm_f16_nn f16 RowMajor x RowMajor, 128 x 256 x 64, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, "sm_90";
    gemm_f16_nt f16 RowMajor x ColMajor, 128 x 256 x 64, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, "sm_90";
    gemm_bf16_nt_128 bf16 RowMajor x ColMajor, 128 x 128 x 64, 3 stages, warps of 64 x 64, 128 threads, 2 a multiprocessor, "sm_80";
    gemm_bf16_nn_64 bf16 RowMajor x RowMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 3 a multiprocessor, "sm_80";
    gemm_bf16_nt_64 bf16 RowMajor x ColMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 3 a multiprocessor, "sm_80";
    gemm_bf16_tn_64 bf16 ColMajor x RowMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 3 a multiprocessor, "sm_80";
    gemm_f16_tt_64 f16 ColMajor x ColMajor, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 3 a multiprocessor, "sm_80";
}
