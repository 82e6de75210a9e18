//! `mma.sp` with block scaling (PTX ISA 9.7.14.3 and 9.7.14.6.3).

use crate::element::Element;
use crate::fragment::{
    Accumulator, FragmentB, FragmentShape, FragmentSparseA, RoleA, RoleB, RoleC, RoleSparseA,
    Shape, SparseWidth,
};
use crate::isa::ptx;
use crate::lane::{PerLane, Sealed, Site};
use crate::machine::mma::multiply_scaled;
use crate::mma::{Metadata, ScaleA, ScaleB, ScaledKind, Select, Selects};
use crate::scope::Warp;
use crate::target::{BuildTarget, Requirement, Supports};
use core::marker::PhantomData;

/// Multiplies block-scaled fragments with a structured sparse A: D = (A x scales) x (B x scales) +
/// C, for one warp.
///
/// PTX:
/// `mma.sp::ordered_metadata.sync.aligned.SHAPE.row.col.KIND.block_scale.VEC.f32.A.B.f32.SCALE`
/// (PTX ISA 9.7.14.3 and 9.7.14.6.3).
///
/// Half of each chunk of A is zero: two of four pairs of [`e2m1`](crate::element::e2m1), or two of
/// four elements of the other types.
///
/// | shape | A, B | kind | scales of a row of A, a column of B | needs |
/// | --- | --- | --- | --- | --- |
/// | [`M16N8K64`] | five types | [`Mxf8f6f4`] | one | sm_120a, 120f and the like |
/// | [`M16N8K128`] | [`e2m1`] | [`Mxf4`] | two | sm_120a, 121a |
/// | [`M16N8K128`] | [`e2m1`] | [`Mxf4Nvf4`] | two, or four | the same |
///
/// The five types, in any mix: [`F8E4M3`], [`F8E5M2`], [`e3m2`], [`e2m3`] and [`InByte<e2m1>`].
///
/// C and D are f32. The scales are those of [`MmaScaled`](crate::mma::MmaScaled). Each scale covers
/// K divided by the number of scales, in columns of the uncompressed A. A register of metadata
/// holds one matrix, so there is no selector.
///
/// The simulator computes the arithmetic that is published of sm_120 for a dense A. No comparison
/// with hardware exists (`docs/NUMERICS.md`).
///
/// ```
/// use ptx_matrix::element::ue8m0;
/// use ptx_matrix::fragment::{FragmentSparseA, Kept, M16N8K64, Mxf8f6f4, ScaleA, ScaleB};
/// use ptx_matrix::mma::{Metadata, MmaSparseScaled};
/// use ptx_matrix::prelude::*;
///
/// /// A has ones in its even columns, scaled by 4. B has ones in each fourth row, else zeros.
/// #[kernel(threads = 32, target = "sm_120a")]
/// fn scaled(block: &Block, d: GlobalMut<f32>) {
///     let warp = block.warp();
///     let one = F8E4M3::from_f32(1.0);
///     let a = FragmentSparseA::<M16N8K64, F8E4M3>::from_fn(warp, |_, _| one);
///     let even = Metadata::from_fn(warp, |_, _| Kept::parts(0, 2).unwrap());
///     let b = FragmentB::<M16N8K64, F8E4M3>::from_fn(warp, |k, _| {
///         if k % 4 == 2 { one } else { F8E4M3::from_f32(0.0) }
///     });
///     let scales_a = ScaleA::<Mxf8f6f4>::from_fn(warp, |_, _, _| ue8m0::from_bits(127 + 2));
///     let scales_b = ScaleB::<Mxf8f6f4>::from_fn(warp, |_, _, _| ue8m0::from_bits(127));
///     let mut acc = Accumulator::<M16N8K64, f32>::zero();
///     type Form = MmaSparseScaled<M16N8K64, F8E4M3, F8E4M3, Mxf8f6f4>;
///     Form::accumulate(warp, &mut acc, (&a, &even, &scales_a), (&b, &scales_b));
///     acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
/// }
///
/// let mut d = [0.0; 128];
/// scaled::simulate(1, &mut d).check();
/// assert_eq!(d, [64.0; 128]);
/// ```
///
/// [`M16N8K64`]: crate::fragment::M16N8K64
/// [`Mxf8f6f4`]: crate::fragment::Mxf8f6f4
/// [`M16N8K128`]: crate::fragment::M16N8K128
/// [`Mxf4`]: crate::fragment::Mxf4
/// [`Mxf4Nvf4`]: crate::fragment::Mxf4Nvf4
///
/// [`F8E4M3`]: crate::element::F8E4M3
/// [`F8E5M2`]: crate::element::F8E5M2
/// [`e3m2`]: crate::element::e3m2
/// [`e2m3`]: crate::element::e2m3
/// [`InByte<e2m1>`]: crate::element::InByte
/// [`e2m1`]: crate::element::e2m1
pub struct MmaSparseScaled<
    S,
    A,
    B,
    K,
    SelectA = Select<0, 0>,
    SelectB = Select<0, 0>,
    Target = BuildTarget,
>(PhantomData<(S, A, B, K, SelectA, SelectB, Target)>);

impl<S, A, B, K, SelectA, SelectB, Target> Sealed
    for MmaSparseScaled<S, A, B, K, SelectA, SelectB, Target>
{
}

