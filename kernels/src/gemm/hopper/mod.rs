//! The same products on `wgmma`, of Hopper: warpgroups that multiply tiles which another has brought by tensor copies.
//!
//! A kernel is `product` of the tiles of A and B, by the orders of those; see `product.rs`, from the top.

mod consumer;
mod factor;
mod product;
mod results;
mod work;

pub use factor::{Columns, Left, Right};
pub use product::{Memory, product};
pub use results::{Results, Strip};
pub use work::Work;

use crate::gemm::epilogue::{Activation, Output};
#[cfg(not(target_arch = "nvptx64"))]
use crate::gemm::{Buffers, Kernel, LaunchError, Numbers};
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// The tiles of A, or B, of so many rows, or columns, in a stage, by the order of the matrix: as many as the cluster has blocks, or
/// more.
macro_rules! tiles {
    (a RowMajor $input:ident $lines:literal $k:literal $blocks:literal) => {
        SharedRing<SharedTile<$input, { $lines / $blocks }, $k, Swizzle128>, $blocks>
    };
    (a ColMajor $input:ident $lines:literal $k:literal $blocks:literal) => {
        SharedRing<SharedTile<$input, 64, $k, Swizzle128, ColMajor>, { $lines / 64 }>
    };
    (b ColMajor $input:ident $lines:literal $k:literal $blocks:literal) => {
        SharedRing<SharedTile<$input, $k, { $lines / $blocks }, Swizzle128, ColMajor>, $blocks>
    };
    (b RowMajor $input:ident $lines:literal $k:literal $blocks:literal) => {
        SharedRing<SharedTile<$input, $k, 64, Swizzle128>, { usize::div_ceil($lines, 64) }>
    };
}

/// Columns of sums that go through strips of so many bytes a line at once: those of a strip, but no more than half of the strips have room for.
const fn sums_of(strip: usize, bytes: usize) -> usize {
    let columns = strip / bytes;
    if columns < 32 { columns } else { 32 }
}

/// What results go through: strips of so many bytes a row, as the swizzle has, which are 256 bytes together.
macro_rules! strip {
    ($output:ident 128) => { Strip<$output, Swizzle128, { 128 / size_of::<$output>() }> };
    ($output:ident 64) => { Strip<$output, Swizzle64, { 64 / size_of::<$output>() }> };
    ($output:ident 32) => { Strip<$output, Swizzle32, { 32 / size_of::<$output>() }> };
}

