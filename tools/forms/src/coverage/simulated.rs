//! The results of the conformance run on the simulator.

use super::is_of;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The checks of some forms, each run once.
#[derive(Debug, Default, Deserialize)]
pub struct Simulated {
    outcomes: Vec<Outcome>,
}

#[derive(Debug, Deserialize)]
struct Outcome {
    name: String,
    status: serde_json::Value,
    /// Bytes of an output element.
    element: usize,
}

impl Simulated {
    /// Runs the checks of the forms whose names contain `filter`, by the conformance program.
    pub fn run(program: &Path, filter: &str) -> Result<Self> {
        let report = crate::target().join("coverage.json");
        let ran = Command::new(program)
            .args(["--on", "sim", "--rounds", "1", "--filter", filter, "--report"])
            .arg(&report)
            .stdout(Stdio::null())
            .status()
            .with_context(|| format!("cannot run {}", program.display()))?;
        // Exit code 1 means that a check failed; the report has it.
        ensure!(
            matches!(ran.code(), Some(0 | 1)),
            "the conformance run on the simulator did not come to its end"
        );
        let simulated = serde_json::from_str(&fs::read_to_string(&report)?)?;
        fs::remove_file(&report)?;
        Ok(simulated)
    }

    /// Whether the form has checks, and all passed.
    pub fn passed(&self, form: &str) -> bool {
        let mut checks =
            self.outcomes.iter().filter(|outcome| is_of(&outcome.name, form)).peekable();
        checks.peek().is_some() && checks.all(|outcome| outcome.status == "passed")
    }

    /// Bytes of an output element of a check.
    pub fn element(&self, check: &str) -> Option<usize> {
        self.outcomes.iter().find(|outcome| outcome.name == check).map(|outcome| outcome.element)
    }
}
