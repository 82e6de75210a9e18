//! The supported targets, in one table.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A GPU target, such as `sm_90a`. Only supported targets have a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Arch(&'static Row);

#[derive(PartialEq, Eq, Hash)]
struct Row {
    name: &'static str,
    ptx: PtxVersion,
    shared_kib: u32,
}

/// A version of the PTX ISA, such as `8.7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PtxVersion {
    major: u8,
    minor: u8,
}

const fn row(name: &'static str, major: u8, minor: u8, shared_kib: u32) -> Row {
    Row { name, ptx: PtxVersion { major, minor }, shared_kib }
}

// Columns: name; PTX version (major, minor); KiB of shared memory that a block can have (CUDA
// programming guide, compute capabilities).
//
// The PTX version decides which drivers can load the PTX. So each target has the lowest version
// that LLVM and ptxas accept for it. The minimum is 7.8, the first version with everything that
// sm_89 and sm_90 share. Code that needs a higher version gets it.
//
// LLVM also has targets that rustc does not know as target features (`sm_100f`, `sm_103a`,
// `sm_121a`...). They are left out: every `cfg(target_feature = "sm_90")` would be false for them.
static TABLE: [Row; 9] = [
    row("sm_75", 7, 8, 64),
    row("sm_80", 7, 8, 163),
    row("sm_86", 7, 8, 99),
    row("sm_87", 7, 8, 163),
    row("sm_89", 7, 8, 99),
    row("sm_90", 7, 8, 227),
    row("sm_90a", 8, 0, 227),
    row("sm_100a", 8, 6, 227),
    row("sm_120a", 8, 7, 99),
];

impl Arch {
    /// Turing GPUs.
    pub const SM_75: Self = Self(&TABLE[0]);
    /// Ampere data-centre GPUs.
    pub const SM_80: Self = Self(&TABLE[1]);
    /// Ampere consumer GPUs.
    pub const SM_86: Self = Self(&TABLE[2]);
    /// Ada GPUs.
    pub const SM_89: Self = Self(&TABLE[4]);
    /// Hopper GPUs, with their own instructions (`wgmma`).
    pub const SM_90A: Self = Self(&TABLE[6]);
    /// Blackwell data-centre GPUs.
    pub const SM_100A: Self = Self(&TABLE[7]);
    /// Blackwell consumer GPUs.
    pub const SM_120A: Self = Self(&TABLE[8]);

    /// The targets of a default build: those with instructions that the previous target lacks.
    /// sm_86 and sm_87 run the code for sm_80.
    pub const ALL: [Self; 6] =
        [Self::SM_75, Self::SM_80, Self::SM_89, Self::SM_90A, Self::SM_100A, Self::SM_120A];

    /// Whether it has instructions that newer targets lack, such as `wgmma` of sm_90a.
    pub(crate) fn is_specific(self) -> bool {
        self.name().ends_with('a')
    }

    /// Returns every supported target.
    pub fn supported() -> impl Iterator<Item = Self> {
        TABLE.iter().map(Self)
    }

    /// Returns the name in rustc, LLVM and ptxas, such as `sm_90a`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the bytes of shared memory that a block can have.
    #[must_use]
    pub const fn max_shared(self) -> u32 {
        self.0.shared_kib * 1024
    }

    /// The targets up to this one. A kernel can require any of them as its minimum.
    pub(crate) fn up_to(self) -> impl Iterator<Item = Self> {
        let older = Self::supported().take_while(move |&arch| arch != self);
        older.chain([self])
    }

    /// Returns the oldest target for which LLVM generates the same PTX, if the code needs nothing
    /// that only some targets have. Below PTX 8.3, LLVM writes `trap; exit;` for unreachable code,
    /// and keeps the branches to it. From 8.3 on, it writes `trap;` for panics alone.
    pub(crate) fn oldest_alike(self) -> Self {
        const PANICS: PtxVersion = PtxVersion { major: 8, minor: 3 };
        let is_alike =
            |other: &Self| (other.ptx_version() < PANICS) == (self.ptx_version() < PANICS);
        Self::supported().find(is_alike).unwrap_or(self)
    }

    /// Returns the lowest PTX version of a build for this target.
    #[must_use]
    pub const fn ptx_version(self) -> PtxVersion {
        self.0.ptx
    }
}

impl PtxVersion {
    /// The feature of LLVM's NVPTX backend that selects this version.
    pub(crate) fn llvm_feature(self) -> String {
        format!("+ptx{}{}", self.major, self.minor)
    }
}

/// Error: the name is not that of a supported target.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` is not a supported target; supported are {}", supported_names())]
pub struct UnsupportedArch {
    name: String,
}

fn supported_names() -> String {
    TABLE.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Arch {
    type Err = UnsupportedArch;

    fn from_str(name: &str) -> Result<Self, UnsupportedArch> {
        Self::supported()
            .find(|arch| arch.name() == name)
            .ok_or_else(|| UnsupportedArch { name: name.to_owned() })
    }
}

impl TryFrom<String> for Arch {
    type Error = UnsupportedArch;

    fn try_from(name: String) -> Result<Self, UnsupportedArch> {
        name.parse()
    }
}

impl From<Arch> for String {
    fn from(arch: Arch) -> Self {
        arch.name().to_owned()
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error: the text is not of the form `major.minor`.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a PTX version: expected one such as 8.7")]
pub struct NoPtxVersion(String);

impl FromStr for PtxVersion {
    type Err = NoPtxVersion;

    fn from_str(text: &str) -> Result<Self, NoPtxVersion> {
        let numbers = text.split_once('.').map(|(major, minor)| (major.parse(), minor.parse()));
        match numbers {
            Some((Ok(major), Ok(minor))) => Ok(Self { major, minor }),
            _ => Err(NoPtxVersion(text.to_owned())),
        }
    }
}

impl TryFrom<String> for PtxVersion {
    type Error = NoPtxVersion;

    fn try_from(text: String) -> Result<Self, NoPtxVersion> {
        text.parse()
    }
}

impl From<PtxVersion> for String {
    fn from(version: PtxVersion) -> Self {
        version.to_string()
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_their_own_names() {
        let names = Arch::ALL.map(Arch::name);
        assert_eq!(names, ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"]);
    }

    #[test]
    fn targets_alike_have_one_oldest() {
        let oldest: Vec<_> = Arch::ALL.iter().map(|arch| arch.oldest_alike().name()).collect();
        assert_eq!(oldest, ["sm_75", "sm_75", "sm_75", "sm_75", "sm_100a", "sm_100a"]);
    }

    #[test]
    fn unsupported_target_is_refused_by_name() {
        let refusal = "sm_70".parse::<Arch>().unwrap_err().to_string();
        assert!(refusal.contains("`sm_70`") && refusal.contains("sm_90a"), "{refusal}");
        assert!("SM_90A".parse::<Arch>().is_err());
    }

    #[test]
    fn ptx_versions_order_and_round_trip() {
        assert!(Arch::SM_90A.ptx_version() > Arch::SM_75.ptx_version());
        assert_eq!("8.7".parse::<PtxVersion>().unwrap(), Arch::SM_120A.ptx_version());
        assert_eq!(Arch::SM_120A.ptx_version().llvm_feature(), "+ptx87");
        assert!("87".parse::<PtxVersion>().is_err());
    }
}
