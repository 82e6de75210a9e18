use crate::kernels::Kernels;
use crate::process::{exit_code, status};
use anyhow::Result;
use ptx_matrix_build::Arch;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The target of the machine's GPU.
    #[arg(long, value_name = "TARGET", default_value = "sm_90a")]
    arch: Arch,
    /// The file to write. Without it: target/sanitizer.json.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Where compute-sanitizer is.
    #[arg(long, default_value = "compute-sanitizer", value_name = "PROGRAM")]
    sanitizer: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let program = crate::MISUSES.build()?;
    // Where it cannot run, it should not have to wait for the kernels' build.
    let validated = status(Command::new(&program).arg("validate"))?;
    if !validated.success() {
        return Ok(exit_code(validated));
    }
    Kernels::Fuzz.builder().archs([arguments.arch]).build()?;
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
