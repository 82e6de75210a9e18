//! Fetches missing programs into the builder's own folder, without root.

mod apt;
mod pip;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

pub use pip::PACKAGES as CUDA_PACKAGES;

/// The parts to fetch.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    pub rust: bool,
    pub ptxas: bool,
}

/// The folder in a store with the layout of the system's root.
pub fn system_root(store: &Path) -> PathBuf {
    store.join("system")
}

/// The folder in a store that contains ptxas, if it was fetched.
pub fn cuda_binaries(store: &Path) -> Option<PathBuf> {
    let versions = std::fs::read_dir(store.join("cuda/nvidia")).ok()?;
    versions
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .find(|folder| folder.join("ptxas").is_file())
}

/// Fetches the parts into `store`. An interrupted fetch leaves nothing there that looks complete.
pub fn fetch(store: &Path, parts: Parts, progress: &dyn Fn(&str)) -> Result<()> {
    if parts.rust {
        complete_or_absent(&system_root(store), |folder| apt::fetch_rust(folder, progress))?;
    }
    if parts.ptxas {
        complete_or_absent(&store.join("cuda"), |folder| pip::fetch_cuda(folder, progress))?;
    }
    Ok(())
}

/// Lets `fill` fill a temporary folder, which replaces `folder` once it is complete.
fn complete_or_absent(folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let unfinished = folder.with_extension("unfinished");
    remove(&unfinished)?;
    std::fs::create_dir_all(&unfinished)
        .with_context(|| format!("cannot make {}", unfinished.display()))?;
    // What an interrupted process leaves is removed by the next one.
    fill(&unfinished).inspect_err(|_| _ = std::fs::remove_dir_all(&unfinished))?;
    remove(folder)?;
    std::fs::rename(&unfinished, folder)
        .with_context(|| format!("cannot make {}", folder.display()))
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

/// Runs a command that downloads. Its error is one line, though pip and apt print one for each
/// try.
fn download(command: &mut Command) -> Result<()> {
    let output = process::output(command)?;
    if !output.status.success() {
        let program = command.get_program().display();
        bail!(
            "{program} cannot download: {}; does the network need a proxy ($https_proxy, \
             $http_proxy)?",
            reason(&String::from_utf8_lossy(&output.stderr))
        );
    }
    Ok(())
}

/// The reason in the output of pip or apt: its first line about a connection, else its first error,
/// else the output.
fn reason(said: &str) -> String {
    let line = |marks: &[&str]| {
        let mut lines = said.lines();
        lines.find_map(|line| marks.iter().find_map(|mark| line.split_once(mark)).map(|of| of.1))
    };
    let broken = line(&["connection broken by ", "Failed to fetch "]);
    broken.or_else(|| line(&["ERROR: ", "E: "])).unwrap_or(said).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_download_has_one_reason() {
        let pip = "WARNING: Retrying (Retry(total=4)) after connection broken by \
            'ProxyError('no')': /simple/x/\n\
            WARNING: Retrying (Retry(total=3)) after connection broken by \
            'ProxyError('no')': /simple/x/\n\
            ERROR: No matching distribution found for x\n";
        assert_eq!(reason(pip), "'ProxyError('no')': /simple/x/");
        let broken = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES\nERROR: more\n";
        assert_eq!(reason(broken), "THESE PACKAGES DO NOT MATCH THE HASHES");
        let apt = "W: Failed to fetch http://d/InRelease  Could not connect to p:9\nE: Some index \
                   files failed\n";
        assert_eq!(reason(apt), "http://d/InRelease  Could not connect to p:9");
        assert_eq!(reason("other\nwords\n"), "other\nwords");
    }

    #[test]
    fn failed_fetch_leaves_nothing() {
        let store = tempfile::tempdir().unwrap();
        let folder = store.path().join("cuda");
        let error = complete_or_absent(&folder, |unfinished| {
            std::fs::write(unfinished.join("half"), "a")?;
            download(Command::new("sh").args(["-c", "echo 'ERROR: cut off' >&2; exit 1"]))
        });
        let error = error.unwrap_err().to_string();
        assert!(error.contains("sh cannot download: cut off; does the network"), "{error}");
        assert_eq!(std::fs::read_dir(store.path()).unwrap().count(), 0);
        complete_or_absent(&folder, |unfinished| {
            Ok(std::fs::write(unfinished.join("whole"), "a")?)
        })
        .unwrap();
        assert!(folder.join("whole").is_file());
    }
}
