//! A GPU, with the kernels that are for it.

use anyhow::{Context, Result};
use ptx_matrix_host::{Arch, Gpu, GpuDevice};
use std::fs;
use std::path::Path;

/// The kernels' PTX in a target's folder.
const PTX_FILE: &str = "ptx-matrix-judge-kernels.ptx";

/// The first GPU, with the kernels' PTX from a folder that has a folder for each target.
///
/// # Errors
/// There is no GPU, or no PTX for it.
pub fn open(folder: &Path) -> Result<GpuDevice> {
    let gpu = Gpu::open(0)?;
    let entries = fs::read_dir(folder).with_context(|| format!("no PTX in {}", folder.display()))?;
    let with_kernels = entries.flatten().filter(|entry| entry.path().join(PTX_FILE).exists());
    let targets: Vec<Arch> = with_kernels.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let target = gpu.info().best_arch(&targets)?;
    let text = fs::read_to_string(folder.join(target.to_string()).join(PTX_FILE))?;
    Ok(GpuDevice::new(gpu, &text)?)
}
