//! `mma.sp`: one kernel per form, with the form's name, on row-major matrices in global memory.
//! Each block executes one multiplication. The kernels are made from the tables in `src/isa/`.

use crate::multiply::load_scales;
use ptx_matrix::forms::ptx;
use ptx_matrix::fragment::{
    FragmentShape, FragmentSparseA, RoleB, RoleC, RoleSparseA, ScaleA, ScaleB, ScaledKind, Shape,
    SparseWidth,
};
use ptx_matrix::mma::{
    Among, Metadata, MmaSparse, MmaSparseForm, MmaSparseScaled, Select, Selector,
};
use ptx_matrix::prelude::*;
use ptx_matrix::target::{BuildTarget, Supports};
use ptx_matrix::{
    mma_element, mma_kind, mma_sparse_forms, mma_sparse_named, mma_sparse_ordered_forms,
    mma_sparse_scaled_forms, mma_sparse_scaled_named,
};

/// Loads the block's operands: A, of which half the columns are stored, its metadata, B and C.
#[inline]
#[allow(clippy::type_complexity, reason = "what the instruction takes")]
fn load<S, A: Element<Width: SparseWidth>, B: Element, C: Element>(
    block: &Block<'_>,
    (a, metadata, b, c): (Global<'_, A>, Global<'_, u32>, Global<'_, B>, Global<'_, C>),
) -> (FragmentSparseA<S, A>, Metadata<A::Width>, FragmentB<S, B>, Accumulator<S, C>)
where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>,
{
    let (warp, which, half) = (block.warp(), block.index().x as usize, S::K / 2);
    (
        FragmentSparseA::from_fn(warp, |row, col| a.get((which * S::M + row) * half + col)),
        Metadata::load(warp, metadata, which),
        FragmentB::from_fn(warp, |k, col| b.get((which * S::K + k) * S::N + col)),
        Accumulator::from_fn(warp, |row, col| c.get((which * S::M + row) * S::N + col)),
    )
}

/// Multiplies with one selector, and stores the result after the given number of others.
#[inline]
#[allow(clippy::type_complexity, reason = "what the instruction takes")]
fn multiply<S, A: Element<Width: SparseWidth>, B: Element, C: Element, Q, O, const SELECTOR: u32>(
    block: &Block<'_>,
    (a, metadata, b, c): &(
        FragmentSparseA<S, A>,
        Metadata<A::Width>,
        FragmentB<S, B>,
        Accumulator<S, C>,
    ),
    d: GlobalMut<'_, C>,
    before: usize,
) where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>,
    MmaSparse<S, A, B, C, Q, O>:
        MmaSparseForm<A = FragmentSparseA<S, A>, B = FragmentB<S, B>, C = Accumulator<S, C>>,
    Selector<SELECTOR>: Among<<MmaSparse<S, A, B, C, Q, O> as MmaSparseForm>::Selectors>,
    BuildTarget: Supports<<MmaSparse<S, A, B, C, Q, O> as MmaSparseForm>::Needs>,
{
    let mut acc = *c;
    MmaSparse::<S, A, B, C, Q, O>::accumulate::<SELECTOR>(block.warp(), &mut acc, a, b, metadata);
    store(block, &acc, d, before);
}

/// Stores a result, after the given number of others.
#[inline]
fn store<S: Shape + FragmentShape<RoleC, C::Width>, C: Element>(
    block: &Block<'_>,
    result: &Accumulator<S, C>,
    d: GlobalMut<'_, C>,
    before: usize,
) {
    result
        .for_each(block.warp(), |row, col, value| d.set((before * S::M + row) * S::N + col, value));
}

