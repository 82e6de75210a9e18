//! Products whose transposes are computed, as the products of B's with A's: so that D's rows, of which a `wgmma` else takes 64 or none, are what
//! it takes multiples of 8 of.
//!
//! They are `product` with a column-major D, to which strips go that `stmatrix.trans` has filled. What a kernel computes is said here of the
//! transposes, but in its name.

use super::product;
use super::results::Strip;
use crate::gemm::by_maps::{Left, Memory, Results, Right, Work, kernel, tiles};
use crate::gemm::epilogue::{Activation, Output};
#[cfg(not(target_arch = "nvptx64"))]
use crate::gemm::{Buffers, Kernel, Numbers};
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// Columns of a strip, of which a consumer's tile has whole ones: by 16 columns `stmatrix.x4` stores, by 8, and the last 8 of 40, `stmatrix.x2`.
const fn strip_of(columns: usize) -> usize {
    if columns.is_multiple_of(16) {
        16
    } else if columns.is_multiple_of(40) {
        40
    } else {
        8
    }
}

/// Strips of a consumer: as many as its tile has, but no more than 16 KiB, nor than there is room for beside the stages, which have so many lines of
/// 128 bytes together, and barriers.
const fn strips_of(columns: usize, lines: usize, consumers: usize) -> usize {
    let (strip, strips) = (strip_of(columns), columns / strip_of(columns));
    let room = (227 * 1024 / 128 - 2 - lines) / consumers;
    let most = if room < 128 { room / strip } else { 128 / strip };
    if strips < most { strips } else { most }
}

/// Columns of sums that go through so many of them at once, of which half of the strips have whole ones, and room.
const fn sums_through(columns: usize, strips: usize) -> usize {
    if !columns.is_multiple_of(16) {
        8
    } else if strips == 8 && columns.is_multiple_of(32) {
        32
    } else {
        16
    }
}

/// Columns of a box, of which two blocks of a cluster bring some: whole patterns of the swizzle, which are 8.
const fn box_of(columns: usize) -> usize {
    if columns.is_multiple_of(16) {
        columns / 2
    } else if columns.is_multiple_of(40) {
        40
    } else {
        assert!(columns.is_multiple_of(56), "boxes have all columns of a tile");
        56
    }
}

/// The kernels: a row each. The name, with rows and columns of D in a tile; the elements; the orders of A and B; what a block computes, and how
/// deep its steps are; its stages; how many warpgroups multiply, how many times 64 rows and how many columns each, of the block with its threads; the
/// blocks of a cluster; and its rate, as in `products!`.
macro_rules! kernels {
    ($(
        $kernel:ident $element:ident, $order_a:ident x $order_b:ident, $m:literal x $n:literal x $k:literal, $stages:literal stages,
        $consumers:literal consumers of $high:literal x $wide:literal, $threads:literal threads, clusters of $blocks:literal, $rate:literal;
    )*) => {$(
        kernel! {
            $kernel $element into $element, $order_a x $order_b into ColMajor, $m x $n x $k, boxes of { $m / 2 } x { box_of($n) }, $stages stages,
            { strips_of($wide, $stages * ($m + $n), $consumers) } strips of Strip<$element, Swizzle128, ColMajor, { strip_of($wide) }>, $consumers consumers, $threads threads,
            clusters of $blocks, tiles of 1, "sm_90a", fast false, $rate,
            by product::<
                _, _, _, _, _, _, $m, $n, $k, { strip_of($wide) }, { strips_of($wide, $stages * ($m + $n), $consumers) }, { sums_through($wide, strips_of($wide, $stages * ($m + $n), $consumers)) }, $stages, $consumers, $high, $wide, $wide, false, $blocks,
            >
        }
    )*};
}

