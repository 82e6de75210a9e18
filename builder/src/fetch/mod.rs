//! Fetches missing programs into the builder's own folder, without root.

mod apt;
mod pip;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

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
