//! `mma.sync`: one kernel per row of the tables in `src/isa/`, with the name of the row's first
//! form. It computes D = A x B + C on row-major matrices in global memory, contiguous for each
//! block. The forms of a row differ only in the element types of A and B, so a kernel takes their
//! bits. Its parameter `form` is the number of the form in the row.

use ptx_matrix::element::Width;
use ptx_matrix::forms::ptx;
use ptx_matrix::fragment::{
    Fragment, FragmentShape, RoleA, RoleB, RoleC, ScaleA, ScaleB, ScaledKind, Selected, Shape,
};
use ptx_matrix::mma::{Mma, MmaScaled, Select};
use ptx_matrix::prelude::*;
use ptx_matrix::{
    mma_element, mma_forms, mma_kind, mma_named, mma_scaled_forms, mma_scaled_named, mma_shape,
};

/// The bits of an element, as in memory.
pub type Bits<T> = <<T as Element>::Width as Width>::Bits;

/// Loads the block's operands.
#[inline]
#[allow(clippy::type_complexity, reason = "what the instruction takes")]
fn load<S, A: Element, B: Element, C: Element>(
    block: &Block<'_>,
    a: Global<'_, Bits<A>>,
    b: Global<'_, Bits<B>>,
    c: Global<'_, C>,
) -> (FragmentA<S, A>, FragmentB<S, B>, Accumulator<S, C>)
where
    S: Shape + FragmentShape<RoleA, A::Width> + FragmentShape<RoleB, B::Width>,
    S: FragmentShape<RoleC, C::Width>,
{
    let (warp, index) = (block.warp(), block.index().x as usize);
    let (m, n) = (FragmentA::<S, A>::ROWS, FragmentB::<S, B>::COLS);
    let element_a = |row, k| A::from_bits(a.get((index * m + row) * S::K + k));
    let element_b = |k, col| B::from_bits(b.get((index * S::K + k) * n + col));
    (
        FragmentA::from_fn(warp, element_a),
        FragmentB::from_fn(warp, element_b),
        Accumulator::from_fn(warp, |row, col| c.get((index * m + row) * S::N + col)),
    )
}

/// Stores a result, after the given number of others.
#[inline]
pub(crate) fn store<S: Shape + FragmentShape<RoleC, D::Width>, D: Element>(
    block: &Block<'_>,
    result: &Accumulator<S, D>,
    d: GlobalMut<'_, D>,
    before: usize,
) {
    let first = before * Accumulator::<S, D>::ROWS;
    result.for_each(block.warp(), |row, col, value| d.set((first + row) * S::N + col, value));
}

macro_rules! kernels {
    ($($shape:ident $la:ident $lb:ident $q:ident $d:ident
        [($a:ident $b:ident) $(($more_a:ident $more_b:ident))*] $c:ident
        $width:ident $registers:tt $needs:ident $version:literal $nature:ident;)*) => {$(
        mma_named! { $q $shape $la $lb $d $a $b $c => kernels ($needs
            [mma_shape!($shape $la $lb $a)] [ptx::$c] [ptx::$d] [ptx::$q]
            [mma_element!($q $a)] [mma_element!($q $b)]
            ([mma_element!($q $a)] [mma_element!($q $b)])
            $(([mma_element!($q $more_a)] [mma_element!($q $more_b)]))*) }
    )*};
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
    (@kernel $target:literal $kernel:ident [$s:ty] [$c:ty] [$d:ty] [$q:ty]
        [$first_a:ty] [$first_b:ty] $(([$a:ty] [$b:ty]))*) => {
        #[kernel(threads = 32, target = $target)]
        pub fn $kernel(
            block: &Block,
            form: u32,
            a: Global<Bits<$first_a>>,
            b: Global<Bits<$first_b>>,
            c: Global<$c>,
            d: GlobalMut<$d>,
        ) {
            let (a, b, c) = load::<$s, $first_a, $first_b, $c>(block, a, b, c);
            let (mut forms, mut result) = (0.., None);
            $(if forms.next() == Some(form) {
                let a = Fragment::from_registers(a.registers());
                let b = Fragment::from_registers(b.registers());
                result = Some(Mma::<$s, $a, $b, $c, $q>::multiply(block.warp(), &a, &b, &c));
            })*
            if let Some(result) = result {
                store(block, &result, d, block.index().x as usize);
            }
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

macro_rules! scaled_kernels {
    ($($shape:ident $kind:ident $vec:literal $scale:ident
        [($a:ident $b:ident) $(($more_a:ident $more_b:ident))*] $needs:ident
        $version:literal;)*) => {$(
        mma_scaled_named! { $shape $kind $vec $scale $a $b => scaled_kernels (
            [ptx::$shape] [mma_kind!($kind $vec $scale)] [ptx::$scale]
            [mma_element!($kind $a)] [mma_element!($kind $b)]
            ([mma_element!($kind $a)] [mma_element!($kind $b)])
            $(([mma_element!($kind $more_a)] [mma_element!($kind $more_b)]))*
        ) }
    )*};
    (@named $kernel:ident ([$s:ty] [$kind:ty] [$scale:ty] [$first_a:ty] [$first_b:ty]
        $(([$a:ty] [$b:ty]))*)) => {
        #[kernel(threads = 32, target = "sm_120a")]
        pub fn $kernel(
            block: &Block,
            form: u32,
            a: Global<Bits<$first_a>>,
            b: Global<Bits<$first_b>>,
            c: Global<f32>,
            scales_a: Global<$scale>,
            scales_b: Global<$scale>,
            d: GlobalMut<f32>,
        ) {
            let (a, b, mut acc) = load::<$s, $first_a, $first_b, f32>(block, a, b, c);
            let (scales_a, scales_b) = load_scales::<$s, $kind>(block, scales_a, scales_b);
            let mut forms = 0..;
            $(if forms.next() == Some(form) {
                type Form = MmaScaled<$s, $a, $b, $kind, Select<0, 1>, Select<0, 1>>;
                let a = Fragment::from_registers(a.registers());
                let b = Fragment::from_registers(b.registers());
                Form::accumulate(block.warp(), &mut acc, (&a, &scales_a), (&b, &scales_b));
            })*
            store(block, &acc, d, block.index().x as usize);
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
