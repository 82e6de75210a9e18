//! The trials as a program: `cargo xtask trials` runs it, and it runs by itself, with the kernels
//! beside it, on machines that have a driver and no Rust.

use ptx_matrix_output::{errln, outln};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use indicatif::ProgressBar;
use ptx_matrix::sim::Simulator;
use ptx_matrix_gemm::GemmDevice;
use ptx_matrix_host::Gpu;
use ptx_matrix_kernel_files::KernelFiles;
use ptx_matrix_trials as trials;

/// Multiplies random matrices of every kind, and compares with sums in f64.
#[derive(Debug, Parser)]
#[command(name = "trials", version)]
struct Arguments {
    /// Where to run. Without it: on the GPU.
    #[arg(long, value_enum, default_value = "gpu")]
    on: On,
    /// Which GPU, as the driver counts them.
    #[arg(long, default_value_t = 0)]
    device: u32,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many.
    #[arg(long, default_value_t = 3000)]
    count: u64,
    /// The longest side.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=4096))]
    longest: u32,
    /// Only say whether the other options make sense on this machine.
    #[arg(long, hide = true)]
    validate: bool,
    #[command(flatten)]
    kernels: KernelFiles,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum On {
    /// The simulator, on this CPU.
    Sim,
    /// An NVIDIA GPU.
    Gpu,
}

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
    match arguments.on {
        On::Sim if arguments.validate => Ok(0),
        On::Sim => Ok(run(&Simulator::new(arguments.seed).strict(), arguments)),
        On::Gpu => {
            let gpu = Gpu::open(arguments.device)?;
            if arguments.validate {
                return Ok(0);
            }
            let (_, device) = arguments.kernels.load(gpu, "ptx-matrix-gemm", &[])?;
            let stream = device.gpu().new_stream()?;
            Ok(run(&device.in_stream(&stream), arguments))
        }
    }
}

/// How many failed.
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
