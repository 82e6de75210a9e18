//! The macros of the tables of kernels in [`configs`](super::configs): what a kernel becomes.

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
use {
    super::sm90_wgmma::{Accumulators, Config, Shared, gemm},
    crate::parts::{EpilogueStore, Output, TmaArgs, TmaStore},
    ptx_matrix::copy::BoxTile,
    ptx_matrix::prelude::*,
};

/// Boxes of a K-major tile: it has a multiple of a box's rows or columns.
pub const fn boxes(tile: usize, of_box: usize) -> usize {
    assert!(tile.is_multiple_of(of_box), "boxes of this size leave out a part of the tile");
    tile / of_box
}

/// Threads of a block: a warp for each warp tile. Both tiles are in elements.
pub const fn threads(tile: usize, warp_tile: usize) -> usize {
    tile / warp_tile * 32
}

/// The operand tiles of a kernel on `wgmma`.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub type TilesA<C> = <C as Config>::A;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub type TilesB<C> = <C as Config>::B;

/// [`gemm`] with the arguments and the epilogue of the table's kernels.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
#[inline]
pub fn run_gemm<
    C,
    Tile,
    const EPI_N: usize,
    const STAGES: usize,
    const CONSUMERS: usize,
    const CLUSTER: usize,
>(
    block: &ClusterBlock<'_, CLUSTER>,
    shared: Shared<C, STAGES, CONSUMERS>,
    args: TmaArgs<'_, C::A, C::B, Tile>,
) where
    C: Config,
    Tile: BoxTile<Element: Output>,
    for<'k> TmaStore<'k, Tile, EPI_N>: EpilogueStore<C::Staging, Accumulators<C>>,
{
    let (operands, shape, store) = args.split();
    gemm(block, shared, operands, shape, store);
}

/// The order of an operand by its letter in kernel names: `n` is row-major, `t` is column-major.
/// (BLAS counts the other way round.)
macro_rules! order {
    (n) => {
        RowMajor
    };
    (t) => {
        ColMajor
    };
}

/// The type of the operand tiles of one stage: of A with M x K elements, or of B with K x N.
/// K-major tiles are loaded in boxes of `$box` rows of A, or columns of B.
macro_rules! operand_tiles {
    (a n $input:ident $m:literal $k:literal $box:tt) => {
        SharedRing<SharedTile<$input, $box, $k, Swizzle128>, { boxes($m, $box) }>
    };
    (a t $input:ident $m:literal $k:literal $box:tt) => {
        SharedRing<
            SharedTile<$input, { 128 / size_of::<$input>() }, $k, Swizzle128, ColMajor>,
            { $m * size_of::<$input>() / 128 },
        >
    };
    (b t $input:ident $n:literal $k:literal $box:tt) => {
        SharedRing<SharedTile<$input, $k, $box, Swizzle128, ColMajor>, { boxes($n, $box) }>
    };
    (b n $input:ident $n:literal $k:literal $box:tt) => {
        SharedRing<
            SharedTile<$input, $k, { 128 / size_of::<$input>() }, Swizzle128>,
            { usize::div_ceil($n * size_of::<$input>(), 128) },
        >
    };
}

/// The kernels of a table for some elements: a list of descriptions, and the launch by index.
macro_rules! host_table {
    ($table:ident: $input:ident => $output:ident, $kernel:path, $launch:ident, $($name:ident)*) => {
        #[cfg(not(target_arch = "nvptx64"))]
        impl host::Table<$input, $output> for host::$table {
            const KERNELS: &'static [Kernel] =
                &host::numbered([$(<$name as $kernel>::KERNEL),*]);

            fn launch<'b>(
                device: &OnSlices<'b>,
                index: usize,
                buffers: &mut Buffers<'b, $input, $output>,
                launch: &GemmLaunch<<$output as Output>::Acc>,
            ) -> Launched {
                let mut rows = 0..;
                $(if rows.next() == Some(index) {
                    return host::$launch::<$name, $input, $output>(device, buffers, launch);
                })*
                unreachable!("the table has no kernel {index}")
            }
        }
    };
}

/// A kernel with TMA as the host knows it: its operand tiles, its staging tile, its description.
macro_rules! tma_kernel {
    ($name:ident: $a:ty, $b:ty, $tile:ty, $kernel:expr) => {
        #[cfg(not(target_arch = "nvptx64"))]
        impl host::TmaKernel for $name {
            type A = $a;
            type B = $b;
            type Tile = $tile;
            const KERNEL: Kernel = $kernel;

            fn launch<'b>(
                device: &OnSlices<'b>,
                grid: u32,
                args: TmaArgsHost<'_, Self::A, Self::B, Self::Tile, OnSlices<'b>>,
            ) -> Result<(), Failed> {
                $name::launch(device, grid, args)
            }
        }
    };
}

