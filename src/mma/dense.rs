//! `mma.sync`: D = A x B + C, for one warp (PTX ISA 9.7.14.5.14).

use crate::element::Element;
use crate::fragment::{
    Accumulator, FragmentA, FragmentB, FragmentShape, M16N8K8, M16N8K8Pairs, RoleA, RoleB, RoleC,
    Shape,
};
use crate::isa::{Plain, ptx};
use crate::lane::{Sealed, Site};
use crate::machine::mma::multiply;
use crate::scope::Warp;
use crate::target::{BuildTarget, Requirement, Supports};
use core::marker::PhantomData;

/// Multiplies two fragments and adds a third: D = A x B + C, for one warp.
///
/// PTX: `mma.sync.aligned.SHAPE.row.col{.OPTION}.D.A.B.C{.OPTION}` (PTX ISA 9.7.14.5.14).
///
/// | shape | A, B | C, D | option | needs |
/// | --- | --- | --- | --- | --- |
/// | [`M16N8K8`], [`M16N8K16`] | f16 | f32, f16 | | sm_75, sm_80 |
/// | [`M16N8K8`], [`M16N8K16`] | bf16 | f32 | | sm_80 |
/// | [`M16N8K4`], [`M16N8K8`] | [`tf32`] | f32 | | sm_80 |
/// | [`M8N8K4Quad`] | f16 | f32, f16; C f16 and D f32 with [`Widen`] | | sm_75 |
/// | [`M16N8K16`], [`M16N8K32`] | [`F8E4M3`], [`F8E5M2`] | f32, f16 | | sm_89 |
/// | [`M16N8K32`] | `F8E4M3`, `F8E5M2` | f32, f16 | [`F8F6F4`] | sm_100a, 100f and the like |
/// | [`M16N8K32`] | these, and three more | f32, f16 | the same | sm_120a, 120f and the like |
/// | [`M8N8K4`] | f64 | f64 | [`Rn`], [`Rz`], [`Rm`], [`Rp`] | sm_80 |
/// | [`M16N8K4`], [`M16N8K8`], [`M16N8K16`] | f64 | f64 | the same | sm_90 |
/// | [`M16N8K8Pairs`]: `M16N8K8` in another order | f64 | f64 | the same | sm_90 |
/// | [`M8N8K16`] | i8, u8 | i32 | [`SatFinite`] | sm_75 |
/// | [`M16N8K16`], [`M16N8K32`] | i8, u8 | i32 | [`SatFinite`] | sm_80 |
/// | [`M8N8K32`] | [`s4`], [`u4`] | i32 | [`SatFinite`] | sm_75 |
/// | [`M16N8K32`], [`M16N8K64`] | `s4`, `u4` | i32 | [`SatFinite`] | sm_80 |
/// | [`M8N8K128`] | [`b1`] | i32 | [`XorPopc`], or [`AndPopc`] | sm_75, sm_80 |
/// | [`M16N8K128`], [`M16N8K256`] | `b1` | i32 | [`XorPopc`], or [`AndPopc`] | sm_80 |
///
/// The three more types are [`e3m2`], [`e2m3`] and [`InByte<e2m1>`].
///
/// Where a row names several element types, A and B may have different ones. The option is a type
/// parameter. Its default is [`Plain`], a form without an option. The rows of `F8F6F4`, `XorPopc`
/// and `AndPopc` need theirs.
///
/// How each format rounds:
///
/// - Integers wrap around.
/// - f64 is a chain of fused multiply-adds.
/// - In all other formats the products are exact. The tensor cores add all of K and C in one sum,
///   rounded once.
/// - sm_90 has no fp8 in this instruction. It computes two such sums and an addition instead.
/// - sm_90 has no tensor core for `M8N8K4Quad`. It computes additions of f32 instead.
/// - The low 13 bits of a tf32 register are ignored.
///
/// The simulator returns the bits of an H200. For forms that an H200 does not have, it computes the
/// published arithmetic: see `docs/NUMERICS.md`.
///
/// ```
/// use half::bf16;
/// use ptx_matrix::prelude::*;
///
/// #[kernel(threads = 32)]
/// fn outer(block: &Block, d: GlobalMut<f32>) {
///     let warp = block.warp();
///     let a = FragmentA::<M16N8K16, bf16>::from_fn(warp, |row, k| {
///         bf16::from_f32(if k == 0 { row as f32 } else { 0.0 })
///     });
///     let b = FragmentB::<M16N8K16, bf16>::from_fn(warp, |_, col| bf16::from_f32(col as f32));
///     let mut acc = Accumulator::<M16N8K16, f32>::zero();
///     Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &a, &b);
///     acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
/// }
///
/// let mut d = [0.0; 16 * 8];
/// outer::simulate(1, &mut d).unwrap();
/// assert_eq!(d[7 * 8 + 5], 35.0);
/// ```
///
/// [`M16N8K8`]: crate::fragment::M16N8K8
/// [`M16N8K16`]: crate::fragment::M16N8K16
/// [`M16N8K4`]: crate::fragment::M16N8K4
/// [`M8N8K4Quad`]: crate::fragment::M8N8K4Quad
/// [`M16N8K32`]: crate::fragment::M16N8K32
///
/// [`M8N8K4`]: crate::fragment::M8N8K4
/// [`M16N8K8Pairs`]: crate::fragment::M16N8K8Pairs
/// [`M8N8K16`]: crate::fragment::M8N8K16
/// [`M8N8K32`]: crate::fragment::M8N8K32
/// [`M16N8K64`]: crate::fragment::M16N8K64
///
/// [`M8N8K128`]: crate::fragment::M8N8K128
/// [`M16N8K128`]: crate::fragment::M16N8K128
/// [`M16N8K256`]: crate::fragment::M16N8K256
///
/// [`tf32`]: crate::element::tf32
/// [`F8E4M3`]: crate::element::F8E4M3
/// [`F8E5M2`]: crate::element::F8E5M2
/// [`e3m2`]: crate::element::e3m2
/// [`e2m3`]: crate::element::e2m3
///
/// [`InByte<e2m1>`]: crate::element::InByte
/// [`s4`]: crate::element::s4
/// [`u4`]: crate::element::u4
/// [`b1`]: crate::element::b1
///
/// [`Widen`]: crate::isa::Widen
/// [`F8F6F4`]: crate::isa::F8F6F4
/// [`Rn`]: crate::isa::Rn
/// [`Rz`]: crate::isa::Rz
/// [`Rm`]: crate::isa::Rm
///
/// [`Rp`]: crate::isa::Rp
/// [`SatFinite`]: crate::isa::SatFinite
/// [`XorPopc`]: crate::isa::XorPopc
/// [`AndPopc`]: crate::isa::AndPopc
pub struct Mma<S, A, B, C, O = Plain, Target = BuildTarget>(PhantomData<(S, A, B, C, O, Target)>);

