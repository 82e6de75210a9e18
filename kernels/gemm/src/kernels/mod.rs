//! Matrix products of any size on `mma.sync`: D = f(alpha A x B + beta C + bias).
//!
//! The table `products!` below lists the kernels. Each is a `block_product` of some kind of `Product`, with tiles from some `Source`, and
//! an `Epilogue`: a file each.

mod add_parts;
mod block_product;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
mod by_maps;
mod epilogue;
mod groups;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod hopper;
mod lay_out;
#[cfg(not(target_arch = "nvptx64"))]
mod list;
mod product;
mod source;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod tma;

use add_parts::*;
use block_product::{Problem, block_product};
use epilogue::Epilogue;
pub use epilogue::{Activation, Number, Output};
#[cfg(not(target_arch = "nvptx64"))]
use groups::OfGroups;
use groups::{Group, Groups, Place};
pub use lay_out::*;
#[cfg(not(target_arch = "nvptx64"))]
pub use list::{Buffers, Kernel, Multiply, Numbers};
use pastey::paste;
use product::*;
#[cfg(not(target_arch = "nvptx64"))]
pub use ptx_matrix::launch::LaunchError;
use ptx_matrix::*;
use source::*;

/// The kernels, grouped by the elements of A and B, and of C, D and the bias. A group says what names have for these; how many such elements the `mma.sync` of a
/// multiprocessor multiply in a cycle; what adds the parts of K; and which other tables, and kernels of rows in groups, have such elements.
///
/// A row is of a kernel for each of some orders of A and B, as BLAS names them, or of one for any: what names have behind that; the kind of its product; what a
/// block computes, and how deep its steps are; the stages of its ring; what a warp computes; its threads; how many blocks share a multiprocessor; how its tiles
/// come; the oldest GPU that has the instruction and the shared memory; and the part of a multiprocessor's tensor throughput that it reaches where nothing
/// else is in the way, as measured on an H200.
macro_rules! products {
    ($($input:ident into $output:ident as $elements:ident, $products:literal a cycle, parts added by $add:ident, by maps of [$($table:ty),*], in groups [$($grouped:ident)*] {$(
        [$($orders:ident)+] $tile:literal $product:ty, $m:literal x $n:literal x $k:literal, $stages:literal stages,
        warps of $warp_m:literal x $warp_n:literal, $threads:literal threads, $blocks:literal a multiprocessor, by $source:ident,
        $target:tt, $rate:literal;
    )*})*) => { paste! {
        $($($(built! { $target
            /// D = f(alpha A x B + beta C + bias); or, if there is room for `sums`, the sums of each `k_part` of K: those of M x N
            /// row-major matrices, the products of a batch behind each other, for each part.
            ///
            /// A and B have the orders of the kernel's tiles, if its tiles come by chunks; else they are row-major as is said.
            ///
            /// Blocks (x, y, z) compute the tile x of the product y of a batch, from the part z of K. The matrices of the first product
            /// start `skip_a`, `skip_b` and `skip_d` (C's too) elements into the slices, and those of the next `batch_a`, `batch_b`
            /// and `batch_d` further on. See `Epilogue` for the others.
            #[kernel(threads = $threads, min_blocks = $blocks, early = true, target = $target)]
            pub fn [<gemm_ $elements _ $orders $tile>](
                block: &Block,
                #[shared] stages: SharedRing<Stage<$product, order_a!($orders), order_b!($orders), $m, $n, $k>, $stages>,
                a: Global<$input>,
                b: Global<$input>,
                c: Global<$output>,
                bias: Global<$output>,
                d: GlobalMut<$output>,
                sums: GlobalMut<Sum<$product>>,
                m: u32,
                n: u32,
                k: u32,
                k_part: u32,
                batches: u32,
                lda: u32,
                ldb: u32,
                ldd: u32,
                skip_a: usize,
                skip_b: usize,
                skip_d: usize,
                batch_a: usize,
                batch_b: usize,
                batch_d: usize,
                alpha: Sum<$product>,
                beta: Sum<$product>,
                row_major_a: u32,
                row_major_b: u32,
                bias_of_rows: u32,
                activation: u32,
            ) {
                sources!($source, $input, $product, order_a!($orders), order_b!($orders), $m x $n x $k, $threads);
                let (batch, part) = (block.index().y as usize, block.index().z);
                let before = part * k_part;
                let (m, n, k) = (m as usize, n as usize, (k - before).min(k_part) as usize);
                let (lda, ldb, ldd, before) = (lda as usize, ldb as usize, ldd as usize, before as usize);
                let row_major_a = SourceA::ROW_MAJOR.unwrap_or(row_major_a != 0);
                let row_major_b = SourceB::ROW_MAJOR.unwrap_or(row_major_b != 0);
                let a = a.skip(skip_a + batch * batch_a + if row_major_a { before } else { before * lda });
                let b = b.skip(skip_b + batch * batch_b + if row_major_b { before * ldb } else { before });
                let before_d = skip_d + batch * batch_d;
                let of_part = (part as usize * batches as usize + batch) * m * n;
                let problem = Problem {
                    inner: k,
                    a: SourceA::matrix(row_major_a, a, m, k, lda),
                    b: SourceB::matrix(row_major_b, b, k, n, ldb),
                    d: GlobalMatrixMut::new(d.skip(before_d), m, n, ldd),
                    tile: block.index().x,
                    sums: (!sums.is_empty()).then(|| GlobalMatrixMut::new(sums.skip(of_part), m, n, n)),
                    epilogue: Epilogue {
                        c: (beta != <Sum<$product> as Number>::ZERO).then(|| GlobalMatrix::new(c.skip(before_d), m, n, ldd)),
                        bias,
                        bias_of_rows: bias_of_rows != 0,
                        alpha,
                        beta,
                        activation: Activation::of(activation),
                    },
                };
                type Shape = <$product as Product>::Shape;
                block_product::<
                    $product, order_a!($orders), order_b!($orders), SourceA<'_>, SourceB<'_>, $m, $n, $k, $stages,
                    { $stages - 2 }, $warp_m, $warp_n, { $warp_m / Shape::M }, { $warp_n / (2 * Shape::N) }, { $threads / 32 },
                >(block, stages, &problem);
            }
        })+)*)*

        #[cfg(not(target_arch = "nvptx64"))]
        mod lists {
            use super::by_maps::Table;
            use super::hopper::*;
            use super::list::{count, joined};
            use super::*;
            use ptx_matrix::launch::Device;

            $(impl Multiply<$output> for $input {
                const PRODUCTS: f64 = $products;
                const KERNELS: &'static [Kernel] = {
                    const LISTS: &[&[Kernel]] = &[&[$($({
                    sources!($source, $input, $product, order_a!($orders), order_b!($orders), $m x $n x $k, $threads);
                    Kernel {
                        name: stringify!([<gemm_ $elements _ $orders $tile>]),
                        row_major: match (SourceA::ROW_MAJOR, SourceB::ROW_MAJOR) {
                            (Some(a), Some(b)) => Some([a, b]),
                            _ => None,
                        },
                        tile: [$m, $n, $k],
                        boxes: [$m, $n],
                        alignment: SourceA::ALIGNMENT,
                        by_tensor_maps: false,
                        is_of_transposes: false,
                        blocks_of_tile: 1,
                        accumulates_fast: false,
                        rate: $rate,
                        info: &[<gemm_ $elements _ $orders $tile>]::INFO,
                    }
                },)+)*] $(, <$table as Table<$input, $output>>::KERNELS)*];
                    &joined::<{ count(LISTS) }>(LISTS)
                };
                const OF_GROUPS: &'static [Kernel] = &[$(<$grouped as OfGroups<$input, $output>>::KERNEL,)*];

                fn launch<D: Device>(
                    device: &D,
                    kernel: &Kernel,
                    buffers: Buffers<'_, D, Self, $output>,
                    numbers: &Numbers<<$output as Output>::Sum>,
                ) -> Result<D::Report, LaunchError<D::Error>> {
                    $(if <$table as Table<$input, $output>>::KERNELS.contains(kernel) {
                        return <$table as Table<_, _>>::launch(device, kernel, buffers, numbers);
                    })*
                    let Buffers { a, b, c, bias, d, sums, .. } = buffers;
                    let Numbers { sides: [m, n, k], k_part, parts, batches, alpha, beta, activation, .. } = *numbers;
                    let [lda, ldb, ldd] = numbers.strides;
                    let ([skip_a, skip_b, skip_d], [batch_a, batch_b, batch_d]) = (numbers.starts, numbers.batch_strides);
                    let [row_major_a, row_major_b] = numbers.row_major;
                    let grid = (kernel.tiles(m, n, false), batches, parts);
                    let launched = match kernel.name {
                        $($(stringify!([<gemm_ $elements _ $orders $tile>]) => [<gemm_ $elements _ $orders $tile>]::launch(
                            device, grid, a, b, c, bias, d, sums, m, n, k, k_part, batches, lda, ldb, ldd, skip_a, skip_b, skip_d,
                            batch_a, batch_b, batch_d, alpha, beta, row_major_a.into(), row_major_b.into(), numbers.bias_of_rows.into(),
                            activation as u32,
                        ),)+)*
                        other => unreachable!("`{other}` is not in the list that kernels are chosen from"),
                    };
                    launched.map_err(LaunchError::Device)
                }

                #[allow(unused_variables, reason = "where there are no such kernels")]
                fn launch_groups<D: Device>(
                    device: &D,
                    kernel: &Kernel,
                    buffers: Buffers<'_, D, Self, $output>,
                    ends: (&D::Buffer<u32>, u32),
                    numbers: &Numbers<<$output as Output>::Sum>,
                ) -> Result<D::Report, LaunchError<D::Error>> {
                    match kernel.name {
                        $(stringify!($grouped) => <$grouped as OfGroups<_, _>>::launch(device, buffers, ends, numbers),)*
                        other => unreachable!("`{other}` is not in the list that kernels are chosen from"),
                    }
                }

                fn add_parts<D: Device>(
                    device: &D,
                    Buffers { c, bias, d, sums, .. }: Buffers<'_, D, Self, $output>,
                    numbers: &Numbers<<$output as Output>::Sum>,
                ) -> Result<D::Report, D::Error> {
                    let Numbers { sides: [m, n, _], parts, batches, alpha, beta, activation, .. } = *numbers;
                    let grid = (m * n.div_ceil(ADDED_COLS as u32), batches);
                    $add::launch(
                        device, grid, sums, c, bias, d, m, n, parts, batches, numbers.strides[2], numbers.starts[2],
                        numbers.batch_strides[2], alpha, beta, numbers.bias_of_rows.into(), activation as u32,
                    )
                }
            })*
        }
    }};
}

