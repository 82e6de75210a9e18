//! What products have in common whose tiles come, and go, by tensor maps: those on `mma.sync` (`tma`) and those on `wgmma` (`hopper`).
//!
//! A block stays, and computes tile after tile of D (`work.rs`). One warp has the tiles of A and B (`factor.rs`) copied to a ring of stages
//! (`memory.rs`), which consumers multiply; what becomes of their sums is in `results.rs`.

mod factor;
mod memory;
mod results;
mod work;

pub use factor::{Columns, Fill, Left, Multiplied, Right, Rows, Share};
pub use memory::Memory;
pub use results::Results;
pub use work::{Unit, Work};

/// Registers of a producer's thread, and of a consumer's: together, of one warpgroup and of two, what a multiprocessor has. With one warpgroup of
/// consumers all have enough.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub const PRODUCER: u32 = 24;
/// See [`PRODUCER`].
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub const CONSUMER: u32 = 240;

#[cfg(not(target_arch = "nvptx64"))]
use super::epilogue::Output;
#[cfg(not(target_arch = "nvptx64"))]
use super::{Buffers, Kernel, LaunchError, Numbers};
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::{Element, TensorMapError};

/// The tiles of A, or B, of so many rows, or columns, in a stage, by the order of the matrix. Where lines go along K, a tile has as many as is
/// said last: of those of a cluster, each block brings some.
macro_rules! tiles {
    (a RowMajor $input:ident $lines:literal $k:literal $box:tt) => {
        SharedRing<SharedTile<$input, $box, $k, Swizzle128>, { $lines / $box }>
    };
    (a ColMajor $input:ident $lines:literal $k:literal $box:tt) => {
        SharedRing<SharedTile<$input, { 128 / size_of::<$input>() }, $k, Swizzle128, ColMajor>, { $lines * size_of::<$input>() / 128 }>
    };
    (b ColMajor $input:ident $lines:literal $k:literal $box:tt) => {
        SharedRing<SharedTile<$input, $k, $box, Swizzle128, ColMajor>, { $lines / $box }>
    };
    (b RowMajor $input:ident $lines:literal $k:literal $box:tt) => {
        SharedRing<SharedTile<$input, $k, { 128 / size_of::<$input>() }, Swizzle128>, { usize::div_ceil($lines * size_of::<$input>(), 128) }>
    };
}
pub(super) use tiles;

