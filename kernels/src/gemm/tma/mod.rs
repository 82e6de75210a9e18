//! The same products on `mma.sync`, with tiles by tensor copies (TMA), in blocks that stay: for sm_90 and later.
//!
//! A kernel is `product` of the tiles of A and B, by the orders of those; see `product.rs`, from the top.

mod consumer;
mod pipeline;
mod product;
mod results;

pub use product::product;
pub use results::Strip;

use crate::gemm::by_maps::{Left, Memory, Results, Right, Work, kernel, tiles};
use crate::gemm::epilogue::{Activation, Output};
use crate::gemm::product::{Byte, Half, Tf32};
#[cfg(not(target_arch = "nvptx64"))]
use crate::gemm::{Buffers, Kernel, Numbers};
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// The kernels: a row each. The name; the kind of the product; the elements of A and B, and of C, D and the bias; the orders of A and B; what
/// a block computes, and how deep its steps are; its stages; how many warps multiply, as many below each other as beside each other, of the
/// block with its threads; and its rate, as in `products!`.
macro_rules! kernels {
    ($(
        $kernel:ident $product:ty, $input:ident into $output:ident, $order_a:ident x $order_b:ident, $m:literal x $n:literal x $k:literal,
        $stages:literal stages, $consumers:literal consumers of $warp_m:literal x $warp_n:literal, $threads:literal threads,
        $rate:literal;
    )*) => {$(
        kernel! {
            $kernel $input into $output, $order_a x $order_b into RowMajor, $m x $n x $k, boxes of $m x $n, $stages stages,
            { 2 } strips of Strip<$output, { 128 / size_of::<$output>() }>, $consumers consumers, $threads threads, clusters of 1,
            tiles of 1, "sm_90", fast false, $rate,
            by product::<
                $product, _, _, $m, $n, $k, { 128 / size_of::<$output>() }, $stages, $consumers, $warp_m, $warp_n, { $warp_m / 16 },
                { $warp_n / 16 },
            >
        }
    )*};
}

kernels! {
    gemm_bf16_nn_tma Half<bf16>, bf16 into bf16, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 8 consumers of 64 x 64, 256 threads, 0.92;
    gemm_bf16_nt_tma Half<bf16>, bf16 into bf16, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 8 consumers of 64 x 64, 256 threads, 0.92;
    gemm_f16_nn_tma Half<f16>, f16 into f16, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 8 consumers of 64 x 64, 256 threads, 0.92;
    gemm_f16_nt_tma Half<f16>, f16 into f16, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 8 consumers of 64 x 64, 256 threads, 0.92;
    gemm_tf32_nt_tma Tf32, f32 into f32, RowMajor x ColMajor, 128 x 256 x 32, 4 stages, 8 consumers of 64 x 64, 256 threads, 0.92;
    gemm_s8_nt_tma Byte, i8 into i32, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 8 consumers of 64 x 64, 256 threads, 0.92;
}
