//! A GPU, with the kernels that are for it.

use anyhow::Result;
use ptx_matrix_host::{Gpu, GpuDevice, ptx_folder};
use std::path::Path;

/// The first GPU, with the kernels' PTX from a folder that has a folder for each target.
///
/// # Errors
/// There is no GPU, or no PTX for it.
pub fn open(folder: &Path) -> Result<GpuDevice> {
    let gpu = Gpu::open(0)?;
    let (_, text) = ptx_folder::best(&gpu, Some(folder), "ptx-matrix-judge-kernels")?;
    Ok(GpuDevice::new(gpu, &text)?)
}
