//! The options by which the programs find their kernels: PTX in `ptx/TARGET/PACKAGE.ptx`, with the
//! machine code (cubin) beside it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use ptx_matrix_host::{Arch, BuiltCode, Gpu, GpuDevice};
use ptx_matrix_output::outln;

/// Command-line options that say where the kernels are.
#[derive(Debug, clap::Args)]
pub struct KernelFiles {
    /// The folder with the kernels, which has a folder for each target (default: ptx beside this
    /// program)
    #[arg(long, value_name = "FOLDER", help_heading = "Kernels")]
    ptx: Option<PathBuf>,
    /// Let the driver compile the PTX, even if there is machine code for the GPU
    #[arg(long, help_heading = "Kernels")]
    compile: bool,
    /// Only check the other options, and print which of these targets the GPU needs kernels for
    #[arg(long, hide = true, value_delimiter = ',', value_name = "TARGETS")]
    validate: Vec<Arch>,
}

impl KernelFiles {
    /// Whether the program is only asked which kernels it needs.
    pub fn is_validating(&self) -> bool {
        !self.validate.is_empty()
    }

    /// Prints the target that suits the GPU best, for `cargo xtask`.
    ///
    /// # Errors
    /// The GPU runs the kernels of no target.
    pub fn print_target(&self, gpu: &Gpu) -> Result<()> {
        outln!("{}", gpu.info().best_arch(&self.validate)?);
        Ok(())
    }

    /// Loads the kernels of some packages, for the target that suits the GPU best. Returns the
    /// target of the first package, and the GPU with the kernels.
    ///
    /// # Errors
    /// The folder has no kernels of a package for this GPU, or they cannot be loaded.
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
