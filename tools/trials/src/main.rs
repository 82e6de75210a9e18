//! Random GEMMs against sums in f64. `cargo xtask trials` starts it; a bundle takes it, with its
//! kernels, to machines that have a driver and no Rust.

use ptx_matrix_output::{errln, outln};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use indicatif::ProgressBar;
use ptx_matrix::sim::Simulator;
use ptx_matrix_gemm::GemmDevice;
use ptx_matrix_host::Gpu;
use ptx_matrix_kernel_files::KernelFiles;
use ptx_matrix_trials as trials;

/// Compares random GEMMs with sums in f64
///
/// A seed draws the sizes, layouts, types and data of a GEMM. The GEMM runs through the public
/// interface of ptx-matrix-gemm.
#[derive(Debug, Parser)]
#[command(name = "trials", version, after_help = AFTER_HELP)]
struct Arguments {
    /// Where to run
    #[arg(long, value_enum, default_value = "gpu", help_heading = "Machine")]
    on: On,
    /// The number of the GPU, as the driver counts them
    #[arg(long, default_value_t = 0, help_heading = "Machine")]
    device: u32,
    /// The first seed; the others count up from it
    #[arg(long, default_value_t = 0, help_heading = "GEMMs")]
    seed: u64,
    /// The number of GEMMs, one for each seed
    #[arg(
        long,
        default_value_t = 3000,
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "GEMMs"
    )]
    count: u64,
    /// The largest size of M, N and K
    #[arg(
        long,
        default_value_t = 300,
        value_parser = clap::value_parser!(u32).range(1..=4096),
        help_heading = "GEMMs"
    )]
    longest: u32,
    #[command(flatten)]
    kernels: KernelFiles,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum On {
    /// The simulator, on this CPU
    Sim,
    /// An NVIDIA GPU
    Gpu,
}

const AFTER_HELP: &str = "Examples:
  trials                                  3000 GEMMs on the GPU
  trials --seed 1234 --count 1            repeats the failure of seed 1234
  trials --on sim --count 20 --longest 100

Exit codes:
  0  every GEMM was right
  1  a GEMM was wrong; its line begins with FAILED
  2  wrong options, no GPU, or another error";

fn main() -> ExitCode {
    match trials(&Arguments::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn trials(arguments: &Arguments) -> Result<u64> {
    let Arguments { seed, count, .. } = *arguments;
    ensure!(seed.checked_add(count).is_some(), "seed {seed} is too large for {count} GEMMs");
    match arguments.on {
        On::Sim if arguments.kernels.is_validating() => Ok(0),
        On::Sim => Ok(run(&Simulator::new(arguments.seed).strict(), arguments)),
        On::Gpu => {
            let gpu = Gpu::open(arguments.device)?;
            if arguments.kernels.is_validating() {
                arguments.kernels.print_target(&gpu)?;
                return Ok(0);
            }
            let (_, device) = arguments.kernels.load(gpu, "ptx-matrix-gemm", &[])?;
            let stream = device.gpu().new_stream()?;
            Ok(run(&device.in_stream(&stream), arguments))
        }
    }
}

/// Runs the GEMMs. Returns how many failed.
fn run<D: GemmDevice>(device: &D, arguments: &Arguments) -> u64 {
    let progress = ProgressBar::new(arguments.count);
    let mut failed = 0;
    for seed in arguments.seed..arguments.seed + arguments.count {
        if let Err(reason) = trials::run(device, seed, arguments.longest as usize) {
            progress.suspend(|| outln!("FAILED {reason}"));
            failed += 1;
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    outln!("trials: {} passed, {failed} failed", arguments.count - failed);
    failed
}
