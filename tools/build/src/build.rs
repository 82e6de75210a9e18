use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use ptx_matrix_build::Arch;
use ptx_matrix_output::{errln, outln};

use crate::kernels::Kernels;

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The kernel crates to build (default: all)
    #[arg(value_enum, value_name = "KERNELS")]
    kernels: Vec<Kernels>,
    /// A target to build for, such as sm_90a; may be repeated (default: every target of the crate)
    #[arg(long = "arch", value_name = "TARGET")]
    archs: Vec<Arch>,
    /// Leave out named crates that do not list the target, instead of building them for it
    #[arg(long, requires = "archs")]
    listed: bool,
    /// Add source lines to PTX and cubin, for profilers
    #[arg(long)]
    line_info: bool,
    /// Fail if rustc warns
    #[arg(long)]
    deny_warnings: bool,
    /// Print the paths of PTX and cubin, one in each line, instead of the manifest
    #[arg(long)]
    paths: bool,
}

const AFTER_HELP: &str = "Examples:
  cargo xtask build                            every crate for every target: minutes
  cargo xtask build gemm --arch sm_90a         one crate for one target
  cargo xtask build attention gemm --line-info

Exit codes:
  0  everything is built and assembled
  2  wrong options, or a kernel does not compile or assemble";

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Arguments { kernels, archs, .. } = arguments;
    let named = !kernels.is_empty();
    // Without named crates, those that have no kernels for the targets are left out.
    let any_target = named && !arguments.listed;
    let kernels = if named { kernels } else { &Kernels::ALL[..] };
    let warnings = Arc::new(AtomicUsize::new(0));
    let mut built = 0;
    for kernels in kernels {
        let all = kernels.builder().targets()?;
        let asked: Vec<Arch> =
            archs.iter().copied().filter(|arch| any_target || all.contains(arch)).collect();
        if !archs.is_empty() && asked.is_empty() {
            continue;
        }
        let counter = warnings.clone();
        let mut builder = kernels.builder().line_info(arguments.line_info).progress(move |step| {
            let warnings = step.lines().filter(|line| line.starts_with("warning: ")).count();
            counter.fetch_add(warnings, Ordering::Relaxed);
            errln!("{step}");
        });
        if !asked.is_empty() {
            builder = builder.archs(asked);
        }
        for artifact in builder.build()? {
            built += 1;
            if arguments.paths {
                outln!("{}\n{}", artifact.ptx.display(), artifact.cubin.display());
            } else {
                cargo_ptx::build::print(&artifact);
            }
        }
    }
    let warnings = warnings.load(Ordering::Relaxed);
    ensure!(
        warnings == 0 || !arguments.deny_warnings,
        "{warnings} warnings in the kernels' build for the device"
    );
    let names: Vec<String> = archs.iter().map(Arch::to_string).collect();
    ensure!(
        built > 0 || arguments.listed,
        "no crate has {} among its targets: name a crate, and it is built for any target, as in \
         `cargo xtask build gemm --arch {}`",
        names.join(" or "),
        names.join(" --arch ")
    );
    Ok(ExitCode::SUCCESS)
}
