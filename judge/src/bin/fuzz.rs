//! Random programs against the simulator, for as long as asked: `cargo xtask fuzz` starts it.

use anyhow::{Result, bail};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use ptx_matrix_judge::fuzz::{Tally, try_on, try_seed};
use ptx_matrix_judge::gpu;
use ptx_matrix_output::{errln, outln};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs random programs on the simulator: right ones must run clean and leave what a model computes, wrong ones must be
/// reported as what they are.
#[derive(Debug, Parser)]
#[command(name = "fuzz", version)]
struct Arguments {
    /// For so long. Without this and --programs: a minute.
    #[arg(long, conflicts_with = "programs")]
    minutes: Option<f64>,
    /// So many seeds.
    #[arg(long)]
    programs: Option<u64>,
    /// The first seed; the next follow it. A failure names its seed: with that and `--programs 1` it runs again.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Go on after a failure.
    #[arg(long)]
    keep_going: bool,
    /// Run the right programs on the GPU, with the kernels' PTX in this folder, and compare what they leave.
    #[arg(long, value_name = "FOLDER")]
    gpu: Option<PathBuf>,
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
    let gpu = arguments.gpu.as_deref().map(gpu::open).transpose()?;
    let start = Instant::now();
    let time = Duration::from_secs_f64(arguments.minutes.unwrap_or(1.0).max(0.0) * 60.0);
    let more = |done: u64| arguments.programs.map_or(start.elapsed() < time, |programs| done < programs);
    let progress = ProgressBar::no_length().with_style(ProgressStyle::with_template("{elapsed} {msg}")?);
    let (mut tally, mut seeds, mut failures) = (Tally::default(), 0, 0);
    while more(seeds) {
        let seed = arguments.seed + seeds;
        let failure = match &gpu {
            Some(gpu) => try_on(gpu, seed, &mut tally).err().map(|error| error.to_string()),
            None => try_seed(seed, &mut tally).err().map(|failure| failure.to_string()),
        };
        seeds += 1;
        if let Some(failure) = failure {
            failures += 1;
            progress.suspend(|| outln!("{failure}again: cargo xtask fuzz --seed {seed} --programs 1\n"));
            if !arguments.keep_going {
                break;
            }
        }
        progress.set_message(format!("{seeds} seeds, {failures} failed"));
    }
    progress.finish_and_clear();
    if seeds == 0 {
        bail!("no program was run");
    }
    let Tally { right, wrong, harmless } = tally;
    outln!(
        "fuzz: {seeds} seeds from {} in {:.0} s: {right} right programs, {wrong} wrong, {harmless} harmless; {failures} failed",
        arguments.seed,
        start.elapsed().as_secs_f64()
    );
    Ok(failures)
}
