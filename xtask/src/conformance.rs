use crate::process::{cargo, exit_code, status};
use anyhow::{Result, ensure};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// What the program takes: `cargo xtask conformance --help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub fn run(Arguments { arguments }: &Arguments) -> Result<ExitCode> {
    let program = build_program()?;
    // A wrong option, or help, should not have to wait for the kernels' build.
    let validated = status(Command::new(&program).arg("--validate").args(arguments))?;
    let asks_for_help = arguments.iter().any(|argument| argument == "--help" || argument == "-h");
    if asks_for_help || !validated.success() {
        return Ok(exit_code(validated));
    }
    crate::build::builder().build()?;
    let mut conformance = Command::new(program);
    conformance.arg("--ptx").arg(crate::target().join("ptx")).args(arguments);
    Ok(exit_code(status(&mut conformance)?))
}

/// Builds the conformance program, and says where it is.
pub fn build_program() -> Result<PathBuf> {
    let arguments = ["build", "--quiet", "--release", "--package", "ptx-matrix-host"];
    let built = status(cargo().args(arguments).args(["--features", "conformance", "--bin", "conformance"]))?;
    ensure!(built.success(), "the conformance program does not compile");
    Ok(crate::target().join("release").join("conformance"))
}
