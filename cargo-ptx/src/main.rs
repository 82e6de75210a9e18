//! `cargo ptx`: see `cargo ptx --help`.

mod dependencies;
mod new;
mod test;

use anyhow::Result;
use cargo_ptx::{build, doctor, layout};
use clap::Parser;
use ptx_matrix_exec::cli as exec;
use ptx_matrix_output::errln;
use std::env::current_dir;
use std::process::ExitCode;

/// Writes, tests and builds GPU kernels on ptx-matrix
#[derive(Debug, Parser)]
#[command(name = "cargo ptx", bin_name = "cargo ptx", version, after_help = AFTER_HELP)]
enum Command {
    /// Create a workspace: a kernel, its test, and a program that launches it
    ///
    /// In the workspace, `cargo test` runs the kernel on the CPU. A build script compiles it for
    /// GPUs, and `cargo run` launches it.
    New(new::Arguments),
    /// Compile kernels to PTX and machine code
    ///
    /// A kernel crate is a library that depends on `ptx-matrix` and has kernels. (A library without
    /// `kernel(..)` and `no_std` in its text is for the host.) Its kernels become PTX and machine
    /// code in target/ptx/TARGET/, with a manifest. The command prints registers, shared memory
    /// and local memory of each kernel. Missing tools are fetched once, for all projects.
    Build(build::Arguments),
    /// Run the tests of kernels on the CPU
    ///
    /// The simulator reports races, deadlocks and other misuses of a kernel. This command is `cargo
    /// test`, which gets the arguments as they are.
    Test(test::Arguments),
    /// Show which toolchain was found, and how to get missing tools
    #[command(after_help = doctor::help("cargo ptx"))]
    Doctor(doctor::Arguments),
    /// Draw which lane holds which element of an instruction's matrices
    ///
    /// The drawing shows the matrices in registers. Those of wgmma in shared memory, such as B, are
    /// left out.
    Layout(LayoutArguments),
    /// Execute one instruction on registers and shared memory from a file
    ///
    /// One warp executes the instruction once; for wgmma, one warpgroup. The results go to a file.
    /// Files are JSON.
    #[command(after_long_help = exec::help("cargo ptx"))]
    Exec(exec::Arguments),
}

#[derive(Debug, clap::Args)]
#[command(after_help = LAYOUT_HELP)]
struct LayoutArguments {
    /// The instruction, as in PTX
    form: String,
    /// Draw only this matrix: A, B, C, D, metadata, ...
    #[arg(long, value_name = "NAME")]
    matrix: Option<String>,
}

const LAYOUT_HELP: &str = "Examples:
  cargo ptx layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
  cargo ptx layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --matrix A
  cargo ptx layout wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16

Exit codes:
  0  drawn
  2  no such form or matrix";

const AFTER_HELP: &str = "Examples:
  cargo ptx new demo             a workspace in the folder `demo`; there:
  cargo ptx test                 the kernel on the CPU, without GPU and CUDA
  cargo ptx build --arch sm_90a  PTX and machine code for Hopper
  cargo ptx layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

Exit codes:
  0    the command did its work
  1    `doctor`: a tool is missing
  2    wrong options, or an error that stopped the command
  101  `test`: a test failed
  141  the reader of standard output went away, as `| head` does";

fn main() -> ExitCode {
    // Cargo runs `cargo-ptx ptx new demo` for `cargo ptx new demo`.
    let mut words: Vec<_> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "ptx") {
        words.remove(1);
    }
    match run(Command::parse_from(words)) {
        Ok(code) => code,
        Err(error) => {
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::New(arguments) => new::run(&arguments),
        Command::Build(arguments) => build::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments, &current_dir()?, "cargo ptx"),
        Command::Layout(LayoutArguments { form, matrix }) => {
            layout::draw(&form, matrix.as_deref()).map(|()| ExitCode::SUCCESS)
        }
        Command::Exec(arguments) => exec::run(&arguments).map(|()| ExitCode::SUCCESS),
    }
}