/// A kernel: its name; the elements of A and B, and of C, D and the bias; the orders of the product's A and B, as BLAS
/// names them, and that of D, column-major where it is the transposed product that is computed; what a block computes, and
/// how deep its steps are; the lines of the boxes that A and B come in where these go along K; its stages; the strips that each consumer's
/// results go through, and how many consumers there are; the block's threads; the
/// blocks of a cluster, and how many of them compute a tile together; the oldest GPU that has the instructions and the shared memory; whether it accumulates fast; its
/// rate, as in `products!`; and what a block does.
macro_rules! kernel {
    ($kernel:ident $input:ident into $output:ident, nn into RowMajor, $($row:tt)*) => {
        kernel! { $kernel $input into $output, RowMajor x RowMajor into RowMajor, $($row)* }
    };
    ($kernel:ident $input:ident into $output:ident, nt into RowMajor, $($row:tt)*) => {
        kernel! { $kernel $input into $output, RowMajor x ColMajor into RowMajor, $($row)* }
    };
    ($kernel:ident $input:ident into $output:ident, tn into RowMajor, $($row:tt)*) => {
        kernel! { $kernel $input into $output, ColMajor x RowMajor into RowMajor, $($row)* }
    };
    ($kernel:ident $input:ident into $output:ident, tt into RowMajor, $($row:tt)*) => {
        kernel! { $kernel $input into $output, ColMajor x ColMajor into RowMajor, $($row)* }
    };
    // The product of B's transpose, which is of the other order than B, with A's.
    ($kernel:ident $input:ident into $output:ident, nn into ColMajor, $($row:tt)*) => {
        kernel! { $kernel $input into $output, ColMajor x ColMajor into ColMajor, $($row)* }
    };
    ($kernel:ident $input:ident into $output:ident, nt into ColMajor, $($row:tt)*) => {
        kernel! { $kernel $input into $output, RowMajor x ColMajor into ColMajor, $($row)* }
    };
    (
        $kernel:ident $input:ident into $output:ident, $order_a:ident x $order_b:ident into $order_d:ident,
        $m:literal x $n:literal x $k:literal, boxes of $box_a:tt x $box_b:tt, $stages:literal stages,
        $strips:block strips of $strip:ty, $consumers:literal consumers, $threads:literal threads,
        clusters of $blocks:literal, tiles of $together:literal, $target:literal, fast $fast:expr, $rate:literal, by $product:expr
    ) => {
        /// D = f(alpha A x B + beta C + bias); or, if there is room for `sums`, the sums of each `k_part` of K: see `product` and `Results`.
        ///
        /// A, B and D are tensors of a dimension along lines, one across, and one of the products of a batch; or D is in `elements`. What of A,
        /// B and D is in no product is not read or written. C of the first product, and D in `elements`, start `skip_d` elements into their slices.
        #[kernel(threads = $threads, min_blocks = 1, cluster = $blocks, early = true, target = $target)]
        pub fn $kernel(
            block: &ClusterBlock<$blocks>,
            #[shared] stages: SharedRing<
        (tiles!(a $order_a $input $m $k $box_a), tiles!(b $order_b $input $n $k $box_b)),
                $stages,
            >,
            #[shared] strips: SharedRing<SharedRing<$strip, $strips>, $consumers>,
            #[shared] full: SharedRing<BarrierMemory, $stages>,
            #[shared] empty: SharedRing<BarrierMemory, $stages>,
    a: Early<TensorMap<<tiles!(a $order_a $input $m $k $box_a) as Left>::Box, 3>>,
    b: Early<TensorMap<<tiles!(b $order_b $input $n $k $box_b) as Right>::Box, 3>>,
            d: Early<Option<TensorMapMut<$strip, 3>>>,
            elements: Early<GlobalMut<$output>>,
            c: Early<Global<$output>>,
            bias: Early<Global<$output>>,
            sums: Early<GlobalMut<<$output as Output>::Sum>>,
            m: u32,
            n: u32,
            k: u32,
            k_part: u32,
            batches: u32,
            across: u32,
            ldd: u32,
            skip_d: usize,
            batch_d: usize,
            alpha: <$output as Output>::Sum,
            beta: <$output as Output>::Sum,
            bias_of_rows: u32,
            activation: u32,
        ) {
            let memory = Memory { stages, strips, full, empty };
            let results = |ended: AheadEnded<'_>| Results {
                d: d.get(ended),
                elements: elements.get(ended),
                sums: sums.get(ended),
                size: (m, n),
                alpha,
                beta,
                c: c.get(ended),
                lies: (skip_d, batch_d, ldd),
                bias: bias.get(ended),
                bias_of_rows: bias_of_rows != 0,
                activation: Activation::of(activation),
            };
            let work = Work { sides: (m, n, k), k_part, batches, across: across != 0 };
            $product(block, memory, a, b, work, results);
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl crate::kernels::by_maps::ByMaps<$input, $output> for $kernel {
            const KERNEL: Kernel = Kernel {
                name: stringify!($kernel),
                row_major: Some([
                    <tiles!(a $order_a $input $m $k $box_a) as Left>::ROW_MAJOR,
                    <tiles!(b $order_b $input $n $k $box_b) as Right>::ROW_MAJOR,
                ]),
                tile: [$m, $n, $k],
                boxes: [
                    <tiles!(a $order_a $input $m $k $box_a) as Left>::ROWS_OF_BOX,
                    <tiles!(b $order_b $input $n $k $box_b) as Right>::COLS_OF_BOX,
                ],
                alignment: 16,
                by_tensor_maps: true,
                is_of_transposes: false,
                blocks_of_tile: $together,
                accumulates_fast: $fast,
                rate: $rate,
                info: &$kernel::INFO,
            }
            .of_order::<$order_d>();

            fn launch<D: Device>(
                device: &D,
                buffers: Buffers<'_, D, $input, $output>,
                numbers: &Numbers<<$output as Output>::Sum>,
            ) -> Result<Result<D::Report, D::Error>, TensorMapError> {
                let [m, n, _] = numbers.sides;
                let blocks = Self::KERNEL.tiles(m, n, numbers.across) * numbers.batches * numbers.parts;
                let (Buffers { a, b, c, bias, d, no_d, sums }, numbers) = match Self::KERNEL.is_of_transposes {
                    true => (buffers.of_transposes(), &numbers.of_transposes()),
                    false => (buffers, numbers),
                };
                let Numbers { sides: [m, n, k], k_part, batches, across, alpha, beta, activation, bias_of_rows, .. } =
                    *numbers;
                let row_major_a = <tiles!(a $order_a $input $m $k $box_a) as Left>::ROW_MAJOR;
                let row_major_b = <tiles!(b $order_b $input $n $k $box_b) as Right>::ROW_MAJOR;
                let a = numbers.tensor(0, row_major_a).map(device, a)?;
                let b = numbers.tensor(1, row_major_b).map(device, b)?;
                let (mut map, elements) = match numbers.d_is_mapped {
                    true => (Some(numbers.tensor(2, <$order_d as Order>::ROW_MAJOR).map_mut(device, d)?), no_d),
                    false => (None, d),
                };
                // Blocks that compute a tile together compute no other.
                let at_once = Self::KERNEL.at_once(numbers.multiprocessors);
                let grid = if $together > 1 { blocks.saturating_mul($together) } else { blocks.min(at_once) };
                Ok($kernel::launch(
                    device,
                    grid,
                    &a,
                    &b,
                    map.as_mut().map(|map| map.by_ref()),
                    elements,
                    c,
                    bias,
                    sums,
                    m,
                    n,
                    k,
                    k_part,
                    batches,
                    across.into(),
                    numbers.strides[2],
                    numbers.starts[2],
                    numbers.batch_strides[2],
                    alpha,
                    beta,
                    bias_of_rows.into(),
                    activation as u32,
                ))
            }
        }
    };
}
pub(super) use kernel;

