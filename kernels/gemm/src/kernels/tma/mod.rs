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

use crate::kernels::by_maps::{Left, Memory, Results, Right, Work, kernel, table, tiles};
use crate::kernels::epilogue::{Activation, Output};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
use crate::kernels::product::{Byte, Half, Tf32};
use crate::kernels::product::{DoubleByPairs, Sum};
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernels::{Buffers, Kernel, Numbers};
use pastey::paste;
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// The table of these kernels, for hosts.
#[cfg(not(target_arch = "nvptx64"))]
pub struct Tiles;

/// The kernels, grouped by elements. A group says of which elements of A and B, and of C, D and the bias, there is each of its kernels, what names have for
/// them, and their kind of product. A row is of a kernel for each of some orders of A and B, as BLAS names them, and of D, column-major if it computes the transposed product: what a
/// block computes, and how deep its steps are; its stages; how many warps multiply, as many below each other as beside each other, of the block with its
/// threads; who has tiles brought; the builds that it is in; and its rate, as in `products!`.
macro_rules! kernels {
    ($($($input:ident into $output:ident as $elements:ident, $product:ty),+: $rows:tt)*) => {
        $($(of_elements! { $input into $output as $elements, $product, $rows })+)*
    };
}

/// The kernels of a group for some elements of it.
macro_rules! of_elements {
    ($input:ident into $output:ident as $elements:ident, $product:ty, {$(
        [$($orders:ident)+] into $order_d:ident, $m:literal x $n:literal x $k:literal, $stages:literal stages,
        $consumers:literal consumers of $warp_m:literal x $warp_n:literal, $threads:literal threads, $roles:ident, $target:literal, $rate:literal;
    )*}) => { paste! {
        $($(kernel! {
            [<gemm_ $elements _ $orders _tma>] $input into $output, $orders into $order_d, $m x $n x $k, boxes of $m x $n, $stages stages,
            { 2 } strips of Strip<$output, $order_d, { 128 / size_of::<$output>() }>, $consumers consumers, $threads threads, clusters of 1,
            tiles of 1, $target, fast false, $rate,
            by product::<
                $product, _, _, $order_d, roles::$roles, $m, $n, $k, { 128 / size_of::<$output>() }, { 128 / size_of::<Sum<$product>>() }, $stages, $consumers,
                $warp_m, $warp_n, { $warp_m / 16 }, { $warp_n / 16 },
            >
        })+)*
        table! { Tiles of $input into $output: $($([<gemm_ $elements _ $orders _tma>])+)* }
    }};
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
kernels! {
    bf16 into bf16 as bf16, Half<bf16>, f16 into f16 as f16, Half<f16>: {
        [nn nt] into RowMajor, 128 x 256 x 64, 4 stages, 8 consumers of 64 x 64, 384 threads, Apart, "sm_90a", 0.92;
    }
    f32 into f32 as tf32, Tf32: {
        [nt] into RowMajor, 128 x 256 x 32, 4 stages, 8 consumers of 64 x 64, 384 threads, Apart, "sm_90a", 0.92;
    }
    i8 into i32 as s8, Byte: {
        [nt] into RowMajor, 128 x 256 x 128, 4 stages, 8 consumers of 64 x 64, 384 threads, Apart, "sm_90a", 0.92;
    }
}

kernels! {
    f64 into f64 as f64, DoubleByPairs: {
        [nn] into ColMajor, 128 x 128 x 16, 6 stages, 8 consumers of 64 x 32, 256 threads, ByTurns, "sm_90", 0.95;
        [tt] into RowMajor, 128 x 128 x 16, 6 stages, 8 consumers of 64 x 32, 256 threads, ByTurns, "sm_90", 0.95;
    }
}
