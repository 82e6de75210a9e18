//! GPU targets, and the instructions of each.
//!
//! The last type parameter of an instruction type such as [`StMatrix`](crate::mma::StMatrix) is its
//! target. The default is [`BuildTarget`]: on the device, the GPU of this build. On the host it is
//! `AnyGpu`, which has every instruction. A method has a bound such as `Target:
//! Supports<AtLeast<90>>`. So an instruction that the GPU lacks does not compile.
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

/// Requires compute capability `SM / 10`.`SM % 10` or newer: `AtLeast<75>` is sm_75 (Turing).
#[derive(Debug, Clone, Copy)]
pub struct AtLeast<const SM: u32>;

/// Requires [`AtLeast`] `SM`, in a build for one architecture (`sm_120a`) or family (`sm_120f`).
///
/// PTX of such forms does not run on later ones.
#[derive(Debug, Clone, Copy)]
pub struct ArchSpecific<const SM: u32>;

/// Requires [`AtLeast`] `SM`, in a build for one architecture (`sm_120a`, `sm_121a`). A family is
/// not enough.
#[derive(Debug, Clone, Copy)]
pub struct ArchOnly<const SM: u32>;

/// Requires a build for the one architecture of compute capability `SM` (`sm_90a`). No other has
/// the form, not even newer ones.
#[derive(Debug, Clone, Copy)]
pub struct OnlyArch<const SM: u32>;

/// A requirement of a GPU, as a type: [`AtLeast`], [`ArchSpecific`], [`ArchOnly`] or [`OnlyArch`].
pub trait Requirement: Sealed {
    /// The requirement as a value.
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

/// A target that meets the requirement `R`.
#[diagnostic::on_unimplemented(
    message = "this instruction needs a GPU that is `{R}`; this build is for `{Self}`",
    label = "not available on `{Self}`",
    note = "give the kernel `#[kernel(.., target = \"sm_..\")]`, which leaves it out of builds \
            for older GPUs (a function that it calls needs \
            `#[cfg(any(not(target_arch = \"nvptx64\"), target_feature = \"sm_..\"))]`), or build \
            for a newer one: `AtLeast<90>` is `target = \"sm_90\"`, `OnlyArch<90>` is \
            `target = \"sm_90a\"`, `ArchSpecific<90>` is sm_90a or a newer target of one \
            architecture"
)]
pub trait Supports<R>: Target {}

/// Bound: this build's GPU meets the requirement `R`. For methods without a target among their type
/// parameters.
///
/// Either every type implements it or none does. So the bound is checked only where such a method
/// is called.
pub trait BuiltFor<R> {}
impl<T, R> BuiltFor<R> for T where BuildTarget: Supports<R> {}

/// A GPU target that kernels are built for.
pub trait Target: Sealed + Copy + 'static {
    /// The compute capability times ten: 90 for sm_90 and sm_90a.
    const SM: u32;
    /// The target's name in `rustc`, `llc` and `ptxas`.
    const NAME: &'static str;
}

/// Defines the targets, one row each: type, name, number, and the `AtLeast` and `ArchSpecific`
/// requirements that it meets.
macro_rules! targets {
    (
        $(
            $(#[$doc:meta])* $target:ident $name:literal $sm:literal:
                $($least:literal)*, $($specific:literal)*;
        )*
    ) => {$(
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
    /// Ampere, not yet named in NVIDIA's documents.
    Sm88 "sm_88" 88: 75 80 86,;
    /// Ada.
    Sm89 "sm_89" 89: 75 80 86 89,;
    /// Hopper, without the instructions of `sm_90a`.
    Sm90 "sm_90" 90: 75 80 86 89 90,;
    /// Hopper, with all instructions.
    Sm90a "sm_90a" 90: 75 80 86 89 90, 90;
    /// Blackwell, B100 and B200, without architecture- and family-specific instructions.
    Sm100 "sm_100" 100: 75 80 86 89 90 100,;
    /// Blackwell, B100 and B200, with family-specific instructions.
    Sm100f "sm_100f" 100: 75 80 86 89 90 100, 90 100;
    /// Blackwell, B100 and B200, with all instructions.
    Sm100a "sm_100a" 100: 75 80 86 89 90 100, 90 100;
    /// Blackwell, B300, without architecture- and family-specific instructions.
    Sm103 "sm_103" 103: 75 80 86 89 90 100,;
    /// Blackwell, B300, with family-specific instructions.
    Sm103f "sm_103f" 103: 75 80 86 89 90 100, 90 100;
    /// Blackwell, B300, with all instructions.
    Sm103a "sm_103a" 103: 75 80 86 89 90 100, 90 100;
    /// After Blackwell, without architecture- and family-specific instructions.
    Sm107 "sm_107" 107: 75 80 86 89 90 100,;
    /// After Blackwell, with family-specific instructions.
    Sm107f "sm_107f" 107: 75 80 86 89 90 100, 90 100;
    /// After Blackwell, with all instructions.
    Sm107a "sm_107a" 107: 75 80 86 89 90 100, 90 100;
    /// Blackwell, Thor, without architecture- and family-specific instructions.
    Sm110 "sm_110" 110: 75 80 86 89 90 100,;
    /// Blackwell, Thor, with family-specific instructions.
    Sm110f "sm_110f" 110: 75 80 86 89 90 100, 90 100;
    /// Blackwell, Thor, with all instructions.
    Sm110a "sm_110a" 110: 75 80 86 89 90 100, 90 100;
    /// Blackwell, GeForce 50, without architecture- and family-specific instructions.
    Sm120 "sm_120" 120: 75 80 86 89 90 100 120,;
    /// Blackwell, GeForce 50, with family-specific instructions.
    Sm120f "sm_120f" 120: 75 80 86 89 90 100 120, 90 100 120;
    /// Blackwell, GeForce 50, with all instructions.
    Sm120a "sm_120a" 120: 75 80 86 89 90 100 120, 90 100 120;
    /// Blackwell, DGX Spark, without architecture- and family-specific instructions.
    Sm121 "sm_121" 121: 75 80 86 89 90 100 120,;
    /// Blackwell, DGX Spark, with family-specific instructions.
    Sm121f "sm_121f" 121: 75 80 86 89 90 100 120, 90 100 120;
    /// Blackwell, DGX Spark, with all instructions.
    Sm121a "sm_121a" 121: 75 80 86 89 90 100 120, 90 100 120;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supports_bound_agrees_with_needs_value() {
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
