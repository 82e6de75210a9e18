//! The products of rows in groups: kernels of their own, so that the others need not know of groups.
//!
//! They are `product` with other tiles to go through (`schedule.rs`), and another way for sums: a tile is as high as its group leaves it, where
//! a tensor copy would write on, so threads store D.

use super::heights::{Heights, High};
use super::product;
use super::results::{ROWS, Sink, Strip, place, put_by_threads, store_at};
use super::schedule::InGroups;
use crate::kernels::by_maps::{Left, Memory, Right, Unit, tiles};
use crate::kernels::epilogue::{Activation, Epilogue, Number, Output};
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernels::groups::OfGroups;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernels::{Buffers, Kernel, LaunchError, Numbers};
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::*;

/// Where sums go, and what is done with them on the way.
struct Results<'k, O: Output> {
    /// All rows.
    d: GlobalMut<'k, O>,
    /// From one row of D to the next.
    stride: usize,
    /// M and N.
    size: (usize, usize),
    /// That of all rows. A bias of columns has as many elements for each group.
    epilogue: Epilogue<'k, O>,
}

impl<O, S, const COLS: usize> Sink<O, S, RowMajor, COLS> for Results<'_, O>
where
    O: Output<Sum: Element<Width = Bits32>>,
    S: TensorSwizzle,
{
    #[inline(always)]
    fn put<const N: usize, const HIGH: usize, const STRIPS: usize, const SUMS: usize>(
        &self,
        group: WarpGroup<'_>,
        strips: SharedRing<Strip<O, S, RowMajor, COLS>, STRIPS>,
        unit: &Unit,
        at: (u32, u32),
        sums: &[GroupAccumulator<N, O::Sum>; HIGH],
    ) where
        High<HIGH>: Heights<HIGH>,
        M64<N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
        M16N8K16: FragmentShape<RoleC, O::Width>,
    {
        const { assert!(N.is_multiple_of(STRIPS * COLS) && N.is_multiple_of(SUMS), "strips do not go beyond the tile") };
        let late = |number| group.block().late(number);
        let rows = unit.group.expect("a group's").end;
        let (all, cols) = self.size;
        let matrix = || GlobalMatrixMut::<_, RowMajor>::new(self.d, (rows as usize).min(all), cols, self.stride);
        if self.epilogue.is_a_factor() {
            if const { N > 2 * STRIPS * COLS } {
                let to = || (matrix(), (late(at.0) as usize, late(at.1) as usize));
                return put_by_threads::<_, _, _, COLS, N, HIGH, STRIPS>(group, strips, sums, self.epilogue.alpha, to);
            }
            // All strips twice, one behind the other in the program, take less time, and no more registers.
            let put = #[inline(always)]
            |block: usize, sums: &GroupAccumulator<N, O::Sum>| {
                let sums = sums.map(group, |_, _, sum| sum.times(self.epilogue.alpha));
                let elements = O::narrow_group(group, &sums);
                for first in (0..N).step_by(STRIPS * COLS) {
                    for strip in 0..STRIPS {
                        elements.store(group, &strips.part(strip), first + strip * COLS);
                    }
                    group.sync();
                    for strip in 0..STRIPS {
                        let to = (at.0 as usize + block * ROWS, at.1 as usize + first + strip * COLS);
                        strips.part(strip).copy_to(group, matrix(), to);
                    }
                    group.sync();
                }
            };
            High::<HIGH>::map(sums.each_ref(), put);
            return;
        }
        // As for other products.
        let part = strips.reuse::<SharedRing<SharedTile<O::Sum, ROWS, SUMS, S>, 2>>().part(0);
        let mut next = late(0);
        while next < (HIGH * N) as u32 {
            store_at::<_, N, HIGH, SUMS>(group, sums, next, |sums, col| sums.store(group, &part, col));
            group.sync();
            let d = matrix();
            let (top, first) = place::<N, HIGH>(next);
            let (top, left) = (late(at.0 + top) as usize, late(at.1 + first) as usize);
            let epilogue = &self.epilogue;
            let index = late(unit.of_b()) as usize;
            let has_bias_of_cols = !epilogue.bias.is_empty() && !epilogue.bias_of_rows;
            let bias = if has_bias_of_cols { epilogue.bias.skip(index * cols) } else { epilogue.bias };
            let epilogue = Epilogue { bias, ..*epilogue };
            epilogue.finish::<4, _, _, _>(group, part, (top, left), (d.rows(), d.cols()), |_, to, element| {
                if let Some((row, col)) = to {
                    d.set(row, col, element);
                }
            });
            group.sync();
            next += SUMS as u32;
        }
    }
}