/// A form of `mma.sp` with block scaling that exists: see the table at [`MmaSparseScaled`].
#[diagnostic::on_unimplemented(
    message = "there is no form `{Self}`",
    note = "`MmaSparseScaled<Shape, A, B, Kind>` exists for `Mxf8f6f4` with F8E4M3, F8E5M2, e3m2, \
            e2m3 and InByte<e2m1> (`M16N8K64`), `Mxf4`, `Mxf4Nvf4<2, ue8m0>`, `Mxf4Nvf4<4, ue8m0>` \
            and `Mxf4Nvf4<4, ue4m3>` with e2m1 (`M16N8K128`)"
)]
pub trait MmaSparseScaledForm: Sealed {
    /// The A operand.
    type A;
    /// The B operand.
    type B;
    /// The accumulator: C and D.
    type C;
    /// The targets that have the form.
    type Needs: Requirement;
    /// The PTX instruction.
    const PTX: &'static str;
}

/// Executes a form.
#[doc(hidden)]
pub trait IssueSparse<K, SelectA, SelectB>: MmaSparseScaledForm {
    /// # Safety
    /// All lanes of the warp execute it, converged.
    unsafe fn issue(
        site: Site,
        acc: &mut Self::C,
        a: (&Self::A, PerLane<u32>, &ScaleA<K>),
        b: (&Self::B, &ScaleB<K>),
    );
}

macro_rules! implementations {
    (
        $(
            $shape:ident $kind:ident $vec:literal $scale:ident [$(($a:ident $b:ident))*]
                $needs:ident $version:literal;
        )*
    ) => {$($(
        crate::mma_sparse_scaled_named! { $shape $kind $vec $scale $a $b => implementations (
            [$shape $kind $vec $scale $a $b]
            $needs [ptx::$shape] [crate::mma_element!($kind $a)] [crate::mma_element!($kind $b)]
            [crate::mma_kind!($kind $vec $scale)]
        ) }
    )*)*};
    (@named $name:ident ([$($ptx:tt)*] $needs:ident [$s:ty] [$a:ty] [$b:ty] [$kind:ty])) => {
        impl<SelectA, SelectB, Target> MmaSparseScaledForm
            for MmaSparseScaled<$s, $a, $b, $kind, SelectA, SelectB, Target>
        {
            type A = FragmentSparseA<$s, $a>;
            type B = FragmentB<$s, $b>;
            type C = Accumulator<$s, f32>;
            type Needs = ptx::$needs;
            const PTX: &'static str = crate::mma_sparse_scaled_ptx!($($ptx)*);
        }
        impl<const BYTE_A: u16, const THREAD_A: u16, const BYTE_B: u16, const THREAD_B: u16, Target>
            IssueSparse<$kind, Select<BYTE_A, THREAD_A>, Select<BYTE_B, THREAD_B>>
            for MmaSparseScaled<
                $s, $a, $b, $kind, Select<BYTE_A, THREAD_A>, Select<BYTE_B, THREAD_B>, Target
            >
        {
            #[inline]
            unsafe fn issue(
                site: Site,
                acc: &mut Self::C,
                (a, metadata, scales_a): (&Self::A, PerLane<u32>, &ScaleA<$kind>),
                (b, scales_b): (&Self::B, &ScaleB<$kind>),
            ) {
                multiply_scaled! { $name [BYTE_A THREAD_A BYTE_B THREAD_B] <Self as
                    MmaSparseScaledForm>::PTX, [$s, $a, $b, $kind], site,
                    acc: Accumulator<$s, f32>,
                    (a: FragmentSparseA<$s, $a>, metadata, scales_a: ScaleA<$kind>),
                    (b: FragmentB<$s, $b>, scales_b: ScaleB<$kind>) }
            }
        }
    };
}
crate::mma_sparse_scaled_forms!(implementations);

impl<S, A, B, K, SelectA, SelectB, Target> MmaSparseScaled<S, A, B, K, SelectA, SelectB, Target>
where
    A: Element<Width: SparseWidth>,
    B: Element,
    K: ScaledKind,
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, <f32 as Element>::Width>,
    Self: MmaSparseScaledForm<A = FragmentSparseA<S, A>, B = FragmentB<S, B>>
        + MmaSparseScaledForm<C = Accumulator<S, f32>>,
{
    /// Computes `acc += (a x its scales) x (b x its scales)`.
    #[inline]
    #[track_caller]
    pub fn accumulate(
        _: Warp<'_>,
        acc: &mut Accumulator<S, f32>,
        (a, metadata, scales_a): (&FragmentSparseA<S, A>, &Metadata<A::Width>, &ScaleA<K>),
        (b, scales_b): (&FragmentB<S, B>, &ScaleB<K>),
    ) where
        SelectA: Selects<RoleA, K::Scales>,
        SelectB: Selects<RoleB, K::Scales>,
        Self: IssueSparse<K, SelectA, SelectB>,
        Target: Supports<<Self as MmaSparseScaledForm>::Needs>,
    {
        // SAFETY: at warp scope the lanes are converged.
        unsafe { Self::issue(Site::here(), acc, (a, metadata.words(), scales_a), (b, scales_b)) }
    }
}
