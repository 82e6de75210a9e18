//! `mma.sp`: one kernel per form, with the form's name, on row-major matrices in global memory.
//! Each block executes one multiplication. The kernels are made from the tables in `src/isa/`.

use ptx_matrix::forms::ptx;
use ptx_matrix::fragment::ScaledKind;

use ptx_matrix::fragment::{
    FragmentShape, FragmentSparseA, RoleB, RoleC, RoleSparseA, ScaleA, ScaleB, Selected, Shape,
    SparseWidth,
};
use ptx_matrix::mma::{Metadata, MmaSparse, MmaSparseScaled, Select};
use ptx_matrix::prelude::*;
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
            let which = block.index().x as usize;
            let (a, metadata, b, c) = load::<$s, $a, $b, $c>(block, (a, metadata, b, c));
            $(
                let mut acc = c;
                MmaSparse::<$s, $a, $b, $c, $q, $order>::accumulate::<$selector>(
                    block.warp(),
                    &mut acc,
                    &a,
                    &b,
                    &metadata,
                );
                store(block, &acc, d, which * SELECTORS + $selector);
            )*
        }
    };
}
mma_sparse_forms!(kernels any);
mma_sparse_forms!(kernels ordered);
mma_sparse_ordered_forms!(kernels ordered);

macro_rules! scaled_kernels {
    ($($shape:ident $kind:ident $vec:literal $scale:ident [$(($a:ident $b:ident))*] $needs:ident
        $version:literal;)*) => {$($(
        mma_sparse_scaled_named! { $shape $kind $vec $scale $a $b => scaled_kernels (
            [ptx::$shape] [mma_element!($kind $a)] [mma_element!($kind $b)]
            [mma_kind!($kind $vec $scale)] [ptx::$scale]
        ) }
    )*)*};
    (@named $kernel:ident ([$s:ty] [$a:ty] [$b:ty] [$kind:ty] [$scale:ty])) => {
        /// The scales are row-major matrices: those of A have as many columns as A has scales per
        /// row, those of B as many rows as B has scales per column.
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
            let (warp, which) = (block.warp(), block.index().x as usize);
            let (a, metadata, b, mut acc) = load::<$s, $a, $b, f32>(block, (a, metadata, b, c));
            // Other bytes of the scale registers hold wrong values, to show that only the selected
            // ones count.
            let wrong = <$scale>::from_bits(0x55);
            let meant = Selected { byte: 0, thread: 1 };
            let scales_a = ScaleA::<$kind>::from_fn(warp, |set, row, of| {
                if set == meant {
                    scales_a.get((which * <$s>::M + row) * <$kind>::SCALES + of)
                } else {
                    wrong
                }
            });
            let scales_b = ScaleB::<$kind>::from_fn(warp, |set, col, of| {
                if set == meant {
                    scales_b.get((which * <$kind>::SCALES + of) * <$s>::N + col)
                } else {
                    wrong
                }
            });
            type Form = MmaSparseScaled<$s, $a, $b, $kind, Select<0, 1>, Select<0, 1>>;
            Form::accumulate(warp, &mut acc, (&a, &metadata, &scales_a), (&b, &scales_b));
            store(block, &acc, d, which);
        }
    };
}
mma_sparse_scaled_forms!(scaled_kernels);
