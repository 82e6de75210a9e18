//! `mma.sync`: the product of two fragments, added to a third (PTX ISA 9.7.14.5.14).

use crate::fragment::{FragmentShape, RoleA, RoleB, RoleC, Shape};
use crate::sealed::Sealed;
use crate::site::Site;
use crate::target::{AtLeast, BuildTarget, Supports};
use crate::{Accumulator, Element, FragmentA, FragmentB, M16N8K8, M16N8K16, Warp};
use core::marker::PhantomData;
use half::{bf16, f16};

/// `mma.sync.aligned.SHAPE.row.col.C.A.B.C`: D = A x B + C, for a warp.
///
/// | shape | A, B | C, D | needs |
/// | --- | --- | --- | --- |
/// | [`M16N8K8`] | f16 | f32, f16 | sm_75 |
/// | [`M16N8K8`] | bf16 | f32 | sm_80 |
/// | [`M16N8K16`] | f16 | f32, f16 | sm_80 |
/// | [`M16N8K16`] | bf16 | f32 | sm_80 |
///
/// Products are exact; each element of D is one sum over all of K and C, rounded once, as the tensor cores do it; the
/// simulator returns the same bits (see [`sim`](crate::sim)).
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

/// A form of `mma` that exists: the rows of the table in this module.
#[diagnostic::on_unimplemented(
    message = "there is no form `{Self}`",
    note = "`Mma<Shape, A, B, C>` exists for `M16N8K8` and `M16N8K16`: f16 x f16 into f32 or f16, bf16 x bf16 into f32"
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

/// The forms, a row each: shape, elements of A, B and C, what it needs, its function in `raw`, its PTX.
macro_rules! forms {
    ($($shape:ident $a:ident $b:ident $c:ident, $sm:literal: $raw:ident $ptx:literal;)*) => {$(
        impl<Target> Sealed for Mma<$shape, $a, $b, $c, Target> {}
        impl<Target> MmaForm for Mma<$shape, $a, $b, $c, Target> {
            type A = FragmentA<$shape, $a>;
            type B = FragmentB<$shape, $b>;
            type C = Accumulator<$shape, $c>;
            type Needs = AtLeast<$sm>;
            const PTX: &'static str = $ptx;

            #[inline(always)]
            unsafe fn issue(site: Site, acc: &mut Self::C, a: &Self::A, b: &Self::B) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's.
                unsafe {
                    let _ = site;
                    let d = crate::raw::$raw(a.registers().own(), b.registers().own(), acc.registers().own());
                    *acc = Accumulator::from_registers(crate::PerLane::from_own(d));
                }
                #[cfg(not(target_arch = "nvptx64"))]
                crate::sim::multiply(site, Self::PTX, acc, a, b);
            }
        }
    )*};
}

forms! {
    M16N8K8 f16 f16 f16, 75: mma_sync_aligned_m16n8k8_row_col_f16_f16_f16_f16
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16";
    M16N8K8 f16 f16 f32, 75: mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32";
    M16N8K8 bf16 bf16 f32, 80: mma_sync_aligned_m16n8k8_row_col_f32_bf16_bf16_f32
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32";
    M16N8K16 f16 f16 f16, 80: mma_sync_aligned_m16n8k16_row_col_f16_f16_f16_f16
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16";
    M16N8K16 f16 f16 f32, 80: mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    M16N8K16 bf16 bf16 f32, 80: mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
}

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