/// The kernels: a row each. The name; the elements of A and B, and of C, D and the bias; the orders of A and B; what a block computes,
/// and how deep its steps are; its stages; how many warpgroups multiply, of the block with its threads, and how many columns at once (see
/// `Consumer::sum`); the strips that its results go through, of which tiles have whole ones; the blocks of a cluster; and its rate, as in
/// `products!`.
macro_rules! kernels {
    ($(
        $kernel:ident $input:ident into $output:ident, $order_a:ident x $order_b:ident, $m:literal x $n:literal x $k:literal,
        $stages:literal stages, $consumers:literal consumers, $threads:literal threads, $part:literal at once, strips of $strip:tt, clusters of $blocks:literal,
        $rate:literal;
    )*) => {$(
        /// D = f(alpha A x B + beta C + bias); or, if there is room for `sums`, the sums of each `k_part` of K: see `product` and `Results`.
        ///
        /// A, B and D are tensors of a dimension along lines, one across, and one of the products of a batch; what of A, B and D is in
        /// no product is not read or written. C of the first product starts `skip_c` elements into its slice.
        #[kernel(threads = $threads, min_blocks = 1, cluster = $blocks, early = true, target = "sm_90a")]
        pub fn $kernel(
            block: &ClusterBlock<$blocks>,
            #[shared] stages: SharedRing<
                (tiles!(a $order_a $input $m $k $blocks), tiles!(b $order_b $input $n $k $blocks)), $stages>,
            #[shared] strips: SharedRing<SharedRing<strip!($output $strip), { 256 / $strip }>, $consumers>,
            #[shared] full: SharedRing<BarrierMemory, $stages>,
            #[shared] empty: SharedRing<BarrierMemory, $stages>,
            a: Early<TensorMap<<tiles!(a $order_a $input $m $k $blocks) as Left>::Box, 3>>,
            b: Early<TensorMap<<tiles!(b $order_b $input $n $k $blocks) as Right>::Box, 3>>,
            d: Early<TensorMapMut<strip!($output $strip), 3>>,
            c: Early<Global<$output>>,
            bias: Early<Global<$output>>,
            sums: Early<GlobalMut<<$output as Output>::Sum>>,
            m: u32,
            n: u32,
            k: u32,
            k_part: u32,
            batches: u32,
            across: u32,
            ldc: u32,
            skip_c: usize,
            batch_c: usize,
            alpha: <$output as Output>::Sum,
            beta: <$output as Output>::Sum,
            bias_of_rows: u32,
            activation: u32,
        ) {
            let memory = Memory { stages, strips, full, empty };
            let results = |ended: AheadEnded<'_>| Results {
                d: d.get(ended),
                sums: sums.get(ended),
                size: (m, n),
                alpha,
                beta,
                c: (c.get(ended), skip_c, batch_c, ldc),
                bias: bias.get(ended),
                bias_of_rows: bias_of_rows != 0,
                activation: Activation::of(activation),
            };
            let work = Work { sides: (m, n, k), k_part, batches, across: across != 0 };
            product::<
                _, _, _, _, $m, $n, $k, { $strip / size_of::<$output>() }, { 256 / $strip }, { sums_of($strip, size_of::<$output>()) }, $stages, $consumers,
                $part, $blocks,
            >(
                block, memory, a, b, work, results,
            );
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl ByWarpGroups<$input, $output> for $kernel {
            const KERNEL: Kernel = Kernel {
                name: stringify!($kernel),
                row_major: Some([
                    <tiles!(a $order_a $input $m $k $blocks) as Left>::ROW_MAJOR,
                    <tiles!(b $order_b $input $n $k $blocks) as Right>::ROW_MAJOR,
                ]),
                tile: [$m, $n, $k],
                alignment: 16,
                by_tensor_maps: true,
                rate: $rate,
                info: &$kernel::INFO,
            };

            fn launch<D: Device>(
                device: &D,
                Buffers { a, b, c, bias, d, sums }: Buffers<'_, D, $input, $output>,
                numbers: &Numbers<<$output as Output>::Sum>,
            ) -> Result<Result<D::Report, D::Error>, TensorMapError> {
                let Numbers { sides: [m, n, k], k_part, batches, alpha, beta, activation, bias_of_rows, .. } = *numbers;
                let [row_major_a, row_major_b] = Self::KERNEL.row_major.unwrap_or_default();
                let a = numbers.tensor(0, row_major_a).map(device, a)?;
                let b = numbers.tensor(1, row_major_b).map(device, b)?;
                let mut d = numbers.tensor(2, true).map_mut(device, d)?;
                let blocks = Self::KERNEL.blocks(m, n) * batches * numbers.parts;
                // Whole clusters, at least one.
                let grid = blocks.min((numbers.multiprocessors / $blocks).max(1) * $blocks);
                Ok($kernel::launch(
                    device, grid, &a, &b, d.by_ref(), c, bias, sums, m, n, k, k_part, batches, Self::KERNEL.across(m, n).into(),
                    numbers.strides[2], numbers.starts[2], numbers.batch_strides[2], alpha, beta, bias_of_rows.into(), activation as u32,
                ))
            }
        }
    )*};
}

/// A kernel of the table, for the host.
#[cfg(not(target_arch = "nvptx64"))]
pub trait ByWarpGroups<I: Element, O: Output> {
    /// What is known of it.
    const KERNEL: Kernel;

    /// Launches it, if there are such tensor maps.
    fn launch<D: Device>(
        device: &D,
        buffers: Buffers<'_, D, I, O>,
        numbers: &Numbers<O::Sum>,
    ) -> Result<Result<D::Report, D::Error>, TensorMapError>;
}

/// Launches a kernel of the table.
#[cfg(not(target_arch = "nvptx64"))]
pub fn launch<K: ByWarpGroups<I, O>, I: Element, O: Output, D: Device>(
    device: &D,
    buffers: Buffers<'_, D, I, O>,
    numbers: &Numbers<O::Sum>,
) -> Result<D::Report, LaunchError<D::Error>> {
    K::launch(device, buffers, numbers).map_err(LaunchError::TensorMap)?.map_err(LaunchError::Device)
}

