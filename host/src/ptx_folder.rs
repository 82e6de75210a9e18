//! The folder with this project's kernels, which its programs take with them: `ptx/TARGET/CRATE.ptx`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{Arch, Gpu};

/// The best target for the GPU among those that a folder has PTX of a kernel crate for, and that PTX. Without a folder: `ptx`
/// beside the program that runs.
pub fn best(gpu: &Gpu, folder: Option<&Path>, kernel_crate: &str) -> Result<(Arch, String)> {
    let folder: PathBuf = match folder {
        Some(folder) => folder.to_owned(),
        None => std::env::current_exe()?.with_file_name("ptx"),
    };
    let file = format!("{kernel_crate}.ptx");
    let entries = fs::read_dir(&folder)
        .with_context(|| format!("no PTX in {}: `cargo xtask build` makes it", folder.display()))?;
    let with_kernels = entries.flatten().filter(|entry| entry.path().join(&file).exists());
    let targets: Vec<Arch> = with_kernels.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let target = gpu.info().best_arch(&targets)?;
    let file = folder.join(target.to_string()).join(file);
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok((target, text))
}