/// The kernels: a row each. The name; the elements of A and B, and of C, D and the bias; the order of B; how deep steps are; how many columns are
/// multiplied at once (see `Consumer::sum`); and the rate, as in `products!`. What is the same of all is that of `hopper_bf16_nt`.
macro_rules! kernels {
    ($($kernel:ident $input:ident into $output:ident, $order_b:ident, steps of $k:literal, $part:literal at once, $rate:literal;)*) => {$(
        /// D = f(alpha A x B + beta C + bias), of rows in groups, each with a matrix B, and a bias of columns, of its own: see `product`,
        /// `InGroups` and `Results`.
        ///
        /// A and B are tensors of a dimension along lines, one across, and, of B, one of the groups. D, and C, start `skip_d` elements into
        /// their slices. What of D is of no group is not written.
        #[kernel(threads = 384, min_blocks = 1, cluster = 1, early = true, target = "sm_90a")]
        pub fn $kernel(
            block: &ClusterBlock<1>,
            #[shared] stages: SharedRing<
        (tiles!(a RowMajor $input 128 $k 128), tiles!(b $order_b $input 256 $k 256)),
                4,
            >,
            #[shared] strips: SharedRing<SharedRing<Strip<$output, Swizzle128, RowMajor, { 128 / size_of::<$output>() }>, 2>, 2>,
            #[shared] full: SharedRing<BarrierMemory, 4>,
            #[shared] empty: SharedRing<BarrierMemory, 4>,
    a: Early<TensorMap<<tiles!(a RowMajor $input 128 $k 128) as Left>::Box, 3>>,
    b: Early<TensorMap<<tiles!(b $order_b $input 256 $k 256) as Right>::Box, 3>>,
            d: Early<GlobalMut<$output>>,
            c: Early<Global<$output>>,
            bias: Early<Global<$output>>,
            ends: Early<Global<u32>>,
            m: u32,
            n: u32,
            k: u32,
            ldd: u32,
            skip_d: usize,
            alpha: <$output as Output>::Sum,
            beta: <$output as Output>::Sum,
            bias_of_rows: u32,
            activation: u32,
        ) {
            let memory = Memory { stages, strips, full, empty };
            let work = InGroups { sides: (m, n, k), ends };
            let size = (m as usize, n as usize);
            let results = |ended: AheadEnded<'_>| Results {
                d: d.get(ended).skip(skip_d),
                stride: ldd as usize,
                size,
                epilogue: Epilogue {
                    c: (beta != <<$output as Output>::Sum as Number>::ZERO).then(|| GlobalMatrix::new(c.get(ended).skip(skip_d), size.0, size.1, ldd as usize)),
                    bias: bias.get(ended),
                    bias_of_rows: bias_of_rows != 0,
                    alpha,
                    beta,
                    activation: Activation::of(activation),
                },
            };
            product::<_, _, _, _, _, _, 128, 256, $k, { 128 / size_of::<$output>() }, 2, 32, 4, 2, 1, 256, $part, false, 1>(block, memory, a, b, work, results);
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl OfGroups<$input, $output> for $kernel {
            const KERNEL: Kernel = Kernel {
                name: stringify!($kernel),
                row_major: Some([true, <tiles!(b $order_b $input 256 $k 256) as Right>::ROW_MAJOR]),
                tile: [128, 256, $k],
                boxes: [128, 256],
                alignment: 16,
                by_tensor_maps: true,
                is_of_transposes: false,
                blocks_of_tile: 1,
                accumulates_fast: false,
                rate: $rate,
                info: &$kernel::INFO,
            };

            fn launch<D: Device>(
                device: &D,
                Buffers { a, b, c, bias, d, .. }: Buffers<'_, D, $input, $output>,
                (ends, count): (&D::Buffer<u32>, u32),
                numbers: &Numbers<<$output as Output>::Sum>,
            ) -> Result<D::Report, LaunchError<D::Error>> {
                let Numbers { sides: [m, n, k], alpha, beta, activation, .. } = *numbers;
                let of_b = Numbers { batches: count, ..*numbers };
                let a = numbers.tensor(0, true).map(device, a).map_err(LaunchError::TensorMap)?;
                let b = of_b.tensor(1, Self::KERNEL.row_major.unwrap_or_default()[1]).map(device, b).map_err(LaunchError::TensorMap)?;
                let grid = Self::KERNEL.blocks_of_groups(m, n, count).min(numbers.multiprocessors.max(1));
                let launched = $kernel::launch(
                    device, grid, &a, &b, d, c, bias, ends, m, n, k, numbers.strides[2], numbers.starts[2], alpha, beta,
                    numbers.bias_of_rows.into(), activation as u32,
                );
                launched.map_err(LaunchError::Device)
            }
        }
    )*};
}

kernels! {
    hopper_bf16_nn_groups bf16 into bf16, RowMajor, steps of 64, 256 at once, 1.7;
    hopper_bf16_nt_groups bf16 into bf16, ColMajor, steps of 64, 256 at once, 1.7;
    hopper_f16_nn_groups f16 into f16, RowMajor, steps of 64, 256 at once, 1.7;
    hopper_f16_nt_groups f16 into f16, ColMajor, steps of 64, 256 at once, 1.7;
    hopper_tf32_nt_groups f32 into f32, ColMajor, steps of 32, 256 at once, 1.7;
    hopper_s8_nt_groups i8 into i32, ColMajor, steps of 128, 256 at once, 1.65;
    hopper_e4m3_bf16_nt_groups F8E4M3 into bf16, ColMajor, steps of 128, 128 at once, 3.2;
    hopper_e5m2_bf16_nt_groups F8E5M2 into bf16, ColMajor, steps of 128, 128 at once, 3.2;
}
