//! The conformance run as a program of its own: `cargo xtask conformance` starts it, and a bundle
//! carries it to machines that have a driver and no Rust.

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use ptx_matrix::sim::{Arch, Simulator};
use ptx_matrix_conformance::record::Recording;
use ptx_matrix_conformance::{Options, Trials, run, run_in_parallel, select, trials};
use ptx_matrix_host::{Gpu, GpuError};
use ptx_matrix_kernel_files::KernelFiles;
use ptx_matrix_output::{errln, outln};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs every form of every instruction, and whole tiles, on random data, and compares each result
/// bit for bit with a reference.
#[derive(Debug, Parser)]
#[command(name = "conformance", version)]
struct Arguments {
    /// Where to run. Without it: on the GPU where an NVIDIA driver answers, else on the simulator.
    #[arg(long, value_enum)]
    on: Option<On>,
    /// Which of the machine's GPUs, as the driver counts them.
    #[arg(long, default_value_t = 0)]
    device: u32,
    /// The GPU that the simulator computes like, such as sm_80: only on the simulator. Without it:
    /// sm_90, and whatever that lacks.
    #[arg(long, value_name = "TARGET")]
    gpu: Option<Arch>,
    /// Only the checks whose name contains this.
    #[arg(long)]
    filter: Option<String>,
    /// The first seed of the random data (and of the simulator's schedule).
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// So many rounds of each check, each with data of its own. Without it: what the check needs.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Run each block in so many orders of its warps, and of checks that differ only in their data
    /// the first; only on the simulator.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    schedules: u64,
    /// Write the outcome of each check to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write what the GPU returned to this file, to be replayed by the tests.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// How much of each check to record: launches up to so many bytes, and at least one.
    #[arg(long, default_value_t = 4096, requires = "record", value_name = "BYTES")]
    record_bytes: usize,
    /// Instead, run so many random cases (elements of the output) of each kind of data of each
    /// form of `mma` and `wgmma`, and compare them with the simulator's.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["record", "rounds", "schedules"], value_parser = clap::value_parser!(u64).range(1..))]
    cases: Option<u64>,
    /// Only say whether the other options make sense on this machine.
    #[arg(long, hide = true)]
    validate: bool,
    #[command(flatten)]
    kernels: KernelFiles,
}

/// What `--cases` reports, as it is kept in `tests/trials`.
#[derive(Serialize)]
struct Report<'a> {
    device: &'a str,
    driver: String,
    target: String,
    seed: u64,
    #[serde(flatten)]
    trials: &'a Trials,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum On {
    /// The simulator, on this CPU.
    Sim,
    /// An NVIDIA GPU.
    Gpu,
}

fn main() -> ExitCode {
    match conformance(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing failed.
fn conformance(arguments: &Arguments) -> Result<bool> {
    let gpu = match arguments.on {
        Some(On::Sim) => None,
        Some(On::Gpu) => Some(Gpu::open(arguments.device)?),
        None => match Gpu::open(arguments.device) {
            Ok(gpu) => Some(gpu),
            Err(reason @ (GpuError::NoDriver(_) | GpuError::DriverStart(_))) => {
                if !arguments.validate {
                    errln!("{reason}; running on the simulator");
                }
                None
            }
            Err(error) => return Err(error.into()),
        },
    };
    if gpu.is_none() && arguments.record.is_some() {
        bail!("--record keeps what hardware returns: it needs a GPU, not the simulator");
    }
    if gpu.is_none() && arguments.cases.is_some() {
        bail!("--cases compares hardware with the simulator: it needs a GPU");
    }
    if gpu.is_some() && arguments.gpu.is_some() {
        bail!("--gpu is for the simulator (--on sim): a GPU computes like itself");
    }
    if gpu.is_some() && arguments.schedules > 1 {
        bail!("--schedules is for the simulator (--on sim): a GPU has its own");
    }
    let mut options = Options {
        filter: arguments.filter.clone(),
        seed: arguments.seed,
        rounds: arguments.rounds,
        target: arguments.gpu.map(Arch::target),
        gpu: arguments.gpu,
        // Another order of warps does other things to a kernel, not to its data.
        one_kind: arguments.schedules > 1,
        keep: arguments.record.as_ref().map(|_| arguments.record_bytes),
    };
    if arguments.validate {
        let checks = select::<Simulator>(&options)?.checks;
        if arguments.cases.is_some() && checks.iter().all(|check| check.arithmetic.is_none()) {
            bail!(
                "--cases is for forms of `mma` and `wgmma` whose arithmetic is known: the filter selects none"
            );
        }
        return Ok(true);
    }
    let summary = match gpu {
        None => {
            let simulator = Simulator::new(arguments.seed).schedules(arguments.schedules);
            let simulator = arguments.gpu.map_or(simulator, |gpu| simulator.gpu(gpu));
            run_in_parallel(&simulator.strict().allow_boxes_outside(), &options)?
        }
        Some(gpu) => {
            let (target, device) = arguments.kernels.load(
                gpu,
                "ptx-matrix-conformance-kernels",
                &["ptx-matrix-attention"],
            )?;
            let info = device.gpu().info();
            options.target = Some(target.to_string());
            options.gpu = Arch::of(info.capability.major * 10 + info.capability.minor);
            if let Some(cases) = arguments.cases {
                let trials = trials(&device, &options, cases)?;
                if let Some(file) = &arguments.report {
                    let report = Report {
                        device: &info.name,
                        driver: info.driver.to_string(),
                        target: target.to_string(),
                        seed: options.seed,
                        trials: &trials,
                    };
                    write(file, &serde_json::to_string_pretty(&report)?)?;
                }
                outln!("{trials}");
                return Ok(trials.mismatches.is_empty());
            }
            let summary = run(&device, &options)?;
            if let Some(file) = &arguments.record {
                let recording = Recording {
                    device: info.name.clone(),
                    driver: info.driver.to_string(),
                    target: target.to_string(),
                    records: summary.records.clone(),
                    by_name: summary.by_name.clone(),
                };
                write(file, &serde_json::to_string_pretty(&recording)?)?;
            }
            summary
        }
    };
    if let Some(file) = &arguments.report {
        write(file, &serde_json::to_string_pretty(&summary)?)?;
    }
    outln!("{summary}");
    Ok(summary.failed() == 0)
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, format!("{text}\n")).with_context(|| format!("cannot write {}", file.display()))
}
