//! `cargo ptx test`: the kernels on the CPU.

use anyhow::{Context, Result};
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The arguments of `cargo test`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

const HELP: &str = "Examples:
  cargo ptx test
  cargo ptx test -p kernels equals_a_plain_loop -- --nocapture

Exit codes:
  0    every test passed
  1    cargo refuses an argument
  101  a test failed or does not compile, as cargo says it";

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let status =
        cargo.arg("test").args(&arguments.arguments).status().context("cannot run cargo test")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
