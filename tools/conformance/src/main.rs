//! The conformance run. `cargo xtask conformance` starts it; a bundle takes it to machines that
//! have a driver and no Rust.

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, ValueEnum};
use ptx_matrix::sim::{Arch, Simulator};
use ptx_matrix_conformance::record::Recording;
use ptx_matrix_conformance::{Options, Trials, run, run_in_schedules, select, trials};
use ptx_matrix_host::{Gpu, GpuError};
use ptx_matrix_kernel_files::KernelFiles;
use ptx_matrix_output::{errln, outln};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compares every form of every instruction with a reference, bit for bit
///
/// A check runs one form, or whole tiles, on random data. Every bit of its output must be that of
/// the reference.
#[derive(Debug, Parser)]
#[command(name = "conformance", version, after_help = AFTER_HELP)]
struct Arguments {
    /// Where to run (default: the GPU if there is an NVIDIA driver, otherwise the simulator)
    #[arg(long, value_enum, help_heading = "Machine")]
    on: Option<On>,
    /// The number of the GPU, as the driver counts them
    #[arg(long, default_value_t = 0, help_heading = "Machine")]
    device: u32,
    /// The GPU whose arithmetic the simulator uses, such as sm_80 (default: sm_90, with the
    /// instructions that it lacks)
    ///
    /// Only on the simulator.
    #[arg(long, value_name = "TARGET", help_heading = "Machine")]
    gpu: Option<Arch>,
    /// Run only the checks whose name contains TEXT
    #[arg(long, value_name = "TEXT", help_heading = "Checks")]
    filter: Option<String>,
    /// The first seed of the random data, and of the simulator's schedule
    #[arg(long, default_value_t = 0, help_heading = "Checks")]
    seed: u64,
    /// Run COUNT rounds of each check, each with its own data (default: each check's own number)
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Checks"
    )]
    rounds: Option<u64>,
    /// Run each kernel in COUNT orders of its warps, or more
    ///
    /// Its launches share them, and each launch has at least one of its own. Only on the
    /// simulator.
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Checks"
    )]
    schedules: u64,
    /// Write the outcome of each check to FILE, as JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    /// Write the results of the GPU to FILE, as JSON; the tests replay such files
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    record: Option<PathBuf>,
    /// For each check, record launches up to BYTES bytes, and at least one launch
    #[arg(
        long,
        default_value_t = 4096,
        requires = "record",
        value_name = "BYTES",
        help_heading = "Output"
    )]
    record_bytes: usize,
    /// Compare COUNT random cases of each form with the simulator instead
    ///
    /// For forms of mma and wgmma, and for special functions. A case is an element of the output.
    /// COUNT applies to each kind of data of each form. Needs a GPU. --report then writes the
    /// number of cases of each check.
    #[arg(
        long,
        value_name = "COUNT",
        conflicts_with_all = ["record", "rounds", "schedules"],
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Checks"
    )]
    cases: Option<u64>,
    #[command(flatten)]
    kernels: KernelFiles,
}

const AFTER_HELP: &str = "Examples:
  conformance --filter mma.sync                        every form of mma
  conformance --on sim --gpu sm_89 --filter mma        by the arithmetic of Ada
  conformance --on sim --schedules 100                 a hundred orders of the warps
  conformance --on gpu --record h200.json              a recording for tests/recorded/
  conformance --on gpu --filter mma --cases 1000000 --report trials.json

Exit codes:
  0  no check failed
  1  a check failed
  2  wrong options, no GPU, or another error";

/// The report of `--cases`, in the format of the files in `tests/trials`.
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
    /// The simulator, on this CPU
    Sim,
    /// An NVIDIA GPU
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

/// Runs the checks. Returns whether none failed.
fn conformance(arguments: &Arguments) -> Result<bool> {
    let gpu = match arguments.on {
        Some(On::Sim) => None,
        Some(On::Gpu) => Some(Gpu::open(arguments.device)?),
        None => match Gpu::open(arguments.device) {
            Ok(gpu) => Some(gpu),
            Err(reason @ (GpuError::NoDriver(_) | GpuError::DriverStart(_))) => {
                if !arguments.kernels.is_validating() {
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
        keep: arguments.record.as_ref().map(|_| arguments.record_bytes),
    };
    if arguments.kernels.is_validating() {
        let checks = select::<Simulator>(&options)?.checks;
        if arguments.cases.is_some() && checks.iter().all(|check| check.arithmetic.is_none()) {
            bail!(
                "--cases is for forms of `mma` and `wgmma` whose arithmetic is known, and for \
                 special functions: the filter selects none"
            );
        }
        if let Some(gpu) = &gpu {
            arguments.kernels.print_target(gpu)?;
        }
        return Ok(true);
    }
    let summary = match gpu {
        None => {
            let simulator = |seed| {
                let simulator = Simulator::new(seed).strict().allow_boxes_outside();
                arguments.gpu.map_or(simulator, |gpu| simulator.gpu(gpu))
            };
            run_in_schedules(simulator, arguments.schedules, &options)?
        }
        Some(gpu) => {
            // Only Hopper has the attention kernels.
            let attention: &[&str] =
                if gpu.info().capability.major == 9 { &["ptx-matrix-attention"] } else { &[] };
            let (target, device) =
                arguments.kernels.load(gpu, "ptx-matrix-conformance-kernels", attention)?;
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
                ensure!(!trials.cases.is_empty(), NOTHING_RAN);
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
    ensure!(summary.passed() + summary.failed() > 0, NOTHING_RAN);
    Ok(summary.failed() == 0)
}

const NOTHING_RAN: &str = "every check was skipped: the GPU lacks these instructions, or the \
                           folder of kernels has none for it";

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, format!("{text}\n")).with_context(|| format!("cannot write {}", file.display()))
}
