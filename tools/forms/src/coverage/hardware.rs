//! The forms that hardware ran with the results of the simulator.

use super::is_of;
use super::simulated::Simulated;
use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptx_matrix::forms;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The GPU of the recordings.
pub const GPU: &str = "H200";
/// The target of this GPU.
pub const TARGET: &str = "sm_90a";

/// The number of compared elements that the GPU returned, for each check.
#[derive(Debug, Default)]
pub struct Cases(BTreeMap<String, u64>);

/// A file of `cargo xtask conformance --cases COUNT --report FILE`.
#[derive(Deserialize)]
struct Trials {
    target: String,
    cases: BTreeMap<String, u64>,
    mismatches: BTreeMap<String, String>,
}

/// A file of `cargo xtask conformance --record FILE`.
#[derive(Deserialize)]
struct Recording {
    target: String,
    records: Vec<Record>,
    by_name: Option<Digests>,
}

/// Digests of the results of `wgmma` forms that were executed by name.
#[derive(Deserialize)]
struct Digests {
    forms: BTreeMap<String, [String; 2]>,
}

#[derive(Deserialize)]
struct Record {
    check: String,
    output: String,
}

impl Cases {
    /// Counts the cases in `tests/trials` and in `tests/recorded`, which the tests replay. (Only
    /// simulated checks have a known element size.)
    pub fn recorded(simulated: &Simulated) -> Result<Self> {
        let mut cases = Cases::default();
        for (file, trials) in read_all::<Trials>("tests/trials")? {
            ensure!(trials.target == TARGET, "{file} is of {}, not of {TARGET}", trials.target);
            for (check, count) in trials.cases {
                // A mismatch is no evidence.
                let count = if trials.mismatches.contains_key(&check) { 0 } else { count };
                *cases.0.entry(check).or_default() += count;
            }
        }
        for (file, recording) in read_all::<Recording>("tests/recorded")? {
            ensure!(
                recording.target == TARGET,
                "{file} is of {}, not of {TARGET}",
                recording.target
            );
            for Record { check, output } in recording.records {
                let Some(element) = simulated.element(&check) else { continue };
                let output =
                    unpack(&output).with_context(|| format!("{file}: the output of {check}"))?;
                *cases.0.entry(check).or_default() += (output.len() / element) as u64;
            }
            let by_name = recording.by_name.map(|digests| digests.forms).unwrap_or_default();
            for form in forms::all_wgmma().filter(|form| by_name.contains_key(form.ptx)) {
                // Two runs: A in shared memory, and A in registers.
                *cases.0.entry(format!("{}, by name", form.ptx)).or_default() +=
                    2 * 64 * form.n as u64;
            }
        }
        Ok(cases)
    }

    /// The cases of a form; `None` if a check of it has none.
    pub fn of(&self, form: &str) -> Option<u64> {
        let counts: Vec<u64> = self
            .0
            .iter()
            .filter(|(check, _)| is_of(check, form))
            .map(|(_, &count)| count)
            .collect();
        (!counts.is_empty() && !counts.contains(&0)).then(|| counts.iter().sum())
    }
}

/// The files of a folder with their names.
fn read_all<T: DeserializeOwned>(folder: &str) -> Result<Vec<(String, T)>> {
    let read = |file: &Path| {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let value = serde_json::from_str(&text)
            .with_context(|| format!("cannot understand {}", file.display()))?;
        Ok((file.display().to_string(), value))
    };
    fs::read_dir(crate::root().join(folder))?.map(|entry| read(&entry?.path())).collect()
}

