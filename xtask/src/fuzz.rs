use crate::process::{cargo, exit_code, status};
use crate::program::build_kernels;
use anyhow::Result;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// Build the kernels for this target into target/ptx first, for a run with `--gpu target/ptx`
    ///
    /// For example: cargo xtask fuzz --build sm_90a --gpu target/ptx --seconds 60
    #[arg(long, value_name = "TARGET")]
    build: Option<String>,
    /// The program's own options: see `cargo xtask fuzz --help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub fn run(Arguments { build, arguments }: &Arguments) -> Result<ExitCode> {
    if let Some(arch) = build {
        build_kernels(["fuzz", "--arch", arch])?;
    }
    let run =
        ["run", "--quiet", "--release", "--package", "ptx-matrix-fuzz", "--bin", "fuzz", "--"];
    Ok(exit_code(status(cargo().args(run).args(arguments))?))
}
