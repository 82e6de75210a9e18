//! Random programs against the simulator, for as long as asked: `cargo xtask fuzz` starts it.

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

/// Runs random programs on the simulator. Right ones must run clean and leave a model's values;
/// wrong ones must be reported.
#[derive(Debug, Parser)]
#[command(name = "fuzz", version)]
struct Arguments {
    /// Minutes to run for. Without this, --seconds and --programs: one.
    #[arg(long, conflicts_with_all = ["programs", "seconds"])]
    minutes: Option<f64>,
    /// Seconds to run for.
    #[arg(long, conflicts_with = "programs")]
    seconds: Option<f64>,
    /// Seeds to run.
    #[arg(long)]
    programs: Option<u64>,
    /// The first seed; the next follow it. A failure names its seed: with that and `--programs 1`
    /// it runs again.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The programs to run.
    #[arg(long, value_enum, default_value_t = Family::All)]
    family: Family,
    /// Go on after a failure.
    #[arg(long)]
    keep_going: bool,
    /// Run the right programs on the GPU, with the kernels' PTX in this folder, and compare what
    /// they leave.
    #[arg(long, value_name = "FOLDER")]
    gpu: Option<PathBuf>,
}

/// A kind of random programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    /// Both kinds, by turns.
    All,
    /// Accesses, copies and products of four warps, with syncs and mbarriers between.
    Words,
    /// Warp-specialized pipelines, with TMA, mbarriers, `wgmma` and clusters.
    Pipelines,
}

/// How many programs of each family were run.
#[derive(Default)]
struct Tally {
    words: fuzz::Tally,
    pipelines: pipeline::Tally,
}

impl Family {
    /// Runs a seed's programs, and returns the first failure.
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

/// Returns how many seeds failed.
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
