//! `mma.sync` with block scaling: blocks of A and B along K share a scale (PTX ISA 9.7.14.3).

use crate::element::Element;
use crate::fragment::{
    Accumulator, FragmentA, FragmentB, FragmentShape, Role, RoleA, RoleB, RoleC, ScaleA, ScaleB,
    ScaledKind, Scales, Selected, Shape,
};
use crate::isa::ptx;
use crate::lane::{LaneCapture, Sealed, Site, mapped};
use crate::machine::mma::multiply_scaled;
use crate::scope::Warp;
use crate::target::{BuildTarget, Requirement, Supports};
use core::marker::PhantomData;

/// Multiplies block-scaled fragments: D = (A x scales) x (B x scales) + C, for one warp.
///
/// PTX: `mma.sync.aligned.SHAPE.row.col.KIND.block_scale.SCALE_VEC.f32.A.B.f32.SCALE` (PTX ISA
/// 9.7.14.3). Needs sm_120a, sm_120f or the like.
///
/// | shape | A, B | kind | scales of a row of A, a column of B | scale type |
/// | --- | --- | --- | --- | --- |
/// | [`M16N8K32`] | five types | [`Mxf8f6f4`] | one | [`ue8m0`] |
/// | [`M16N8K64`] | [`e2m1`] | [`Mxf4`] | two | [`ue8m0`] |
/// | [`M16N8K64`] | [`e2m1`] | [`Mxf4Nvf4`] | two, or four | [`ue8m0`]; if four, also [`ue4m3`] |
///
/// The five types, in any mix: [`F8E4M3`], [`F8E5M2`], [`e3m2`], [`e2m3`] and [`InByte<e2m1>`].
///
/// C and D are f32. A register of scales holds several sets. [`Select`] chooses one.
///
/// The simulator computes the published arithmetic of sm_120. No comparison with hardware exists
/// (`docs/NUMERICS.md`).
///
/// ```
/// use ptx_matrix::element::{e2m1, ue8m0};
/// use ptx_matrix::fragment::{M16N8K64, Mxf4, ScaleA, ScaleB};
/// use ptx_matrix::mma::MmaScaled;
/// use ptx_matrix::prelude::*;
///
/// /// Ones. A is scaled by 4, and column `c` of B by 2^(c / 2).
/// #[kernel(threads = 32, target = "sm_120a")]
/// fn scaled(block: &Block, d: GlobalMut<f32>) {
///     let warp = block.warp();
///     let a = FragmentA::<M16N8K64, e2m1>::from_fn(warp, |_, _| e2m1::ONE);
///     let b = FragmentB::<M16N8K64, e2m1>::from_fn(warp, |_, _| e2m1::ONE);
///     let scales_a = ScaleA::<Mxf4>::from_fn(warp, |_, _, _| ue8m0::from_bits(127 + 2));
///     let scales_b =
///         ScaleB::<Mxf4>::from_fn(warp, |_, col, _| ue8m0::from_bits(127 + col as u8 / 2));
///     let mut acc = Accumulator::<M16N8K64, f32>::zero();
///     MmaScaled::<M16N8K64, e2m1, e2m1, Mxf4>::accumulate(
///         warp,
///         &mut acc,
///         (&a, &scales_a),
///         (&b, &scales_b),
///     );
///     acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
/// }
///
/// let mut d = [0.0; 128];
/// scaled::simulate(1, &mut d).unwrap();
/// assert_eq!(d[..8], [256.0, 256.0, 512.0, 512.0, 1024.0, 1024.0, 2048.0, 2048.0]);
/// ```
///
/// [`M16N8K32`]: crate::fragment::M16N8K32
/// [`Mxf8f6f4`]: crate::fragment::Mxf8f6f4
/// [`M16N8K64`]: crate::fragment::M16N8K64
/// [`Mxf4`]: crate::fragment::Mxf4
/// [`Mxf4Nvf4`]: crate::fragment::Mxf4Nvf4
///
/// [`F8E4M3`]: crate::element::F8E4M3
/// [`F8E5M2`]: crate::element::F8E5M2
/// [`e3m2`]: crate::element::e3m2
/// [`e2m3`]: crate::element::e2m3
///
/// [`InByte<e2m1>`]: crate::element::InByte
/// [`ue8m0`]: crate::element::ue8m0
/// [`e2m1`]: crate::element::e2m1
/// [`ue4m3`]: crate::element::ue4m3
pub struct MmaScaled<
    S,
    A,
    B,
    K,
    SelectA = Select<0, 0>,
    SelectB = Select<0, 0>,
    Target = BuildTarget,
