//! `mma.sp`: D = A x B + C with a structured sparse A, for one warp (PTX ISA 9.7.14.6.3).

use crate::element::Element;
use crate::fragment::{
    Accumulator, FragmentB, FragmentShape, FragmentSparseA, RoleB, RoleC, RoleSparseA, Shape,
    SparseWidth,
};
use crate::isa::{Ordered, ptx};
use crate::lane::{PerLane, Sealed, Site};
use crate::machine::mma::multiply_sparse;
use crate::mma::{Metadata, Plain};
use crate::scope::Warp;
use crate::target::{BuildTarget, Requirement, Supports};
use core::marker::PhantomData;

/// Multiplies a structured sparse fragment and a dense one, and adds a third: D = A x B + C, for
/// one warp.
///
/// PTX: `mma.sp{::ordered_metadata}.sync.aligned.SHAPE.row.col{.OPTION}.C.A.B.C` (PTX ISA
/// 9.7.14.6.3).
///
/// Half of each chunk of a row of A is zero. A chunk has four columns of 16- or 8-bit elements (2:4
/// sparsity), two columns of tf32 (1:2), or eight columns of 4-bit elements (two of four pairs).
///
/// | shape | selectors | A, B | C, D | option | needs |
/// | --- | --- | --- | --- | --- | --- |
/// | [`M16N8K8`], [`M16N8K16`] | 4, 2 | [`tf32`] | f32 | | sm_80 |
/// | [`M16N8K16`], [`M16N8K32`] | 4, 2 | f16 | f32, f16 | | sm_80 |
/// | [`M16N8K16`], [`M16N8K32`] | 4, 2 | bf16 | f32 | | sm_80 |
/// | [`M16N8K32`], [`M16N8K64`] | 2, 1 | i8, u8 | i32 | [`SatFinite`] | sm_80 |
/// | [`M16N8K64`], [`M16N8K128`] | 2, 1 | [`s4`], [`u4`] | i32 | [`SatFinite`] | sm_80 |
/// | [`M16N8K64`] | 1 | [`F8E4M3`], [`F8E5M2`] | f32 | | sm_89 |
/// | [`M16N8K64`] | 1 | the same | f32 | [`F8F6F4`], ordered | sm_100a, 100f and the like |
/// | [`M16N8K64`] | 1 | these, and three more | f32, f16 | the same | sm_120a, 120f and the like |
///
/// The three more types are [`e3m2`], [`e2m3`] and [`InByte<e2m1>`].
///
/// Where a row names several element types, A and B may have different ones. The option is a type
/// parameter. Its default is [`Plain`], a form without an option.
///
/// [`Metadata`] holds the positions of the kept elements of A. A register holds the metadata of as
/// many matrices as the form has selectors.
///
/// With [`Ordered`], the default, the metadata names the kept parts of a chunk in ascending order.
/// [`Metadata`] and [`Compressed`](crate::mma::Compressed) make such metadata. With
/// [`AnyOrder`](crate::isa::AnyOrder), any order is valid. NVIDIA advises against it, as it may be
/// slow on future GPUs. On sm_90 both are the same instruction.
///
/// D is the result of an [`Mma`](crate::mma::Mma) of the kept elements of A with their rows of B:
/// see `docs/NUMERICS.md`. Dropped elements are not multiplied, so infinities and NaN in their rows
/// of B have no effect.
///
/// ```
/// use ptx_matrix::fragment::FragmentSparseA;
/// use ptx_matrix::mma::{CompressError, Compressed, Metadata, MmaSparse};
/// use ptx_matrix::prelude::*;
///
/// #[kernel(threads = 32, target = "sm_80")]
/// fn multiply(
///     block: &Block,
///     values: Global<f16>,
///     words: Global<u32>,
///     b: Global<f16>,
///     d: GlobalMut<f32>,
/// ) {
///     let warp = block.warp();
///     let metadata = Metadata::load(warp, words, 0);
///     let mut acc = Accumulator::<M16N8K32, f32>::zero();
///     // The two selectors: columns 0 to 31, and 32 to 63.
///     let a = FragmentSparseA::<M16N8K32, f16>::from_fn(warp, |row, col| {
///         values.get(row * 32 + col)
///     });
///     let rows = FragmentB::<M16N8K32, f16>::from_fn(warp, |k, col| b.get(k * 8 + col));
///     MmaSparse::<M16N8K32, f16, f16, f32>::accumulate::<0>(
///         warp, &mut acc, &a, &rows, &metadata,
///     );
///     let a = FragmentSparseA::<M16N8K32, f16>::from_fn(warp, |row, col| {
///         values.get(row * 32 + 16 + col)
///     });
///     let rows =
///         FragmentB::<M16N8K32, f16>::from_fn(warp, |k, col| b.get((32 + k) * 8 + col));
///     MmaSparse::<M16N8K32, f16, f16, f32>::accumulate::<1>(
///         warp, &mut acc, &a, &rows, &metadata,
///     );
///     acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
/// }
///
/// // Two of each four elements of a row are nonzero: which two depends on the row.
/// let there = |row: usize, col: usize| col % 4 == row % 4 || col % 4 == (row + 1) % 4;
/// let number = |i: usize| f16::from_f32((i % 7) as f32 - 3.0);
/// let dense: Vec<f16> = (0..16 * 64)
///     .map(|i| if there(i / 64, i % 64) { number(i) } else { f16::ZERO })
///     .collect();
/// let b: Vec<f16> = (0..64 * 8).map(|i| number(i / 3)).collect();
/// let a = Compressed::of(&dense, 16, 64)?;
/// let mut d = vec![0.0; 16 * 8];
/// multiply::simulate(1, a.values(), &a.metadata(), &b, &mut d).check();
/// let expected: f32 = (0..64).map(|k| dense[5 * 64 + k].to_f32() * b[k * 8 + 3].to_f32()).sum();
/// assert_eq!(d[5 * 8 + 3], expected);
/// # Ok::<(), CompressError>(())
/// ```
///
/// [`M16N8K8`]: crate::fragment::M16N8K8
/// [`M16N8K16`]: crate::fragment::M16N8K16
/// [`M16N8K32`]: crate::fragment::M16N8K32
/// [`M16N8K64`]: crate::fragment::M16N8K64
/// [`M16N8K128`]: crate::fragment::M16N8K128
///
/// [`tf32`]: crate::element::tf32
/// [`s4`]: crate::element::s4
/// [`u4`]: crate::element::u4
/// [`F8E4M3`]: crate::element::F8E4M3
///
/// [`F8E5M2`]: crate::element::F8E5M2
/// [`e3m2`]: crate::element::e3m2
/// [`e2m3`]: crate::element::e2m3
/// [`InByte<e2m1>`]: crate::element::InByte
///
/// [`SatFinite`]: crate::isa::SatFinite
/// [`F8F6F4`]: crate::isa::F8F6F4
pub struct MmaSparse<S, A, B, C, O = Plain, Order = Ordered, Target = BuildTarget>(
    PhantomData<(S, A, B, C, O, Order, Target)>,
);