macro_rules! kernels {
    ([$order:ident] $($shape:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
        $registers:tt $selectors:tt $needs:ident $version:literal $nature:ident;)*) => {$($(
        mma_sparse_named! { $order $q $shape $d $a $b $c => kernels ($needs $selectors
            [ptx::$shape] [mma_element!($q $a)] [mma_element!($q $b)] [ptx::$c] [ptx::$q]
            [ptx::$order]) }
    )*)*};
    (@named $kernel:ident (sm_80 $($form:tt)*)) => {
        kernels! { @selectors "sm_80" $kernel $($form)* }
    };
    (@named $kernel:ident (sm_89 $($form:tt)*)) => {
        kernels! { @selectors "sm_89" $kernel $($form)* }
    };
    (@named $kernel:ident (blackwell $($form:tt)*)) => {
        kernels! { @selectors "sm_100a or sm_120a" $kernel $($form)* }
    };
    (@named $kernel:ident (blackwell_120 $($form:tt)*)) => {
        kernels! { @selectors "sm_120a" $kernel $($form)* }
    };
    (@selectors $target:literal $kernel:ident 1 $($types:tt)*) => {
        kernels! { @kernel $target $kernel [0] $($types)* }
    };
    (@selectors $target:literal $kernel:ident 2 $($types:tt)*) => {
        kernels! { @kernel $target $kernel [0 1] $($types)* }
    };
    (@selectors $target:literal $kernel:ident 4 $($types:tt)*) => {
        kernels! { @kernel $target $kernel [0 1 2 3] $($types)* }
    };
    (@kernel $target:literal $kernel:ident [$($selector:literal)*] [$s:ty] [$a:ty] [$b:ty] [$c:ty]
        [$q:ty] [$order:ty]) => {
        /// A has half the columns; D is A x B + C, once for each selector.
        #[kernel(threads = 32, target = $target)]
        pub fn $kernel(
            block: &Block,
            a: Global<$a>,
            metadata: Global<u32>,
            b: Global<$b>,
            c: Global<$c>,
            d: GlobalMut<$c>,
        ) {
            const SELECTORS: usize = [$($selector),*].len();
            let operands = load::<$s, $a, $b, $c>(block, (a, metadata, b, c));
            let first = block.index().x as usize * SELECTORS;
            $(
                multiply::<$s, $a, $b, $c, $q, $order, $selector>(
                    block, &operands, d, first + $selector,
                );
            )*
        }
    };
}
mma_sparse_forms!(kernels any);
mma_sparse_forms!(kernels ordered);
mma_sparse_ordered_forms!(kernels ordered);

/// The body of a kernel with block scaling, which multiplies by this instruction.
#[inline]
#[allow(clippy::type_complexity, reason = "what the instruction takes")]
fn multiply_scaled<S, A: Element<Width: SparseWidth>, B: Element, K: ScaledKind>(
    block: &Block<'_>,
    (a, metadata, scales_a): (Global<'_, A>, Global<'_, u32>, Global<'_, K::Scale>),
    (b, scales_b): (Global<'_, B>, Global<'_, K::Scale>),
    c: Global<'_, f32>,
    d: GlobalMut<'_, f32>,
    accumulate: impl Fn(
        Warp<'_>,
        &mut Accumulator<S, f32>,
        (&FragmentSparseA<S, A>, &Metadata<A::Width>, &ScaleA<K>),
        (&FragmentB<S, B>, &ScaleB<K>),
    ),
) where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, <f32 as Element>::Width>,
{
    let (a, metadata, b, mut acc) = load::<S, A, B, f32>(block, (a, metadata, b, c));
    let (scales_a, scales_b) = load_scales::<S, K>(block, scales_a, scales_b);
    accumulate(block.warp(), &mut acc, (&a, &metadata, &scales_a), (&b, &scales_b));
    store(block, &acc, d, block.index().x as usize);
}

macro_rules! scaled_kernels {
    ($($shape:ident $kind:ident $vec:literal $scale:ident [$(($a:ident $b:ident))*] $needs:ident
        $version:literal;)*) => {$($(
        mma_sparse_scaled_named! { $shape $kind $vec $scale $a $b => scaled_kernels (
            [ptx::$shape] [mma_element!($kind $a)] [mma_element!($kind $b)]
            [mma_kind!($kind $vec $scale)] [ptx::$scale]
        ) }
    )*)*};
    (@named $kernel:ident ([$s:ty] [$a:ty] [$b:ty] [$kind:ty] [$scale:ty])) => {
        #[kernel(threads = 32, target = "sm_120a")]
        pub fn $kernel(
            block: &Block,
            a: Global<$a>,
            metadata: Global<u32>,
            b: Global<$b>,
            c: Global<f32>,
            scales_a: Global<$scale>,
            scales_b: Global<$scale>,
            d: GlobalMut<f32>,
        ) {
            type Form = MmaSparseScaled<$s, $a, $b, $kind, Select<0, 1>, Select<0, 1>>;
            let (a, b) = ((a, metadata, scales_a), (b, scales_b));
            multiply_scaled(block, a, b, c, d, Form::accumulate);
        }
    };
}
mma_sparse_scaled_forms!(scaled_kernels);
