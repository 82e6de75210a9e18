//! Runs other programs, in a clean environment. Errors name the command and its output.

use std::ffi::OsStr;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

/// Creates a command without the environment variables of an outer cargo or rustup.
///
/// A build script runs with the outer toolchain's variables set. If inherited, they would mix two
/// toolchains.
pub fn clean_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(belongs_to_outer_build) {
            command.env_remove(name);
        }
    }
    // A toolchain that a file names but that is not installed must be reported, not downloaded.
    command.env("RUSTUP_AUTO_INSTALL", "0");
    command
}

fn belongs_to_outer_build(name: &str) -> bool {
    // Users set these variables to place caches, registries and outputs. They do not change how
    // cargo compiles.
    const KEPT: [&str; 6] = [
        "CARGO_HOME",
        "CARGO_TARGET_DIR",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTR",
        "CARGO_TERM_",
    ];
    const DROPPED: [&str; 9] = [
        "CARGO",
        "RUSTC",
        "RUSTFLAGS",
        "RUSTDOC",
        "RUSTUP_TOOLCHAIN",
        "LD_LIBRARY_PATH",
        "DYLD_",
        "MAKEFLAGS",
        "MFLAGS",
    ];
    let starts_with_any =
        |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    starts_with_any(&DROPPED) && !starts_with_any(&KEPT)
}

/// Runs a command to its end and returns its output, even if the command fails.
pub fn output(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| format!("cannot run {}", command.get_program().display()))
}

/// Refuses the messages of a successful compiler that ignored an option: a pass or a feature that
/// it does not know.
pub fn refuse_ignored(stderr: &str) -> Result<()> {
    let ignored = stderr
        .lines()
        .find(|line| line.contains("unknown and will be ignored") || line.contains("(ignoring "));
    match ignored {
        Some(line) => bail!(
            "this compiler ignores an option that the builder needs: {}; use a tested version",
            line.trim()
        ),
        None => Ok(()),
    }
}

/// Runs a command to its end and returns its standard output. If the command fails, the error
/// contains its standard error.
pub fn stdout(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    if !output.status.success() {
        bail!(
            "{} failed ({}):\n{}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    refuse_ignored(&String::from_utf8_lossy(&output.stderr))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Formats a command for messages.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_options_are_errors() {
        let of_rustc = "warning: MIR pass `JumpThreading` is unknown and will be ignored\n";
        let of_llc = "'+ptx99' is not a recognized feature for this target (ignoring feature)\n";
        for said in [of_rustc, of_llc] {
            assert!(refuse_ignored(said).unwrap_err().to_string().contains(said.trim()));
        }
        assert!(refuse_ignored("warning: unused variable: `x`\n").is_ok());
    }

    #[test]
    fn drops_the_outer_toolchain_and_keeps_the_users_places() {
        for dropped in [
            "CARGO",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_PROFILE_RELEASE_LTO",
            "RUSTC_WRAPPER",
            "RUSTUP_TOOLCHAIN",
        ] {
            assert!(belongs_to_outer_build(dropped), "{dropped}");
        }
        for kept in
            ["CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_REGISTRIES_MINE_INDEX", "RUSTUP_HOME", "PATH"]
        {
            assert!(!belongs_to_outer_build(kept), "{kept}");
        }
    }

    #[test]
    fn failure_names_command_and_its_words() {
        let error = stdout(Command::new("sh").args(["-c", "echo broken pipe dream >&2; exit 3"]))
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("sh -c") && text.contains("broken pipe dream") && text.contains('3'),
            "{text}"
        );
    }
}
