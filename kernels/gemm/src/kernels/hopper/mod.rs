//! The same products on `wgmma`, of Hopper: warpgroups that multiply tiles which another has brought by tensor copies.
//!
//! A kernel is `product` of the tiles of A and B, by the orders of those; see `product.rs`, from the top.

mod consumer;
mod groups;
mod heights;
mod product;
mod results;
mod schedule;
mod together;
mod transposes;

pub use groups::*;
pub use product::product;
pub use results::Strip;
pub use together::*;
pub use transposes::*;

use crate::kernels::by_maps::{Left, Memory, Results, Right, Work, kernel, table, tiles};
use crate::kernels::epilogue::{Activation, Output};
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernels::{Buffers, Kernel, Numbers};
use pastey::paste;
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// Columns of sums that go through strips of so many bytes a line at once: those of a strip, but no more than half of the strips have room for.
const fn sums_of(strip: usize, bytes: usize) -> usize {
    let columns = strip / bytes;
    if columns < 32 { columns } else { 32 }
}

/// Rows of a box of A, or columns of one of B, of a tile of so many: with those of a cluster, each block brings some. Small tiles wait for their copies,
/// and the copy engine takes longer over what is beyond a matrix than over the matrix: so they have two boxes, of which one that is beyond it altogether
/// is left out.
const fn box_of(lines: usize, blocks: usize) -> usize {
    if lines == 64 { 32 } else { lines / blocks }
}

/// What results go through: strips of so many bytes a row, as the swizzle has, which are 256 bytes together.
macro_rules! strip {
    ($output:ident 128) => { Strip<$output, Swizzle128, RowMajor, { 128 / size_of::<$output>() }> };
    ($output:ident 64) => { Strip<$output, Swizzle64, RowMajor, { 64 / size_of::<$output>() }> };
    ($output:ident 32) => { Strip<$output, Swizzle32, RowMajor, { 32 / size_of::<$output>() }> };
}
use strip;

/// The table of these kernels, for hosts.
#[cfg(not(target_arch = "nvptx64"))]
pub struct Tiles;

/// The kernels, grouped by elements. A group says of which elements of A and B, and of C, D and the bias, there is each of its kernels, and what
/// names have for them. A row is of a kernel for each of some orders of A and B, as BLAS names them: what names have behind that; what a block computes,
/// and how deep its steps are; its stages; how many warpgroups multiply, of the block with its threads, and how many columns at once, and whether sums
/// are accumulated fast (see `Consumer::sum`); the strips that its results go through, of which tiles have whole ones; the blocks of a cluster; and its rate,
/// as in `products!`.
macro_rules! kernels {
    ($($($input:ident into $output:ident as $elements:ident),+: $rows:tt)*) => {
        $($(of_elements! { $input into $output as $elements $rows })+)*
    };
}

/// The kernels of a group for some elements of it.
macro_rules! of_elements {
    ($input:ident into $output:ident as $elements:ident {$(
        [$($orders:ident)+] $tile:literal $m:literal x $n:literal x $k:literal,
        $stages:literal stages, $consumers:literal consumers, $threads:literal threads, $part:literal at once, fast $fast:literal, strips of $strip:tt,
        clusters of $blocks:literal, $rate:literal;
    )*}) => { paste! {
        $($(kernel! {
            [<hopper_ $elements _ $orders $tile>] $input into $output, $orders into RowMajor, $m x $n x $k, boxes of { box_of($m, $blocks) } x { box_of($n, $blocks) },
            $stages stages, { 256 / $strip } strips of strip!($output $strip), $consumers consumers, $threads threads, clusters of $blocks, tiles of 1, "sm_90a",
            fast $fast, $rate,
            by product::<
                _, _, _, _, _, _, $m, $n, $k, { $strip / size_of::<$output>() }, { 256 / $strip }, { sums_of($strip, size_of::<$output>()) }, $stages, $consumers,
                1, $n, $part, $fast, $blocks,
            >
        })+)*
        table! { Tiles of $input into $output: $($([<hopper_ $elements _ $orders $tile>])+)* }
    }};
}

