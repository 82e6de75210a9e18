use anyhow::Result;
use ptx_matrix_build::{Arch, Artifact, Builder};
use ptx_matrix_output::outln;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only for this target, such as sm_90a (may be given more than once). Without it: for every target.
    #[arg(long = "arch", value_name = "TARGET")]
    archs: Vec<Arch>,
    /// Add the lines of the source to the output, for profilers.
    #[arg(long)]
    line_info: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut builder = builder().line_info(arguments.line_info);
    if !arguments.archs.is_empty() {
        builder = builder.archs(arguments.archs.iter().copied());
    }
    for artifact in builder.build()? {
        print(&artifact);
    }
    Ok(ExitCode::SUCCESS)
}

/// The kernels' build, as every command does it: into target/ptx, and without local memory.
pub fn builder() -> Builder {
    Builder::new(crate::kernels()).target_dir(crate::target()).deny_local_memory(true)
}

fn print(artifact: &Artifact) {
    let Artifact { arch, ptx, manifest, .. } = artifact;
    outln!("{arch}: PTX {}, {} kernels, {}", manifest.ptx_version, manifest.kernels.len(), ptx.display());
    outln!("  {:<32} {:>9} {:>14} {:>15} {:>6}", "kernel", "registers", "static shared", "dynamic shared", "local");
    for kernel in &manifest.kernels {
        outln!(
            "  {:<32} {:>9} {:>14} {:>15} {:>6}",
            kernel.name,
            kernel.registers,
            kernel.static_shared,
            kernel.dynamic_shared,
            kernel.stack
        );
    }
}
