//! Fingerprints of inputs, by which finished work is known to be up to date.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// The fingerprint of a sequence of inputs. Where one ends and the next begins counts.
pub fn of<'a>(inputs: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for input in inputs {
        hasher.update((input.len() as u64).to_le_bytes());
        hasher.update(input);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Removes a file, if it is there.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Kept beside finished files: the fingerprint of what they were made of.
pub struct Stamp {
    pub path: PathBuf,
    pub inputs: String,
}

impl Stamp {
    /// Whether `files` are there and were made of the same inputs.
    pub fn kept<const N: usize>(&self, files: [&Path; N]) -> bool {
        let same = std::fs::read_to_string(&self.path).is_ok_and(|kept| kept == self.inputs);
        same && files.iter().all(|file| file.is_file())
    }

    /// To be called before the files change.
    pub fn remove(&self) -> Result<()> {
        remove(&self.path)
    }

    /// To be called once all files are complete.
    pub fn write(&self) -> Result<()> {
        std::fs::write(&self.path, &self.inputs).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_count() {
        assert_ne!(of([b"ab".as_slice(), b"c"]), of([b"a".as_slice(), b"bc"]));
        assert_eq!(of([b"ab".as_slice()]), of([b"ab".as_slice()]));
    }
}