kernels! {
    bf16 into bf16 as bf16, f16 into f16 as f16: {
        [nn nt] "" 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, fast false, strips of 128, clusters of 1, 1.715;
        [nn nt] "_pairs" 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, fast false, strips of 128, clusters of 2, 1.715;
        [tn tt] "" 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, fast false, strips of 128, clusters of 1, 1.7;
        [nn nt] "_224_pairs" 128 x 224 x 64, 4 stages, 2 consumers, 384 threads, 224 at once, fast false, strips of 64, clusters of 2, 1.675;
        [nn nt tn tt] "_192_pairs" 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, fast false, strips of 128, clusters of 2, 1.66;
        [nn] "_160_pairs" 128 x 160 x 64, 4 stages, 2 consumers, 384 threads, 160 at once, fast false, strips of 64, clusters of 2, 1.56;
        [nt] "_160_pairs" 128 x 160 x 64, 5 stages, 2 consumers, 384 threads, 160 at once, fast false, strips of 64, clusters of 2, 1.56;
        [nn nt tn tt] "_128_pairs" 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, fast false, strips of 128, clusters of 2, 1.6;
        [nn nt tn tt] "_64x128_pairs" 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, fast false, strips of 128, clusters of 2, 1.35;
        [nn nt tn tt] "_64x64" 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, fast false, strips of 128, clusters of 1, 0.7;
    }
    bf16 into f32 as bf16_f32, f16 into f32 as f16_f32: {
        [nn nt tn tt] "" 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, fast false, strips of 128, clusters of 1, 1.7;
        [nn nt tn tt] "_192_pairs" 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, fast false, strips of 128, clusters of 2, 1.66;
        [nn nt tn tt] "_128_pairs" 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, fast false, strips of 128, clusters of 2, 1.6;
        [nn nt tn tt] "_64x128_pairs" 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, fast false, strips of 128, clusters of 2, 1.35;
        [nn nt tn tt] "_64x64" 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, fast false, strips of 128, clusters of 1, 0.7;
    }
    f32 into f32 as tf32: {
        [nt] "" 128 x 256 x 32, 4 stages, 2 consumers, 384 threads, 256 at once, fast false, strips of 128, clusters of 2, 1.7;
        [nt] "_128x128" 128 x 128 x 32, 6 stages, 2 consumers, 384 threads, 128 at once, fast false, strips of 128, clusters of 2, 1.65;
        [nt] "_64x64" 64 x 64 x 32, 12 stages, 1 consumers, 256 threads, 64 at once, fast false, strips of 128, clusters of 1, 0.7;
    }
    i8 into i32 as s8: {
        [nt] "" 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 256 at once, fast false, strips of 128, clusters of 2, 1.65;
        [nt] "_128x128" 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once, fast false, strips of 128, clusters of 2, 1.6;
        [nt] "_64x64" 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once, fast false, strips of 128, clusters of 1, 0.65;
    }
    F8E4M3 into bf16 as e4m3_bf16, F8E4M3 into f16 as e4m3_f16, F8E5M2 into bf16 as e5m2_bf16, F8E5M2 into f16 as e5m2_f16: {
        [nt] "" 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 128 at once, fast false, strips of 128, clusters of 2, 3.2;
        [nt] "_192" 128 x 192 x 128, 4 stages, 2 consumers, 384 threads, 192 at once, fast false, strips of 128, clusters of 2, 3.07;
        [nt] "_128x128" 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once, fast false, strips of 128, clusters of 2, 2.9;
        [nt] "_64x64" 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once, fast false, strips of 128, clusters of 1, 1.1;
        [nt] "_fast" 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 256 at once, fast true, strips of 128, clusters of 2, 3.6;
        [nt] "_192_fast" 128 x 192 x 128, 4 stages, 2 consumers, 384 threads, 192 at once, fast true, strips of 128, clusters of 2, 3.45;
        [nt] "_128x128_fast" 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once, fast true, strips of 128, clusters of 2, 3.2;
        [nt] "_64x64_fast" 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once, fast true, strips of 128, clusters of 1, 1.3;
    }
}