>(PhantomData<(S, A, B, K, SelectA, SelectB, Target)>);

impl<S, A, B, K, SelectA, SelectB, Target> Sealed
    for MmaScaled<S, A, B, K, SelectA, SelectB, Target>
{
}

/// Selects a set of scales in a register: the bytes from `BYTE` on, in the lanes `THREAD` of each
/// four.
///
/// These are the PTX operands `byte-id` and `thread-id`.
///
/// | scales | `BYTE` | `THREAD` for A | `THREAD` for B |
/// | --- | --- | --- | --- |
/// | one | 0 to 3 | 0, 1: lanes 0 and 1, or 2 and 3 | 0 to 3: lane 0, 1, 2 or 3 |
/// | two | 0 or 2 | the same | the same |
/// | four | 0 | the same | the same |
#[derive(Debug, Clone, Copy)]
pub struct Select<const BYTE: u16, const THREAD: u16>;

/// A [`Select`] that exists for the scales `N` (an array type) of role `R`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` selects no scales of type `{N}` of `{R}`",
    note = "`Select<BYTE, THREAD>`: `BYTE` is 0 to 3 if there is one scale, 0 or 2 if there are \
            two, 0 if there are four; `THREAD` is 0 or 1 for A, 0 to 3 for B"
)]
pub trait Selects<R, N>: Sealed {
    /// The selection as a value.
    const SELECTED: Selected;
}

impl<const BYTE: u16, const THREAD: u16> Sealed for Select<BYTE, THREAD> {}

macro_rules! selects {
    ($($role:ident $scales:literal [$($byte:literal)*] $threads:tt;)*) => {$($(
        selects! { @threads $role $scales $byte $threads }
    )*)*};
    (@threads $role:ident $scales:literal $byte:literal [$($thread:literal)*]) => {$(
        impl<T> Selects<$role, [T; $scales]> for Select<$byte, $thread> {
            const SELECTED: Selected = Selected { byte: $byte, thread: $thread };
        }
    )*};
}
selects! {
    RoleA 1 [0 1 2 3] [0 1];
    RoleA 2 [0 2] [0 1];
    RoleA 4 [0] [0 1];
    RoleB 1 [0 1 2 3] [0 1 2 3];
    RoleB 2 [0 2] [0 1 2 3];
    RoleB 4 [0] [0 1 2 3];
}

impl<R: Role, K: ScaledKind> Scales<R, K> {
    /// Makes the scales `scale(set, line, block)`.
    ///
    /// `set` is one that a [`Select`] can select. `line` is a row of A or a column of B. `block`
    /// counts the blocks along K.
    #[inline]
    #[track_caller]
    pub fn from_fn(
        warp: Warp<'_>,
        scale: impl Fn(Selected, usize, usize) -> K::Scale + LaneCapture,
    ) -> Self {
        Self::from_registers(warp.each(|lane| {
            <K::Scale as Element>::pack(mapped([0, 1, 2, 3], |byte| {
                let (selected, line, block) = Self::position(lane.id(), byte);
                scale(selected, line, block)
            }))
        }))
    }
}

