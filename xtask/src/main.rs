//! The project's commands: `cargo xtask --help`.

mod bundle;
mod compiler;
mod docs;
mod fuzz;
mod process;
mod program;
mod sanitize;
mod test;
mod test_programs;

use anyhow::Result;
use clap::Parser;
use program::{Profile, Program};
use ptx_matrix_output::errln;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Builds, tests and runs ptx-matrix
///
/// Commands that need ptxas or another missing tool fetch it into target/. They do not change the
/// system.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, after_help = AFTER_HELP)]
enum Command {
    /// Compare every form of every instruction with a reference, bit for bit
    ///
    /// Runs on the GPU if there is an NVIDIA driver, otherwise on the simulator. First builds and
    /// assembles its kernels for every target. `cargo xtask conformance --help` lists the options.
    Conformance(program::Arguments),
    /// Measure the GEMM kernels against cuBLAS (needs a GPU)
    ///
    /// The contestants alternate in one process. Needs an NVIDIA GPU and cuBLAS. Prints a table
    /// and writes CSV and a plot. `cargo xtask bench --help` lists the options.
    Bench(program::Arguments),
    /// Measure latency and throughput of each instruction (needs a GPU)
    ///
    /// Measures with and without bank conflicts, in cycles. Prints tables and writes CSV and
    /// Markdown. `cargo xtask timings --help` lists the options.
    Timings(program::Arguments),
    /// Compare random GEMMs with sums in f64
    ///
    /// Draws sizes, layouts and types, and calls the public interface of `ptx-matrix-gemm`. Runs
    /// thousands of GEMMs on a GPU, or with `--on sim` some on the simulator. `cargo xtask trials
    /// --help` lists the options.
    Trials(program::Arguments),
    /// Run every check that needs no GPU, as CI does
    ///
    /// Formatting, compilation, lints and documentation come first. Then come tests, examples, the
    /// examples in the documentation, and the packages. The simulator runs every conformance check,
    /// and a hundred schedules of each kernel. The kernels are built for every target.
    Test(test::Arguments),
    /// Compile and assemble the kernels into target/ptx/TARGET/
    ///
    /// Writes PTX and cubin of each kernel crate. Prints a manifest: registers, shared memory
    /// (static and dynamic) and local memory of each kernel, memory in bytes.
    Build(program::Arguments),
    /// Make a folder that runs on a GPU machine without Rust
    ///
    /// The folder holds programs, PTX, cubins and one script for each program: conformance, bench,
    /// timings, trials, exec, and the misuses under compute-sanitizer. The machine needs an NVIDIA
    /// driver.
    Bundle(bundle::Arguments),
    /// List every legal form of every matrix instruction and how it was tested
    ///
    /// For each form, `wgmma` included: whether it passes on the simulator and assembles for each
    /// of its targets (both tried now), and whether hardware ran it (as recorded). Fails if one of
    /// these is missing.
    Coverage(program::Arguments),
    /// Execute one instruction on registers and shared memory from a file
    ///
    /// Runs on the simulator, or with `--on gpu` on a GPU. `cargo xtask exec --help` describes the
    /// file.
    Exec(program::Arguments),
    /// Compare the forms that ptxas accepts with `tests/forms/legal.csv`
    ///
    /// Asks ptxas about every combination of qualifiers of the matrix instructions. Fails if its
    /// answers differ from the list.
    Legal(program::Arguments),
    /// Draw which lane holds which element of an instruction's matrices
    Layout(program::Arguments),
    /// Test the simulator with random programs whose misuses are known
    ///
    /// The simulator must report these misuses and no others. `cargo xtask fuzz --help` lists
    /// the options.
    Fuzz(fuzz::Arguments),
    /// Run kernels with one misuse each under compute-sanitizer (needs a GPU)
    ///
    /// Runs each kernel, and its corrected version, under each tool of compute-sanitizer. Records
    /// the tools' messages, for a comparison with the simulator.
    Sanitize(sanitize::Arguments),
    /// Build one site from the guide pages and the documentation of the crates
    ///
    /// Writes target/docs/site/, with a search over the pages. Checks the links of the pages and of
    /// the site.
    #[command(after_help = docs::HELP)]
    Docs,
    /// Show which toolchain was found, and how to get missing tools
    Doctor(program::Arguments),
}

