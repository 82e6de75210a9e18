//! GPU targets, and the instructions that each has.
//!
//! An instruction type such as [`StMatrix`](crate::mma::StMatrix) has a target as its last
//! parameter. It is [`BuildTarget`] unless written out: the GPU of this build on the device, and
//! `AnyGpu` on the host, which has every instruction. A method asks for `Target:
//! Supports<AtLeast<90>>` and the like, so that an instruction that the GPU lacks does not compile.
//!
//! | item | purpose |
//! | --- | --- |
//! | [`AtLeast`], [`ArchSpecific`], [`ArchOnly`], [`OnlyArch`] | requirements, as types |
//! | [`Needs`] | a requirement as a value: [`Needs::are_met_by`] takes a target's name |
//! | [`Supports`], [`BuiltFor`] | bounds of instructions and of methods |
//! | [`Sm75`] to [`Sm121a`] | the targets |
//! | [`MAX_SHARED_BYTES`], [`MAX_STATIC_BYTES`] | limits of shared memory |
//!
//! ```
//! use ptx_matrix::target::{AtLeast, OnlyArch, Requirement};
//!
//! assert!(AtLeast::<80>::NEEDS.are_met_by("sm_90"));
//! assert!(!OnlyArch::<90>::NEEDS.are_met_by("sm_100a")); // `wgmma` is Hopper's alone.
//! ```

#[cfg(not(target_arch = "nvptx64"))]
mod arch;
#[cfg_attr(target_arch = "nvptx64", path = "device.rs")]
#[cfg_attr(not(target_arch = "nvptx64"), path = "host.rs")]
mod here;
mod limits;
mod needs;

#[cfg(not(target_arch = "nvptx64"))]
pub use arch::{Arch, UnknownArch};
pub use here::*;
pub use limits::{MAX_SHARED_BYTES, MAX_STATIC_BYTES};
pub use needs::Needs;

use crate::lane::Sealed;

/// A requirement: compute capability `SM / 10`.`SM % 10` or newer (`AtLeast<75>` is sm_75, Turing).
#[derive(Debug, Clone, Copy)]
pub struct AtLeast<const SM: u32>;

/// A requirement: [`AtLeast`] `SM`, in a build for one architecture (`sm_120a`) or family
/// (`sm_120f`): PTX of such forms runs on no later one.
#[derive(Debug, Clone, Copy)]
pub struct ArchSpecific<const SM: u32>;

/// A requirement: [`AtLeast`] `SM`, in a build for one architecture (`sm_120a`, `sm_121a`), and not
/// for a family.
#[derive(Debug, Clone, Copy)]
pub struct ArchOnly<const SM: u32>;

/// A requirement: a build for the one architecture of compute capability `SM` (`sm_90a`): no other
/// has got it, nor have newer ones.
#[derive(Debug, Clone, Copy)]
pub struct OnlyArch<const SM: u32>;

/// What a GPU must be, as a type: [`AtLeast`], [`ArchSpecific`], [`ArchOnly`] or [`OnlyArch`].
pub trait Requirement: Sealed {
    /// The same as a value.
    const NEEDS: Needs;
}

impl<const SM: u32> Sealed for AtLeast<SM> {}
impl<const SM: u32> Requirement for AtLeast<SM> {
    const NEEDS: Needs = Needs { sm: SM, specific: false, arch: false, only: false };
}
impl<const SM: u32> Sealed for ArchSpecific<SM> {}
impl<const SM: u32> Requirement for ArchSpecific<SM> {
    const NEEDS: Needs = Needs { sm: SM, specific: true, arch: false, only: false };
}

impl<const SM: u32> Sealed for ArchOnly<SM> {}
impl<const SM: u32> Requirement for ArchOnly<SM> {
    const NEEDS: Needs = Needs { sm: SM, specific: true, arch: true, only: false };
}
impl<const SM: u32> Sealed for OnlyArch<SM> {}
impl<const SM: u32> Requirement for OnlyArch<SM> {
    const NEEDS: Needs = Needs { sm: SM, specific: true, arch: true, only: true };
}

impl Supports<OnlyArch<90>> for Sm90a {}
impl Supports<ArchOnly<120>> for Sm120a {}
impl Supports<ArchOnly<120>> for Sm121a {}

/// `Self` is a GPU that fulfils the requirement `R`.
#[diagnostic::on_unimplemented(
    message = "this instruction needs a GPU that is `{R}`; this build is for `{Self}`",
    label = "not on `{Self}`",
    note = "give the kernel `#[kernel(.., target = \"sm_..\")]`, which leaves it out of builds for older GPUs, or build for a newer one"
)]
pub trait Supports<R>: Target {}

/// This build's GPU fulfils the requirement `R`: the same for methods that have no target among
/// their parameters. (Every type implements it, or none, so that the bound is only checked where
/// such a method is called.)
pub trait BuiltFor<R> {}
impl<T, R> BuiltFor<R> for T where BuildTarget: Supports<R> {}

/// A GPU that kernels are built for.
pub trait Target: Sealed + Copy + 'static {
    /// The compute capability times ten: 90 for sm_90 and sm_90a.
    const SM: u32;
    /// The name that `rustc`, `llc` and `ptxas` use for it.
    const NAME: &'static str;
}

