//! Reads the lines that the builder appends to a PTX. They hold the kernels' fingerprints, and
//! hashes of the text and of its machine code.
//!
//! ```text
//! // ptx-matrix fingerprints 1
//! // kernel scale: param data=GlobalMut<f32>; param factor=f32; shared=0 aligned to 1; ..
//! // cubin 9f86d081..
//! // text 2c26b46b..
//! ```
//!
//! The last line is the hash of all lines before it, independent of their line endings.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// The first of the lines.
const HEAD: &str = "// ptx-matrix fingerprints 1";

/// The content of the lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seal {
    /// Whether text and lines are unchanged since the build.
    pub is_whole: bool,
    /// Each kernel's name and fingerprint.
    pub(super) kernels: BTreeMap<String, String>,
    /// The hash of the machine code.
    cubin: String,
}

impl Seal {
    /// Reads the lines of a PTX, if it has any, even if they do not match the text.
    pub(super) fn read(text: &str) -> Option<Self> {
        let start = text.rfind(HEAD)?;
        let mut seal = Seal::default();
        for line in text[start..].lines().skip(1) {
            let words = line.strip_prefix("// ").unwrap_or_default();
            if let Some((name, fingerprint)) =
                words.strip_prefix("kernel ").and_then(|rest| rest.split_once(": "))
            {
                seal.kernels.insert(name.to_owned(), fingerprint.to_owned());
            } else if let Some(hash) = words.strip_prefix("cubin ") {
                hash.clone_into(&mut seal.cubin);
            } else if let Some(hash) = words.strip_prefix("text ") {
                let (before, after) = text.split_at(line.as_ptr().addr() - text.as_ptr().addr());
                seal.is_whole = hash == of_text(before) && after.trim_end() == line;
            }
        }
        Some(seal)
    }

    /// Returns whether this is the machine code that was made from the PTX.
    pub(crate) fn is_of(&self, cubin: &[u8]) -> bool {
        self.cubin == hexadecimal(Sha256::digest(cubin))
    }
}

/// The hash of a text, whatever its line endings.
fn of_text(text: &str) -> String {
    let mut hasher = Sha256::new();
    for line in text.lines() {
        hasher.update(line);
        hasher.update("\n");
    }
    hexadecimal(hasher.finalize())
}

fn hexadecimal(hash: impl IntoIterator<Item = u8>) -> String {
    hash.into_iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = ".version 8.0\n.target sm_90a\n.visible .entry scale() { ret; }\n";

    fn sealed() -> String {
        let lines = format!(
            "{BODY}{HEAD}\n// kernel scale: threads=32; dependent=false\n// cubin {}\n",
            hexadecimal(Sha256::digest(b"code"))
        );
        format!("{lines}// text {}\n", of_text(&lines))
    }

    #[test]
    fn seal_is_read_back() {
        let seal = Seal::read(&sealed()).unwrap();
        assert!(seal.is_whole && seal.is_of(b"code") && !seal.is_of(b"cod") && !seal.is_of(b""));
        assert_eq!(seal.kernels["scale"], "threads=32; dependent=false");
        assert!(
            Seal::read(&sealed().replace('\n', "\r\n")).unwrap().is_whole,
            "a text is the same with other line ends"
        );
        assert_eq!(Seal::read(BODY), None);
    }

    #[test]
    fn seal_detects_any_change() {
        let sealed = sealed();
        for at in (0..sealed.len()).filter(|&at| sealed.as_bytes()[at] != b'\n') {
            let mut changed = sealed.clone().into_bytes();
            changed[at] ^= 1;
            let whole = Seal::read(std::str::from_utf8(&changed).unwrap())
                .is_some_and(|seal| seal.is_whole);
            assert!(!whole, "byte {at}");
        }
        // The last line's end may be missing.
        for len in 0..sealed.len() - 1 {
            assert!(!Seal::read(&sealed[..len]).is_some_and(|seal| seal.is_whole), "{len} bytes");
        }
        assert!(
            !Seal::read(&format!("{sealed}.visible .entry other() {{ ret; }}\n")).unwrap().is_whole
        );
        assert!(!Seal::read(&format!("x{sealed}")).unwrap().is_whole);
        assert!(!Seal::read(&format!("{sealed}{sealed}")).unwrap().is_whole);
    }
}
