//! Fingerprints of inputs. They show whether finished files are up to date.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// Returns the fingerprint of a sequence of inputs. It also depends on where each input ends.
pub fn of<'a>(inputs: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for input in inputs {
        hasher.update((input.len() as u64).to_le_bytes());
        hasher.update(input);
    }
    hexadecimal(hasher.finalize())
}

/// Formats a hash in hexadecimal digits.
pub fn hexadecimal(hash: impl IntoIterator<Item = u8>) -> String {
    hash.into_iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Removes a file, if it exists.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// A file beside finished files, with the fingerprint of their inputs, and their own lengths and
/// hashes.
pub struct Stamp {
    pub path: PathBuf,
    pub inputs: String,
}

impl Stamp {
    /// Whether `files` come from the same inputs, and are unchanged since.
    pub fn kept<const N: usize>(&self, files: [&Path; N]) -> bool {
        let kept = std::fs::read_to_string(&self.path).unwrap_or_default();
        // If the inputs differ, this reads no files.
        kept.lines().next() == Some(&self.inputs) && self.text(files).is_ok_and(|text| text == kept)
    }

    fn text<const N: usize>(&self, files: [&Path; N]) -> Result<String> {
        let mut text = format!("{}\n", self.inputs);
        for file in files {
            let bytes =
                std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            text += &format!("{} {}\n", bytes.len(), hexadecimal(Sha256::digest(&bytes)));
        }
        Ok(text)
    }

    /// Removes the stamp. Call it before the files change.
    pub fn remove(&self) -> Result<()> {
        remove(&self.path)
    }

    /// Writes the stamp. Call it when all files are complete.
    pub fn write<const N: usize>(&self, files: [&Path; N]) -> Result<()> {
        std::fs::write(&self.path, self.text(files)?)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_changed_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other] = ["file", "other"].map(|name| folder.path().join(name));
        let stamp =
            |inputs: &str| Stamp { path: folder.path().join("stamp"), inputs: inputs.to_owned() };
        let kept = |inputs| stamp(inputs).kept([&file, &other]);
        assert!(!kept("a"));
        std::fs::write(&file, "kernel").unwrap();
        assert!(stamp("a").write([&file, &other]).is_err(), "one of them is missing");
        std::fs::write(&other, "").unwrap();
        stamp("a").write([&file, &other]).unwrap();
        assert!(kept("a") && !kept("b") && !kept(""));
        for damaged in ["kerne", "kernek", "kernel ", ""] {
            std::fs::write(&file, damaged).unwrap();
            assert!(!kept("a"), "{damaged}");
        }
        std::fs::write(&file, "kernel").unwrap();
        assert!(kept("a"));
        std::fs::remove_file(&other).unwrap();
        assert!(!kept("a"));
    }

    #[test]
    fn boundaries_count() {
        assert_ne!(of([b"ab".as_slice(), b"c"]), of([b"a".as_slice(), b"bc"]));
        assert_eq!(of([b"ab".as_slice()]), of([b"ab".as_slice()]));
    }
}