impl<S, A, B, C, O, Order, Target> Sealed for MmaSparse<S, A, B, C, O, Order, Target> {}

/// The sparsity selector `WHICH`.
#[derive(Debug, Clone, Copy)]
pub struct Selector<const WHICH: u32>;

/// The sparsity selectors below `COUNT`.
#[derive(Debug, Clone, Copy)]
pub struct SelectorsBelow<const COUNT: u32>;

/// A sparsity selector that a form has.
#[diagnostic::on_unimplemented(
    message = "this form has no `{Self}`: it has {Selectors}",
    label = "the selector must be among the form's",
    note = "a register has the metadata of 16 chunks of each row, and the selector says which of \
            them: with 4 chunks a row there are selectors 0 to 3, with 8 there are 0 and 1, with \
            16 there is 0"
)]
pub trait Among<Selectors>: Sealed {}

macro_rules! selectors {
    ($($which:literal: $($count:literal)*;)*) => {$(
        impl Sealed for Selector<$which> {}
        $(impl Among<SelectorsBelow<$count>> for Selector<$which> {})*
    )*};
}
selectors! {
    0: 1 2 4;
    1: 2 4;
    2: 4;
    3: 4;
}

/// A form of `mma.sp` that exists: see the table at [`MmaSparse`].
#[diagnostic::on_unimplemented(
    message = "there is no form `{Self}`",
    note = "`MmaSparse<Shape, A, B, C>` exists for tf32 x tf32 into f32 (`M16N8K8`, `M16N8K16`), \
            f16 x f16 into f32 or f16 and bf16 x bf16 into f32 (`M16N8K16`, `M16N8K32`), i8 and u8 \
            into i32 (`M16N8K32`, `M16N8K64`), s4 and u4 into i32 (`M16N8K64`, `M16N8K128`), \
            F8E4M3 and F8E5M2 into f32 (`M16N8K64`)",
    note = "`MmaSparse<Shape, A, B, C, Option>` exists with `SatFinite` for integers, `F8F6F4` for \
            F8E4M3, F8E5M2, e3m2, e2m3 and InByte<e2m1> into f32 or f16 (`M16N8K64`, `Ordered`)"
)]
pub trait MmaSparseForm: Sealed {
    /// The A operand.
    type A;
    /// The B operand.
    type B;
    /// The accumulator: C and D.
    type C;
    /// The targets that have the form.
    type Needs: Requirement;
    /// The selectors, as [`SelectorsBelow`] their number.
    type Selectors;
    /// The number of selectors.
    const SELECTORS: u32;
    /// The PTX instruction.
    const PTX: &'static str;