/// The order of the tiles of A, by the orders of A and B as BLAS names them, or for whatever orders.
macro_rules! order_a {
    (nn) => {
        RowMajor
    };
    (nt) => {
        RowMajor
    };
    (tn) => {
        ColMajor
    };
    (tt) => {
        ColMajor
    };
    (any) => {
        RowMajor
    };
}

/// Likewise of B.
macro_rules! order_b {
    (nn) => {
        RowMajor
    };
    (nt) => {
        ColMajor
    };
    (tn) => {
        RowMajor
    };
    (tt) => {
        ColMajor
    };
    (any) => {
        ColMajor
    };
}

/// A kernel, in the builds that it is for: where there is `cp.async`, none needs those for sm_75.
macro_rules! built {
    ("sm_75" $($kernel:tt)*) => {
        #[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_80")))]
        $($kernel)*
    };
    ($target:literal $($kernel:tt)*) => { $($kernel)* };
}

/// The kernels that multiply rows in groups on `mma.sync`, on whatever lines: a row each. The name; the elements of A and B, and of C, D
/// and the bias; the kind of the product; what a block computes, and how deep its steps are; the stages of its ring; what a warp computes; its
/// threads; how its tiles come; the oldest GPU that has the instruction; and its rate, as in `products!`.
macro_rules! in_groups {
    ($(
        $kernel:ident $input:ident into $output:ident, $product:ty, $m:literal x $n:literal x $k:literal, $stages:literal stages,
        warps of $warp_m:literal x $warp_n:literal, $threads:literal threads, by $source:ident, $target:literal, $rate:literal;
    )*) => {$(
        /// D = f(alpha A x B + beta C + bias), of rows in groups, each with a matrix B, `batch_b` elements behind the one before it, and a
        /// bias of columns, of its own.
        ///
        /// A is row-major, B if so is said. The matrices start `skip_a`, `skip_b` and `skip_d` (C's too) elements into the slices. There are at
        /// least as many blocks as tiles. What of D is of no group is not written.
        #[kernel(threads = $threads, min_blocks = 1, early = true, target = $target)]
        pub fn $kernel(
            block: &Block,
            #[shared] stages: SharedRing<Stage<$product, RowMajor, ColMajor, $m, $n, $k>, $stages>,
            a: Global<$input>,
            b: Global<$input>,
            c: Global<$output>,
            bias: Global<$output>,
            ends: Global<u32>,
            d: GlobalMut<$output>,
            m: u32,
            n: u32,
            k: u32,
            lda: u32,
            ldb: u32,
            ldd: u32,
            skip_a: usize,
            skip_b: usize,
            skip_d: usize,
            batch_b: usize,
            alpha: Sum<$product>,
            beta: Sum<$product>,
            row_major_b: u32,
            bias_of_rows: u32,
            activation: u32,
        ) {
            sources!($source, $input, $product, RowMajor, ColMajor, $m x $n x $k, $threads);
            let groups = Groups { ends, rows: m };
            let tiles = |rows: u32| rows.div_ceil($m) * n.div_ceil($n);
            let Some(place) = groups.find(block.warp(), Place::FIRST, block.index().x, tiles) else { return };
            let Place { group: Group { index, first, end }, before } = place;
            let (index, first, rows) = (index as usize, first as usize, (end - first) as usize);
            let (n, k, lda, ldb, ldd) = (n as usize, k as usize, lda as usize, ldb as usize, ldd as usize);
            let (skip_a, skip_d) = (skip_a + first * lda, skip_d + first * ldd);
            let of_group = if bias_of_rows != 0 { first } else { index * n };
            let problem = Problem {
                inner: k,
                a: SourceA::matrix(true, a.skip(skip_a), rows, k, lda),
                b: SourceB::matrix(row_major_b != 0, b.skip(skip_b + index * batch_b), k, n, ldb),
                d: GlobalMatrixMut::new(d.skip(skip_d), rows, n, ldd),
                tile: block.index().x - before,
                sums: None,
                epilogue: Epilogue {
                    c: (beta != <Sum<$product> as Number>::ZERO).then(|| GlobalMatrix::new(c.skip(skip_d), rows, n, ldd)),
                    bias: if bias.is_empty() { bias } else { bias.skip(of_group) },
                    bias_of_rows: bias_of_rows != 0,
                    alpha,
                    beta,
                    activation: Activation::of(activation),
                },
            };
            type Shape = <$product as Product>::Shape;
            block_product::<
                $product, RowMajor, ColMajor, SourceA<'_>, SourceB<'_>, $m, $n, $k, $stages, { $stages - 2 }, $warp_m, $warp_n,
                { $warp_m / Shape::M }, { $warp_n / (2 * Shape::N) }, { $threads / 32 },
            >(block, stages, &problem);
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl OfGroups<$input, $output> for $kernel {
            const KERNEL: Kernel = Kernel {
                name: stringify!($kernel),
                row_major: None,
                tile: [$m, $n, $k],
                boxes: [$m, $n],
                alignment: size_of::<$input>(),
                by_tensor_maps: false,
                is_of_transposes: false,
                blocks_of_tile: 1,
                accumulates_fast: false,
                rate: $rate,
                info: &$kernel::INFO,
            };

            fn launch<D: ptx_matrix::launch::Device>(
                device: &D,
                Buffers { a, b, c, bias, d, .. }: Buffers<'_, D, $input, $output>,
                (ends, count): (&D::Buffer<u32>, u32),
                numbers: &Numbers<<$output as Output>::Sum>,
            ) -> Result<D::Report, LaunchError<D::Error>> {
                let Numbers { sides: [m, n, k], strides: [lda, ldb, ldd], alpha, beta, activation, .. } = *numbers;
                let [skip_a, skip_b, skip_d] = numbers.starts;
                let grid = Self::KERNEL.blocks_of_groups(m, n, count);
                let launched = $kernel::launch(
                    device, grid, a, b, c, bias, ends, d, m, n, k, lda, ldb, ldd, skip_a, skip_b, skip_d, numbers.batch_strides[1],
                    alpha, beta, numbers.row_major[1].into(), numbers.bias_of_rows.into(), activation as u32,
                );
                launched.map_err(LaunchError::Device)
            }
        }
    )*};
}

/// Where the tiles of A and B come from, as types.
macro_rules! sources {
    ($source:ident, $input:ident, $product:ty, $order_a:ty, $order_b:ty, $m:literal x $n:literal x $k:literal, $threads:literal) => {
        type A = TileA<$product, $order_a, $m, $k>;
        type B = TileB<$product, $order_b, $k, $n>;
type SourceA<'k> = source!($source 'k A, $m * $k * size_of::<$input>() / $threads);
type SourceB<'k> = source!($source 'k B, $k * $n * size_of::<$input>() / $threads);
    };
}

