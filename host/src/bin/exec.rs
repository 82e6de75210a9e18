//! One instruction, executed once: `cargo xtask exec`.

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use ptx_matrix::forms::find;
use ptx_matrix::sim::Simulator;
use ptx_matrix_host::Gpu;
use ptx_matrix_host::exec::{State, example, execute};
use std::io::{Read, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

/// Executes one form of an instruction once, by one warp, on the registers (and, of ldmatrix and stmatrix, the shared memory) that
/// a file gives, and writes what it leaves.
///
/// Files are JSON. Each operand (`a`, `b`, `c`, `metadata`, `scales_a`, `scales_b`) is a list of 32 lines, one a lane: its registers as hex
/// words. `image` is shared memory, in lines of 16 bytes in hex; `rows` says where each lane's row starts in it. `selector`, `select_a`
/// and `select_b` choose among metadata and scales. Start with an example: cargo xtask exec FORM --example --out FILE
#[derive(Debug, Parser)]
#[command(name = "exec", bin_name = "cargo xtask exec", version)]
struct Arguments {
    /// The instruction, as in PTX, such as mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32; `cargo xtask coverage` lists them.
    form: String,
    /// The file to read. Without it: standard input.
    #[arg(long = "in", value_name = "FILE", conflicts_with = "example")]
    input: Option<PathBuf>,
    /// The file to write. Without it: standard output.
    #[arg(long = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where to execute it.
    #[arg(long, value_enum, default_value_t = On::Sim)]
    on: On,
    /// Which GPU, as the driver counts them.
    #[arg(long, default_value_t = 0)]
    device: u32,
    /// Instead, write a file that the form takes.
    #[arg(long)]
    example: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum On {
    /// The simulator, on this CPU.
    Sim,
    /// An NVIDIA GPU.
    Gpu,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let form = find(&arguments.form)?;
    let output = arguments.output.as_deref();
    if arguments.example {
        return write(output, &serde_json::to_string_pretty(&example(form))?);
    }
    let from = arguments.input.as_ref().map_or("standard input".into(), |file| file.display().to_string());
    let text = read(arguments.input.as_deref()).with_context(|| format!("cannot read {from}"))?;
    let state = State::parse(&text).with_context(|| from.clone())?;
    let (selectors, input) = state.encode(form).context(from)?;
    let (on, results) = match arguments.on {
        On::Sim => {
            let execution = Simulator::default().execute(form, &selectors, &input)?;
            if let Some(found) = execution.found {
                eprintln!("PTX does not define what this does; there are results all the same:\n{found}");
            }
            ("the simulator".to_owned(), execution.output)
        }
        On::Gpu => {
            let gpu = Gpu::open(arguments.device)?;
            (gpu.info().name.clone(), execute(&gpu, form, &selectors, &input)?)
        }
    };
    write(output, &serde_json::to_string_pretty(&state.results(form, &on, &results))?)
}

fn read(file: Option<&Path>) -> io::Result<String> {
    let mut text = String::new();
    match file {
        Some(file) => return fs::read_to_string(file),
        None => stdin().read_to_string(&mut text)?,
    };
    Ok(text)
}

fn write(file: Option<&Path>, text: &str) -> Result<()> {
    match file {
        Some(file) => fs::write(file, format!("{text}\n")).with_context(|| format!("cannot write {}", file.display())),
        None => writeln!(stdout(), "{text}").context("cannot write to standard output"),
    }
}
