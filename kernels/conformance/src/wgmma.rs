//! `wgmma`: a kernel for each combination of element types, and for each N of bf16 and s8.

use ptx_matrix::element::b1;
use ptx_matrix::forms::ptx;
use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::{wgmma_columns, wgmma_forms, wgmma_named, wgmma_shape, wgmma_stored};

/// Calls a macro with a form, if it has a kernel: N = 32 for each combination of element types, and
/// every N for bf16 and s8. (All forms would take minutes to build.)
#[doc(hidden)]
#[macro_export]
macro_rules! wgmma_with_kernel {
    (32 $form:tt => $with:ident) => {
        $with! { @kernel 32 $form }
    };
    ($n:literal (f32 bf16 bf16 $k:literal plain) => $with:ident) => {
        $with! { @kernel $n (f32 bf16 bf16 $k plain) }
    };
    ($n:literal (s32 s8 s8 $k:literal plain) => $with:ident) => {
        $with! { @kernel $n (s32 s8 s8 $k plain) }
    };
    ($n:literal $form:tt => $with:ident) => {};
}

/// The element at (row, k) of a row-major matrix whose rows have 32 bytes.
macro_rules! element {
    (b1 $from:ident $row:expr, $k:expr) => {
        b1::from($from.get($row * 8 + $k / 32) >> ($k % 32) & 1 == 1)
    };
    ($element:ident $from:ident $row:expr, $k:expr) => {
        $from.get($row * (32 / size_of::<ptx::$element>()) + $k)
    };
}

/// Makes a kernel that executes a form with A in shared memory, and then with A' in registers. A
/// with A' below it, B and D are row-major; words of bits are along K. Each block has its own
/// matrices.
macro_rules! kernel {
    ($kernel:ident $n:literal $d:ident $a:ident $b:ident $option:ident [$cols:expr],
        $shared:ident $registers:ident) => {
        #[kernel(threads = 128, target = "sm_90a")]
        pub fn $kernel(
            block: &Block,
            #[shared] tile_a: SharedTile<wgmma_stored!($a), 64, { $cols }, Swizzle32>,
            #[shared] tile_b: SharedTile<wgmma_stored!($b), { $cols }, $n, Swizzle32, ColMajor>,
            a: Global<wgmma_stored!($a)>,
            b: Global<wgmma_stored!($b)>,
            d: GlobalMut<ptx::$d>,
        ) {
            let group = block.warp_group();
            let index = block.index().x as usize;
            let (a, b, d) =
                (a.skip(index * 128 * $cols), b.skip(index * $cols * $n), d.skip(index * 64 * $n));
            tile_a.fill(group, |row, k| a.get(row * $cols + k));
            tile_b.fill(group, |k, col| b.get(k * $n + col));
            group.warp().fence_for_bulk();
            group.sync();
            let first = 64 + 16 * group.warp_rank();
            let rows = FragmentA::<wgmma_shape!(0 $a), ptx::$a>::from_fn(
                group.warp(),
                |row, k| element!($a a first + row, k),
            );
            let mut acc = GroupAccumulator::<$n, ptx::$d>::zero().begin(group);
            Wgmma::<$n, ptx::$a, ptx::$b, ptx::$d, ptx::$option>::issue(group, &mut acc, |issue| {
                issue.$shared(tile_a.matrix_a(At::<0, 0>), tile_b.matrix_b(At::<0, 0>));
                issue.$registers(&rows, tile_b.matrix_b(At::<0, 0>));
            });
            acc.finish(group).for_each(group, |row, col, value| d.set(row * $n + col, value));
        }
    };
}

/// Makes the kernels, by the names of forms: D = A x B + A' x B.
macro_rules! kernels {
    ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
        $behind:ident 0 $version:literal;)*) => {$($(
        wgmma_columns! { $columns => kernels ($d $a $b $k $option) }
    )*)*};
    (@form $n:tt $form:tt) => { wgmma_with_kernel! { $n $form => kernels } };
    (@kernel $n:tt ($d:ident $a:ident $b:ident $k:literal $option:ident)) => {
        wgmma_named! { 0 $n $d $a $b $k $option =>
            kernels ($n $d $a $b $option [32 / size_of::<wgmma_stored!($a)>()]) }
    };
    (@named $name:ident ($n:literal $d:ident $a:ident $b:ident $option:ident $cols:tt)) => {
        kernel! { $name $n $d $a $b $option $cols, multiply accumulate_registers }
    };
}
wgmma_forms!(kernels);

/// Makes a kernel for each combination that supports negation, with N = 32: D = 0 - A x B - A' x B.
macro_rules! subtracting {
    ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
        $behind:ident 0 $version:literal;)*) => {$($(
        subtracting! { $behind $d $a $b $k $option }
    )*)*};
    (nothing $($form:tt)*) => {};
    ($behind:ident $d:ident $a:ident $b:ident $k:literal $option:ident) => {
        wgmma_named! { 0 32 $d $a $b $k $option =>
            subtracting ($d $a $b $option [32 / size_of::<wgmma_stored!($a)>()]) }
    };
    (@named $name:ident ($d:ident $a:ident $b:ident $option:ident $cols:tt)) => {
        pastey::paste! { subtracting! { @kernel [<$name _negated>] $d $a $b $option $cols } }
    };
    (@kernel $kernel:ident $d:ident $a:ident $b:ident $option:ident $cols:tt) => {
        kernel! { $kernel 32 $d $a $b $option $cols, subtract subtract_registers }
    };
}
wgmma_forms!(subtracting);
