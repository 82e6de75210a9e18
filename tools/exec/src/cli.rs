//! The options of the commands `exec`, and what they do.

use crate::{GroupOptions, Instruction, State, example};
use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use ptx_matrix::forms::{AnyForm, find_any};
use ptx_matrix::sim::{Arch, Misuse, Simulator};
use ptx_matrix_output::{errln, outln};
use std::io::{Read, stdin};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The options of `exec`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The instruction, as in PTX
    form: String,
    /// The input file (default: standard input)
    #[arg(long = "in", value_name = "FILE", conflicts_with = "example")]
    input: Option<PathBuf>,
    /// The output file (default: standard output)
    #[arg(long = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where to execute the instruction
    #[arg(long, value_enum, default_value_t = On::Sim)]
    on: On,
    /// The number of the GPU for `--on gpu`, as the driver counts them
    #[arg(long, default_value_t = 0)]
    device: u32,
    /// Execute nothing; write an input file for the instruction
    #[arg(long)]
    example: bool,
    /// The GPU whose arithmetic the simulator uses, such as sm_80 (default: sm_90, or the oldest
    /// GPU that has the instruction)
    #[arg(long, value_name = "TARGET", conflicts_with = "example")]
    gpu: Option<Arch>,
    /// For an example of wgmma: A in registers, not in shared memory
    #[arg(long, requires = "example")]
    a_in_registers: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum On {
    /// The simulator, on this CPU
    Sim,
    /// An NVIDIA GPU
    Gpu,
}

/// The text below the options. `program` is `cargo ptx` or `cargo xtask`.
pub fn help(program: &str) -> String {
    HELP.replace("PROGRAM", program)
}

const HELP: &str = "\
Operands of a warp's instruction:
  a, b, c              32 lines, one for each lane: its registers as hex words
  metadata             likewise, for a sparse A
  scales_a, scales_b   likewise, for block-scaled forms
  selector             selects among the metadata
  select_a, select_b   select among the scales
  image                shared memory for ldmatrix and stmatrix: lines of 16 bytes in hex
  rows                 where each lane's row starts in the image

Operands of wgmma:
  Registers are 128 lines, one for each lane of the four warps. Warp w holds rows 16 w to 16 w + 15.
  The layout of A is that of A in mma.m16n8kK with the same elements and as many columns. The layout
  of each 8 columns of D is that of C in this mma; the registers of the first 8 columns come first.
  `PROGRAM layout` draws both.

  a, b      matrices in shared memory: a line for each row, its elements as hex words. A has 64 rows
            (a sparse A: its kept elements), B has K rows. The kernel stores them where the
            descriptors say, swizzled, and transposed if the options say so. a may be in registers.
  c         D before the instruction
  options   a_in_registers              A is in registers, not in shared memory
            scale_d                     add to D, or overwrite it
            negates_a, negates_b        negate A or B, for forms that can
            transposes_a, transposes_b  A or B is transposed in shared memory, for forms that can

Examples:
  form=mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
  PROGRAM exec $form --example --out in.json     an input file to edit
  PROGRAM exec $form --in in.json                the result on standard output
  PROGRAM exec $form --in in.json --gpu sm_80    by the arithmetic of an A100
  PROGRAM exec $form --in in.json --on gpu       needs the feature `gpu`
  PROGRAM exec wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 --example --a-in-registers

Exit codes:
  0  the instruction was executed, or the example is written
  2  no such instruction, an input that does not fit it, no GPU, or another error";

/// Executes the instruction, or writes an example.
///
/// # Errors
/// The input does not fit the instruction, the device does not have it, or a file is not
/// accessible.
pub fn run(arguments: &Arguments) -> Result<()> {
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
    if arguments.device != 0 && matches!(arguments.on, On::Sim) {
        bail!("--device names a GPU, and the simulator has none: give --on gpu, or leave it out");
    }
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
            let execution = form.on_simulator(&Simulator::default().gpu(gpu), &options, &input);
            let execution = execution.map_err(|error| match &error.misuse {
                absent @ Misuse::Absent { .. } => anyhow!("{absent}: give --gpu one that has it"),
                _ => anyhow!("{}", error.to_string().trim_start_matches("error: ")),
            })?;
            if let Some(found) = execution.found {
                errln!(
                    "PTX does not define what this does; there are results all the same:\n{found}"
                );
            }
            (format!("the simulator, as {gpu}"), execution.output)
        }
        On::Gpu => on_gpu(arguments.device, form, &options, &input)?,
    };
    write(output, &serde_json::to_string_pretty(&state.results(form, &on, &results))?)
}

/// Executes a form on a GPU. Returns the GPU's name and the results.
#[cfg(feature = "gpu")]
fn on_gpu<I: Instruction>(
    device: u32,
    form: &I,
    options: &I::Options,
    input: &[u8],
) -> Result<(String, Vec<u8>)> {
    let gpu = ptx_matrix_host::Gpu::open(device)?;
    Ok((gpu.info().name.clone(), crate::execute(&gpu, form, options, input)?))
}

/// Says how to get a program that runs on a GPU.
#[cfg(not(feature = "gpu"))]
fn on_gpu<I: Instruction>(_: u32, _: &I, _: &I::Options, _: &[u8]) -> Result<(String, Vec<u8>)> {
    bail!(
        "this program was compiled without its feature `gpu`: install it again with it (in a \
         checkout: cargo install --locked --path cargo-ptx --features gpu), or give --on sim"
    )
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
