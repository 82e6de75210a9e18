//! The results of the conformance run on the simulator.

use super::is_of;
use crate::process::status;
use anyhow::{Result, ensure};
use serde::Deserialize;
use std::fs;
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
    /// Builds the conformance program, and runs the checks of the forms whose names contain
    /// `filter`.
    pub fn run(filter: &str) -> Result<Self> {
        let report = crate::target().join("coverage.json");
        let mut conformance = Command::new(crate::CONFORMANCE.build()?);
        conformance
            .args(["--on", "sim", "--rounds", "1", "--filter", filter, "--report"])
            .arg(&report);
        // Exit code 1 means that a check failed; the report has it.
        let ran = status(conformance.stdout(Stdio::null()))?.code();
        ensure!(
            matches!(ran, Some(0 | 1)),
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
