//! Requirements of instruction forms on the GPU, as values.

/// The requirements of an instruction form on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The least compute capability, times ten.
    pub sm: u32,
    /// Whether the build must be for one architecture or family (`sm_120a`, `sm_120f`), and not
    /// for newer ones too.
    pub specific: bool,
    /// Whether the build must be for one architecture. A family is not enough.
    pub arch: bool,
    /// Whether newer architectures lack the form.
    pub only: bool,
}

impl Needs {
    /// Requires this compute capability, times ten, or a newer one.
    pub const fn at_least(sm: u32) -> Self {
        Needs { sm, specific: false, arch: false, only: false }
    }

    /// Whether a target, by its ptxas name, has the form.
    pub fn are_met_by(self, target: &str) -> bool {
        let Some(number) = target.strip_prefix("sm_") else { return false };
        let digits = number.trim_end_matches(['a', 'f']);
        let kind = &number[digits.len()..];
        digits.parse().is_ok_and(|sm: u32| sm == self.sm || sm > self.sm && !self.only)
            && (!self.specific || kind == "a" || kind == "f" && !self.arch)
    }
}

/// Formats the least targets: `sm_90`, or `sm_120a or sm_120f`.
impl core::fmt::Display for Needs {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let sm = self.sm;
        match (self.specific, self.arch) {
            (false, _) => write!(f, "sm_{sm}"),
            (true, false) => write!(f, "sm_{sm}a or sm_{sm}f"),
            (true, true) => write!(f, "sm_{sm}a"),
        }
    }
}
