//! The programs: built, asked whether they can run here, and run with the kernels.

use crate::kernels::Kernels;
use crate::process::{cargo, exit_code, status};
use anyhow::{Result, ensure};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// What the program takes: see its `--help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// A program of one of the packages.
#[derive(Clone, Copy)]
pub struct Program {
    pub name: &'static str,
    pub package: &'static str,
    /// The kernels that it launches.
    pub kernels: &'static [Kernels],
}

impl Program {
    /// Builds it and the kernels, and runs it.
    pub fn run(self, Arguments { arguments }: &Arguments) -> Result<ExitCode> {
        let program = self.build()?;
        // A wrong option, help, or a machine that cannot run it, should not have to wait for the
        // kernels' build.
        let validated = status(Command::new(&program).arg("--validate").args(arguments))?;
        let asks_for_help =
            arguments.iter().any(|argument| argument == "--help" || argument == "-h");
        if asks_for_help || !validated.success() {
            return Ok(exit_code(validated));
        }
        self.build_kernels()?;
        let mut command = Command::new(program);
        command.arg("--ptx").arg(crate::target().join("ptx")).args(arguments);
        Ok(exit_code(status(&mut command)?))
    }

    /// Builds its kernels for every target.
    fn build_kernels(self) -> Result<()> {
        self.kernels.iter().try_for_each(|kernels| kernels.builder().build().map(drop))
    }

    /// Builds it, and runs it without kernels.
    pub fn run_alone(self, Arguments { arguments }: &Arguments) -> Result<ExitCode> {
        Ok(exit_code(status(Command::new(self.build()?).args(arguments))?))
    }

    /// Builds it, and says where it is.
    pub fn build(self) -> Result<PathBuf> {
        self.build_in("release", &["--release", "--package", self.package])
    }

    /// The same, of what the tests have compiled already.
    pub fn build_as_tests_do(self) -> Result<PathBuf> {
        // With them as targets, it has what they depend on.
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
