//! Runs kernels with one misuse each: on the simulator, on a GPU, and on a GPU under
//! compute-sanitizer. `cargo xtask sanitize` starts it; a bundle takes it to machines that have a
//! driver and no Rust.

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use ptx_matrix_fuzz::gpu;
use ptx_matrix_fuzz::misuses::{CASES, Case, Recording, Sanitizer, Tool, on_gpu, on_simulator};
use ptx_matrix_host::Gpu;
use ptx_matrix_output::{errln, outln};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs kernels with one misuse each, or their corrected versions
#[derive(Debug, Parser)]
#[command(name = "misuses", version, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run cases on the simulator or on a GPU
    ///
    /// Prints a line for each case: the finding of the simulator, or the error of the GPU.
    Run {
        /// The cases to run (default: all)
        cases: Vec<String>,
        /// Run the corrected versions
        #[arg(long)]
        mended: bool,
        /// Run on the GPU, with the kernels in FOLDER, which has a folder for each target
        #[arg(long, value_name = "FOLDER")]
        gpu: Option<PathBuf>,
    },
    /// Check whether this machine has a GPU
    Validate,
    /// Record the messages of compute-sanitizer
    ///
    /// Runs all cases, and their corrected versions, on the GPU under each tool of
    /// compute-sanitizer, and writes the tools' messages to a file.
    Sanitize {
        /// The folder with the kernels, which has a folder for each target
        #[arg(long, value_name = "FOLDER")]
        ptx: PathBuf,
        /// Write the record to FILE, as JSON
        #[arg(long, value_name = "FILE")]
        record: PathBuf,
        /// The compute-sanitizer to run: a path, or a name to find in PATH
        #[arg(long, default_value = "compute-sanitizer", value_name = "PROGRAM")]
        sanitizer: PathBuf,
        /// The folder for the output of compute-sanitizer
        #[arg(long, value_name = "FOLDER")]
        logs: PathBuf,
    },
}

const AFTER_HELP: &str = "Examples:
  misuses run                                    every case on the simulator
  misuses run --mended                           every corrected version: no findings
  misuses run --gpu target/ptx
  misuses sanitize --ptx target/ptx --record sanitizer.json --logs sanitizer

Exit codes:
  0  the cases have run
  2  wrong options, no such case, no GPU, no compute-sanitizer, or another error";

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run { cases, mended, gpu } => run(&cases, mended, gpu.as_deref()),
        Command::Validate => Gpu::open(0).map(drop).map_err(Into::into),
        Command::Sanitize { ptx, record, sanitizer, logs } => {
            sanitize(&ptx, &record, sanitizer, logs)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(names: &[String], mended: bool, gpu: Option<&Path>) -> Result<()> {
    let known = |name: &String| CASES.iter().any(|case| case.name == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        bail!("no case is `{unknown}`");
    }
    let device = gpu.map(gpu::open).transpose()?;
    for case in
        CASES.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name))
    {
        match &device {
            None => outln!("{}: {:?}", case.name, on_simulator(case, mended, 1)),
            Some(device) => match on_gpu(case, mended, device) {
                Ok(()) => outln!("{}: has run", case.name),
                Err(error) => outln!("{}: {error}", case.name),
            },
        }
    }
    Ok(())
}

fn sanitize(ptx: &Path, record: &Path, sanitizer: PathBuf, logs: PathBuf) -> Result<()> {
    fs::create_dir_all(&logs)?;
    let this = std::env::current_exe()?.display().to_string();
    let runs = vec![this, "run".into(), "--gpu".into(), ptx.display().to_string()];
    let sanitizer = Sanitizer { program: sanitizer, runs, logs };
    let info = gpu::open(ptx)?.gpu().info().clone();
    let mut said = Vec::new();
    for tool in Tool::ALL {
        for mended in [false, true] {
            errln!("{}{}", tool.name(), if mended { ", mended" } else { "" });
            said.extend(sanitizer.run(tool, mended)?);
        }
    }
    said.retain(|said| !said.messages.is_empty());
    let recording = Recording {
        device: info.name.clone(),
        driver: info.driver.to_string(),
        sanitizer: sanitizer.version()?,
        said,
    };
    fs::write(record, format!("{}\n", serde_json::to_string_pretty(&recording)?))?;
    CASES.iter().for_each(|case| print(case, &recording));
    Ok(())
}

/// Prints a row of the table: the simulator's finding, and the tools with a message.
fn print(case: &Case, recording: &Recording) {
    let tools = |mended| {
        let tools: Vec<_> =
            recording.tools(case.name, mended).map(|said| said.tool.name()).collect();
        tools.join(" ")
    };
    outln!(
        "{:<34} {:<16} {:<30} mended: {}",
        case.name,
        format!("{:?}", case.found),
        tools(false),
        tools(true)
    );
}