impl<S, A, B, C, O, Target> Sealed for Mma<S, A, B, C, O, Target> {}

/// A form of `mma` that exists: see the table at [`Mma`].
///
/// A function that is generic over the elements has the form as a bound, with its fragments:
///
/// ```
/// use ptx_matrix::element::Bits16;
/// use ptx_matrix::mma::MmaForm;
/// use ptx_matrix::prelude::*;
/// use ptx_matrix::target::AtLeast;
///
/// #[kernel(threads = 32, target = "sm_80", instances(product_f16 = <f16>, product_bf16 = <bf16>))]
/// fn product<T: Element<Width = Bits16>>(
///     block: &Block,
///     a: Global<T>,
///     b: Global<T>,
///     d: GlobalMut<f32>,
/// ) where
///     Mma<M16N8K16, T, T, f32>: MmaForm<
///             A = FragmentA<M16N8K16, T>,
///             B = FragmentB<M16N8K16, T>,
///             C = Accumulator<M16N8K16, f32>,
///             D = Accumulator<M16N8K16, f32>,
///             Needs = AtLeast<80>,
///         >,
/// {
///     let warp = block.warp();
///     let a = FragmentA::<M16N8K16, T>::from_fn(warp, |row, k| a.get(row * 16 + k));
///     let b = FragmentB::<M16N8K16, T>::from_fn(warp, |k, col| b.get(k * 8 + col));
///     let mut acc = Accumulator::zero();
///     Mma::<M16N8K16, T, T, f32>::accumulate(warp, &mut acc, &a, &b);
///     acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
/// }
///
/// let mut d = [0.0; 128];
/// product_bf16::simulate(1, &[bf16::ONE; 256], &[bf16::ONE; 128], &mut d).check();
/// assert_eq!(d, [16.0; 128]);
/// ```
#[diagnostic::on_unimplemented(
    message = "there is no form `{Self}`",
    note = "`Mma<Shape, A, B, C>` exists for f16 x f16 into f32 or f16 and bf16 x bf16 into f32 \
            (`M16N8K8`, `M16N8K16`), f16 into f32 or f16 (`M8N8K4Quad`), tf32 x tf32 into f32 \
            (`M16N8K4`, `M16N8K8`), F8E4M3 and F8E5M2 into f32 or f16 (`M16N8K16`, `M16N8K32`), \
            f64 (`M8N8K4`, `M16N8K4`, `M16N8K8`, `M16N8K16`), i8 and u8 into i32 (`M8N8K16`, \
            `M16N8K16`, `M16N8K32`), s4 and u4 into i32 (`M8N8K32`, `M16N8K32`, `M16N8K64`)",
    note = "`Mma<Shape, A, B, C, Option>` exists with `SatFinite` for integers, `Rn`, `Rz`, `Rm`, \
            `Rp` for f64, `F8F6F4` for F8E4M3, F8E5M2, e3m2, e2m3 and InByte<e2m1> into f32 or f16 \
            (`M16N8K32`), `XorPopc` and `AndPopc` for b1 (`M8N8K128`, `M16N8K128`, `M16N8K256`), \
            `Widen` for `M8N8K4Quad` with C of f16"
)]
pub trait MmaForm: Sealed {
    /// The A operand.
    type A;
    /// The B operand.
    type B;
    /// The C operand.
    type C;
    /// The result.
    type D;
    /// The targets that have the form.
    type Needs: Requirement;
    /// The PTX instruction.
    const PTX: &'static str;

