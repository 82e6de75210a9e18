use crate::process::{exit_code, status};
use crate::program::build_kernels;
use anyhow::Result;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The target to build the kernels for: that of the machine's GPU
    #[arg(long, value_name = "TARGET", default_value = "sm_90a")]
    arch: String,
    /// Write the record to FILE, as JSON (default: target/sanitizer.json)
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The compute-sanitizer to run: a path, or a name to find in PATH
    #[arg(long, default_value = "compute-sanitizer", value_name = "PROGRAM")]
    sanitizer: PathBuf,
}

const AFTER_HELP: &str = "\
The output of each tool goes to target/sanitizer/.

Examples:
  cargo xtask sanitize
  cargo xtask sanitize --sanitizer /usr/local/cuda/bin/compute-sanitizer

Exit codes:
  0  every case has run, and the record is written
  2  no GPU, no compute-sanitizer, or another error";

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let program = crate::MISUSES.build()?;
    // A machine without a GPU is told so before the kernels are built.
    let validated = status(Command::new(&program).arg("validate"))?;
    if !validated.success() {
        return Ok(exit_code(validated));
    }
    build_kernels(["fuzz", "--arch", &arguments.arch])?;
    let record = arguments.record.clone().unwrap_or_else(|| crate::target().join("sanitizer.json"));
    let mut sanitize = Command::new(program);
    sanitize
        .args(["sanitize", "--ptx"])
        .arg(crate::target().join("ptx"))
        .arg("--record")
        .arg(record);
    sanitize
        .arg("--sanitizer")
        .arg(&arguments.sanitizer)
        .arg("--logs")
        .arg(crate::target().join("sanitizer"));
    Ok(exit_code(status(&mut sanitize)?))
}
