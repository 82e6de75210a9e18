//! Opens a GPU with the fuzz kernels.

use anyhow::Result;
use ptx_matrix_host::{BuiltCode, Gpu, GpuDevice};
use std::path::Path;

/// The first GPU, with the kernels from a folder that has a folder for each target.
///
/// # Errors
/// There is no GPU, or the folder has no kernels for it.
pub fn open(folder: &Path) -> Result<GpuDevice> {
    let gpu = Gpu::open(0)?;
    let kernels = BuiltCode::best(gpu.info(), folder, "ptx-matrix-fuzz-kernels")?;
    Ok(GpuDevice::new(gpu, &kernels)?)
}
