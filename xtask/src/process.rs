use anyhow::{Context, Result};
use std::process::{Command, ExitStatus};

/// The cargo that runs this, in the workspace's root.
pub fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(crate::root());
    command
}

/// Runs a command to its end, with this program's input and output.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("cannot run {}", command.get_program().display()))
}