/// A form of `mma` with block scaling that exists: see the table at [`MmaScaled`].
#[diagnostic::on_unimplemented(
    message = "there is no form `{Self}`",
    note = "`MmaScaled<Shape, A, B, Kind>` exists for `Mxf8f6f4` with F8E4M3, F8E5M2, e3m2, e2m3 \
            and InByte<e2m1> (`M16N8K32`), `Mxf4`, `Mxf4Nvf4<2, ue8m0>`, `Mxf4Nvf4<4, ue8m0>` and \
            `Mxf4Nvf4<4, ue4m3>` with e2m1 (`M16N8K64`)"
)]
pub trait MmaScaledForm: Sealed {
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
pub trait Issue<K, SelectA, SelectB>: MmaScaledForm {
    /// # Safety
    /// All lanes of the warp execute it, converged.
    unsafe fn issue(
        site: Site,
        acc: &mut Self::C,
        a: &Self::A,
        scales_a: &ScaleA<K>,
        b: &Self::B,
        scales_b: &ScaleB<K>,
    );
}

macro_rules! implementations {
    (
        $(
            $shape:ident $kind:ident $vec:literal $scale:ident [$(($a:ident $b:ident))*]
                $needs:ident $version:literal;
        )*
    ) => {$($(
        crate::mma_scaled_named! { $shape $kind $vec $scale $a $b => implementations (
            [$shape $kind $vec $scale $a $b] $needs [ptx::$shape] [crate::mma_element!($kind $a)]
            [crate::mma_element!($kind $b)] [crate::mma_kind!($kind $vec $scale)]
        ) }
    )*)*};
    (@named $name:ident ($ptx:tt $needs:ident [$s:ty] [$a:ty] [$b:ty] [$kind:ty])) => {
        impl<SelectA, SelectB, Target> MmaScaledForm
            for MmaScaled<$s, $a, $b, $kind, SelectA, SelectB, Target>
        {
            type A = FragmentA<$s, $a>;
            type B = FragmentB<$s, $b>;
            type C = Accumulator<$s, f32>;
            type Needs = ptx::$needs;
            const PTX: &'static str = implementations!(@ptx $ptx);
        }
        impl<const BYTE_A: u16, const THREAD_A: u16, const BYTE_B: u16, const THREAD_B: u16, Target>
            Issue<$kind, Select<BYTE_A, THREAD_A>, Select<BYTE_B, THREAD_B>>
            for MmaScaled<
                $s, $a, $b, $kind, Select<BYTE_A, THREAD_A>, Select<BYTE_B, THREAD_B>, Target
            >
        {
            #[inline]
            unsafe fn issue(
                site: Site,
                acc: &mut Self::C,
                a: &Self::A,
                scales_a: &ScaleA<$kind>,
                b: &Self::B,
                scales_b: &ScaleB<$kind>,
            ) {
                multiply_scaled! { $name [BYTE_A THREAD_A BYTE_B THREAD_B] <Self as
                    MmaScaledForm>::PTX, [$s, $a, $b, $kind], site, acc: Accumulator<$s, f32>,
                    (a: FragmentA<$s, $a>, scales_a: ScaleA<$kind>),
                    (b: FragmentB<$s, $b>, scales_b: ScaleB<$kind>) }
            }
        }
    };
    (@ptx [$($ptx:tt)*]) => { crate::mma_scaled_ptx!($($ptx)*) };
}
crate::mma_scaled_forms!(implementations);

impl<S, A, B, K, SelectA, SelectB, Target> MmaScaled<S, A, B, K, SelectA, SelectB, Target>
where
    A: Element,
    B: Element,
    K: ScaledKind,
    S: Shape
        + FragmentShape<RoleA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, <f32 as Element>::Width>,
    Self: MmaScaledForm<A = FragmentA<S, A>, B = FragmentB<S, B>, C = Accumulator<S, f32>>,
{
    /// Computes `acc += (a x its scales) x (b x its scales)`.
    #[inline]
    #[track_caller]
    pub fn accumulate(
        _: Warp<'_>,
        acc: &mut Accumulator<S, f32>,
        (a, scales_a): (&FragmentA<S, A>, &ScaleA<K>),
        (b, scales_b): (&FragmentB<S, B>, &ScaleB<K>),
    ) where
        SelectA: Selects<RoleA, K::Scales>,
        SelectB: Selects<RoleB, K::Scales>,
        Self: Issue<K, SelectA, SelectB>,
        Target: Supports<<Self as MmaScaledForm>::Needs>,
    {
        // SAFETY: at warp scope the lanes are converged.
        unsafe { Self::issue(Site::here(), acc, a, scales_a, b, scales_b) }
    }
}