/// One GPU target: its type, its name, its number, and the requirements that it fulfils: `AtLeast`,
/// and `ArchSpecific`.
macro_rules! targets {
    ($($(#[$doc:meta])* $target:ident $name:literal $sm:literal: $($least:literal)*, $($specific:literal)*;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $target;
        impl Sealed for $target {}
        impl Target for $target {
            const SM: u32 = $sm;
            const NAME: &'static str = $name;
        }
        $(impl Supports<AtLeast<$least>> for $target {})*
        $(impl Supports<ArchSpecific<$specific>> for $target {})*
    )*};
}

targets! {
    /// Turing.
    Sm75 "sm_75" 75: 75,;
    /// Ampere, A100.
    Sm80 "sm_80" 80: 75 80,;
    /// Ampere, GeForce 30 and A40.
    Sm86 "sm_86" 86: 75 80 86,;
    /// Ampere, Orin.
    Sm87 "sm_87" 87: 75 80 86,;
    /// Ampere, without a name yet in NVIDIA's documents.
    Sm88 "sm_88" 88: 75 80 86,;
    /// Ada.
    Sm89 "sm_89" 89: 75 80 86 89,;
    /// Hopper, without the instructions of `sm_90a`.
    Sm90 "sm_90" 90: 75 80 86 89 90,;
    /// Hopper, all of it.
    Sm90a "sm_90a" 90: 75 80 86 89 90, 90;
    /// Blackwell, B100 and B200, without what only its architecture or its family has.
    Sm100 "sm_100" 100: 75 80 86 89 90 100,;
    /// Blackwell, B100 and B200, with what its family has.
    Sm100f "sm_100f" 100: 75 80 86 89 90 100, 90 100;
    /// Blackwell, B100 and B200, all of it.
    Sm100a "sm_100a" 100: 75 80 86 89 90 100, 90 100;
    /// Blackwell, B300, without what only its architecture or its family has.
    Sm103 "sm_103" 103: 75 80 86 89 90 100,;
    /// Blackwell, B300, with what its family has.
    Sm103f "sm_103f" 103: 75 80 86 89 90 100, 90 100;
    /// Blackwell, B300, all of it.
    Sm103a "sm_103a" 103: 75 80 86 89 90 100, 90 100;
    /// After Blackwell, without what only its architecture or its family has.
    Sm107 "sm_107" 107: 75 80 86 89 90 100,;
    /// After Blackwell, with what its family has.
    Sm107f "sm_107f" 107: 75 80 86 89 90 100, 90 100;
    /// After Blackwell, all of it.
    Sm107a "sm_107a" 107: 75 80 86 89 90 100, 90 100;
    /// Blackwell, Thor, without what only its architecture or its family has.
    Sm110 "sm_110" 110: 75 80 86 89 90 100,;
    /// Blackwell, Thor, with what its family has.
    Sm110f "sm_110f" 110: 75 80 86 89 90 100, 90 100;
    /// Blackwell, Thor, all of it.
    Sm110a "sm_110a" 110: 75 80 86 89 90 100, 90 100;
    /// Blackwell, GeForce 50, without what only its architecture or its family has.
    Sm120 "sm_120" 120: 75 80 86 89 90 100 120,;
    /// Blackwell, GeForce 50, with what its family has.
    Sm120f "sm_120f" 120: 75 80 86 89 90 100 120, 90 100 120;
    /// Blackwell, GeForce 50, all of it.
    Sm120a "sm_120a" 120: 75 80 86 89 90 100 120, 90 100 120;
    /// Blackwell, DGX Spark, without what only its architecture or its family has.
    Sm121 "sm_121" 121: 75 80 86 89 90 100 120,;
    /// Blackwell, DGX Spark, with what its family has.
    Sm121f "sm_121f" 121: 75 80 86 89 90 100 120, 90 100 120;
    /// Blackwell, DGX Spark, all of it.
    Sm121a "sm_121a" 121: 75 80 86 89 90 100 120, 90 100 120;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_fulfils_a_requirement_as_a_type_if_it_does_as_a_value() {
        fn specific<
            T: Target
                + Supports<ArchSpecific<120>>
                + Supports<ArchSpecific<100>>
                + Supports<ArchSpecific<90>>,
        >() {
            assert!(
                <ArchSpecific<120>>::NEEDS.are_met_by(T::NAME)
                    && <ArchSpecific<100>>::NEEDS.are_met_by(T::NAME)
            );
        }
        specific::<Sm120a>();
        specific::<Sm121f>();
        assert!(<ArchSpecific<100>>::NEEDS.are_met_by(Sm103f::NAME));
        assert!(!<ArchSpecific<120>>::NEEDS.are_met_by(Sm110a::NAME));
        assert!(!<ArchSpecific<100>>::NEEDS.are_met_by(Sm120::NAME));
        assert!(!<ArchSpecific<100>>::NEEDS.are_met_by(Sm90a::NAME));
        assert!(
            <ArchSpecific<90>>::NEEDS.are_met_by(Sm90a::NAME)
                && <ArchSpecific<90>>::NEEDS.are_met_by(Sm100f::NAME)
        );
        assert!(
            !<ArchSpecific<90>>::NEEDS.are_met_by(Sm90::NAME)
                && !<ArchSpecific<90>>::NEEDS.are_met_by(Sm100::NAME)
        );
        assert!(<OnlyArch<90>>::NEEDS.are_met_by(Sm90a::NAME));
        assert!(
            !<OnlyArch<90>>::NEEDS.are_met_by(Sm90::NAME)
                && !<OnlyArch<90>>::NEEDS.are_met_by(Sm120a::NAME)
        );
        assert!(
            <AtLeast<90>>::NEEDS.are_met_by(Sm90a::NAME)
                && !<AtLeast<90>>::NEEDS.are_met_by(Sm89::NAME)
        );
    }
}
