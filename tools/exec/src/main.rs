//! One instruction, executed once: `cargo xtask exec`.

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use ptx_matrix::forms::{AnyForm, find_any};
use ptx_matrix::sim::{Arch, Simulator};
use ptx_matrix_exec::{GroupOptions, Instruction, State, example, execute};
use ptx_matrix_host::Gpu;
use ptx_matrix_output::{errln, outln};
use std::io::{Read, stdin};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

/// Executes one form of an instruction once, by one warp, or, of wgmma, by one warpgroup, on the
/// registers and the shared memory that a file gives, and writes what it leaves.
///
/// Files are JSON. Start with an example: cargo xtask exec FORM --example --out FILE
///
/// Each operand (`a`, `b`, `c`, `metadata`, `scales_a`, `scales_b`) is a list of 32 lines, one a
/// lane: its registers as hex words. `image` is shared memory, of ldmatrix and stmatrix, in lines
/// of 16 bytes in hex; `rows` says where each lane's row starts in it. `selector`, `select_a` and
/// `select_b` choose among metadata and scales.
///
/// Of wgmma, lines of registers are 128, one for each lane of the four warps. Warp w holds rows 16
/// w to 16 w + 15, of A as the A of an mma.m16n8kK of such elements and as many columns, and of
/// each 8 columns of D as its C (`cargo xtask layout` draws these); the registers of the first 8
/// columns come first.
///
/// `b`, and `a` unless it is in registers, is a matrix in shared memory. It is given as a matrix,
/// with a line for each row, of its elements as hex words: 64 rows of A (of a sparse one: of what
/// is kept), K rows of B. The kernel puts it where its descriptors say, swizzled, and transposed if
/// so asked for.
///
/// `c` is D as it was. `options` says where A is (`a_in_registers`), whether D is added to
/// (`scale_d`), and, of the forms that can, what is negated (`negates_a`, `negates_b`) and what
/// lies transposed in shared memory (`transposes_a`, `transposes_b`).
#[derive(Debug, Parser)]
#[command(name = "exec", bin_name = "cargo xtask exec", version)]
struct Arguments {
    /// The instruction, as in PTX, such as mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 or
    /// wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16; `cargo xtask coverage` lists them.
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
    /// Which of the machine's GPUs, as the driver counts them.
    #[arg(long, default_value_t = 0)]
    device: u32,
    /// Instead, write a file that the form takes.
    #[arg(long)]
    example: bool,
    /// The GPU that the simulator computes like, such as sm_80. Without it: sm_90, or the oldest
    /// that has the form.
    #[arg(long, value_name = "TARGET", conflicts_with = "example")]
    gpu: Option<Arch>,
    /// In the example, have A in registers: of wgmma, which takes it from shared memory, too.
    #[arg(long, requires = "example")]
    a_in_registers: bool,
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
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    match find_any(&arguments.form)? {
        AnyForm::OfWarp(form) => run_form(form, arguments),
        AnyForm::OfWarpGroup(form) => run_form(&form, arguments),
    }
}

fn run_form<I: Instruction>(form: &I, arguments: &Arguments) -> Result<()> {
    let output = arguments.output.as_deref();
    if arguments.example {
        let in_registers = GroupOptions { a_in_registers: Some(true), ..GroupOptions::default() };
        let chosen =
            State { options: arguments.a_in_registers.then_some(in_registers), ..State::default() };
        let example = example(form, &chosen).context("--a-in-registers")?;
        return write(output, &serde_json::to_string_pretty(&example)?);
    }
    let from =
        arguments.input.as_ref().map_or("standard input".into(), |file| file.display().to_string());
    let text = read(arguments.input.as_deref()).with_context(|| format!("cannot read {from}"))?;
    let state = State::parse(&text).with_context(|| from.clone())?;
    let (options, input) = state.encode(form).context(from)?;
    if arguments.gpu.is_some() && matches!(arguments.on, On::Gpu) {
        bail!(
            "--gpu names the GPU that the simulator computes like: leave it out, or give --on sim"
        );
    }
    let (on, results) = match arguments.on {
        On::Sim => {
            let gpu = arguments.gpu.unwrap_or_else(|| Arch::default_for(form.about().needs));
            let execution = form.on_simulator(&Simulator::default().gpu(gpu), &options, &input)?;
            if let Some(found) = execution.found {
                errln!(
                    "PTX does not define what this does; there are results all the same:\n{found}"
                );
            }
            (format!("the simulator, as {gpu}"), execution.output)
        }
        On::Gpu => {
            let gpu = Gpu::open(arguments.device)?;
            (gpu.info().name.clone(), execute(&gpu, form, &options, &input)?)
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
        Some(file) => fs::write(file, format!("{text}\n"))
            .with_context(|| format!("cannot write {}", file.display())),
        None => {
            outln!("{text}");
            Ok(())
        }
    }
}