kernels! {
    hopper_bf16_nn bf16 into bf16, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_bf16_nn_pairs bf16 into bf16, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.7;
    hopper_bf16_nt bf16 into bf16, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_bf16_nt_pairs bf16 into bf16, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.7;
    hopper_bf16_tn bf16 into bf16, ColMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_bf16_tt bf16 into bf16, ColMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_bf16_nn_224_pairs bf16 into bf16, RowMajor x RowMajor, 128 x 224 x 64, 4 stages, 2 consumers, 384 threads, 224 at once, strips of 64, clusters of 2, 1.66;
    hopper_bf16_nn_208_pairs bf16 into bf16, RowMajor x RowMajor, 128 x 208 x 64, 4 stages, 2 consumers, 384 threads, 208 at once, strips of 32, clusters of 2, 1.655;
    hopper_bf16_nn_192_pairs bf16 into bf16, RowMajor x RowMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.65;
    hopper_bf16_nn_160_pairs bf16 into bf16, RowMajor x RowMajor, 128 x 160 x 64, 4 stages, 2 consumers, 384 threads, 160 at once, strips of 64, clusters of 2, 1.62;
    hopper_bf16_nn_64x128_pairs bf16 into bf16, RowMajor x RowMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.3;
    hopper_bf16_nn_64x64 bf16 into bf16, RowMajor x RowMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.75;
    hopper_bf16_nt_224_pairs bf16 into bf16, RowMajor x ColMajor, 128 x 224 x 64, 4 stages, 2 consumers, 384 threads, 224 at once, strips of 64, clusters of 2, 1.66;
    hopper_bf16_nt_208_pairs bf16 into bf16, RowMajor x ColMajor, 128 x 208 x 64, 4 stages, 2 consumers, 384 threads, 208 at once, strips of 32, clusters of 2, 1.655;
    hopper_bf16_nt_192_pairs bf16 into bf16, RowMajor x ColMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.65;
    hopper_bf16_nt_160_pairs bf16 into bf16, RowMajor x ColMajor, 128 x 160 x 64, 5 stages, 2 consumers, 384 threads, 160 at once, strips of 64, clusters of 2, 1.62;
    hopper_bf16_nt_64x128_pairs bf16 into bf16, RowMajor x ColMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.3;
    hopper_bf16_nt_64x64 bf16 into bf16, RowMajor x ColMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.75;
    hopper_bf16_f32_nn bf16 into f32, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_bf16_f32_nt bf16 into f32, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_f16_nn f16 into f16, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_f16_nn_pairs f16 into f16, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.7;
    hopper_f16_nt f16 into f16, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_f16_nt_pairs f16 into f16, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.7;
    hopper_f16_tn f16 into f16, ColMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_f16_tt f16 into f16, ColMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_f16_nn_224_pairs f16 into f16, RowMajor x RowMajor, 128 x 224 x 64, 4 stages, 2 consumers, 384 threads, 224 at once, strips of 64, clusters of 2, 1.66;
    hopper_f16_nn_208_pairs f16 into f16, RowMajor x RowMajor, 128 x 208 x 64, 4 stages, 2 consumers, 384 threads, 208 at once, strips of 32, clusters of 2, 1.655;
    hopper_f16_nn_192_pairs f16 into f16, RowMajor x RowMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.65;
    hopper_f16_nn_160_pairs f16 into f16, RowMajor x RowMajor, 128 x 160 x 64, 4 stages, 2 consumers, 384 threads, 160 at once, strips of 64, clusters of 2, 1.62;
    hopper_f16_nn_64x128_pairs f16 into f16, RowMajor x RowMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.3;
    hopper_f16_nn_64x64 f16 into f16, RowMajor x RowMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.75;
    hopper_f16_nt_224_pairs f16 into f16, RowMajor x ColMajor, 128 x 224 x 64, 4 stages, 2 consumers, 384 threads, 224 at once, strips of 64, clusters of 2, 1.66;
    hopper_f16_nt_208_pairs f16 into f16, RowMajor x ColMajor, 128 x 208 x 64, 4 stages, 2 consumers, 384 threads, 208 at once, strips of 32, clusters of 2, 1.655;
    hopper_f16_nt_192_pairs f16 into f16, RowMajor x ColMajor, 128 x 192 x 64, 4 stages, 2 consumers, 384 threads, 192 at once, strips of 128, clusters of 2, 1.65;
    hopper_f16_nt_160_pairs f16 into f16, RowMajor x ColMajor, 128 x 160 x 64, 5 stages, 2 consumers, 384 threads, 160 at once, strips of 64, clusters of 2, 1.62;
    hopper_f16_nt_64x128_pairs f16 into f16, RowMajor x ColMajor, 64 x 128 x 64, 8 stages, 1 consumers, 256 threads, 128 at once, strips of 128, clusters of 2, 1.3;
    hopper_f16_nt_64x64 f16 into f16, RowMajor x ColMajor, 64 x 64 x 64, 12 stages, 1 consumers, 256 threads, 64 at once, strips of 128, clusters of 1, 0.75;
    hopper_f16_f32_nn f16 into f32, RowMajor x RowMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_f16_f32_nt f16 into f32, RowMajor x ColMajor, 128 x 256 x 64, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 1, 1.7;
    hopper_tf32_nt f32 into f32, RowMajor x ColMajor, 128 x 256 x 32, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.7;
    hopper_tf32_nt_128x128 f32 into f32, RowMajor x ColMajor, 128 x 128 x 32, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.65;
    hopper_s8_nt i8 into i32, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 256 at once, strips of 128, clusters of 2, 1.65;
    hopper_s8_nt_128x128 i8 into i32, RowMajor x ColMajor, 128 x 128 x 128, 6 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 1.6;
    hopper_e4m3_bf16_nt F8E4M3 into bf16, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 2.8;
    hopper_e4m3_f16_nt F8E4M3 into f16, RowMajor x ColMajor, 128 x 256 x 128, 4 stages, 2 consumers, 384 threads, 128 at once, strips of 128, clusters of 2, 2.8;
}