    /// Computes `acc += a x b`.
    ///
    /// # Safety
    /// All lanes of the warp execute it, converged.
    #[doc(hidden)]
    unsafe fn issue<const SELECTOR: u32>(
        site: Site,
        acc: &mut Self::C,
        a: &Self::A,
        b: &Self::B,
        metadata: PerLane<u32>,
    );
}

/// Implements each form.
macro_rules! implementations {
    ([$order:ident] $($shape:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
        $registers:tt $selectors:literal $needs:ident $version:literal $nature:ident;)*) => {$($(
        crate::mma_sparse_named! {
            $order $q $shape $d $a $b $c => implementations (
                $order $q $shape $d $a $b $c $selectors $needs [crate::mma_element!($q $a)]
                    [crate::mma_element!($q $b)]
            )
        }
    )*)*};
    (@named $name:ident (
        $order:ident $q:ident $shape:ident $d:ident $a:ident $b:ident $c:ident $selectors:literal
            $needs:ident [$of_a:ty] [$of_b:ty]
    )) => {
        impl<Target> MmaSparseForm
            for MmaSparse<ptx::$shape, $of_a, $of_b, ptx::$c, ptx::$q, ptx::$order, Target>
        {
            type A = FragmentSparseA<ptx::$shape, $of_a>;
            type B = FragmentB<ptx::$shape, $of_b>;
            type C = Accumulator<ptx::$shape, ptx::$c>;
            type Needs = ptx::$needs;
            type Selectors = SelectorsBelow<$selectors>;
            const SELECTORS: u32 = $selectors;
            const PTX: &'static str = crate::mma_sparse_ptx!($order $q $shape $d $a $b $c);

            #[inline]
            unsafe fn issue<const SELECTOR: u32>(
                site: Site,
                acc: &mut Self::C,
                a: &Self::A,
                b: &Self::B,
                metadata: PerLane<u32>,
            ) {
                multiply_sparse! { $name SELECTOR Self::PTX,
                    [ptx::$shape, $of_a, $of_b, ptx::$c, ptx::$q, ptx::$order], site,
                    acc: Accumulator<ptx::$shape, ptx::$c>,
                    a: FragmentSparseA<ptx::$shape, $of_a>, b: FragmentB<ptx::$shape, $of_b>,
                    metadata }
            }
        }
    };
}

crate::mma_sparse_forms!(implementations any);
crate::mma_sparse_forms!(implementations ordered);
crate::mma_sparse_ordered_forms!(implementations ordered);

impl<S, A, B, C, O, Order, Target> MmaSparse<S, A, B, C, O, Order, Target>
where
    A: Element<Width: SparseWidth>,
    B: Element,
    C: Element,
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>,
    Self: MmaSparseForm<A = FragmentSparseA<S, A>, B = FragmentB<S, B>, C = Accumulator<S, C>>,
{
    /// Computes `acc += a x b`.
    ///
    /// `SELECTOR` selects the matrix in the metadata register: `a` has its columns from `SELECTOR *
    /// S::K` on.
    #[inline]
    #[track_caller]
    pub fn accumulate<const SELECTOR: u32>(
        _: Warp<'_>,
        acc: &mut Accumulator<S, C>,
        a: &FragmentSparseA<S, A>,
        b: &FragmentB<S, B>,
        metadata: &Metadata<A::Width>,
    ) where
        Target: Supports<<Self as MmaSparseForm>::Needs>,
        Selector<SELECTOR>: Among<<Self as MmaSparseForm>::Selectors>,
    {
        // SAFETY: at warp scope the lanes are converged.
        unsafe { Self::issue::<SELECTOR>(Site::here(), acc, a, b, metadata.words()) }
    }
}
