//! `cargo xtask build` and `cargo xtask doctor`. They are apart from `xtask`, so that commands
//! without kernels do not compile the builder.

mod build;
mod kernels;

use cargo_ptx::doctor;
use clap::Parser;
use ptx_matrix_output::errln;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The kernels of this repository, and the tools that build them
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
enum Command {
    /// Compile and assemble the kernels into target/ptx/TARGET/
    ///
    /// Writes PTX and cubin of each kernel crate. Prints a manifest: registers, shared memory
    /// (static and dynamic) and local memory of each kernel, memory in bytes.
    Build(build::Arguments),
    /// Show which toolchain was found, and how to get missing tools
    #[command(after_help = doctor::help("cargo xtask"))]
    Doctor(doctor::Arguments),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Build(arguments) => build::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments, root(), "cargo xtask"),
    };
    done.unwrap_or_else(|error| {
        errln!("error: {error:#}");
        ExitCode::from(2)
    })
}

/// The root of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("this package is in a folder of the workspace")
}

/// Cargo's target folder, as an absolute path: `--paths` prints what is below it.
fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").filter(|named| !named.is_empty());
    named.map_or_else(
        || root().join("target"),
        |named| std::path::absolute(&named).unwrap_or_else(|_| named.into()),
    )
}
