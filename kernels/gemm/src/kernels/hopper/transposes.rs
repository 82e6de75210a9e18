//! Products whose transposes are computed, as the products of B's with A's: so that D's rows, of which a `wgmma` else takes 64 or none, are what
//! it takes multiples of 8 of.
//!
//! They are `product` with a column-major D, to which strips go that `stmatrix.trans` has filled. What a kernel computes is said here of the
//! transposes, but in its name.

use super::product;
use super::results::Strip;
use crate::kernels::by_maps::{Left, Memory, Results, Right, Work, kernel, table, tiles};
use crate::kernels::epilogue::{Activation, Output};
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernels::{Buffers, Kernel, Numbers};
use pastey::paste;
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

/// The table of these kernels, for hosts.
#[cfg(not(target_arch = "nvptx64"))]
pub struct Transposes;

/// The kernels, grouped by elements as in `kernels!` of other tiles. A row is of a kernel for each of some orders of the product's A and B: what names have
/// behind that, with rows and columns of D in a tile; what a block computes, and how deep its steps are; its stages; how many warpgroups multiply, how many
/// times 64 rows and how many columns each, of the block with its threads; the blocks of a cluster; and its rate, as in `products!`.
macro_rules! kernels {
    ($($($input:ident into $output:ident as $elements:ident),+: $rows:tt)*) => {
        $($(of_elements! { $input into $output as $elements $rows })+)*
    };
}

/// The kernels of a group for some elements of it.
macro_rules! of_elements {
    ($input:ident into $output:ident as $elements:ident {$(
        [$($orders:ident)+] $tile:literal $m:literal x $n:literal x $k:literal, $stages:literal stages,
        $consumers:literal consumers of $high:literal x $wide:literal, $threads:literal threads, clusters of $blocks:literal, $rate:literal;
    )*}) => { paste! {
        $($(kernel! {
            [<hopper_ $elements _ $orders $tile>] $input into $output, $orders into ColMajor, $m x $n x $k, boxes of { $m / 2 } x { box_of($n) }, $stages stages,
            { strips_of($wide, $stages * ($m + $n), $consumers) } strips of Strip<$output, Swizzle128, ColMajor, { strip_of($wide) }>, $consumers consumers, $threads threads,
            clusters of $blocks, tiles of 1, "sm_90a", fast false, $rate,
            by product::<
                _, _, _, _, _, _, $m, $n, $k, { strip_of($wide) }, { strips_of($wide, $stages * ($m + $n), $consumers) }, { sums_through($wide, strips_of($wide, $stages * ($m + $n), $consumers)) }, $stages, $consumers, $high, $wide, $wide, false, $blocks,
            >
        })+)*
        table! { Transposes of $input into $output: $($([<hopper_ $elements _ $orders $tile>])+)* }
    }};
}

kernels! {
    bf16 into bf16 as bf16, f16 into f16 as f16: {
        [nn nt] "_160x256_pairs" 256 x 160 x 64, 4 stages, 2 consumers of 2 x 160, 384 threads, clusters of 2, 1.654;
        [nn nt] "_192x192_pairs" 192 x 192 x 64, 4 stages, 2 consumers of 3 x 96, 384 threads, clusters of 2, 1.695;
        [nn nt] "_176x192_pairs" 192 x 176 x 64, 4 stages, 2 consumers of 3 x 88, 384 threads, clusters of 2, 1.695;
        [nn nt] "_160x192_pairs" 192 x 160 x 64, 4 stages, 2 consumers of 3 x 80, 384 threads, clusters of 2, 1.685;
        [nn nt] "_240x128_pairs" 128 x 240 x 64, 4 stages, 2 consumers of 1 x 240, 384 threads, clusters of 2, 1.705;
        [nn nt] "_224x128_pairs" 128 x 224 x 64, 4 stages, 2 consumers of 1 x 224, 384 threads, clusters of 2, 1.69;
        [nn nt] "_208x128_pairs" 128 x 208 x 64, 5 stages, 2 consumers of 1 x 208, 384 threads, clusters of 2, 1.68;
        [nn nt] "_200x128_pairs" 128 x 200 x 64, 5 stages, 2 consumers of 1 x 200, 384 threads, clusters of 2, 1.675;
        [nn nt] "_176x128_pairs" 128 x 176 x 64, 5 stages, 2 consumers of 1 x 176, 384 threads, clusters of 2, 1.665;
        [nn nt] "_160x128_pairs" 128 x 160 x 64, 5 stages, 2 consumers of 1 x 160, 384 threads, clusters of 2, 1.644;
        [nn nt] "_144x128_pairs" 128 x 144 x 64, 5 stages, 2 consumers of 1 x 144, 384 threads, clusters of 2, 1.61;
        [nn nt] "_144x128_fours" 128 x 144 x 64, 5 stages, 2 consumers of 1 x 144, 384 threads, clusters of 4, 1.61;
        [nn nt] "_112x128_pairs" 128 x 112 x 64, 6 stages, 2 consumers of 1 x 112, 384 threads, clusters of 2, 1.5;
        [nn nt] "_112x128_fours" 128 x 112 x 64, 6 stages, 2 consumers of 1 x 112, 384 threads, clusters of 4, 1.5;
        [nn nt] "_80x128_pairs" 128 x 80 x 64, 8 stages, 1 consumers of 2 x 80, 256 threads, clusters of 2, 1.5;
        [nn nt] "_80x128_fours" 128 x 80 x 64, 8 stages, 1 consumers of 2 x 80, 256 threads, clusters of 4, 1.5;
        [nn nt] "_168x64_pairs" 64 x 168 x 64, 7 stages, 1 consumers of 1 x 168, 256 threads, clusters of 2, 1.2;
        [nn nt] "_144x64_pairs" 64 x 144 x 64, 8 stages, 1 consumers of 1 x 144, 256 threads, clusters of 2, 0.9;
        [nn nt] "_80x64_pairs" 64 x 80 x 64, 12 stages, 1 consumers of 1 x 80, 256 threads, clusters of 2, 0.88;
    }
}
