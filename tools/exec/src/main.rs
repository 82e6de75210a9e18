//! `cargo xtask exec`: executes one instruction once.

use clap::Parser;
use ptx_matrix_exec::cli::{self, Arguments};
use ptx_matrix_output::errln;
use std::process::ExitCode;

/// Executes one instruction on registers and shared memory from a file
///
/// One warp executes the instruction once; for wgmma, one warpgroup. The results go to a file.
/// Files are JSON. `cargo xtask coverage` lists the instructions.
#[derive(Debug, Parser)]
#[command(name = "exec", bin_name = "cargo xtask exec", version)]
#[command(after_long_help = cli::help("cargo xtask"))]
struct Program {
    #[command(flatten)]
    arguments: Arguments,
}

fn main() -> ExitCode {
    match cli::run(&Program::parse().arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
