//! Compute capabilities, and the architectures that a device can run.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A device's compute capability, such as 9.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capability {
    /// The generation.
    pub major: u32,
    /// The variant within the generation.
    pub minor: u32,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

/// An architecture that PTX is built for, by its `.target` name: `sm_80`, `sm_100f`, `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    capability: Capability,
    reach: Reach,
}

/// The devices that run PTX of an architecture. Later variants allow the PTX to use more
/// instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Reach {
    /// No suffix: this capability and every later one.
    Later,
    /// Suffix `f`: this capability and later ones of its generation.
    Family,
    /// Suffix `a`: this capability alone.
    Exact,
}

impl Arch {
    /// Returns the minimum compute capability, times ten: 90 for `sm_90` and `sm_90a`.
    pub fn number(self) -> u32 {
        self.capability.major * 10 + self.capability.minor
    }

    /// Returns whether a device of this capability runs PTX built for this architecture.
    pub fn runs_on(self, device: Capability) -> bool {
        match self.reach {
            Reach::Later => device >= self.capability,
            Reach::Family => device.major == self.capability.major && device >= self.capability,
            Reach::Exact => device == self.capability,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.reach {
            Reach::Later => "",
            Reach::Family => "f",
            Reach::Exact => "a",
        };
        write!(f, "{}{suffix}", self.capability)
    }
}

/// Error: the name is not an architecture's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not the name of an architecture, such as sm_80 or sm_90a")]
pub struct NotAnArch(String);

impl FromStr for Arch {
    type Err = NotAnArch;

    fn from_str(name: &str) -> Result<Self, NotAnArch> {
        parse(name).ok_or_else(|| NotAnArch(name.to_owned()))
    }
}

fn parse(name: &str) -> Option<Arch> {
    let rest = name.strip_prefix("sm_")?;
    let digits_end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, suffix) = rest.split_at(digits_end);
    let reach = match suffix {
        "" => Reach::Later,
        "f" => Reach::Family,
        "a" => Reach::Exact,
        _ => return None,
    };
    // The last digit is the minor number: sm_90 is 9.0, sm_120 is 12.0.
    let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?)?;
    let capability = Capability { major: major.parse().ok()?, minor: minor.parse().ok()? };
    Some(Arch { capability, reach })
}

/// Selects the best available architecture for a device: the latest that runs on it. Between two
/// equally late ones, it is the one with more instructions. `None` if none runs on the device.
pub fn best_arch(device: Capability, at_hand: impl IntoIterator<Item = Arch>) -> Option<Arch> {
    at_hand.into_iter().filter(|arch| arch.runs_on(device)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT: [&str; 7] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"];

    fn arch(name: &str) -> Arch {
        name.parse().unwrap()
    }

    fn best(major: u32, minor: u32, at_hand: &[&str]) -> Option<String> {
        let device = Capability { major, minor };
        best_arch(device, at_hand.iter().map(|name| arch(name))).map(|arch| arch.to_string())
    }

    #[test]
    fn best_arch_of_each_capability() {
        let table = [
            ((7, 0), None),
            ((7, 5), Some("sm_75")),
            ((8, 0), Some("sm_80")),
            ((8, 6), Some("sm_86")),
            ((8, 7), Some("sm_86")),
            ((8, 9), Some("sm_89")),
            ((9, 0), Some("sm_90a")),
            ((10, 0), Some("sm_100a")),
            ((10, 3), Some("sm_89")),
            ((11, 0), Some("sm_89")),
            ((12, 0), Some("sm_120a")),
            ((12, 1), Some("sm_89")),
        ];
        for ((major, minor), expected) in table {
            assert_eq!(best(major, minor, &BUILT).as_deref(), expected, "{major}.{minor}");
        }
    }

    #[test]
    fn best_ignores_order_of_names() {
        assert_eq!(best(9, 0, &["sm_90a", "sm_75"]).as_deref(), Some("sm_90a"));
        assert_eq!(best(9, 0, &["sm_75", "sm_90a"]).as_deref(), Some("sm_90a"));
    }

    #[test]
    fn narrowest_arch_of_a_capability_is_best() {
        assert_eq!(best(10, 0, &["sm_100", "sm_100a", "sm_100f"]).as_deref(), Some("sm_100a"));
        assert_eq!(best(10, 3, &["sm_100", "sm_100a", "sm_100f"]).as_deref(), Some("sm_100f"));
        assert_eq!(best(12, 0, &["sm_100", "sm_100a", "sm_100f"]).as_deref(), Some("sm_100"));
    }

    #[test]
    fn arch_parses_and_prints_its_name() {
        for name in BUILT.into_iter().chain(["sm_100f", "sm_90"]) {
            assert_eq!(arch(name).to_string(), name);
        }
    }

    #[test]
    fn unknown_arch_name_is_refused() {
        for name in ["", "sm_", "sm_9", "sm_90b", "sm_a", "compute_90", "90", "sm_90 ", "sm_é0"] {
            assert!(name.parse::<Arch>().is_err(), "{name}");
        }
    }
}
