//! Where the programs of this project find the PTX of their kernels: `ptx/TARGET/PACKAGE.ptx`, and
//! the machine code beside it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use ptx_matrix_host::{Arch, BuiltCode, Gpu, GpuDevice};
use ptx_matrix_output::outln;

/// Where the kernels are, as a program's options.
#[derive(Debug, clap::Args)]
pub struct KernelFiles {
    /// The folder with the kernels, one folder in it for each target. Without it: `ptx` beside
    /// this program.
    #[arg(long, value_name = "FOLDER")]
    ptx: Option<PathBuf>,
    /// Have the driver compile the PTX, also where there is machine code for the GPU beside it.
    #[arg(long)]
    compile: bool,
}

impl KernelFiles {
    /// A GPU with the kernels of some packages that are best for it, and what those of the first
    /// are built for.
    ///
    /// # Errors
    /// A package has no kernels there for the GPU, or they cannot be loaded.
    pub fn load(&self, gpu: Gpu, first: &str, others: &[&str]) -> Result<(Arch, GpuDevice)> {
        let folder = match &self.ptx {
            Some(folder) => folder.clone(),
            None => std::env::current_exe()?.with_file_name("ptx"),
        };
        let info = gpu.info().clone();
        let best = |package: &str| {
            let built = BuiltCode::best(&info, &folder, package);
            built.with_context(|| {
                format!("`cargo xtask build` makes the kernels: {}", folder.display())
            })
        };
        let built = best(first)?;
        let mut device = if self.compile {
            GpuDevice::new(gpu, &built.ptx)?
        } else {
            GpuDevice::new(gpu, &built)?
        };
        for package in others {
            let built = best(package)?;
            if self.compile { device.load(&built.ptx)? } else { device.load(&built)? }
        }
        let is_assembled = device.modules().iter().all(|module| module.is_assembled());
        let from = if is_assembled { "machine code" } else { "PTX, compiled by the driver," };
        outln!("{} (driver {}), {from} for {}", info.name, info.driver, built.target);
        Ok((built.target, device))
    }
}
