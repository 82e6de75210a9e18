//! Latency and throughput of instructions. `cargo xtask timings` starts it; a bundle takes it, with
//! its kernels, to machines that have a driver and no Rust.

use ptx_matrix_output::{errln, out, outln};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use indicatif::ProgressBar;
use ptx_matrix_host::Gpu;
use ptx_matrix_kernel_files::KernelFiles;
use ptx_matrix_timings::{all, markdown, measure, write_csv};

/// The target of the kernels that are timed.
const TARGET: &str = "sm_90a";

/// Measures latency and throughput of ldmatrix, stmatrix, movmatrix and mma on a Hopper GPU
///
/// Every form is measured. The unit is cycles.
///
/// Latency: one warp runs a chain of instructions, each of which waits for the one before.
///
/// Interval: the cycles from one instruction to the next on an SM with eight warps. Each warp has
/// four (mma) or eight instructions in flight.
///
/// Both are measured with the rows of a matrix in different banks, and with two, four and eight
/// rows in the same bank.
#[derive(Debug, Parser)]
#[command(name = "timings", version, after_help = AFTER_HELP)]
struct Arguments {
    /// Measure only the forms whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Rounds of eight instructions in each run
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    rounds: u32,
    /// The folder for timings.csv and timings.md
    #[arg(long, value_name = "FOLDER", default_value = "bench-results")]
    out: PathBuf,
    /// The number of the GPU, as the driver counts them
    #[arg(long, default_value_t = 0)]
    device: u32,
    #[command(flatten)]
    kernels: KernelFiles,
}

const AFTER_HELP: &str = "Examples:
  timings                                  every form: tables on standard output
  timings --filter ldmatrix --out results

Exit codes:
  0  everything was measured
  2  wrong options, no Hopper GPU, or another error";

fn main() -> ExitCode {
    match timings(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn timings(arguments: &Arguments) -> Result<()> {
    let mut forms = all();
    forms.retain(|form| {
        arguments.filter.as_ref().is_none_or(|part| form.ptx.contains(part.as_str()))
    });
    ensure!(
        !forms.is_empty(),
        "no form's name contains `{}`",
        arguments.filter.as_deref().unwrap_or_default()
    );
    let gpu = Gpu::open(arguments.device).context("measuring needs a GPU")?;
    let capability = gpu.info().capability;
    ensure!(
        (capability.major, capability.minor) == (9, 0),
        "the timed kernels are for {TARGET}, and {} has the compute capability {}.{}",
        gpu.info().name,
        capability.major,
        capability.minor
    );
    if arguments.kernels.is_validating() {
        return arguments.kernels.print_target(&gpu);
    }
    let (target, device) = arguments.kernels.load(gpu, "ptx-matrix-timing-kernels", &[])?;
    let (target, name) = (target.to_string(), &device.gpu().info().name);
    ensure!(
        target == TARGET,
        "{name} runs kernels for {target}; those that are timed are for {TARGET}"
    );
    let progress = ProgressBar::new(forms.len() as u64);
    let mut timings = Vec::new();
    for form in &forms {
        timings.push(measure(&device, form, arguments.rounds).with_context(|| form.ptx)?);
        progress.inc(1);
    }
    progress.finish_and_clear();
    out!("{}", markdown(&timings));
    fs::create_dir_all(&arguments.out)
        .with_context(|| format!("cannot make {}", arguments.out.display()))?;
    let (csv, table) = (arguments.out.join("timings.csv"), arguments.out.join("timings.md"));
    write_csv(
        &timings,
        File::create(&csv).with_context(|| format!("cannot write {}", csv.display()))?,
    )?;
    fs::write(&table, markdown(&timings))
        .with_context(|| format!("cannot write {}", table.display()))?;
    outln!("{}\n{}\ntimings: {} measured", csv.display(), table.display(), timings.len());
    Ok(())
}
