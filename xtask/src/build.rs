use crate::kernels::Kernels;
use anyhow::{Result, ensure};
use ptx_matrix_build::Arch;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The kernel crates to build (default: all)
    #[arg(value_enum, value_name = "KERNELS")]
    kernels: Vec<Kernels>,
    /// A target to build for, such as sm_90a; may be repeated (default: every target of the crate)
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
    let mut built = 0;
    for kernels in kernels {
        let all = kernels.builder().targets()?;
        // Without named crates, a crate that has no kernels for a given target is left out.
        let asked: Vec<Arch> =
            archs.iter().copied().filter(|arch| named || all.contains(arch)).collect();
        if !archs.is_empty() && asked.is_empty() {
            continue;
        }
        let builder = kernels.builder().line_info(*line_info);
        let builder = if asked.is_empty() { builder } else { builder.archs(asked) };
        for artifact in builder.build()? {
            cargo_ptx::build::print(&artifact);
            built += 1;
        }
    }
    let names: Vec<String> = archs.iter().map(Arch::to_string).collect();
    ensure!(
        built > 0,
        "no crate has {} among its targets: name a crate, and it is built for any target, as in \
         `cargo xtask build gemm --arch {}`",
        names.join(" or "),
        names.join(" --arch ")
    );
    Ok(ExitCode::SUCCESS)
}