/// Kernels on `wgmma`: groups of one configuration, in brackets.
macro_rules! sm90_wgmma {
    ($table:ident by $run:ident into $order_d:ident: $($input:ident => $output:ident {
        $($config:tt $($a:ident $b:ident $name:ident),*;)*
    })*) => {$(
        $($(
            sm90_kernel! { $name: $table $run $order_d $input $output $a $b $config }
        )*)*
        host_table! { $table: $input => $output, host::TmaKernel, launch_tma, $($($name)*)* }
    )*};
}

/// A kernel on `wgmma`: its types, its entry, and its description.
macro_rules! sm90_kernel {
    (
        $name:ident: $table:ident $run:ident $order_d:ident $input:ident $output:ident
        $a:ident $b:ident [
            $m:literal x $n:literal x $k:literal in $box_a:literal x $box_b:literal,
            $stages:literal stages, $consumers:literal x $mainloop:ty, cluster $cluster:literal,
            staging $staging:literal x $cols:literal $swizzle:ident, epi_n $epi_n:literal,
            $(reduce $reduce_n:literal,)? $rate:literal
        ]
    ) => {
        impl sm90_wgmma::Config for $name {
            type A = operand_tiles!(a $a $input $m $k $box_a);
            type B = operand_tiles!(b $b $input $n $k $box_b);
            type Mainloop = $mainloop;
            type Staging = SharedRing<SharedTile<$output, 64, $cols, $swizzle, $order_d>, $staging>;
            const TILE: TileShape = TileShape { m: $m, n: $n, k: $k };
        }

        #[kernel(threads = 128 * ($consumers + 1), min_blocks = 1, cluster = $cluster,
            dependent = true, target = "sm_90a")]
        pub fn $name(
            block: &ClusterBlock<$cluster>,
            #[shared] stages: SharedRing<(TilesA<$name>, TilesB<$name>), $stages>,
            #[shared] staging: SharedRing<<$name as sm90_wgmma::Config>::Staging, $consumers>,
            #[shared] full: SharedRing<BarrierMemory, $stages>,
            #[shared] empty: SharedRing<BarrierMemory, $stages>,
            #[shared] c_full: SharedRing<BarrierMemory, $consumers>,
            args: TmaArgs<TilesA<$name>, TilesB<$name>,
                SharedTile<$output, 64, $cols, $swizzle, $order_d>>,
        ) {
            let shared = sm90_wgmma::Shared { stages, staging, full, empty, c_full };
            $run::<$name, _, $epi_n, $($reduce_n, _,)? _, _, _>(block, shared, args);
        }

        tma_kernel! {
            $name: TilesA<$name>, TilesB<$name>,
            SharedTile<$output, 64, $cols, $swizzle, $order_d>,
            host::wgmma_kernel::<$name, $order_d>(host::TableId::$table, $rate, &$name::INFO)
        }
    };
}

