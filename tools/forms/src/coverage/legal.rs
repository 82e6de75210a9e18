//! The list of the forms that ptxas accepts.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeSet;

/// A row of the list.
#[derive(Debug)]
pub struct Legal {
    pub form: String,
    pub targets: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Line {
    form: String,
    targets: String,
}

pub fn list() -> Result<Vec<Legal>> {
    let file = crate::root().join("tests/forms/legal.csv");
    let mut reader =
        csv::Reader::from_path(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let row = |line: Line| Legal {
        form: line.form,
        targets: line.targets.split(' ').map(str::to_owned).collect(),
    };
    reader.deserialize().map(|line| Ok(row(line?))).collect()
}
