//! The project's commands: `cargo xtask --help`.

mod build;
mod bundle;
mod coverage;
mod doctor;
mod fuzz;
mod kernels;
mod layout;
mod legal;
mod process;
mod program;
mod sanitize;
mod test;
mod test_programs;

use anyhow::Result;
use clap::Parser;
use kernels::Kernels;
use program::Program;
use ptx_matrix_output::errln;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Builds, checks and runs ptx-matrix. What the toolchain lacks is fetched into target/, without
/// touching the system.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
enum Command {
    /// Run every form of every instruction and compare it, bit for bit, with a reference: on the
    /// GPU where an NVIDIA driver answers, else on the simulator. Builds and assembles its
    /// kernels for every target first.
    Conformance(program::Arguments),
    /// Measure the GEMM kernels against cuBLAS, in turn and in one process, on a machine with an
    /// NVIDIA GPU and cuBLAS: a table, CSV and a plot.
    Bench(program::Arguments),
    /// Measure latency and throughput of each instruction on an NVIDIA GPU, with and without bank
    /// conflicts: tables and CSV.
    Timings(program::Arguments),
    /// Multiply random matrices of every size, layout and kind through the interface that users
    /// call, and compare with sums in f64: thousands of them on a GPU, or, with `--on sim`,
    /// some on the simulator.
    Trials(program::Arguments),
    /// Everything that needs no GPU: formatting, lints, documentation, tests, the kernels built for
    /// every target, the simulator's conformance run.
    Test(test::Arguments),
    /// Compile the kernels to PTX into target/ptx/TARGET/, assembled, with a manifest of registers,
    /// shared memory and local memory.
    Build(build::Arguments),
    /// Make one folder with programs, PTX and scripts, which runs the conformance, the
    /// measurements, and the misuses under compute-sanitizer, on a machine that has an NVIDIA
    /// driver and no Rust.
    Bundle(bundle::Arguments),
    /// List every legal form of every matrix instruction, those of `wgmma` too, and what was really
    /// done with it: run on the simulator and assembled for each of its targets, now; run on
    /// hardware, as recorded. Fails if there is a hole.
    Coverage(coverage::Arguments),
    /// Execute one form of an instruction once, on registers and shared memory that a file gives:
    /// on the simulator, or, with `--on gpu`, on a GPU.
    Exec(program::Arguments),
    /// Ask ptxas which forms of the matrix instructions it accepts, and compare with
    /// `tests/forms/legal.csv`. Fails if they differ.
    Legal(legal::Arguments),
    /// Draw which lane holds which element of the matrices of a form.
    Layout(layout::Arguments),
    /// Run random programs on the simulator, whose misuses are known, and see that it reports those
    /// and no others.
    Fuzz(fuzz::Arguments),
    /// Run kernels with one misuse each on the GPU, under each tool of compute-sanitizer, and
    /// record what these say.
    Sanitize(sanitize::Arguments),
    /// Say which toolchain was found where, and of what is missing, the command that gets it.
    Doctor(doctor::Arguments),
}

/// The conformance run.
const CONFORMANCE: Program = Program {
    name: "conformance",
    package: "ptx-matrix-conformance",
    kernels: &[Kernels::Conformance, Kernels::Attention],
};
/// The measurements.
const BENCH: Program = Program {
    name: "bench",
    package: "ptx-matrix-bench",
    kernels: &[Kernels::Gemm, Kernels::Ladder, Kernels::Timings],
};
/// How long the instructions take.
const TIMINGS: Program =
    Program { name: "timings", package: "ptx-matrix-timings", kernels: &[Kernels::Timings] };
/// Random products.
const TRIALS: Program =
    Program { name: "trials", package: "ptx-matrix-trials", kernels: &[Kernels::Gemm] };
/// One instruction.
const EXEC: Program = Program { name: "exec", package: "ptx-matrix-exec", kernels: &[] };
/// Kernels with one misuse each.
const MISUSES: Program =
    Program { name: "misuses", package: "ptx-matrix-fuzz", kernels: &[Kernels::Fuzz] };

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(code) => code,
        Err(error) => {
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Conformance(arguments) => CONFORMANCE.run(&arguments),
        Command::Bench(arguments) => BENCH.run(&arguments),
        Command::Timings(arguments) => TIMINGS.run(&arguments),
        Command::Trials(arguments) => TRIALS.run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Build(arguments) => build::run(&arguments),
        Command::Bundle(arguments) => bundle::run(&arguments),
        Command::Coverage(arguments) => coverage::run(&arguments),
        Command::Exec(arguments) => EXEC.run_alone(&arguments),
        Command::Legal(arguments) => legal::run(&arguments),
        Command::Layout(arguments) => layout::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Sanitize(arguments) => sanitize::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
    }
}

/// The root of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

/// Cargo's target folder.
fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").filter(|named| !named.is_empty());
    // A relative one is cargo's own, in whose folder this runs; programs that are started from here
    // run in others.
    named.map_or_else(
        || root().join("target"),
        |named| std::path::absolute(&named).unwrap_or_else(|_| named.into()),
    )
}
