use anyhow::{Context, Result};
use std::process::{Command, ExitCode, ExitStatus};

/// The cargo that started this program, to run in the root of the workspace.
pub fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(crate::root());
    crate::compiler::add_to(&mut command);
    with_target(&mut command);
    command
}

/// Passes the target folder to a program that runs in another folder: the variable may be a
/// relative path.
pub fn with_target(command: &mut Command) {
    if std::env::var_os("CARGO_TARGET_DIR").is_some() {
        command.env("CARGO_TARGET_DIR", crate::target());
    }
}

/// Runs a command to its end. It shares this program's input and output.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("cannot run {}", command.get_program().display()))
}

/// The exit code of a program, as this program's own.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2))
}
