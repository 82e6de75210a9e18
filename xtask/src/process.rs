//! Starts cargo and other programs.

use anyhow::{Context, Result};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::OnceLock;

/// The option of cargo that names another compiler than rustc for the crates of the workspace.
///
/// Not a variable: the tests that run cargo would inherit it.
static COMPILER: OnceLock<String> = OnceLock::new();

/// The arguments of clippy. Cargo compiles again what was compiled with others.
const LINTS: (&str, &str) = ("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");

/// Makes all later calls of cargo use this compiler.
pub fn compile_with(compiler: &Path) {
    COMPILER.get_or_init(|| format!("build.rustc-workspace-wrapper={compiler:?}"));
}

/// The cargo that started this program, to run in the root of the workspace.
pub fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(crate::root());
    if let Some(option) = COMPILER.get() {
        command.args(["--config", option]).env(LINTS.0, LINTS.1);
    }
    with_target(&mut command);
    command
}

/// A test program. It learns how the workspace was compiled.
pub fn test_program(path: &Path) -> Command {
    let mut command = Command::new(path);
    if let Some(option) = COMPILER.get() {
        command.env("PTX_MATRIX_TESTS_CONFIG", option).env(LINTS.0, LINTS.1);
    }
    with_target(&mut command);
    command
}

/// Passes the target folder to a program that runs in another folder: the variable may be a
/// relative path.
fn with_target(command: &mut Command) {
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
