//! The same products on `mma.sync`, with tiles by tensor copies (TMA), in blocks that stay: for sm_90 and later. Those whose tiles a warpgroup apart has
//! brought are for sm_90a: with `setmaxnreg` ptxas gives their sums registers enough there, and for sm_100a it spills.
//!
//! A kernel is `product` of the tiles of A and B, by the orders of those; see `product.rs`, from the top.

mod consumer;
mod pipeline;
mod product;
mod results;
mod roles;

pub use product::product;
pub use results::Strip;

use crate::gemm::by_maps::{Left, Memory, Results, Right, Work, kernel, tiles};
use crate::gemm::epilogue::{Activation, Output};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
use crate::gemm::product::{Byte, Half, Tf32};
use crate::gemm::product::{DoubleByPairs, Sum};
#[cfg(not(target_arch = "nvptx64"))]
use crate::gemm::{Buffers, Kernel, Numbers};
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// The kernels: a row each. The name; the kind of the product; the elements of A and B, and of C, D and the bias; the orders of A and B, and of
/// C and D; what a block computes, and how deep its steps are; its stages; how many warps multiply, as many below each other as beside each other,
/// of the block with its threads; who has tiles brought; the builds that it is in; and its rate, as in `products!`.
macro_rules! kernels {
    ($(
        $kernel:ident $product:ty, $input:ident into $output:ident, $order_a:ident x $order_b:ident into $order_d:ident,
        $m:literal x $n:literal x $k:literal, $stages:literal stages, $consumers:literal consumers of $warp_m:literal x $warp_n:literal,
        $threads:literal threads, $roles:ident, $target:literal, $rate:literal;
    )*) => {$(
        kernel! {
            $kernel $input into $output, $order_a x $order_b into $order_d, $m x $n x $k, boxes of $m x $n, $stages stages,
            { 2 } strips of Strip<$output, $order_d, { 128 / size_of::<$output>() }>, $consumers consumers, $threads threads, clusters of 1,
            tiles of 1, $target, fast false, $rate,
            by product::<
                $product, _, _, $order_d, roles::$roles, $m, $n, $k, { 128 / size_of::<$output>() }, { 128 / size_of::<Sum<$product>>() }, $stages, $consumers,
                $warp_m, $warp_n, { $warp_m / 16 }, { $warp_n / 16 },
            >
        }
    )*};
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
kernels! {
    gemm_bf16_nn_tma Half<bf16>, bf16 into bf16, RowMajor x RowMajor into RowMajor, 128 x 256 x 64, 4 stages, 8 consumers of 64 x 64, 384 threads, Apart, "sm_90a", 0.92;
    gemm_bf16_nt_tma Half<bf16>, bf16 into bf16, RowMajor x ColMajor into RowMajor, 128 x 256 x 64, 4 stages, 8 consumers of 64 x 64, 384 threads, Apart, "sm_90a", 0.92;
    gemm_f16_nn_tma Half<f16>, f16 into f16, RowMajor x RowMajor into RowMajor, 128 x 256 x 64, 4 stages, 8 consumers of 64 x 64, 384 threads, Apart, "sm_90a", 0.92;
    gemm_f16_nt_tma Half<f16>, f16 into f16, RowMajor x ColMajor into RowMajor, 128 x 256 x 64, 4 stages, 8 consumers of 64 x 64, 384 threads, Apart, "sm_90a", 0.92;
    gemm_tf32_nt_tma Tf32, f32 into f32, RowMajor x ColMajor into RowMajor, 128 x 256 x 32, 4 stages, 8 consumers of 64 x 64, 384 threads, Apart, "sm_90a", 0.92;
    gemm_s8_nt_tma Byte, i8 into i32, RowMajor x ColMajor into RowMajor, 128 x 256 x 128, 4 stages, 8 consumers of 64 x 64, 384 threads, Apart, "sm_90a", 0.92;
}

kernels! {
    gemm_f64_nn_tma DoubleByPairs, f64 into f64, ColMajor x ColMajor into ColMajor, 128 x 128 x 16, 6 stages, 8 consumers of 64 x 32, 256 threads, ByTurns, "sm_90", 0.95;
    gemm_f64_tt_tma DoubleByPairs, f64 into f64, ColMajor x ColMajor into RowMajor, 128 x 128 x 16, 6 stages, 8 consumers of 64 x 32, 256 threads, ByTurns, "sm_90", 0.95;
}