/// The text below the list of commands.
const AFTER_HELP: &str = "Examples:
  cargo xtask test                       all that CI runs; needs no GPU
  cargo xtask test --only lints          one step of it
  cargo xtask build --arch sm_90a        every kernel for Hopper
  cargo xtask conformance --filter mma   on the GPU, or without a GPU on the simulator
  cargo xtask bench --size 4096          the GEMM kernels against cuBLAS
  cargo xtask layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

Environment:
  CARGO_TARGET_DIR  the target folder; everything that a command writes by default is below it,
                    except for fetched tools, and bench-results/ of `bench` and `timings`
  PTX_MATRIX_CACHE  the folder of fetched tools (default: target/ptx-matrix)

Exit codes:
  0    the command did its work, and every check passed
  1    a check failed
  2    wrong options, or an error that stopped the command
  141  the reader of standard output went away, as `| head` does";

/// The build of the kernels, and the report on the toolchain.
const BUILD: Program = Program {
    name: "build_kernels",
    package: "ptx-matrix-build-kernels",
    kernels: &[],
    profile: Profile::Dev,
};
/// The conformance run.
const CONFORMANCE: Program = Program {
    name: "conformance",
    package: "ptx-matrix-conformance",
    kernels: &["conformance", "attention"],
    profile: Profile::Dev,
};
/// The GEMM benchmark against cuBLAS.
const BENCH: Program = Program {
    name: "bench",
    package: "ptx-matrix-bench",
    kernels: &["gemm", "ladder", "timings"],
    profile: Profile::Release,
};
/// Latency and throughput of the instructions.
const TIMINGS: Program = Program {
    name: "timings",
    package: "ptx-matrix-timings",
    kernels: &["timings"],
    profile: Profile::Release,
};
/// Random GEMMs.
const TRIALS: Program = Program {
    name: "trials",
    package: "ptx-matrix-trials",
    kernels: &["gemm"],
    profile: Profile::Release,
};
/// One instruction, executed once.
const EXEC: Program =
    Program { name: "exec", package: "ptx-matrix-exec", kernels: &[], profile: Profile::Dev };
/// The forms of the instructions.
const FORMS: Program =
    Program { name: "forms", package: "ptx-matrix-forms", kernels: &[], profile: Profile::Dev };
/// Kernels with one misuse each.
const MISUSES: Program = Program {
    name: "misuses",
    package: "ptx-matrix-fuzz",
    kernels: &["fuzz"],
    profile: Profile::Release,
};

fn main() -> ExitCode {
    match compiler::run().unwrap_or_else(|| run(Command::parse())) {
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
        Command::Build(arguments) => BUILD.run_alone(&["build".into()], &arguments),
        Command::Bundle(arguments) => bundle::run(&arguments),
        Command::Coverage(arguments) => {
            let mut all = vec![OsString::from("coverage")];
            if !arguments.ask_for_help() {
                all.extend(["--conformance".into(), CONFORMANCE.build()?.into()]);
            }
            FORMS.run_alone(&all, &arguments)
        }
        Command::Exec(arguments) => EXEC.run_alone(&[], &arguments),
        Command::Legal(arguments) => FORMS.run_alone(&["legal".into()], &arguments),
        Command::Layout(arguments) => FORMS.run_alone(&["layout".into()], &arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Sanitize(arguments) => sanitize::run(&arguments),
        Command::Docs => docs::run(),
        Command::Doctor(arguments) => BUILD.run_alone(&["doctor".into()], &arguments),
    }
}

/// The root of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

/// Cargo's target folder, as an absolute path.
fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").filter(|named| !named.is_empty());
    // A relative path is relative to the folder of cargo, which is this program's folder too. The
    // programs that this one starts run in other folders, so the path becomes absolute.
    named.map_or_else(
        || root().join("target"),
        |named| std::path::absolute(&named).unwrap_or_else(|_| named.into()),
    )
}
