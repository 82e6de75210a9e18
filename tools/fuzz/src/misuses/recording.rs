//! The file with the recorded messages of compute-sanitizer.

use super::sanitizer::Tool;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The messages of a tool for a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub case: String,
    pub mended: bool,
    pub tool: Tool,
    pub messages: BTreeSet<String>,
}

/// The messages of all tools for all cases on a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    pub device: String,
    pub driver: String,
    pub sanitizer: String,
    /// Combinations of case and tool without messages are left out.
    pub said: Vec<Said>,
}

impl Recording {
    /// The tools with messages for a case.
    pub fn tools<'a>(&'a self, case: &'a str, mended: bool) -> impl Iterator<Item = &'a Said> {
        self.said.iter().filter(move |said| {
            said.case == case && said.mended == mended && !said.messages.is_empty()
        })
    }
}
