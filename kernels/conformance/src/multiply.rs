//! `mma.sync`: one kernel per form, with the form's name. It computes D = A x B + C on row-major
//! matrices in global memory, contiguous for each block. The kernels are made from the tables in
//! `src/isa/`.

use ptx_matrix::forms::ptx;
use ptx_matrix::fragment::{
    Fragment, FragmentShape, RoleA, RoleB, RoleC, ScaleA, ScaleB, ScaledKind, Selected, Shape,
};
use ptx_matrix::mma::{MmaForm, MmaScaled, Select};
use ptx_matrix::prelude::*;
use ptx_matrix::target::{BuildTarget, Supports};
use ptx_matrix::{
    mma_element, mma_forms, mma_kind, mma_named, mma_scaled_forms, mma_scaled_named, mma_shape,
};

/// The body of a kernel. (A shared function, so that the compiler checks it once.)
#[inline]
fn multiply<S, A: Element, B: Element, C: Element, D: Element, Q>(
    block: &Block<'_>,
    a: Global<'_, A>,
    b: Global<'_, B>,
    c: Global<'_, C>,
    d: GlobalMut<'_, D>,
) where
    S: Shape + FragmentShape<RoleA, A::Width> + FragmentShape<RoleB, B::Width>,
    S: FragmentShape<RoleC, C::Width> + FragmentShape<RoleC, D::Width>,
    Mma<S, A, B, C, Q>: MmaForm<
            A = FragmentA<S, A>,
            B = FragmentB<S, B>,
            C = Accumulator<S, C>,
            D = Accumulator<S, D>,
        >,
    BuildTarget: Supports<<Mma<S, A, B, C, Q> as MmaForm>::Needs>,
{
    let (warp, index) = (block.warp(), block.index().x as usize);
    let (m, n) = (FragmentA::<S, A>::ROWS, FragmentB::<S, B>::COLS);
    let a = FragmentA::<S, A>::from_fn(warp, |row, k| a.get((index * m + row) * S::K + k));
    let b = FragmentB::<S, B>::from_fn(warp, |k, col| b.get((index * S::K + k) * n + col));
    let c = Accumulator::<S, C>::from_fn(warp, |row, col| c.get((index * m + row) * S::N + col));
    let acc = Mma::<S, A, B, C, Q>::multiply(warp, &a, &b, &c);
    acc.for_each(warp, |row, col, value| d.set((index * m + row) * S::N + col, value));
}

macro_rules! kernels {
    ($($shape:ident $la:ident $lb:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
        $width:ident $registers:tt $needs:ident $version:literal $nature:ident;)*) => {$($(
        mma_named! { $q $shape $la $lb $d $a $b $c => kernels ($needs
            [mma_shape!($shape $la $lb $a)] [mma_element!($q $a)] [mma_element!($q $b)] [ptx::$c]
            [ptx::$d] [ptx::$q]) }
    )*)*};
    (@named $kernel:ident (sm_75 $($types:tt)*)) => {
        kernels! { @kernel "sm_75" $kernel $($types)* }
    };
    (@named $kernel:ident (sm_80 $($types:tt)*)) => {
        kernels! { @kernel "sm_80" $kernel $($types)* }
    };
    (@named $kernel:ident (sm_89 $($types:tt)*)) => {
        kernels! { @kernel "sm_89" $kernel $($types)* }
    };
    (@named $kernel:ident (sm_90 $($types:tt)*)) => {
        kernels! { @kernel "sm_90" $kernel $($types)* }
    };
    (@named $kernel:ident (blackwell $($types:tt)*)) => {
        kernels! { @kernel "sm_100a or sm_120a" $kernel $($types)* }
    };
    (@named $kernel:ident (blackwell_120 $($types:tt)*)) => {
        kernels! { @kernel "sm_120a" $kernel $($types)* }
    };
    (@kernel $target:literal $kernel:ident [$s:ty] [$a:ty] [$b:ty] [$c:ty] [$d:ty] [$q:ty]) => {
        #[kernel(threads = 32, target = $target)]
        pub fn $kernel(
            block: &Block,
            a: Global<$a>,
            b: Global<$b>,
            c: Global<$c>,
            d: GlobalMut<$d>,
        ) {
            multiply::<$s, $a, $b, $c, $d, $q>(block, a, b, c, d);
        }
    };
}
mma_forms!(kernels);

