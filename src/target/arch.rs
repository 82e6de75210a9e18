//! GPU architectures as values: the GPU whose results the simulator returns.

use super::{MAX_SHARED_BYTES, Needs};
use core::fmt;
use core::str::FromStr;
use std::string::String;
use std::vec::Vec;

/// A GPU architecture, by its compute capability.
///
/// ```
/// use ptx_matrix::sim::Arch;
///
/// let ada: Arch = "sm_89".parse().unwrap();
/// assert_eq!(ada, Arch::SM_89);
/// assert_eq!(ada.architecture(), "Ada Lovelace");
/// assert_eq!("sm_90a".parse(), Ok(Arch::SM_90)); // the GPU that this target is for
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arch {
    sm: u32,
}

macro_rules! archs {
    ($($(#[$doc:meta])* $name:ident $sm:literal $architecture:literal;)*) => {
        impl Arch {
            $($(#[$doc])* pub const $name: Arch = Arch { sm: $sm };)*

            /// All GPUs whose arithmetic the simulator has, from the oldest on.
            pub const ALL: &[Arch] = &[$(Arch::$name),*];

            /// The name of the architecture, such as `Hopper`.
            pub const fn architecture(self) -> &'static str {
                match self.sm {
                    $($sm => $architecture,)*
                    _ => unreachable!(),
                }
            }
        }
    };
}
archs! {
    /// V100. Kernels are not built for it. The simulator has its `m8n8k4` of f16.
    SM_70 70 "Volta";
    /// T4, GeForce 20.
    SM_75 75 "Turing";
    /// A100.
    SM_80 80 "Ampere";
    /// A40, GeForce 30.
    SM_86 86 "Ampere";
    /// Orin.
    SM_87 87 "Ampere";
    /// L4, L40, GeForce 40.
    SM_89 89 "Ada Lovelace";
    /// H100, H200.
    SM_90 90 "Hopper";
    /// B100, B200.
    SM_100 100 "Blackwell";
    /// B300.
    SM_103 103 "Blackwell";
    /// Thor.
    SM_110 110 "Blackwell";
    /// GeForce 50.
    SM_120 120 "RTX Blackwell";
    /// DGX Spark.
    SM_121 121 "RTX Blackwell";
}

impl Default for Arch {
    /// Hopper: its bits are verified.
    fn default() -> Self {
        Arch::SM_90
    }
}

impl Arch {
    /// The compute capability times ten.
    pub const fn sm(self) -> u32 {
        self.sm
    }

    /// The GPU of a compute capability times ten, if the simulator has its arithmetic.
    pub fn of(sm: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|arch| arch.sm == sm)
    }

    /// The most shared memory of a block, in bytes.
    pub const fn max_shared_bytes(self) -> usize {
        let kib = match self.sm {
            70 => 96,
            75 => 64,
            80 | 87 => 163,
            86 | 89 | 120 | 121 => 99,
            _ => return MAX_SHARED_BYTES,
        };
        kib * 1024
    }

    /// The ptxas target with all instructions of the GPU, such as `sm_89` or `sm_90a`.
    pub fn target(self) -> String {
        std::format!("{self}{}", if self.sm >= 90 { "a" } else { "" })
    }

    /// Whether the GPU has the instructions with these needs.
    pub fn has(self, needs: Needs) -> bool {
        needs.are_met_by(&self.target())
    }

    /// The default GPU if it has the instructions with these needs. Otherwise, the oldest GPU that
    /// has them.
    pub fn default_for(needs: Needs) -> Self {
        let oldest = Self::ALL.iter().copied().find(|arch| arch.has(needs));
        if Self::default().has(needs) { Self::default() } else { oldest.unwrap_or_default() }
    }
}

/// Formats as `sm_89`.
impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.sm)
    }
}

impl fmt::Debug for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An error: the simulator has no GPU of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownArch {
    /// The name.
    pub name: String,
}

impl core::error::Error for UnknownArch {}
impl fmt::Display for UnknownArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = Arch::ALL.iter().map(|arch| std::format!("{arch}")).collect();
        write!(f, "the simulator knows no GPU `{}`; it knows {}", self.name, names.join(", "))
    }
}

/// Parses a ptxas target, with or without its feature suffix.
impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(name: &str) -> Result<Self, UnknownArch> {
        let number =
            name.strip_prefix("sm_").map(|rest| rest.strip_suffix(['a', 'f']).unwrap_or(rest));
        // `parse` would accept a sign.
        let number = number.filter(|number| !number.starts_with('+'));
        let has_suffix = name.ends_with(['a', 'f']);
        let arch = number.and_then(|number| number.parse().ok()).and_then(Arch::of);
        arch.filter(|arch| !has_suffix || arch.sm >= 90)
            .ok_or_else(|| UnknownArch { name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{AtLeast, OnlyArch, Requirement};
    use std::string::ToString;

    #[test]
    fn names_are_read_again() {
        for &arch in Arch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(arch));
            assert_eq!(arch.target().parse(), Ok(arch));
        }
        for name in ["sm_89a", "sm_90b", "sm_90aa", "sm_60", "90", "", "sm_", "sm_+90"] {
            let error = name.parse::<Arch>().err().map(|error| error.to_string());
            let expected =
                std::format!("the simulator knows no GPU `{name}`; it knows sm_70, sm_75, ");
            assert!(error.is_some_and(|error| error.starts_with(&expected)), "{name}");
        }
    }

    #[test]
    fn arch_supports_instructions_of_its_target() {
        assert!(Arch::SM_90.has(<OnlyArch<90>>::NEEDS) && !Arch::SM_120.has(<OnlyArch<90>>::NEEDS));
        assert!(Arch::SM_120.has(<AtLeast<89>>::NEEDS) && !Arch::SM_86.has(<AtLeast<89>>::NEEDS));
        assert_eq!(Arch::default_for(<AtLeast<80>>::NEEDS), Arch::SM_90);
        assert_eq!(Arch::default_for(<AtLeast<120>>::NEEDS), Arch::SM_120);
    }
}
