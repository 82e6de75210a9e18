//! `cargo xtask coverage`, `layout` and `legal`. They are apart from `xtask`, so that `xtask`
//! compiles without the simulator.

mod coverage;
mod layout;
mod legal;
mod legal_forms;

use anyhow::Result;
use clap::Parser;
use ptx_matrix_output::errln;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The forms of the matrix instructions
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
enum Command {
    /// List every legal form of every matrix instruction and how it was tested
    ///
    /// For each form, `wgmma` included: whether it passes on the simulator and assembles for each
    /// of its targets (both tried now), and whether hardware ran it (as recorded). Fails if one of
    /// these is missing.
    Coverage(coverage::Arguments),
    /// Draw which lane holds which element of an instruction's matrices
    Layout(layout::Arguments),
    /// Compare the forms that ptxas accepts with `tests/forms/legal.csv`
    ///
    /// Asks ptxas about every combination of qualifiers of the matrix instructions. Fails if its
    /// answers differ from the list.
    Legal(legal::Arguments),
}

fn main() -> ExitCode {
    match run(&Command::parse()) {
        Ok(code) => code,
        Err(error) => {
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Coverage(arguments) => coverage::run(arguments),
        Command::Layout(arguments) => layout::run(arguments),
        Command::Legal(arguments) => legal::run(arguments),
    }
}

/// The root of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("this package is in a folder of the workspace")
}

/// Cargo's target folder.
fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").filter(|named| !named.is_empty());
    named.map_or_else(|| root().join("target"), PathBuf::from)
}
