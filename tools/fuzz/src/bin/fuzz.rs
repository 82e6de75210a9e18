//! `cargo xtask fuzz`: runs random programs on the simulator, for a given time or number of seeds.

use anyhow::{Result, bail};
use clap::{Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use ptx_matrix_fuzz::fuzz::{self, pipeline};
use ptx_matrix_fuzz::gpu;
use ptx_matrix_host::GpuDevice;
use ptx_matrix_output::{errln, outln};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Tests the simulator with random programs
///
/// A correct program must run without a report, and its results must equal a model's. A program
/// with a misuse must be reported.
#[derive(Debug, Parser)]
#[command(name = "fuzz", version, after_help = AFTER_HELP)]
struct Arguments {
    /// Run for MINUTES (default: 1, if --seconds and --programs are absent too)
    #[arg(long, conflicts_with_all = ["programs", "seconds"])]
    minutes: Option<f64>,
    /// Run for SECONDS
    #[arg(long, conflicts_with = "programs")]
    seconds: Option<f64>,
    /// Run this many seeds
    #[arg(long)]
    programs: Option<u64>,
    /// The first seed; the others count up from it
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The family of programs to run
    #[arg(long, value_enum, default_value_t = Family::All)]
    family: Family,
    /// Continue after a failure
    #[arg(long)]
    keep_going: bool,
    /// Run the correct programs on the GPU instead, with the kernels in FOLDER
    ///
    /// Their results must equal the model's. FOLDER has a folder for each target, as `cargo xtask
    /// build fuzz` and `cargo xtask fuzz --build TARGET` leave in target/ptx.
    #[arg(long, value_name = "FOLDER")]
    gpu: Option<PathBuf>,
}

/// A family of random programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    /// Both families: each seed runs a program of each
    All,
    /// Four warps: accesses, copies and matrix products, ordered by syncs and mbarriers
    Words,
    /// Warp-specialized pipelines with TMA, mbarriers, wgmma and clusters
    Pipelines,
}

const AFTER_HELP: &str = "\
`cargo xtask fuzz --build TARGET ...` first builds the kernels into target/ptx, for --gpu.

Examples:
  cargo xtask fuzz --minutes 10
  cargo xtask fuzz --family pipelines --seconds 240 --seed 41000000 --keep-going
  cargo xtask fuzz --family words --seed 1234 --programs 1    repeats the failure of seed 1234
  cargo xtask fuzz --build sm_90a --gpu target/ptx --seconds 60

Exit codes:
  0  no seed failed
  1  a seed failed; the message names it
  2  wrong options, no GPU, or another error";

/// How many programs of each family were run.
#[derive(Default)]
struct Tally {
    words: fuzz::Tally,
    pipelines: pipeline::Tally,
}

impl Family {
    /// Runs the programs of a seed, and returns the first failure.
    fn run(self, gpu: Option<&GpuDevice>, seed: u64, tally: &mut Tally) -> Option<String> {
        let Tally { words, pipelines } = tally;
        let mut words = || match gpu {
            Some(gpu) => fuzz::try_on(gpu, seed, words).err().map(|error| error.to_string()),
            None => fuzz::try_seed(seed, words).err().map(|failure| failure.to_string()),
        };
        let mut pipelines = || match gpu {
            Some(gpu) => {
                pipeline::try_on(gpu, seed, pipelines).err().map(|error| error.to_string())
            }
            None => pipeline::try_seed(seed, pipelines)
                .err()
                .map(|failure| format!("seed {seed}: {failure}")),
        };
        match self {
            Family::Words => words(),
            Family::Pipelines => pipelines(),
            Family::All => words().or_else(pipelines),
        }
    }
}

fn main() -> ExitCode {
    match fuzz(&Arguments::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs the seeds. Returns how many failed.
fn fuzz(arguments: &Arguments) -> Result<u64> {
    let Arguments { seed: first, family, .. } = *arguments;
    let gpu = arguments.gpu.as_deref().map(gpu::open).transpose()?;
    let start = Instant::now();
    let minutes = arguments.minutes.unwrap_or(1.0);
    let time = Duration::from_secs_f64(arguments.seconds.unwrap_or(minutes * 60.0).max(0.0));
    let progress = match arguments.programs {
        Some(programs) => ProgressBar::new(programs),
        None => ProgressBar::new(time.as_secs()),
    };
    let progress = progress.with_style(ProgressStyle::with_template("{elapsed} {wide_bar} {msg}")?);
    let more =
        |done: u64| arguments.programs.map_or(start.elapsed() < time, |programs| done < programs);
    let (mut tally, mut seeds, mut failures) = (Tally::default(), 0, 0);
    while more(seeds) {
        let seed = first + seeds;
        let failure = family.run(gpu.as_ref(), seed, &mut tally);
        seeds += 1;
        if let Some(failure) = failure {
            failures += 1;
            let name = family
                .to_possible_value()
                .map_or_else(String::new, |value| value.get_name().to_owned());
            let again =
                format!("again: cargo xtask fuzz --family {name} --seed {seed} --programs 1");
            progress.suspend(|| outln!("{failure}{again}\n"));
            if !arguments.keep_going {
                break;
            }
        }
        progress.set_position(arguments.programs.map_or(start.elapsed().as_secs(), |_| seeds));
        progress.set_message(format!("{seeds} seeds, {failures} failed"));
    }
    progress.finish_and_clear();
    if seeds == 0 {
        bail!("no program was run");
    }
    let Tally { words: fuzz::Tally { right, wrong, harmless }, pipelines } = tally;
    if family != Family::Pipelines {
        outln!("words: {right} right programs, {wrong} wrong, {harmless} harmless");
    }
    if family != Family::Words {
        outln!("pipelines: {} right programs, {} wrong", pipelines.right, pipelines.wrong());
        outln!("{pipelines}");
    }
    outln!("{seeds} seeds from {first} in {:.0} s", start.elapsed().as_secs_f64());
    outln!("fuzz: {} passed, {failures} failed", seeds - failures);
    Ok(failures)
}
