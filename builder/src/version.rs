//! Version numbers, as tools print them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A version of two or three numbers, such as `1.96.0` or `13.5`. The type drops any text after the
/// numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// Creates the version `major.minor.patch`.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Returns the first number.
    #[must_use]
    pub const fn major(self) -> u32 {
        self.major
    }

    /// Reads the version that follows `marker` in a tool's output.
    pub(crate) fn after(marker: &str, output: &str) -> Option<Self> {
        let (_, rest) = output.split_once(marker)?;
        rest.trim_start().parse().ok()
    }
}

/// Error: the text does not begin with two numbers and a dot between them.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a version")]
pub struct NoVersion(String);

impl FromStr for Version {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let numeric_end =
            text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
        let mut numbers =
            text[..numeric_end].split('.').filter(|part| !part.is_empty()).map(str::parse::<u32>);
        let mut next = || numbers.next().and_then(Result::ok);
        match (next(), next()) {
            (Some(major), Some(minor)) => Ok(Self { major, minor, patch: next().unwrap_or(0) }),
            _ => Err(NoVersion(text.chars().take(40).collect())),
        }
    }
}

impl TryFrom<String> for Version {
    type Error = NoVersion;

    fn try_from(text: String) -> Result<Self, NoVersion> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_tools_print() {
        let rustc = "rustc 1.97.0-nightly\nrelease: 1.97.0-nightly\nLLVM version: 22.1.4\n";
        assert_eq!(Version::after("release:", rustc), Some(Version::new(1, 97, 0)));
        assert_eq!(Version::after("LLVM version:", rustc), Some(Version::new(22, 1, 4)));
        let opt = "Debian LLVM version 22.1.8\n  Optimized build.\n";
        assert_eq!(Version::after("LLVM version ", opt), Some(Version::new(22, 1, 8)));
        let ptxas = "Cuda compilation tools, release 13.5, V13.5.37\n";
        assert_eq!(Version::after(", V", ptxas), Some(Version::new(13, 5, 37)));
        assert_eq!("1.96.0+dfsg1-1~deb12u2".parse::<Version>().unwrap(), Version::new(1, 96, 0));
    }

    #[test]
    fn orders_by_number_not_by_text() {
        assert!(Version::new(1, 100, 0) > Version::new(1, 96, 5));
        assert!(Version::new(12, 8, 93) < Version::new(12, 9, 0));
    }

    #[test]
    fn refuses_what_is_no_version() {
        assert!("nightly".parse::<Version>().is_err());
        assert!("(none)".parse::<Version>().is_err());
        assert!("22".parse::<Version>().is_err());
    }
}
