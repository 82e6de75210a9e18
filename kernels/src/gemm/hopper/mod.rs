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

use crate::gemm::by_maps::{Left, Memory, Results, Right, Work, kernel, tiles};
use crate::gemm::epilogue::{Activation, Output};
#[cfg(not(target_arch = "nvptx64"))]
use crate::gemm::{Buffers, Kernel, Numbers};
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

/// Whether a row says `fast`.
macro_rules! is_fast {
    () => {
        false
    };
    (fast) => {
        true
    };
}

/// The kernels: a row each. The name; the elements of A and B, and of C, D and the bias; the orders of A and B; what a block computes,
/// and how deep its steps are; its stages; how many warpgroups multiply, of the block with its threads, and how many columns at once, and whether sums
/// are accumulated fast (see `Consumer::sum`); the strips that its results go through, of which tiles have whole ones; the blocks of a cluster; and its rate, as in
/// `products!`.
macro_rules! kernels {
    ($(
        $kernel:ident $input:ident into $output:ident, $order_a:ident x $order_b:ident, $m:literal x $n:literal x $k:literal,
        $stages:literal stages, $consumers:literal consumers, $threads:literal threads, $part:literal at once $(and $fast:ident)?, strips of $strip:tt,
        clusters of $blocks:literal, $rate:literal;
    )*) => {$(
        kernel! {
            $kernel $input into $output, $order_a x $order_b into RowMajor, $m x $n x $k, boxes of { box_of($m, $blocks) } x { box_of($n, $blocks) }, $stages stages,
            { 256 / $strip } strips of strip!($output $strip), $consumers consumers, $threads threads, clusters of $blocks, tiles of 1, "sm_90a",
            fast is_fast!($($fast)?), $rate,
            by product::<
                _, _, _, _, _, _, $m, $n, $k, { $strip / size_of::<$output>() }, { 256 / $strip }, { sums_of($strip, size_of::<$output>()) }, $stages, $consumers,
                1, $n, $part, { is_fast!($($fast)?) }, $blocks,
            >
        }
    )*};
}

