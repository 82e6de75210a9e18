//! `wgmma` with sparse A: a kernel for each combination of element types.

use ptx_matrix::forms::ptx;
use ptx_matrix::fragment::FragmentSparseA;
use ptx_matrix::mma::{GroupAccumulator, Metadata, WgmmaSparse};
use ptx_matrix::prelude::*;
use ptx_matrix::{wgmma_columns, wgmma_named, wgmma_shape, wgmma_sparse_forms};

/// Calls a macro with a form, if it has a kernel: N = 16 for each combination of element types, and
/// N = 256 for bf16.
#[doc(hidden)]
#[macro_export]
macro_rules! wgmma_sparse_with_kernel {
    (16 $form:tt => $with:ident) => {
        $with! { @kernel 16 $form }
    };
    (256 (f32 bf16 bf16 $k:literal plain $selectors:tt) => $with:ident) => {
        $with! { @kernel 256 (f32 bf16 bf16 $k plain $selectors) }
    };
    ($n:literal $form:tt => $with:ident) => {};
}

/// Makes a kernel that executes a form with A in shared memory, and then with A' in registers. The
/// stored half of A with that of A' below it, B and D are row-major. The metadata is for the warps'
/// rows of A, then of A'. Each block has its own matrices, with a D for each selector.
macro_rules! kernel {
    ($kernel:ident $selectors:tt $n:literal $d:ident $a:ident $b:ident $option:ident
        [$($selector:literal)*] [$tile_a:ty] [$tile_b:ty] $shared:ident $registers:ident) => {
        #[kernel(threads = 128, target = "sm_90a")]
        pub fn $kernel(
            block: &Block,
            #[shared] tile_a: $tile_a,
            #[shared] tile_b: $tile_b,
            a: Global<ptx::$a>,
            metadata: Global<u32>,
            b: Global<ptx::$b>,
            d: GlobalMut<ptx::$d>,
        ) {
            const KEPT: usize = 32 / size_of::<ptx::$a>();
            const SELECTORS: usize = [$($selector),*].len();
            let (group, index) = (block.warp_group(), block.index().x as usize);
            let (a, b) = (a.skip(index * 128 * KEPT), b.skip(index * 2 * KEPT * $n));
            tile_a.fill(group, |row, k| a.get(row * KEPT + k));
            tile_b.fill(group, |k, col| b.get(k * $n + col));
            group.warp().fence_for_bulk();
            group.sync();
            let (warp, rank) = (group.warp(), group.warp_rank());
            let kept = [0, 4].map(|first| Metadata::load(warp, metadata, 8 * index + first + rank));
            let rows = FragmentSparseA::<wgmma_shape!($selectors $a), ptx::$a>::from_fn(
                warp,
                |row, k| a.get((64 + 16 * rank + row) * KEPT + k),
            );
            $(
                let mut acc = GroupAccumulator::<$n, ptx::$d>::zero().begin(group);
                WgmmaSparse::<$n, ptx::$a, ptx::$b, ptx::$d, ptx::$option>::issue(
                    group,
                    &mut acc,
                    |issue| {
                        issue.$shared::<$selector>(
                            tile_a.matrix_a(At::<0, 0>),
                            tile_b.matrix_b(At::<0, 0>),
                            &kept[0],
                        );
                        issue.$registers::<$selector>(
                            &rows,
                            tile_b.matrix_b(At::<0, 0>),
                            &kept[1],
                        );
                    },
                );
                let first = (index * SELECTORS + $selector) * 64;
                acc.finish(group)
                    .for_each(group, |row, col, value| d.set((first + row) * $n + col, value));
            )*
        }
    };
}

/// Makes the kernels, by the names of forms: D = A x B + A' x B.
macro_rules! kernels {
    ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
        $behind:ident $selectors:tt $version:literal;)*) => {$($(
        wgmma_columns! { $columns => kernels ($d $a $b $k $option $selectors) }
    )*)*};
    (@form $n:tt $form:tt) => { wgmma_sparse_with_kernel! { $n $form => kernels } };
    (@kernel $n:tt ($d:ident $a:ident $b:ident $k:literal $option:ident $selectors:tt)) => {
        wgmma_named! { $selectors $n $d $a $b $k $option =>
            kernels ($selectors $n $d $a $b $option) }
    };
    (@named $name:ident (1 $($form:tt)*)) => { kernels! { @one $name [0] 1 $($form)* } };
    (@named $name:ident (2 $($form:tt)*)) => { kernels! { @one $name [0 1] 2 $($form)* } };
    (@one $name:ident $which:tt $selectors:tt $n:tt $d:ident $a:ident $b:ident $option:ident) => {
        kernel! { $name $selectors $n $d $a $b $option $which
            [SharedTile<ptx::$a, 64, { 32 / size_of::<ptx::$a>() }, Swizzle32>]
            [SharedTile<ptx::$b, { 64 / size_of::<ptx::$b>() }, $n, Swizzle64, ColMajor>]
            multiply accumulate_registers }
    };
}
wgmma_sparse_forms!(kernels);

// D = 0 - A x B - A' x B, with MN-major tiles.
kernel! {
    wgmma_mma_async_sp_sync_aligned_m64n16k32_f32_f16_f16_across_k 2 16 f32 f16 f16 plain [0 1]
    [SharedTile<f16, 64, 16, Swizzle128, ColMajor>] [SharedTile<f16, 32, 16, Swizzle32>]
    subtract subtract_registers
}
