use crate::process::{cargo, exit_code, status};
use anyhow::Result;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// What the program takes: `cargo xtask fuzz --help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub fn run(Arguments { arguments }: &Arguments) -> Result<ExitCode> {
    let run = ["run", "--quiet", "--release", "--package", "ptx-matrix-judge", "--bin", "fuzz", "--"];
    Ok(exit_code(status(cargo().args(run).args(arguments))?))
}
