use crate::kernels::Kernels;
use anyhow::Result;
use ptx_matrix_build::{Arch, Artifact, Manifest};
use ptx_matrix_output::outln;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The kernel crates to build (default: all)
    #[arg(value_enum, value_name = "KERNELS")]
    kernels: Vec<Kernels>,
    /// A target to build for, such as sm_90a; may be repeated (default: every target)
    #[arg(long = "arch", value_name = "TARGET")]
    archs: Vec<Arch>,
    /// Add source lines to PTX and cubin, for profilers
    #[arg(long)]
    line_info: bool,
}

const AFTER_HELP: &str = "Examples:
  cargo xtask build                            every crate for every target: minutes
  cargo xtask build gemm --arch sm_90a         one crate for one target
  cargo xtask build attention gemm --line-info

Exit codes:
  0  everything is built and assembled
  2  wrong options, or a kernel does not compile or assemble";

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Arguments { kernels, archs, line_info } = arguments;
    let named = !kernels.is_empty();
    let kernels = if named { kernels } else { &Kernels::ALL[..] };
    for kernels in kernels {
        let all = kernels.archs();
        // Without named crates, a crate that has no kernels for a given target is left out.
        let asked: Vec<Arch> =
            archs.iter().copied().filter(|arch| named || all.contains(arch)).collect();
        if !archs.is_empty() && asked.is_empty() {
            continue;
        }
        let builder = kernels.builder().line_info(*line_info);
        let builder = if asked.is_empty() { builder } else { builder.archs(asked) };
        for artifact in builder.build()? {
            print(&artifact);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(artifact: &Artifact) {
    let Artifact { arch, ptx, manifest, .. } = artifact;
    let Manifest { package, ptx_version, kernels, .. } = manifest;
    outln!("{package} for {arch}: PTX {ptx_version}, {} kernels, {}", kernels.len(), ptx.display());
    outln!(
        "  {:<32} {:>9} {:>14} {:>15} {:>6}",
        "kernel",
        "registers",
        "static shared",
        "dynamic shared",
        "local"
    );
    for kernel in kernels {
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
