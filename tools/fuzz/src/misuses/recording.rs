//! What compute-sanitizer said of the cases on a GPU, as a file.

use super::sanitizer::Tool;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a tool said of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub case: String,
    pub mended: bool,
    pub tool: Tool,
    pub messages: BTreeSet<String>,
}

/// What the tools said of all cases on a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    pub device: String,
    pub driver: String,
    pub sanitizer: String,
    /// Only what was said: a case and a tool that are missing said nothing.
    pub said: Vec<Said>,
}

impl Recording {
    /// Which tools said something of a case.
    pub fn tools<'a>(&'a self, case: &'a str, mended: bool) -> impl Iterator<Item = &'a Said> {
        self.said.iter().filter(move |said| {
            said.case == case && said.mended == mended && !said.messages.is_empty()
        })
    }
}