/// Loads the scales of the block's operands, which are row-major matrices. Those of A have a column
/// for each scale of a row of A. Those of B have a row for each scale of a column of B.
///
/// Other bytes of the scale registers hold wrong values, to show that only the selected ones count.
#[inline]
pub(crate) fn load_scales<S: Shape, K: ScaledKind>(
    block: &Block<'_>,
    a: Global<'_, K::Scale>,
    b: Global<'_, K::Scale>,
) -> (ScaleA<K>, ScaleB<K>) {
    let (warp, index) = (block.warp(), block.index().x as usize);
    let meant = Selected { byte: 0, thread: 1 };
    let or_wrong = |set, scales: Global<'_, K::Scale>, index: usize| {
        if set == meant { scales.get(index) } else { K::Scale::from_bits(0x55) }
    };
    (
        ScaleA::from_fn(warp, |set, row, of| {
            or_wrong(set, a, (index * S::M + row) * K::SCALES + of)
        }),
        ScaleB::from_fn(warp, |set, col, of| {
            or_wrong(set, b, (index * K::SCALES + of) * S::N + col)
        }),
    )
}

/// The body of a kernel with block scaling, which multiplies by this instruction.
#[inline]
fn multiply_scaled<S, A: Element, B: Element, K: ScaledKind>(
    block: &Block<'_>,
    (a, scales_a): (Global<'_, A>, Global<'_, K::Scale>),
    (b, scales_b): (Global<'_, B>, Global<'_, K::Scale>),
    c: Global<'_, f32>,
    d: GlobalMut<'_, f32>,
    accumulate: impl Fn(
        Warp<'_>,
        &mut Accumulator<S, f32>,
        (&FragmentA<S, A>, &ScaleA<K>),
        (&FragmentB<S, B>, &ScaleB<K>),
    ),
) where
    S: Shape + FragmentShape<RoleA, A::Width> + FragmentShape<RoleB, B::Width>,
    S: FragmentShape<RoleC, <f32 as Element>::Width>,
{
    let (warp, index) = (block.warp(), block.index().x as usize);
    let a = FragmentA::<S, A>::from_fn(warp, |row, k| a.get((index * S::M + row) * S::K + k));
    let b = FragmentB::<S, B>::from_fn(warp, |k, col| b.get((index * S::K + k) * S::N + col));
    let at = |row: usize, col: usize| (index * S::M + row) * S::N + col;
    let mut acc = Accumulator::<S, f32>::from_fn(warp, |row, col| c.get(at(row, col)));
    let (scales_a, scales_b) = load_scales::<S, K>(block, scales_a, scales_b);
    accumulate(warp, &mut acc, (&a, &scales_a), (&b, &scales_b));
    acc.for_each(warp, |row, col, value| d.set(at(row, col), value));
}

macro_rules! scaled_kernels {
    ($($shape:ident $kind:ident $vec:literal $scale:ident [$(($a:ident $b:ident))*] $needs:ident
        $version:literal;)*) => {$($(
        mma_scaled_named! { $shape $kind $vec $scale $a $b => scaled_kernels (
            [ptx::$shape] [mma_element!($kind $a)] [mma_element!($kind $b)]
            [mma_kind!($kind $vec $scale)] [ptx::$scale]
        ) }
    )*)*};
    (@named $kernel:ident ([$s:ty] [$a:ty] [$b:ty] [$kind:ty] [$scale:ty])) => {
        #[kernel(threads = 32, target = "sm_120a")]
        pub fn $kernel(
            block: &Block,
            a: Global<$a>,
            b: Global<$b>,
            c: Global<f32>,
            scales_a: Global<$scale>,
            scales_b: Global<$scale>,
            d: GlobalMut<f32>,
        ) {
            type Form = MmaScaled<$s, $a, $b, $kind, Select<0, 1>, Select<0, 1>>;
            multiply_scaled(block, (a, scales_a), (b, scales_b), c, d, Form::accumulate);
        }
    };
}
mma_scaled_forms!(scaled_kernels);

/// As `mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32`, with whole `f32` operands: registers
/// whose low 13 bits are not zero.
#[kernel(threads = 32, target = "sm_80")]
pub fn mma_m16n8k8_tf32_whole_registers(
    block: &Block,
    a: Global<f32>,
    b: Global<f32>,
    c: Global<f32>,
    d: GlobalMut<f32>,
) {
    let warp = block.warp();
    let a = FragmentA::<M16N8K8, f32>::from_fn(warp, |row, k| a.get(row * 8 + k));
    let b = FragmentB::<M16N8K8, f32>::from_fn(warp, |k, col| b.get(k * 8 + col));
    let mut acc = Accumulator::<M16N8K8, f32>::from_fn(warp, |row, col| c.get(row * 8 + col));
    let (a, b) = (Fragment::from_registers(a.registers()), Fragment::from_registers(b.registers()));
    Mma::<M16N8K8, tf32, tf32, f32>::accumulate(warp, &mut acc, &a, &b);
    acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
}
