//! The programs of `tools/`: build one, ask it whether it can run here, run it with its kernels.

use crate::process::{cargo, exit_code, status};
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// The program's own options: see its `--help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Arguments {
    /// Whether they ask for the program's help, which needs no other work.
    pub fn ask_for_help(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "--help" || argument == "-h")
    }
}

/// The targets of the kernels, as the builder names them: a test compares.
const TARGETS: [&str; 6] = ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"];

/// Runs `cargo xtask build`, and returns the paths of the PTX and the machine code.
pub fn build_kernels<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Vec<PathBuf>> {
    let mut build = Command::new(crate::BUILD.build()?);
    build.args(["build", "--paths"]).args(arguments).stderr(Stdio::inherit());
    let output = build.output().context("cannot run the build of the kernels")?;
    ensure!(output.status.success(), "the kernels do not build");
    Ok(String::from_utf8(output.stdout)?.lines().map(PathBuf::from).collect())
}

/// A program of a package in `tools/`.
#[derive(Clone, Copy)]
pub struct Program {
    pub name: &'static str,
    pub package: &'static str,
    /// The crates of the kernels that it launches, in the words of `cargo xtask build`.
    pub kernels: &'static [&'static str],
    pub profile: Profile,
}

/// The profile with which a program compiles.
#[derive(Clone, Copy)]
pub enum Profile {
    /// It compiles in a fraction of the time, and optimises the simulator too.
    Dev,
    /// For a program that computes or measures on the CPU for long.
    Release,
}

impl Program {
    /// Builds the program and its kernels, and runs it.
    pub fn run(self, all: &Arguments) -> Result<ExitCode> {
        let (asks_for_help, arguments) = (all.ask_for_help(), &all.arguments);
        let has_kernels = arguments.iter().any(|one| one == "--ptx" || one.starts_with("--ptx="));
        let program = self.build()?;
        if asks_for_help {
            return Ok(exit_code(status(Command::new(program).args(arguments))?));
        }
        // The kernels build for minutes. A wrong option, or a machine without a GPU, is answered
        // before that.
        let validated = Command::new(&program)
            .args(["--validate", &TARGETS.join(",")])
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", program.display()))?;
        if !validated.status.success() {
            return Ok(exit_code(validated.status));
        }
        // The simulator needs no kernels, and names no target.
        let target = String::from_utf8(validated.stdout)?;
        if !target.is_empty() && !has_kernels {
            let first = ["--listed", "--arch", target.trim()];
            build_kernels(first.iter().chain(self.kernels).copied())?;
        }
        let mut command = Command::new(program);
        if !has_kernels {
            command.arg("--ptx").arg(crate::target().join("ptx"));
        }
        command.args(arguments);
        Ok(exit_code(status(&mut command)?))
    }

    /// Builds the program, and runs it without kernels, with the arguments `first` before others.
    pub fn run_alone(self, first: &[OsString], others: &Arguments) -> Result<ExitCode> {
        let mut command = Command::new(self.build()?);
        Ok(exit_code(status(command.args(first).args(&others.arguments))?))
    }

    /// Builds the program, and returns its path.
    pub fn build(self) -> Result<PathBuf> {
        let package = ["--package", self.package];
        match self.profile {
            Profile::Dev => self.build_in("debug", &package),
            Profile::Release => self.build_in("release", &[&["--release"], &package[..]].concat()),
        }
    }

    /// Builds the program from the crates that the tests have compiled already, and returns its
    /// path.
    pub fn build_as_tests_do(self) -> Result<PathBuf> {
        // Cargo unifies features over all selected targets. With the tests selected too, the
        // program's dependencies have the tests' features, and nothing is compiled twice.
        self.build_in("debug", &["--workspace", "--all-features", "--tests"])
    }

    fn build_in(self, folder: &str, arguments: &[&str]) -> Result<PathBuf> {
        let Program { name, .. } = self;
        let mut build = cargo();
        build.args(["build", "--quiet", "--bin", name]).args(arguments);
        ensure!(status(&mut build)?.success(), "the program `{name}` does not compile");
        Ok(crate::target().join(folder).join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_matrix_build::Arch;
    use std::collections::BTreeSet;

    #[test]
    fn targets_are_those_of_the_builder() {
        assert_eq!(TARGETS, Arch::ALL.map(Arch::name));
    }

    /// Cargo compiles a package again if its dependencies have other features. The builder takes
    /// half a minute.
    #[test]
    fn builder_is_compiled_once() {
        let packages = |arguments: &[&str]| -> BTreeSet<String> {
            let mut tree = cargo();
            tree.args(["tree", "--prefix", "none", "--format", "{p} {f}"]).args(arguments);
            let output = tree.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let lines = String::from_utf8(output.stdout).unwrap();
            lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
        };
        let names = |packages: &BTreeSet<String>| -> BTreeSet<String> {
            packages.iter().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect()
        };
        let of_tests = packages(&["--workspace", "--all-features"]);
        let of_build = packages(&["--package", crate::BUILD.package]);
        let parts = names(&packages(&["--package", "ptx-matrix-build", "--edges", "normal,build"]));
        assert!(parts.len() > 10, "{parts:?}");
        for line in of_build.difference(&of_tests) {
            let name = line.split(' ').next().unwrap();
            assert!(!parts.contains(name), "the tests have other features than `{line}`");
        }
    }
}