kernels! {
    hopper_bf16_nn bf16 into bf16, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.715;
    hopper_bf16_nn_pairs bf16 into bf16, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.715;
    hopper_bf16_nt bf16 into bf16, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.715;
    hopper_bf16_nt_pairs bf16 into bf16, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.715;
    hopper_bf16_tn bf16 into bf16, ColMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_bf16_tt bf16 into bf16, ColMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_bf16_nn_224_pairs bf16 into bf16, RowMajor x RowMajor, 128 x 224 x 64, 4 stages, 2 consumers, 384 threads, 224 at once, strips of 64, clusters of 2, 1.675;
    hopper_bf16_nn_192_pairs bf16 into bf16, RowMajor x RowMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_bf16_nn_160_pairs bf16 into bf16, RowMajor x RowMajor, 128 x 160 x 64, 4 stages, 2 consumers, 384 threads, 160 at once, strips of 64, clusters of 2, 1.56;
    hopper_bf16_nn_128_pairs bf16 into bf16, RowMajor x RowMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_bf16_nn_64x128_pairs bf16 into bf16, RowMajor x RowMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_bf16_nn_64x64 bf16 into bf16, RowMajor x RowMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_bf16_nt_224_pairs bf16 into bf16, RowMajor x ColMajor, 128 x 224 x 64, 4 stages, 2 consumers, 384 threads, 224 at once, strips of 64, clusters of 2, 1.675;
    hopper_bf16_nt_192_pairs bf16 into bf16, RowMajor x ColMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_bf16_nt_160_pairs bf16 into bf16, RowMajor x ColMajor, 128 x 160 x 64, 5 stages, 2 consumers, 384 threads, 160 at once, strips of 64, clusters of 2, 1.56;
    hopper_bf16_nt_128_pairs bf16 into bf16, RowMajor x ColMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_bf16_nt_64x128_pairs bf16 into bf16, RowMajor x ColMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_bf16_nt_64x64 bf16 into bf16, RowMajor x ColMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_bf16_tn_192_pairs bf16 into bf16, ColMajor x RowMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_bf16_tn_128_pairs bf16 into bf16, ColMajor x RowMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_bf16_tn_64x128_pairs bf16 into bf16, ColMajor x RowMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_bf16_tn_64x64 bf16 into bf16, ColMajor x RowMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_bf16_tt_192_pairs bf16 into bf16, ColMajor x ColMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_bf16_tt_128_pairs bf16 into bf16, ColMajor x ColMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_bf16_tt_64x128_pairs bf16 into bf16, ColMajor x ColMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_bf16_tt_64x64 bf16 into bf16, ColMajor x ColMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_bf16_f32_nn bf16 into f32, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_bf16_f32_nt bf16 into f32, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_bf16_f32_nn_192_pairs bf16 into f32, RowMajor x RowMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_bf16_f32_nn_128_pairs bf16 into f32, RowMajor x RowMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_bf16_f32_nn_64x128_pairs bf16 into f32, RowMajor x RowMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_bf16_f32_nn_64x64 bf16 into f32, RowMajor x RowMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_bf16_f32_nt_192_pairs bf16 into f32, RowMajor x ColMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_bf16_f32_nt_128_pairs bf16 into f32, RowMajor x ColMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_bf16_f32_nt_64x128_pairs bf16 into f32, RowMajor x ColMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_bf16_f32_nt_64x64 bf16 into f32, RowMajor x ColMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_f16_nn f16 into f16, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.715;
    hopper_f16_nn_pairs f16 into f16, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.715;
    hopper_f16_nt f16 into f16, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.715;
    hopper_f16_nt_pairs f16 into f16, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.715;
    hopper_f16_tn f16 into f16, ColMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_f16_tt f16 into f16, ColMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_f16_nn_224_pairs f16 into f16, RowMajor x RowMajor, 128 x 224 x 64, 4 stages, 2 consumers, 384 threads, 224 at once, strips of 64, clusters of 2, 1.675;
    hopper_f16_nn_192_pairs f16 into f16, RowMajor x RowMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_f16_nn_160_pairs f16 into f16, RowMajor x RowMajor, 128 x 160 x 64, 4 stages, 2 consumers, 384 threads, 160 at once, strips of 64, clusters of 2, 1.56;
    hopper_f16_nn_128_pairs f16 into f16, RowMajor x RowMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_f16_nn_64x128_pairs f16 into f16, RowMajor x RowMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_f16_nn_64x64 f16 into f16, RowMajor x RowMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_f16_nt_224_pairs f16 into f16, RowMajor x ColMajor, 128 x 224 x 64, 4 stages, 2 consumers, 384 threads, 224 at once, strips of 64, clusters of 2, 1.675;
    hopper_f16_nt_192_pairs f16 into f16, RowMajor x ColMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_f16_nt_160_pairs f16 into f16, RowMajor x ColMajor, 128 x 160 x 64, 5 stages, 2 consumers, 384 threads, 160 at once, strips of 64, clusters of 2, 1.56;
    hopper_f16_nt_128_pairs f16 into f16, RowMajor x ColMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_f16_nt_64x128_pairs f16 into f16, RowMajor x ColMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_f16_nt_64x64 f16 into f16, RowMajor x ColMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_f16_tn_192_pairs f16 into f16, ColMajor x RowMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_f16_tn_128_pairs f16 into f16, ColMajor x RowMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_f16_tn_64x128_pairs f16 into f16, ColMajor x RowMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_f16_tn_64x64 f16 into f16, ColMajor x RowMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_f16_tt_192_pairs f16 into f16, ColMajor x ColMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_f16_tt_128_pairs f16 into f16, ColMajor x ColMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_f16_tt_64x128_pairs f16 into f16, ColMajor x ColMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_f16_tt_64x64 f16 into f16, ColMajor x ColMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_f16_f32_nn f16 into f32, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_f16_f32_nt f16 into f32, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_f16_f32_nn_192_pairs f16 into f32, RowMajor x RowMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_f16_f32_nn_128_pairs f16 into f32, RowMajor x RowMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_f16_f32_nn_64x128_pairs f16 into f32, RowMajor x RowMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_f16_f32_nn_64x64 f16 into f32, RowMajor x RowMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_f16_f32_nt_192_pairs f16 into f32, RowMajor x ColMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.66;
    hopper_f16_f32_nt_128_pairs f16 into f32, RowMajor x ColMajor, 128 x 128 x 64, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_f16_f32_nt_64x128_pairs f16 into f32, RowMajor x ColMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.35;
    hopper_f16_f32_nt_64x64 f16 into f32, RowMajor x ColMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_tf32_nt f32 into f32, RowMajor x ColMajor, 128 x 256 x 32, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.7;
    hopper_tf32_nt_128x128 f32 into f32, RowMajor x ColMajor, 128 x 128 x 32, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.65;
    hopper_tf32_nt_64x64 f32 into f32, RowMajor x ColMajor, 64 x 64 x 32, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.7;
    hopper_s8_nt i8 into i32, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.65;
    hopper_s8_nt_128x128 i8 into i32, RowMajor x ColMajor, 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_s8_nt_64x64 i8 into i32, RowMajor x ColMajor, 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.65;
    hopper_e4m3_bf16_nt F8E4M3 into bf16, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 3.2;
    hopper_e4m3_bf16_nt_192 F8E4M3 into bf16, RowMajor x ColMajor, 128 x 192 x 128, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 3.07;
    hopper_e4m3_bf16_nt_128x128 F8E4M3 into bf16, RowMajor x ColMajor, 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 2.9;
    hopper_e4m3_bf16_nt_64x64 F8E4M3 into bf16, RowMajor x ColMajor, 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 1.1;
    hopper_e4m3_f16_nt F8E4M3 into f16, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 3.2;
    hopper_e4m3_f16_nt_192 F8E4M3 into f16, RowMajor x ColMajor, 128 x 192 x 128, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 3.07;
    hopper_e4m3_f16_nt_128x128 F8E4M3 into f16, RowMajor x ColMajor, 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 2.9;
    hopper_e4m3_f16_nt_64x64 F8E4M3 into f16, RowMajor x ColMajor, 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 1.1;
    hopper_e5m2_bf16_nt F8E5M2 into bf16, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 3.2;
    hopper_e5m2_bf16_nt_192 F8E5M2 into bf16, RowMajor x ColMajor, 128 x 192 x 128, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 3.07;
    hopper_e5m2_bf16_nt_128x128 F8E5M2 into bf16, RowMajor x ColMajor, 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 2.9;
    hopper_e5m2_bf16_nt_64x64 F8E5M2 into bf16, RowMajor x ColMajor, 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 1.1;
    hopper_e5m2_f16_nt F8E5M2 into f16, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 3.2;
    hopper_e5m2_f16_nt_192 F8E5M2 into f16, RowMajor x ColMajor, 128 x 192 x 128, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 3.07;
    hopper_e5m2_f16_nt_128x128 F8E5M2 into f16, RowMajor x ColMajor, 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 2.9;
    hopper_e5m2_f16_nt_64x64 F8E5M2 into f16, RowMajor x ColMajor, 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 1.1;
    hopper_e4m3_bf16_nt_fast F8E4M3 into bf16, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 256 at once and fast, strips of 128, clusters of 2, 3.6;
    hopper_e4m3_bf16_nt_192_fast F8E4M3 into bf16, RowMajor x ColMajor, 128 x 192 x 128, 4 stages, 2 consumers, 384 threads, 192 at once and fast, strips of 128, clusters of 2, 3.45;
    hopper_e4m3_bf16_nt_128x128_fast F8E4M3 into bf16, RowMajor x ColMajor, 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once and fast, strips of 128, clusters of 2, 3.2;
    hopper_e4m3_bf16_nt_64x64_fast F8E4M3 into bf16, RowMajor x ColMajor, 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once and fast, strips of 128, clusters of 1, 1.3;
    hopper_e4m3_f16_nt_fast F8E4M3 into f16, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 256 at once and fast, strips of 128, clusters of 2, 3.6;
    hopper_e4m3_f16_nt_192_fast F8E4M3 into f16, RowMajor x ColMajor, 128 x 192 x 128, 4 stages, 2 consumers, 384 threads, 192 at once and fast, strips of 128, clusters of 2, 3.45;
    hopper_e4m3_f16_nt_128x128_fast F8E4M3 into f16, RowMajor x ColMajor, 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once and fast, strips of 128, clusters of 2, 3.2;
    hopper_e4m3_f16_nt_64x64_fast F8E4M3 into f16, RowMajor x ColMajor, 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once and fast, strips of 128, clusters of 1, 1.3;
    hopper_e5m2_bf16_nt_fast F8E5M2 into bf16, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 256 at once and fast, strips of 128, clusters of 2, 3.6;
    hopper_e5m2_bf16_nt_192_fast F8E5M2 into bf16, RowMajor x ColMajor, 128 x 192 x 128, 4 stages, 2 consumers, 384 threads, 192 at once and fast, strips of 128, clusters of 2, 3.45;
    hopper_e5m2_bf16_nt_128x128_fast F8E5M2 into bf16, RowMajor x ColMajor, 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once and fast, strips of 128, clusters of 2, 3.2;
    hopper_e5m2_bf16_nt_64x64_fast F8E5M2 into bf16, RowMajor x ColMajor, 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once and fast, strips of 128, clusters of 1, 1.3;
    hopper_e5m2_f16_nt_fast F8E5M2 into f16, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 256 at once and fast, strips of 128, clusters of 2, 3.6;
    hopper_e5m2_f16_nt_192_fast F8E5M2 into f16, RowMajor x ColMajor, 128 x 192 x 128, 4 stages, 2 consumers, 384 threads, 192 at once and fast, strips of 128, clusters of 2, 3.45;
    hopper_e5m2_f16_nt_128x128_fast F8E5M2 into f16, RowMajor x ColMajor, 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once and fast, strips of 128, clusters of 2, 3.2;
    hopper_e5m2_f16_nt_64x64_fast F8E5M2 into f16, RowMajor x ColMajor, 64 x 64 x 128, 12 stages, 1 consumers, 256 threads, 64 at once and fast, strips of 128, clusters of 1, 1.3;
}