    /// Computes `a x b + c`.
    ///
    /// # Safety
    /// All lanes of the warp execute it, converged.
    #[doc(hidden)]
    unsafe fn issue(site: Site, a: &Self::A, b: &Self::B, c: &Self::C) -> Self::D;
}

/// Implements each form.
macro_rules! implementations {
    ($($shape:ident $la:ident $lb:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
        $width:ident $registers:tt $needs:ident $version:literal $nature:ident;)*) => {$($(
        crate::mma_named! {
            $q $shape $la $lb $d $a $b $c => implementations (
                [$q $shape $la $lb $d $a $b $c] $needs [crate::mma_shape!($shape $la $lb $a)]
                [crate::mma_element!($q $a)] [crate::mma_element!($q $b)]
            )
        }
    )*)*};
    (@named $name:ident (
        [$q:ident $shape:ident $la:ident $lb:ident $d:ident $a:ident $b:ident $c:ident]
        $needs:ident [$s:ty] [$of_a:ty] [$of_b:ty]
    )) => {
        impl<Target> MmaForm for Mma<$s, $of_a, $of_b, ptx::$c, ptx::$q, Target> {
            type A = FragmentA<$s, $of_a>;
            type B = FragmentB<$s, $of_b>;
            type C = Accumulator<$s, ptx::$c>;
            type D = Accumulator<$s, ptx::$d>;
            type Needs = ptx::$needs;
            const PTX: &'static str = crate::mma_ptx!($q $shape $la $lb $d $a $b $c);

            #[inline]
            unsafe fn issue(site: Site, a: &Self::A, b: &Self::B, c: &Self::C) -> Self::D {
                multiply! { $name Self::PTX,
                    [$s, $of_a, $of_b, ptx::$c, ptx::$d,
                        crate::isa::mma_arithmetic!($shape $a $q)], site,
                    (a: FragmentA<$s, $of_a>, b: FragmentB<$s, $of_b>, c: Accumulator<$s, ptx::$c>)
                    -> Accumulator<$s, ptx::$d> }
            }
        }
    };
}

crate::mma_forms!(implementations);

/// The instruction of [`M16N8K8`]. Its registers hold the elements in another order.
impl<O, Target> MmaForm for Mma<M16N8K8Pairs, f64, f64, f64, O, Target>
where
    Mma<M16N8K8, f64, f64, f64, O, Target>: MmaForm<
            A = FragmentA<M16N8K8, f64>,
            B = FragmentB<M16N8K8, f64>,
            C = Accumulator<M16N8K8, f64>,
            D = Accumulator<M16N8K8, f64>,
        >,
{
    type A = FragmentA<M16N8K8Pairs, f64>;
    type B = FragmentB<M16N8K8Pairs, f64>;
    type C = Accumulator<M16N8K8Pairs, f64>;
    type D = Accumulator<M16N8K8Pairs, f64>;
    type Needs = <Mma<M16N8K8, f64, f64, f64, O, Target> as MmaForm>::Needs;
    const PTX: &'static str = <Mma<M16N8K8, f64, f64, f64, O, Target> as MmaForm>::PTX;

    #[inline]
    unsafe fn issue(site: Site, a: &Self::A, b: &Self::B, c: &Self::C) -> Self::D {
        let a = FragmentA::from_registers(a.registers());
        let b = FragmentB::from_registers(b.registers());
        let c = Accumulator::from_registers(c.registers());
        // SAFETY: the caller upholds the same contract.
        let d = unsafe { Mma::<M16N8K8, f64, f64, f64, O, Target>::issue(site, &a, &b, &c) };
        Accumulator::from_registers(d.registers())
    }
}

impl<S, A, B, C, O, Target> Mma<S, A, B, C, O, Target>
where
    A: Element,
    B: Element,
    C: Element,
    S: Shape
        + FragmentShape<RoleA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>,
    Self: MmaForm<A = FragmentA<S, A>, B = FragmentB<S, B>, C = Accumulator<S, C>>,
{
    /// Computes `acc += a x b`.
    #[inline]
    #[track_caller]
    pub fn accumulate(
        _: Warp<'_>,
        acc: &mut Accumulator<S, C>,
        a: &FragmentA<S, A>,
        b: &FragmentB<S, B>,
    ) where
        Self: MmaForm<D = Accumulator<S, C>>,
        Target: Supports<<Self as MmaForm>::Needs>,
    {
        // SAFETY: at warp scope the lanes are converged.
        *acc = unsafe { Self::issue(Site::here(), a, b, acc) }
    }

    /// Computes `a x b + c`, also for forms whose D has another type than C.
    #[inline]
    #[track_caller]
    pub fn multiply(
        _: Warp<'_>,
        a: &FragmentA<S, A>,
        b: &FragmentB<S, B>,
        c: &Accumulator<S, C>,
    ) -> <Self as MmaForm>::D
    where
        Target: Supports<<Self as MmaForm>::Needs>,
    {
        // SAFETY: at warp scope the lanes are converged.
        unsafe { Self::issue(Site::here(), a, b, c) }
    }
}