/// How tiles come, and the type of what brings so many bytes for each thread.
macro_rules! source {
    // Lines start at multiples of 16 bytes, and are copied asynchronously.
    (chunks $k:lifetime $tile:ident, $bytes:expr) => { TileReader<$k, $tile, { $bytes / 16 }> };
    // The same through registers, on sm_75.
    (registers $k:lifetime $tile:ident, $bytes:expr) => { PieceReader<$k, $tile, u128, { $bytes / 16 }> };
    // Lines start anywhere, and the matrix may have another order than the tile.
    (doubles $k:lifetime $tile:ident, $bytes:expr) => { Words<$k, $tile, u64, { $bytes / 8 }> };
    (words $k:lifetime $tile:ident, $bytes:expr) => { Words<$k, $tile, u32, { $bytes / 4 }> };
    (halves $k:lifetime $tile:ident, $bytes:expr) => { Elements<$k, $tile, u16, { $bytes / 4 }, { $bytes / 2 }> };
    (bytes $k:lifetime $tile:ident, $bytes:expr) => { Elements<$k, $tile, u8, { $bytes / 4 }, { $bytes }> };
}

products! {
    bf16 into bf16 as bf16, 1024.0 a cycle, parts added by add_parts_bf16, by maps of [tma::Tiles, hopper::Tiles, hopper::Transposes, hopper::Together], in groups [gemm_bf16_groups hopper_bf16_nn_groups hopper_bf16_nt_groups] {
        [nn nt tn tt] "" Half<bf16>, 128 x 256 x 64, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, by chunks, "sm_90", 0.9;
        [nt] "_128x128" Half<bf16>, 128 x 128 x 64, 3 stages, warps of 64 x 64, 128 threads, 2 a multiprocessor, by chunks, "sm_80", 0.8;
        [nn nt] "_16x64" Half<bf16>, 16 x 64 x 64, 8 stages, warps of 16 x 16, 128 threads, 2 a multiprocessor, by chunks, "sm_80", 0.25;
        [nn nt] "_16x128" Half<bf16>, 16 x 128 x 64, 4 stages, warps of 16 x 32, 128 threads, 3 a multiprocessor, by chunks, "sm_80", 0.25;
        [nn nt] "_64x128" Half<bf16>, 64 x 128 x 64, 4 stages, warps of 32 x 32, 256 threads, 2 a multiprocessor, by chunks, "sm_80", 0.7;
        [nn nt] "_64x64x128" Half<bf16>, 64 x 64 x 128, 6 stages, warps of 32 x 32, 128 threads, 1 a multiprocessor, by chunks, "sm_90", 0.44;
        [nn nt tn tt] "_64x64" Half<bf16>, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, by chunks, "sm_80", 0.5;
        [any] "" Half<bf16>, 128 x 128 x 32, 4 stages, warps of 64 x 32, 256 threads, 1 a multiprocessor, by halves, "sm_80", 0.15;
    }
    f16 into f16 as f16, 1024.0 a cycle, parts added by add_parts_f16, by maps of [tma::Tiles, hopper::Tiles, hopper::Transposes, hopper::Together], in groups [gemm_f16_groups hopper_f16_nn_groups hopper_f16_nt_groups] {
        [nn nt] "" Half<f16>, 128 x 256 x 64, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, by chunks, "sm_90", 0.9;
        [nn nt] "_16x64" Half<f16>, 16 x 64 x 64, 8 stages, warps of 16 x 16, 128 threads, 2 a multiprocessor, by chunks, "sm_80", 0.25;
        [nn nt] "_16x128" Half<f16>, 16 x 128 x 64, 4 stages, warps of 16 x 32, 128 threads, 3 a multiprocessor, by chunks, "sm_80", 0.25;
        [nn nt] "_64x128" Half<f16>, 64 x 128 x 64, 4 stages, warps of 32 x 32, 256 threads, 2 a multiprocessor, by chunks, "sm_80", 0.7;
        [nn nt] "_64x64x128" Half<f16>, 64 x 64 x 128, 6 stages, warps of 32 x 32, 128 threads, 1 a multiprocessor, by chunks, "sm_90", 0.44;
        [nn nt tn tt] "_64x64" Half<f16>, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, by chunks, "sm_80", 0.5;
        [nn nt tn tt] "_on_sm_75" HalfOnTuring, 64 x 64 x 32, 2 stages, warps of 32 x 32, 128 threads, 3 a multiprocessor, by registers, "sm_75", 0.2;
        [any] "" Half<f16>, 128 x 128 x 32, 4 stages, warps of 64 x 32, 256 threads, 1 a multiprocessor, by halves, "sm_80", 0.15;
    }
    bf16 into f32 as bf16_f32, 1024.0 a cycle, parts added by add_parts_f32, by maps of [hopper::Tiles], in groups [] {
        [nn nt] "" Half<bf16, f32>, 128 x 256 x 64, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, by chunks, "sm_90", 0.9;
        [nn nt tn tt] "_64x64" Half<bf16, f32>, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, by chunks, "sm_80", 0.5;
        [any] "" Half<bf16, f32>, 128 x 128 x 32, 4 stages, warps of 64 x 32, 256 threads, 1 a multiprocessor, by halves, "sm_80", 0.15;
    }
    f16 into f32 as f16_f32, 1024.0 a cycle, parts added by add_parts_f32, by maps of [hopper::Tiles], in groups [] {
        [nn nt] "" Half<f16, f32>, 128 x 256 x 64, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, by chunks, "sm_90", 0.9;
        [nn nt tn tt] "_64x64" Half<f16, f32>, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, 4 a multiprocessor, by chunks, "sm_80", 0.5;
        [any] "" Half<f16, f32>, 128 x 128 x 32, 4 stages, warps of 64 x 32, 256 threads, 1 a multiprocessor, by halves, "sm_80", 0.15;
    }
    f32 into f32 as tf32, 512.0 a cycle, parts added by add_parts_f32, by maps of [tma::Tiles, hopper::Tiles, hopper::Together], in groups [gemm_tf32_groups hopper_tf32_nt_groups] {
        [nt] "" Tf32, 128 x 256 x 32, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, by chunks, "sm_90", 0.9;
        [nn] "" Tf32, 128 x 128 x 32, 4 stages, warps of 64 x 32, 256 threads, 1 a multiprocessor, by chunks, "sm_90", 0.7;
        [nn nt tn tt] "_64x64" Tf32, 64 x 64 x 32, 3 stages, warps of 32 x 32, 128 threads, 3 a multiprocessor, by chunks, "sm_80", 0.5;
        [any] "" Tf32, 64 x 64 x 32, 3 stages, warps of 32 x 32, 128 threads, 2 a multiprocessor, by words, "sm_80", 0.3;
    }
    f64 into f64 as f64, 128.0 a cycle, parts added by add_parts_f64, by maps of [tma::Tiles], in groups [] {
        [nn nt] "" DoubleAlong, 128 x 64 x 16, 4 stages, warps of 32 x 32, 256 threads, 1 a multiprocessor, by chunks, "sm_90", 0.9;
        [tn tt] "" Double, 128 x 64 x 32, 4 stages, warps of 32 x 32, 256 threads, 1 a multiprocessor, by chunks, "sm_90", 0.9;
        [nn nt tn tt] "_64x64" DoubleOnAmpere, 64 x 64 x 16, 3 stages, warps of 32 x 32, 128 threads, 3 a multiprocessor, by chunks, "sm_80", 0.5;
        [any] "" DoubleOnAmpere, 64 x 64 x 16, 3 stages, warps of 32 x 32, 128 threads, 2 a multiprocessor, by doubles, "sm_80", 0.3;
    }
    i8 into i32 as s8, 2048.0 a cycle, parts added by add_parts_s32, by maps of [tma::Tiles, hopper::Tiles, hopper::Together], in groups [gemm_s8_groups hopper_s8_nt_groups] {
        [nt] "" Byte, 128 x 256 x 128, 4 stages, warps of 64 x 64, 256 threads, 1 a multiprocessor, by chunks, "sm_90", 0.9;
        [nt] "_64x64" Byte, 64 x 64 x 128, 3 stages, warps of 32 x 32, 128 threads, 3 a multiprocessor, by chunks, "sm_80", 0.5;
        [any] "" Byte, 128 x 128 x 64, 4 stages, warps of 64 x 32, 256 threads, 1 a multiprocessor, by bytes, "sm_80", 0.3;
    }
    F8E4M3 into bf16 as e4m3_bf16, 1024.0 a cycle, parts added by add_parts_bf16, by maps of [hopper::Tiles, hopper::Together], in groups [gemm_e4m3_bf16_groups hopper_e4m3_bf16_nt_groups] {
        [nt] "" Eighth<F8E4M3, bf16>, 128 x 64 x 128, 4 stages, warps of 32 x 32, 256 threads, 1 a multiprocessor, by chunks, "sm_90", 0.55;
        [nt] "_64x64" Eighth<F8E4M3, bf16>, 64 x 64 x 128, 3 stages, warps of 32 x 32, 128 threads, 2 a multiprocessor, by chunks, "sm_89", 0.5;
        [any] "" Eighth<F8E4M3, bf16>, 64 x 64 x 128, 3 stages, warps of 32 x 32, 128 threads, 2 a multiprocessor, by bytes, "sm_89", 0.3;
    }
    F8E4M3 into f16 as e4m3_f16, 1024.0 a cycle, parts added by add_parts_f16, by maps of [hopper::Tiles], in groups [] {
        [nt] "_64x64" Eighth<F8E4M3, f16>, 64 x 64 x 128, 3 stages, warps of 32 x 32, 128 threads, 2 a multiprocessor, by chunks, "sm_89", 0.5;
        [any] "" Eighth<F8E4M3, f16>, 64 x 64 x 128, 3 stages, warps of 32 x 32, 128 threads, 2 a multiprocessor, by bytes, "sm_89", 0.3;
    }
    F8E4M3 into f32 as e4m3_f32, 1024.0 a cycle, parts added by add_parts_f32, by maps of [], in groups [] {
        [nt] "_64x64" Eighth<F8E4M3, f32>, 64 x 64 x 128, 3 stages, warps of 32 x 32, 128 threads, 2 a multiprocessor, by chunks, "sm_89", 0.5;
        [any] "" Eighth<F8E4M3, f32>, 64 x 64 x 128, 3 stages, warps of 32 x 32, 128 threads, 2 a multiprocessor, by bytes, "sm_89", 0.3;
    }
    F8E5M2 into bf16 as e5m2_bf16, 1024.0 a cycle, parts added by add_parts_bf16, by maps of [hopper::Tiles], in groups [gemm_e5m2_bf16_groups hopper_e5m2_bf16_nt_groups] {
        [any] "" Eighth<F8E5M2, bf16>, 64 x 64 x 128, 3 stages, warps of 32 x 32, 128 threads, 2 a multiprocessor, by bytes, "sm_89", 0.3;
    }
    F8E5M2 into f16 as e5m2_f16, 1024.0 a cycle, parts added by add_parts_f16, by maps of [hopper::Tiles], in groups [] {
        [any] "" Eighth<F8E5M2, f16>, 64 x 64 x 128, 3 stages, warps of 32 x 32, 128 threads, 2 a multiprocessor, by bytes, "sm_89", 0.3;
    }
    F8E5M2 into f32 as e5m2_f32, 1024.0 a cycle, parts added by add_parts_f32, by maps of [], in groups [] {
        [any] "" Eighth<F8E5M2, f32>, 64 x 64 x 128, 3 stages, warps of 32 x 32, 128 threads, 2 a multiprocessor, by bytes, "sm_89", 0.3;
    }
}

in_groups! {
    gemm_bf16_groups bf16 into bf16, Half<bf16>, 128 x 128 x 32, 4 stages, warps of 64 x 32, 256 threads, by halves, "sm_80", 0.15;
    gemm_f16_groups f16 into f16, Half<f16>, 128 x 128 x 32, 4 stages, warps of 64 x 32, 256 threads, by halves, "sm_80", 0.15;
    gemm_tf32_groups f32 into f32, Tf32, 64 x 64 x 32, 3 stages, warps of 32 x 32, 128 threads, by words, "sm_80", 0.3;
    gemm_s8_groups i8 into i32, Byte, 128 x 128 x 64, 4 stages, warps of 64 x 32, 256 threads, by bytes, "sm_80", 0.3;
    gemm_e4m3_bf16_groups F8E4M3 into bf16, Eighth<F8E4M3, bf16>, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, by bytes, "sm_89", 0.3;
    gemm_e5m2_bf16_groups F8E5M2 into bf16, Eighth<F8E5M2, bf16>, 64 x 64 x 64, 3 stages, warps of 32 x 32, 128 threads, by bytes, "sm_89", 0.3;
}
