//! The cases with one misuse each, on the simulator, on a GPU, and on a GPU under
//! compute-sanitizer: `cargo xtask sanitize` starts it, and a bundle carries it to machines that
//! have a driver and no Rust.

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use ptx_matrix_fuzz::gpu;
use ptx_matrix_fuzz::misuses::{CASES, Case, Recording, Sanitizer, Tool, on_gpu, on_simulator};
use ptx_matrix_host::Gpu;
use ptx_matrix_output::{errln, outln};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Kernels with one misuse each, and mended.
#[derive(Debug, Parser)]
#[command(name = "misuses", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run cases, all if none is named: on the simulator, which says what it finds, or on a GPU.
    Run {
        cases: Vec<String>,
        /// Without the misuse.
        #[arg(long)]
        mended: bool,
        /// On the GPU, with the kernels' PTX in this folder.
        #[arg(long, value_name = "FOLDER")]
        gpu: Option<PathBuf>,
    },
    /// Say whether there is a GPU to run cases on.
    Validate,
    /// Run all cases on the GPU, mended and not, under each tool of compute-sanitizer, and write
    /// what these say to a file.
    Sanitize {
        /// The folder with the kernels' PTX, one folder in it for each target.
        #[arg(long, value_name = "FOLDER")]
        ptx: PathBuf,
        /// The file to write.
        #[arg(long, value_name = "FILE")]
        record: PathBuf,
        /// Where compute-sanitizer is.
        #[arg(long, default_value = "compute-sanitizer", value_name = "PROGRAM")]
        sanitizer: PathBuf,
        /// A folder for what it prints.
        #[arg(long, value_name = "FOLDER")]
        logs: PathBuf,
    },
}

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

/// A line of the table: what the simulator finds, and which tools say something.
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