/// Of a table, by its name for hosts, the kernels that multiply such elements.
macro_rules! table {
    ($table:ident of $input:ident into $output:ident: $($kernel:ident)*) => {
        #[cfg(not(target_arch = "nvptx64"))]
        impl crate::kernels::by_maps::Table<$input, $output> for $table {
            const KERNELS: &'static [Kernel] = &[$(<$kernel as crate::kernels::by_maps::ByMaps<$input, $output>>::KERNEL,)*];

            fn launch<D: Device>(
                device: &D,
                kernel: &Kernel,
                buffers: Buffers<'_, D, $input, $output>,
                numbers: &Numbers<<$output as Output>::Sum>,
            ) -> Result<D::Report, crate::kernels::LaunchError<D::Error>> {
                match kernel.name {
                    $(stringify!($kernel) => crate::kernels::by_maps::launch::<$kernel, _, _, _>(device, buffers, numbers),)*
                    other => unreachable!("`{other}` is not of this table"),
                }
            }
        }
    };
}
pub(super) use table;

/// A table of kernels, for the host: of them, those that multiply such elements.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Table<I: Element, O: Output> {
    /// What is known of them.
    const KERNELS: &'static [Kernel];

    /// Launches one of them.
    fn launch<D: Device>(
        device: &D,
        kernel: &Kernel,
        buffers: Buffers<'_, D, I, O>,
        numbers: &Numbers<O::Sum>,
    ) -> Result<D::Report, LaunchError<D::Error>>;
}

/// A kernel of a table, for the host.
#[cfg(not(target_arch = "nvptx64"))]
pub trait ByMaps<I: Element, O: Output> {
    /// What is known of it.
    const KERNEL: Kernel;

    /// Launches it, if there are such tensor maps.
    fn launch<D: Device>(
        device: &D,
        buffers: Buffers<'_, D, I, O>,
        numbers: &Numbers<O::Sum>,
    ) -> Result<Result<D::Report, D::Error>, TensorMapError>;
}

/// Launches a kernel of a table.
#[cfg(not(target_arch = "nvptx64"))]
pub fn launch<K: ByMaps<I, O>, I: Element, O: Output, D: Device>(
    device: &D,
    buffers: Buffers<'_, D, I, O>,
    numbers: &Numbers<O::Sum>,
) -> Result<D::Report, LaunchError<D::Error>> {
    K::launch(device, buffers, numbers).map_err(LaunchError::TensorMap)?.map_err(LaunchError::Device)
}