/// The bytes of a recorded output.
fn unpack(text: &str) -> Result<Vec<u8>> {
    let packed = STANDARD.decode(text)?;
    miniz_oxide::inflate::decompress_to_vec(&packed).map_err(|error| anyhow::anyhow!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::table::Hardware;
    use crate::coverage::{MachineCode, group_rows};
    use crate::legal_forms;

    /// Each check of a form that the GPU has is recorded. Floating-point forms have at least ten
    /// million cases.
    #[test]
    fn every_form_that_the_gpu_has_was_run_on_it() {
        let simulated = elements_of_one_byte();
        let cases = Cases::recorded(&simulated).unwrap();
        for row in legal_forms::read().unwrap() {
            let count = cases.of(&row.form);
            assert_eq!(count.is_some(), row.targets().contains(TARGET), "{}", row.form);
            let is_float = row.form.starts_with("mma") && !row.form.contains(".s32.");
            assert!(
                !is_float || count.is_none_or(|count| count >= 10_000_000),
                "{}: {count:?}",
                row.form
            );
        }
    }

    /// Each form of `wgmma` was run.
    #[test]
    fn every_form_of_wgmma_was_run() {
        let simulated = elements_of_one_byte();
        let cases = Cases::recorded(&simulated).unwrap();
        let forms: Vec<_> = forms::all_wgmma().collect();
        let rows = group_rows(&forms, &simulated, &cases, &MachineCode::default());
        for (form, row) in forms.iter().zip(&rows) {
            let least = 2 * 64 * form.n as u64;
            let ran = matches!(row.hardware, Hardware::Ran(count) if count >= least);
            assert!(ran && row.form == form.ptx, "{}: {:?}", form.ptx, row.hardware);
        }
        let docs = fs::read_to_string(crate::root().join("README.md")).unwrap();
        let said = format!("each of the {} forms of `wgmma`", forms.len());
        assert!(docs.contains(&said), "the README does not say \"{said}\"");
    }

    /// A report of the simulator in which each recorded check passed, with elements of one byte.
    fn elements_of_one_byte() -> Simulated {
        let recordings = read_all::<Recording>("tests/recorded").unwrap();
        let checks = recordings
            .iter()
            .flat_map(|(_, recording)| &recording.records)
            .map(|record| &record.check);
        let outcomes: Vec<_> = checks
            .map(|check| serde_json::json!({"name": check, "status": "passed", "element": 1}))
            .collect();
        serde_json::from_value(serde_json::json!({ "outcomes": outcomes })).unwrap()
    }

    /// The numbers of compared elements in the docs are those in the files.
    #[test]
    fn numbers_in_docs() {
        let docs = fs::read_to_string(crate::root().join("docs/NUMERICS.md")).unwrap();
        let in_words = |number: u64| {
            let digits = number.to_string();
            let groups: Vec<&str> = digits
                .as_bytes()
                .rchunks(3)
                .rev()
                .map(|group| std::str::from_utf8(group).unwrap())
                .collect();
            groups.join(",")
        };
        let mut cases = BTreeMap::<String, u64>::new();
        for (file, trials) in read_all::<Trials>("tests/trials").unwrap() {
            assert!(trials.mismatches.is_empty(), "{file}");
            trials
                .cases
                .into_iter()
                .for_each(|(check, count)| *cases.entry(check).or_default() += count);
        }
        let total: u64 = cases.values().sum();
        assert!(docs.contains(&format!("{} elements of D in all", in_words(total))), "{total}");
        let each = *cases.values().min().unwrap();
        assert!(
            docs.contains(&format!(
                "at least {} of each form with each kind of data",
                in_words(each)
            )),
            "{each}"
        );
        // The table has as many forms as the list.
        let rows = docs
            .lines()
            .skip_while(|line| !line.starts_with("| A, B | C, D | shapes | forms |"))
            .skip(2);
        let forms: usize = rows
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.split('|').nth(4).unwrap().trim().parse::<usize>().unwrap())
            .sum();
        let of_mma =
            legal_forms::read().unwrap().iter().filter(|row| row.form.starts_with("mma")).count();
        assert_eq!(forms, of_mma);
    }

    #[test]
    fn what_differed_is_no_evidence() {
        let form = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64";
        let cases = |counts: &[(&str, u64)]| {
            Cases(counts.iter().map(|(kind, count)| (format!("{form}{kind}"), *count)).collect())
                .of(form)
        };
        assert_eq!(cases(&[(", normal", 7), (", huge", 5)]), Some(12));
        assert_eq!(cases(&[(", normal", 7), (", huge", 0)]), None);
        assert_eq!(cases(&[(".rn, normal", 7)]), None, "another form's");
        assert_eq!(cases(&[]), None);
    }
}