/// The loader of operand tiles, of `len` bytes for each thread.
macro_rules! source {
    // Aligned to 16 bytes, by `cp.async`; or, on sm_75, through registers.
    (aligned $tile:ty, $len:expr) => { TileReader<'k, $tile, { $len / 16 }> };
    (registers $tile:ty, $len:expr) => { UnalignedReader<'k, $tile, u128, { $len / 16 }> };
    // Unaligned, in any order, of elements of 8, 4, 2 and 1 byte.
    (unaligned64 $tile:ty, $len:expr) => { Words<'k, $tile, u64, { $len / 8 }> };
    (unaligned32 $tile:ty, $len:expr) => { Words<'k, $tile, u32, { $len / 4 }> };
    (unaligned16 $tile:ty, $len:expr) => { Elements<'k, $tile, u16, { $len / 4 }, { $len / 2 }> };
    (unaligned8 $tile:ty, $len:expr) => { Elements<'k, $tile, u8, { $len / 4 }, { $len }> };
}

/// A kernel, in the builds that it is for: where there is `cp.async`, none needs those for sm_75.
macro_rules! built {
    ("sm_75" $($kernel:tt)*) => {
        #[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_80")))]
        $($kernel)*
    };
    ($target:tt $($kernel:tt)*) => {
        #[cfg(any(not(target_arch = "nvptx64"), target_feature = $target))]
        $($kernel)*
    };
}

/// Kernels on `mma.sync`, with a block for each tile. `$function` is `gemm` or `grouped_gemm`.
macro_rules! sm80_mma {
    ($table:ident by $function:ident: $($input:ident => $output:ident {$(
        [$m:literal x $n:literal x $k:literal, $stages:literal stages, $op:ty,
        warp $warp_m:literal x $warp_n:literal, $blocks:literal per SM, $source:ident,
        $target:tt, $rate:literal]
        $($a:ident $b:ident $name:ident),*;
    )*})*) => {$(
        $($(
            built! { $target
                impl sm80_mma::Config<$m, $n, $k> for $name {
                    type Op = $op;
                    type OrderA = order!($a);
                    type OrderB = order!($b);
                    type SourceA<'k> = source!($source TileA<$op, order!($a), $m, $k>,
                        $m * $k * size_of::<$input>() / threads($m * $n, $warp_m * $warp_n));
                    type SourceB<'k> = source!($source TileB<$op, order!($b), $k, $n>,
                        $k * $n * size_of::<$input>() / threads($m * $n, $warp_m * $warp_n));
                }
            }

            built! { $target
                #[kernel(threads = threads($m * $n, $warp_m * $warp_n),
                    min_blocks = $blocks, dependent = true, target = $target)]
                pub fn $name(
                    block: &Block,
                    #[shared] stages: SharedRing<sm80_mma::StageOf<$name, $m, $n, $k>, $stages>,
                    args: AsyncArgs<$input, $output>,
                ) {
                    sm80_mma::$function::<
                        $name, $m, $n, $k, $stages, { $stages - 2 }, $warp_m, $warp_n,
                        { $warp_m / <$op as MmaOp>::Shape::M },
                        { $warp_n / (2 * <$op as MmaOp>::Shape::N) },
                        { threads($m * $n, $warp_m * $warp_n) / 32 },
                    >(block, stages, args);
                }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl host::AsyncKernel<$input, $output> for $name {
                const KERNEL: Kernel = host::async_kernel::<$name, $m, $n, $k>(
                    host::TableId::$table, $rate, &$name::INFO);

                fn launch<'b>(
                    device: &OnSlices<'b>,
                    grid: (u32, u32, u32),
                    args: AsyncArgsHost<'_, $input, $output, OnSlices<'b>>,
                ) -> Result<(), Failed> {
                    $name::launch(device, grid, args)
                }
            }
        )*)*
        host_table! {
            $table: $input => $output,
            host::AsyncKernel<$input, $output>, launch_by_threads, $($($name)*)*
        }
    )*};
}

/// The elements of A and B with those of C and D. Each row has the multiply-adds of an SM's
/// `mma.sync` in a cycle, the kernels that repack and that reduce split-K, and the tables.
macro_rules! elements {
    ($(
        $input:ident => $output:ident: $rate:literal per cycle, $repack:ident, $reduce:ident,
        [$($table:ident)*] $(, grouped [$($grouped:ident)*])?;
    )*) => {$(
        #[cfg(not(target_arch = "nvptx64"))]
        impl Multiply<$output> for $input {
            const PRODUCTS: f64 = $rate;
            const KERNELS: &'static [Kernel] = {
                const TABLES: &[&[Kernel]] =
                    &[$(<host::$table as Table<$input, $output>>::KERNELS),*];
                &host::joined::<{ host::count(TABLES) }>(TABLES)
            };
            $(const GROUPED: &'static [Kernel] = {
                const TABLES: &[&[Kernel]] =
                    &[$(<host::$grouped as Table<$input, $output>>::KERNELS),*];
                &host::joined::<{ host::count(TABLES) }>(TABLES)
            };)?

            fn launch<'b>(
                device: &OnSlices<'b>,
                kernel: &Kernel,
                buffers: &mut Buffers<'b, $input, $output>,
                launch: &GemmLaunch<<$output as Output>::Acc>,
            ) -> Launched {
                match kernel.table {
                    $(host::TableId::$table => {
                        host::$table::launch(device, kernel.index, buffers, launch)
                    })*
                    $($(host::TableId::$grouped => {
                        host::$grouped::launch(device, kernel.index, buffers, launch)
                    })*)?
                    #[allow(unreachable_patterns, reason = "where all tables have such elements")]
                    _ => unreachable!("`{}` is not for such elements", kernel.name),
                }
            }

            fn repack<'b>(
                device: &OnSlices<'b>,
                a: (&Slice<'b, Self>, Repack),
                b: (&Slice<'b, Self>, Repack),
                to: &mut Slice<'b, Self>,
            ) -> Launched {
                let (grid, args) = repack_args(a, b, to);
                $repack::launch(device, grid, args).map_err(LaunchError::Device)
            }

            fn reduce<'b>(
                device: &OnSlices<'b>,
                buffers: &mut Buffers<'b, $input, $output>,
                launch: &GemmLaunch<<$output as Output>::Acc>,
            ) -> Launched {
                let (grid, args) = host::reduce_args(buffers, launch);
                $reduce::launch(device, grid, args).map_err(LaunchError::Device)
            }
        }
    )*};
}
