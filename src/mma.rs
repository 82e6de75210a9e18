//! `mma.sync`: the product of two fragments, added to a third (PTX ISA 9.7.14.5.14).

use crate::forms::{mma_forms, ptx};
use crate::fragment::{FragmentShape, RoleA, RoleB, RoleC, Shape};
use crate::sealed::Sealed;
use crate::site::Site;
use crate::target::{AtLeast, BuildTarget, Supports};
use crate::{Accumulator, Element, FragmentA, FragmentB, Warp};
use core::marker::PhantomData;

/// `mma.sync.aligned.SHAPE.row.col.C.A.B.C`: D = A x B + C, for a warp.
///
/// | shape | A, B | C, D | needs |
/// | --- | --- | --- | --- |
/// | [`M16N8K8`](crate::M16N8K8), [`M16N8K16`](crate::M16N8K16) | f16 | f32, f16 | sm_75, sm_80 |
/// | [`M16N8K8`](crate::M16N8K8), [`M16N8K16`](crate::M16N8K16) | bf16 | f32 | sm_80 |
/// | [`M16N8K4`](crate::M16N8K4), [`M16N8K8`](crate::M16N8K8) | [`tf32`](crate::tf32) | f32 | sm_80 |
/// | [`M16N8K16`](crate::M16N8K16), [`M16N8K32`](crate::M16N8K32) | [`F8E4M3`](crate::F8E4M3) or [`F8E5M2`](crate::F8E5M2), each | f32, f16 | sm_89 |
/// | [`M8N8K4`](crate::M8N8K4) | f64 | f64 | sm_80 |
/// | [`M16N8K4`](crate::M16N8K4), [`M16N8K8`](crate::M16N8K8), [`M16N8K16`](crate::M16N8K16) | f64 | f64 | sm_90 |
/// | [`M8N8K16`](crate::M8N8K16) | i8 or u8, each | i32 | sm_75 |
/// | [`M16N8K16`](crate::M16N8K16), [`M16N8K32`](crate::M16N8K32) | i8 or u8, each | i32 | sm_80 |
///
/// Integers wrap around; f64 is a chain of fused multiply-adds. In the other formats products are exact, and each element of D
/// is one sum over all of K and C, rounded once, as the tensor cores do it (on sm_90, which has no fp8 in this instruction,
/// it is two such sums and an addition). A tf32 register's low 13 bits count for nothing. The simulator returns the same bits
/// as an H200: see `docs/NUMERICS.md`.
///
/// ```
/// use half::bf16;
/// use ptx_matrix::*;
///
/// #[kernel(threads = 32)]
/// fn outer(block: &Block, d: GlobalMut<f32>) {
///     let warp = block.warp();
///     let a = FragmentA::<M16N8K16, bf16>::from_fn(warp, |row, k| bf16::from_f32(if k == 0 { row as f32 } else { 0.0 }));
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
pub struct Mma<S, A, B, C, Target = BuildTarget>(PhantomData<(S, A, B, C, Target)>);

/// Plain.
pub struct Plain;
/// Sat.
pub struct SatFinite;

/// A form of `mma` that exists: see the table at [`Mma`].
#[diagnostic::on_unimplemented(
    message = "there is no form `{Self}`",
    note = "`Mma<Shape, A, B, C>` exists for f16 x f16 into f32 or f16 and bf16 x bf16 into f32 (`M16N8K8`, `M16N8K16`), tf32 x tf32 into f32 (`M16N8K4`, `M16N8K8`), F8E4M3 and F8E5M2 into f32 or f16 (`M16N8K16`, `M16N8K32`), f64 (`M8N8K4`, `M16N8K4`, `M16N8K8`, `M16N8K16`), i8 and u8 into i32 (`M8N8K16`, `M16N8K16`, `M16N8K32`)"
)]
pub trait MmaForm: Sealed {
    /// The left factor.
    type A;
    /// The right factor.
    type B;
    /// What is added to.
    type C;
    /// What the GPU must be.
    type Needs;
    /// The instruction, as in PTX.
    const PTX: &'static str;

    /// `acc += a x b`.
    ///
    /// # Safety
    /// All lanes of the warp execute it, converged.
    #[doc(hidden)]
    unsafe fn issue(site: Site, acc: &mut Self::C, a: &Self::A, b: &Self::B);
}

/// The implementation of each form.
macro_rules! implementations {
    ($($shape:ident $d:ident $a:ident $b:ident $c:ident $width:ident $registers:tt $sm:literal;)*) => {$(
        impl<Target> Sealed for Mma<ptx::$shape, ptx::$a, ptx::$b, ptx::$c, Target> {}
        impl<Target> MmaForm for Mma<ptx::$shape, ptx::$a, ptx::$b, ptx::$c, Target> {
            type A = FragmentA<ptx::$shape, ptx::$a>;
            type B = FragmentB<ptx::$shape, ptx::$b>;
            type C = Accumulator<ptx::$shape, ptx::$c>;
            type Needs = AtLeast<$sm>;
            const PTX: &'static str = concat!(
                "mma.sync.aligned.", stringify!($shape), ".row.col.",
                stringify!($d), ".", stringify!($a), ".", stringify!($b), ".", stringify!($c)
            );

            #[inline(always)]
            unsafe fn issue(site: Site, acc: &mut Self::C, a: &Self::A, b: &Self::B) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's.
                unsafe {
                    let _ = site;
                    let d = crate::raw::${concat(mma_sync_aligned_, $shape, _row_col_, $d, _, $a, _, $b, _, $c)}(
                        a.registers().own(),
                        b.registers().own(),
                        acc.registers().own(),
                    );
                    *acc = Accumulator::from_registers(crate::PerLane::from_own(d));
                }
                #[cfg(not(target_arch = "nvptx64"))]
                crate::sim::multiply(site, Self::PTX, acc, a, b);
            }
        }
    )*};
}

mma_forms!(implementations);

macro_rules! names {
    ($($shape:ident $d:ident $a:ident $b:ident $c:ident $width:ident $registers:tt $sm:literal;)*) => {
        /// All forms, as in PTX.
        #[doc(hidden)]
        pub const MMA_FORMS: &[&str] = &[$(<Mma<ptx::$shape, ptx::$a, ptx::$b, ptx::$c> as MmaForm>::PTX),*];
    };
}

mma_forms!(names);

impl<S, A, B, C, Target> Mma<S, A, B, C, Target>
where
    A: Element,
    B: Element,
    C: Element,
    S: Shape + FragmentShape<RoleA, A::Width> + FragmentShape<RoleB, B::Width> + FragmentShape<RoleC, C::Width>,
    Self: MmaForm<A = FragmentA<S, A>, B = FragmentB<S, B>, C = Accumulator<S, C>>,
{
    /// `acc += a x b`.
    #[inline(always)]
    #[track_caller]
    pub fn accumulate(_: Warp<'_>, acc: &mut Accumulator<S, C>, a: &FragmentA<S, A>, b: &FragmentB<S, B>)
    where
        Target: Supports<<Self as MmaForm>::Needs>,
    {
        // SAFETY: warp scope is converged.
        unsafe { Self::issue(Site::here(), acc, a, b) }
    }
}