kernels! {
    hopper_bf16_nn_160x256_pairs bf16, ColMajor x ColMajor, 256 x 160 x 64, 4 stages, 2 consumers of 2 x 160, 384 threads, clusters of 2, 1.654;
    hopper_bf16_nn_192x192_pairs bf16, ColMajor x ColMajor, 192 x 192 x 64, 4 stages, 2 consumers of 3 x 96, 384 threads, clusters of 2, 1.695;
    hopper_bf16_nn_176x192_pairs bf16, ColMajor x ColMajor, 192 x 176 x 64, 4 stages, 2 consumers of 3 x 88, 384 threads, clusters of 2, 1.695;
    hopper_bf16_nn_160x192_pairs bf16, ColMajor x ColMajor, 192 x 160 x 64, 4 stages, 2 consumers of 3 x 80, 384 threads, clusters of 2, 1.685;
    hopper_bf16_nn_240x128_pairs bf16, ColMajor x ColMajor, 128 x 240 x 64, 4 stages, 2 consumers of 1 x 240, 384 threads, clusters of 2, 1.705;
    hopper_bf16_nn_224x128_pairs bf16, ColMajor x ColMajor, 128 x 224 x 64, 4 stages, 2 consumers of 1 x 224, 384 threads, clusters of 2, 1.69;
    hopper_bf16_nn_208x128_pairs bf16, ColMajor x ColMajor, 128 x 208 x 64, 5 stages, 2 consumers of 1 x 208, 384 threads, clusters of 2, 1.68;
    hopper_bf16_nn_200x128_pairs bf16, ColMajor x ColMajor, 128 x 200 x 64, 5 stages, 2 consumers of 1 x 200, 384 threads, clusters of 2, 1.675;
    hopper_bf16_nn_176x128_pairs bf16, ColMajor x ColMajor, 128 x 176 x 64, 5 stages, 2 consumers of 1 x 176, 384 threads, clusters of 2, 1.665;
    hopper_bf16_nn_160x128_pairs bf16, ColMajor x ColMajor, 128 x 160 x 64, 5 stages, 2 consumers of 1 x 160, 384 threads, clusters of 2, 1.644;
    hopper_bf16_nn_144x128_pairs bf16, ColMajor x ColMajor, 128 x 144 x 64, 5 stages, 2 consumers of 1 x 144, 384 threads, clusters of 2, 1.61;
    hopper_bf16_nn_144x128_fours bf16, ColMajor x ColMajor, 128 x 144 x 64, 5 stages, 2 consumers of 1 x 144, 384 threads, clusters of 4, 1.61;
    hopper_bf16_nn_112x128_pairs bf16, ColMajor x ColMajor, 128 x 112 x 64, 6 stages, 2 consumers of 1 x 112, 384 threads, clusters of 2, 1.5;
    hopper_bf16_nn_112x128_fours bf16, ColMajor x ColMajor, 128 x 112 x 64, 6 stages, 2 consumers of 1 x 112, 384 threads, clusters of 4, 1.5;
    hopper_bf16_nn_80x128_pairs bf16, ColMajor x ColMajor, 128 x 80 x 64, 8 stages, 1 consumers of 2 x 80, 256 threads, clusters of 2, 1.5;
    hopper_bf16_nn_80x128_fours bf16, ColMajor x ColMajor, 128 x 80 x 64, 8 stages, 1 consumers of 2 x 80, 256 threads, clusters of 4, 1.5;
    hopper_bf16_nn_168x64_pairs bf16, ColMajor x ColMajor, 64 x 168 x 64, 7 stages, 1 consumers of 1 x 168, 256 threads, clusters of 2, 1.2;
    hopper_bf16_nn_144x64_pairs bf16, ColMajor x ColMajor, 64 x 144 x 64, 8 stages, 1 consumers of 1 x 144, 256 threads, clusters of 2, 0.9;
    hopper_bf16_nn_80x64_pairs bf16, ColMajor x ColMajor, 64 x 80 x 64, 12 stages, 1 consumers of 1 x 80, 256 threads, clusters of 2, 0.88;
    hopper_bf16_nt_160x256_pairs bf16, RowMajor x ColMajor, 256 x 160 x 64, 4 stages, 2 consumers of 2 x 160, 384 threads, clusters of 2, 1.654;
    hopper_bf16_nt_192x192_pairs bf16, RowMajor x ColMajor, 192 x 192 x 64, 4 stages, 2 consumers of 3 x 96, 384 threads, clusters of 2, 1.695;
    hopper_bf16_nt_176x192_pairs bf16, RowMajor x ColMajor, 192 x 176 x 64, 4 stages, 2 consumers of 3 x 88, 384 threads, clusters of 2, 1.695;
    hopper_bf16_nt_160x192_pairs bf16, RowMajor x ColMajor, 192 x 160 x 64, 4 stages, 2 consumers of 3 x 80, 384 threads, clusters of 2, 1.685;
    hopper_bf16_nt_240x128_pairs bf16, RowMajor x ColMajor, 128 x 240 x 64, 4 stages, 2 consumers of 1 x 240, 384 threads, clusters of 2, 1.705;
    hopper_bf16_nt_224x128_pairs bf16, RowMajor x ColMajor, 128 x 224 x 64, 4 stages, 2 consumers of 1 x 224, 384 threads, clusters of 2, 1.69;
    hopper_bf16_nt_208x128_pairs bf16, RowMajor x ColMajor, 128 x 208 x 64, 5 stages, 2 consumers of 1 x 208, 384 threads, clusters of 2, 1.68;
    hopper_bf16_nt_200x128_pairs bf16, RowMajor x ColMajor, 128 x 200 x 64, 5 stages, 2 consumers of 1 x 200, 384 threads, clusters of 2, 1.675;
    hopper_bf16_nt_176x128_pairs bf16, RowMajor x ColMajor, 128 x 176 x 64, 5 stages, 2 consumers of 1 x 176, 384 threads, clusters of 2, 1.665;
    hopper_bf16_nt_160x128_pairs bf16, RowMajor x ColMajor, 128 x 160 x 64, 5 stages, 2 consumers of 1 x 160, 384 threads, clusters of 2, 1.644;
    hopper_bf16_nt_144x128_pairs bf16, RowMajor x ColMajor, 128 x 144 x 64, 5 stages, 2 consumers of 1 x 144, 384 threads, clusters of 2, 1.61;
    hopper_bf16_nt_144x128_fours bf16, RowMajor x ColMajor, 128 x 144 x 64, 5 stages, 2 consumers of 1 x 144, 384 threads, clusters of 4, 1.61;
    hopper_bf16_nt_112x128_pairs bf16, RowMajor x ColMajor, 128 x 112 x 64, 6 stages, 2 consumers of 1 x 112, 384 threads, clusters of 2, 1.5;
    hopper_bf16_nt_112x128_fours bf16, RowMajor x ColMajor, 128 x 112 x 64, 6 stages, 2 consumers of 1 x 112, 384 threads, clusters of 4, 1.5;
    hopper_bf16_nt_80x128_pairs bf16, RowMajor x ColMajor, 128 x 80 x 64, 8 stages, 1 consumers of 2 x 80, 256 threads, clusters of 2, 1.5;
    hopper_bf16_nt_80x128_fours bf16, RowMajor x ColMajor, 128 x 80 x 64, 8 stages, 1 consumers of 2 x 80, 256 threads, clusters of 4, 1.5;
    hopper_bf16_nt_168x64_pairs bf16, RowMajor x ColMajor, 64 x 168 x 64, 7 stages, 1 consumers of 1 x 168, 256 threads, clusters of 2, 1.2;
    hopper_bf16_nt_144x64_pairs bf16, RowMajor x ColMajor, 64 x 144 x 64, 8 stages, 1 consumers of 1 x 144, 256 threads, clusters of 2, 0.9;
    hopper_bf16_nt_80x64_pairs bf16, RowMajor x ColMajor, 64 x 80 x 64, 12 stages, 1 consumers of 1 x 80, 256 threads, clusters of 2, 0.88;
    hopper_f16_nn_160x256_pairs f16, ColMajor x ColMajor, 256 x 160 x 64, 4 stages, 2 consumers of 2 x 160, 384 threads, clusters of 2, 1.654;
    hopper_f16_nn_192x192_pairs f16, ColMajor x ColMajor, 192 x 192 x 64, 4 stages, 2 consumers of 3 x 96, 384 threads, clusters of 2, 1.695;
    hopper_f16_nn_176x192_pairs f16, ColMajor x ColMajor, 192 x 176 x 64, 4 stages, 2 consumers of 3 x 88, 384 threads, clusters of 2, 1.695;
    hopper_f16_nn_160x192_pairs f16, ColMajor x ColMajor, 192 x 160 x 64, 4 stages, 2 consumers of 3 x 80, 384 threads, clusters of 2, 1.685;
    hopper_f16_nn_240x128_pairs f16, ColMajor x ColMajor, 128 x 240 x 64, 4 stages, 2 consumers of 1 x 240, 384 threads, clusters of 2, 1.705;
    hopper_f16_nn_224x128_pairs f16, ColMajor x ColMajor, 128 x 224 x 64, 4 stages, 2 consumers of 1 x 224, 384 threads, clusters of 2, 1.69;
    hopper_f16_nn_208x128_pairs f16, ColMajor x ColMajor, 128 x 208 x 64, 5 stages, 2 consumers of 1 x 208, 384 threads, clusters of 2, 1.68;
    hopper_f16_nn_200x128_pairs f16, ColMajor x ColMajor, 128 x 200 x 64, 5 stages, 2 consumers of 1 x 200, 384 threads, clusters of 2, 1.675;
    hopper_f16_nn_176x128_pairs f16, ColMajor x ColMajor, 128 x 176 x 64, 5 stages, 2 consumers of 1 x 176, 384 threads, clusters of 2, 1.665;
    hopper_f16_nn_160x128_pairs f16, ColMajor x ColMajor, 128 x 160 x 64, 5 stages, 2 consumers of 1 x 160, 384 threads, clusters of 2, 1.644;
    hopper_f16_nn_144x128_pairs f16, ColMajor x ColMajor, 128 x 144 x 64, 5 stages, 2 consumers of 1 x 144, 384 threads, clusters of 2, 1.61;
    hopper_f16_nn_144x128_fours f16, ColMajor x ColMajor, 128 x 144 x 64, 5 stages, 2 consumers of 1 x 144, 384 threads, clusters of 4, 1.61;
    hopper_f16_nn_112x128_pairs f16, ColMajor x ColMajor, 128 x 112 x 64, 6 stages, 2 consumers of 1 x 112, 384 threads, clusters of 2, 1.5;
    hopper_f16_nn_112x128_fours f16, ColMajor x ColMajor, 128 x 112 x 64, 6 stages, 2 consumers of 1 x 112, 384 threads, clusters of 4, 1.5;
    hopper_f16_nn_80x128_pairs f16, ColMajor x ColMajor, 128 x 80 x 64, 8 stages, 1 consumers of 2 x 80, 256 threads, clusters of 2, 1.5;
    hopper_f16_nn_80x128_fours f16, ColMajor x ColMajor, 128 x 80 x 64, 8 stages, 1 consumers of 2 x 80, 256 threads, clusters of 4, 1.5;
    hopper_f16_nn_168x64_pairs f16, ColMajor x ColMajor, 64 x 168 x 64, 7 stages, 1 consumers of 1 x 168, 256 threads, clusters of 2, 1.2;
    hopper_f16_nn_144x64_pairs f16, ColMajor x ColMajor, 64 x 144 x 64, 8 stages, 1 consumers of 1 x 144, 256 threads, clusters of 2, 0.9;
    hopper_f16_nn_80x64_pairs f16, ColMajor x ColMajor, 64 x 80 x 64, 12 stages, 1 consumers of 1 x 80, 256 threads, clusters of 2, 0.88;
    hopper_f16_nt_160x256_pairs f16, RowMajor x ColMajor, 256 x 160 x 64, 4 stages, 2 consumers of 2 x 160, 384 threads, clusters of 2, 1.654;
    hopper_f16_nt_192x192_pairs f16, RowMajor x ColMajor, 192 x 192 x 64, 4 stages, 2 consumers of 3 x 96, 384 threads, clusters of 2, 1.695;
    hopper_f16_nt_176x192_pairs f16, RowMajor x ColMajor, 192 x 176 x 64, 4 stages, 2 consumers of 3 x 88, 384 threads, clusters of 2, 1.695;
    hopper_f16_nt_160x192_pairs f16, RowMajor x ColMajor, 192 x 160 x 64, 4 stages, 2 consumers of 3 x 80, 384 threads, clusters of 2, 1.685;
    hopper_f16_nt_240x128_pairs f16, RowMajor x ColMajor, 128 x 240 x 64, 4 stages, 2 consumers of 1 x 240, 384 threads, clusters of 2, 1.705;
    hopper_f16_nt_224x128_pairs f16, RowMajor x ColMajor, 128 x 224 x 64, 4 stages, 2 consumers of 1 x 224, 384 threads, clusters of 2, 1.69;
    hopper_f16_nt_208x128_pairs f16, RowMajor x ColMajor, 128 x 208 x 64, 5 stages, 2 consumers of 1 x 208, 384 threads, clusters of 2, 1.68;
    hopper_f16_nt_200x128_pairs f16, RowMajor x ColMajor, 128 x 200 x 64, 5 stages, 2 consumers of 1 x 200, 384 threads, clusters of 2, 1.675;
    hopper_f16_nt_176x128_pairs f16, RowMajor x ColMajor, 128 x 176 x 64, 5 stages, 2 consumers of 1 x 176, 384 threads, clusters of 2, 1.665;
    hopper_f16_nt_160x128_pairs f16, RowMajor x ColMajor, 128 x 160 x 64, 5 stages, 2 consumers of 1 x 160, 384 threads, clusters of 2, 1.644;
    hopper_f16_nt_144x128_pairs f16, RowMajor x ColMajor, 128 x 144 x 64, 5 stages, 2 consumers of 1 x 144, 384 threads, clusters of 2, 1.61;
    hopper_f16_nt_144x128_fours f16, RowMajor x ColMajor, 128 x 144 x 64, 5 stages, 2 consumers of 1 x 144, 384 threads, clusters of 4, 1.61;
    hopper_f16_nt_112x128_pairs f16, RowMajor x ColMajor, 128 x 112 x 64, 6 stages, 2 consumers of 1 x 112, 384 threads, clusters of 2, 1.5;
    hopper_f16_nt_112x128_fours f16, RowMajor x ColMajor, 128 x 112 x 64, 6 stages, 2 consumers of 1 x 112, 384 threads, clusters of 4, 1.5;
    hopper_f16_nt_80x128_pairs f16, RowMajor x ColMajor, 128 x 80 x 64, 8 stages, 1 consumers of 2 x 80, 256 threads, clusters of 2, 1.5;
    hopper_f16_nt_80x128_fours f16, RowMajor x ColMajor, 128 x 80 x 64, 8 stages, 1 consumers of 2 x 80, 256 threads, clusters of 4, 1.5;
    hopper_f16_nt_168x64_pairs f16, RowMajor x ColMajor, 64 x 168 x 64, 7 stages, 1 consumers of 1 x 168, 256 threads, clusters of 2, 1.2;
    hopper_f16_nt_144x64_pairs f16, RowMajor x ColMajor, 64 x 144 x 64, 8 stages, 1 consumers of 1 x 144, 256 threads, clusters of 2, 0.9;
    hopper_f16_nt_80x64_pairs f16, RowMajor x ColMajor, 64 x 80 x 64, 12 stages, 1 consumers of 1 x 80, 256 threads, clusters of 2, 0.88;
}
