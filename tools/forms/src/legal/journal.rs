//! Answers on disk, for continuing an interrupted run.

use anyhow::{Context, Result};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The file has one line for each question: its hash, the answer, and a final dot. A line without
/// the dot was cut off by the end of the run, and is ignored.
#[derive(Debug)]
pub struct Journal {
    known: HashMap<u64, String>,
    file: Mutex<File>,
}

impl Journal {
    /// Opens the journal of a ptxas; with `fresh`, empties it.
    pub fn open(path: &Path, fresh: bool) -> Result<Self> {
        let text = if fresh { String::new() } else { fs::read_to_string(path).unwrap_or_default() };
        let file =
            OpenOptions::new().create(true).write(true).truncate(fresh).append(!fresh).open(path);
        let mut file = file.with_context(|| format!("cannot write {}", path.display()))?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        let entry = |line: &str| {
            let (hash, answer) = line.strip_suffix(" .")?.split_once(' ')?;
            Some((u64::from_str_radix(hash, 16).ok()?, answer.to_owned()))
        };
        Ok(Self { known: text.lines().filter_map(entry).collect(), file: Mutex::new(file) })
    }

    pub fn get(&self, question: u64) -> Option<&str> {
        self.known.get(&question).map(String::as_str)
    }

    /// Stores an answer of one line.
    pub fn put(&self, question: u64, answer: &str) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(format!("{question:016x} {answer} .\n").as_bytes())
            .context("cannot write the journal")
    }
}

/// FNV-1a: the same in every release of Rust, unlike the standard library's.
pub fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = parts.into_iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_line_is_asked_again_and_others_are_known() {
        let path = std::env::temp_dir().join(format!("ptx-matrix-journal-{}", std::process::id()));
        let journal = Journal::open(&path, true).unwrap();
        journal.put(1, "a b").unwrap();
        journal.put(2, "").unwrap();
        drop(journal);
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("0000000000000003 torn");
        fs::write(&path, text).unwrap();
        let journal = Journal::open(&path, false).unwrap();
        assert_eq!([1, 2, 3].map(|question| journal.get(question)), [Some("a b"), Some(""), None]);
        journal.put(4, "d").unwrap();
        drop(journal);
        assert_eq!(Journal::open(&path, false).unwrap().get(4), Some("d"));
        assert_eq!(Journal::open(&path, true).unwrap().get(4), None);
        fs::remove_file(&path).unwrap();
    }
}
