//! This project's kernels, which its programs take with them: `ptx/TARGET/ptx-matrix-kernels.ptx`, and the machine code beside it.

use ptx_matrix_output::outln;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{Arch, BuiltCode, Gpu, GpuDevice};

/// Where the kernels are, as a program's options.
#[derive(Debug, clap::Args)]
pub struct OwnKernels {
    /// The folder with the kernels, one folder in it for each target. Without it: `ptx` beside this program.
    #[arg(long, value_name = "FOLDER")]
    ptx: Option<PathBuf>,
    /// Have the driver compile the PTX, also where there is machine code for the GPU beside it.
    #[arg(long)]
    compile: bool,
}

impl OwnKernels {
    /// A GPU with the kernels that are best for it, and what they are built for.
    pub fn load(&self, gpu: Gpu) -> Result<(Arch, GpuDevice)> {
        let folder = match &self.ptx {
            Some(folder) => folder.clone(),
            None => std::env::current_exe()?.with_file_name("ptx"),
        };
        let built = BuiltCode::best(gpu.info(), &folder, "ptx-matrix-kernels");
        let built = built.with_context(|| format!("`cargo xtask build` makes the kernels: {}", folder.display()))?;
        let device = if self.compile { GpuDevice::new(gpu, &built.ptx)? } else { GpuDevice::new(gpu, &built)? };
        let (info, target) = (device.gpu().info(), built.target);
        let from = if device.module().is_assembled() { "machine code" } else { "PTX, compiled by the driver," };
        outln!("{} (driver {}), {from} for {target}", info.name, info.driver);
        Ok((target, device))
    }
}
