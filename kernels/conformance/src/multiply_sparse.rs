//! `mma.sp`: one kernel per row of the tables in `src/isa/`, as for `mma.sync`, with the name of
//! the row's first form. Each block executes one multiplication for each selector, in the row's
//! form number `form`.

use crate::multiply::{Bits, load_scales, store};
use ptx_matrix::forms::ptx;
use ptx_matrix::fragment::{
    Fragment, FragmentShape, FragmentSparseA, RoleB, RoleC, RoleSparseA, Shape, SparseWidth,
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
    (a, metadata): (Global<'_, Bits<A>>, Global<'_, u32>),
    b: Global<'_, Bits<B>>,
    c: Global<'_, C>,
) -> (FragmentSparseA<S, A>, Metadata<A::Width>, FragmentB<S, B>, Accumulator<S, C>)
where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>,
{
    let (warp, which, half) = (block.warp(), block.index().x as usize, S::K / 2);
    let element_a = |row, col| A::from_bits(a.get((which * S::M + row) * half + col));
    let element_b = |k, col| B::from_bits(b.get((which * S::K + k) * S::N + col));
    (
        FragmentSparseA::from_fn(warp, element_a),
        Metadata::load(warp, metadata, which),
        FragmentB::from_fn(warp, element_b),
        Accumulator::from_fn(warp, |row, col| c.get((which * S::M + row) * S::N + col)),
    )
}

macro_rules! kernels {
    ([$order:ident] $($shape:ident $q:ident $d:ident
        [($a:ident $b:ident) $(($more_a:ident $more_b:ident))*] $c:ident
        $registers:tt $selectors:tt $needs:ident $version:literal $nature:ident;)*) => {$(
        mma_sparse_named! { $order $q $shape $d $a $b $c => kernels ($needs $selectors
            [ptx::$shape] [ptx::$c] [ptx::$q] [ptx::$order]
            [mma_element!($q $a)] [mma_element!($q $b)]
            ([mma_element!($q $a)] [mma_element!($q $b)])
            $(([mma_element!($q $more_a)] [mma_element!($q $more_b)]))*) }
    )*};
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
    (@kernel $target:literal $kernel:ident $selectors:tt [$s:ty] [$c:ty] [$q:ty] [$order:ty]
        [$first_a:ty] [$first_b:ty] $(([$a:ty] [$b:ty]))*) => {
        /// A has half the columns; D is A x B + C, once for each selector.
        #[kernel(threads = 32, target = $target)]
        pub fn $kernel(
            block: &Block,
            form: u32,
            a: Global<Bits<$first_a>>,
            metadata: Global<u32>,
            b: Global<Bits<$first_b>>,
            c: Global<$c>,
            d: GlobalMut<$c>,
        ) {
            let (a, metadata, b, c) =
                load::<$s, $first_a, $first_b, $c>(block, (a, metadata), b, c);
            let (mut forms, mut results) = (0.., None);
            $(if forms.next() == Some(form) {
                type Form = MmaSparse<$s, $a, $b, $c, $q, $order>;
                let a = Fragment::from_registers(a.registers());
                let b = Fragment::from_registers(b.registers());
                results = Some(kernels! { @results $selectors block (c, a, b, metadata) });
            })*
            if let Some(results) = results {
                let first = block.index().x as usize * results.len();
                for (selector, result) in results.iter().enumerate() {
                    store(block, result, d, first + selector);
                }
            }
        }
    };
    (@results [$($selector:literal)*] $block:ident
        ($c:ident, $a:ident, $b:ident, $metadata:ident)) => {
        [$({
            let mut acc = $c;
            Form::accumulate::<$selector>($block.warp(), &mut acc, &$a, &$b, &$metadata);
            acc
        }),*]
    };
}
mma_sparse_forms!(kernels any);
mma_sparse_forms!(kernels ordered);
mma_sparse_ordered_forms!(kernels ordered);

macro_rules! scaled_kernels {
    ($($shape:ident $kind:ident $vec:literal $scale:ident
        [($a:ident $b:ident) $(($more_a:ident $more_b:ident))*] $needs:ident
        $version:literal;)*) => {$(
        mma_sparse_scaled_named! { $shape $kind $vec $scale $a $b => scaled_kernels (
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
            metadata: Global<u32>,
            b: Global<Bits<$first_b>>,
            c: Global<f32>,
            scales_a: Global<$scale>,
            scales_b: Global<$scale>,
            d: GlobalMut<f32>,
        ) {
            let (a, metadata, b, mut acc) =
                load::<$s, $first_a, $first_b, f32>(block, (a, metadata), b, c);
            let (scales_a, scales_b) = load_scales::<$s, $kind>(block, scales_a, scales_b);
            let mut forms = 0..;
            $(if forms.next() == Some(form) {
                type Form = MmaSparseScaled<$s, $a, $b, $kind, Select<0, 1>, Select<0, 1>>;
                let a = Fragment::from_registers(a.registers());
                let b = Fragment::from_registers(b.registers());
                let (a, b) = ((&a, &metadata, &scales_a), (&b, &scales_b));
                Form::accumulate(block.warp(), &mut acc, a, b);
            })*
            store(block, &acc, d, block.index().x as usize);
        }
    };
}
mma_sparse_scaled_forms!(scaled_kernels);
