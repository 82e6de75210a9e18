//! `tests/forms/legal.csv`, the list of the forms that ptxas accepts, and the differences between
//! two such lists.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A row of the list: a form that ptxas accepts for some targets. `docs/ARCHITECTURE.md` describes
/// the columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegalForm {
    pub family: String,
    pub form: String,
    pub shape: String,
    pub a: String,
    pub b: String,
    pub c: String,
    pub d: String,
    pub a_regs: Option<usize>,
    pub b_regs: Option<usize>,
    pub c_regs: Option<usize>,
    pub d_regs: Option<usize>,
    /// Separated by spaces.
    pub targets: String,
    pub min_ptx: String,
    /// `native`, `emulated` or `absent`.
    pub on_sm_90: String,
    /// The main SASS instructions on sm_90. They inform readers, and are not compared.
    pub sass_sm_90: String,
    /// Separated by spaces.
    pub sparse_selectors: String,
}

impl LegalForm {
    pub fn targets(&self) -> BTreeSet<&str> {
        self.targets.split_whitespace().collect()
    }
}

fn file() -> PathBuf {
    crate::root().join("tests/forms/legal.csv")
}

pub fn read() -> Result<Vec<LegalForm>> {
    let file = file();
    let mut reader =
        csv::Reader::from_path(&file).with_context(|| format!("cannot read {}", file.display()))?;
    reader
        .deserialize()
        .map(|row| row.with_context(|| format!("{} has a wrong row", file.display())))
        .collect()
}

pub fn write(rows: &[LegalForm]) -> Result<()> {
    let file = file();
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    std::fs::write(&file, writer.into_inner()?)
        .with_context(|| format!("cannot write {}", file.display()))
}

/// The differences between two lists, one in each line.
///
/// Only `targets` are compared. The least PTX version of a form depends on all its targets. So it
/// is compared only if `targets` has every target that one of the lists names for the form.
pub fn differences(old: &[LegalForm], new: &[LegalForm], targets: &BTreeSet<&str>) -> Vec<String> {
    let by_form = |rows| -> BTreeMap<String, LegalForm> {
        let rows: &[LegalForm] = rows;
        let here =
            rows.iter().filter(|row| row.targets().iter().any(|target| targets.contains(target)));
        here.map(|row| (row.form.clone(), row.clone())).collect()
    };
    let (old, new) = (by_form(old), by_form(new));
    let mut lines = Vec::new();
    for form in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        match (old.get(form), new.get(form)) {
            (None, Some(row)) => lines.push(format!("new       {form}: on {}", row.targets)),
            (Some(row), None) => lines.push(format!("vanished  {form}: was on {}", row.targets)),
            (Some(old), Some(new)) => lines.extend(changes(old, new, targets)),
            (None, None) => {}
        }
    }
    lines
}

fn changes(old: &LegalForm, new: &LegalForm, targets: &BTreeSet<&str>) -> Vec<String> {
    let form = &old.form;
    let of = |row: &LegalForm| -> BTreeSet<String> {
        row.targets().intersection(targets).map(|&target| target.to_owned()).collect()
    };
    let (before, now) = (of(old), of(new));
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        one.difference(other).cloned().collect::<Vec<_>>().join(" ")
    };
    let mut lines = Vec::new();
    let mut say = |kind: &str, text: String| lines.push(format!("{kind:9} {form}: {text}"));
    if !before.is_subset(&now) {
        say("vanished", format!("on {}", only(&before, &now)));
    }
    if !now.is_subset(&before) {
        say("new", format!("on {}", only(&now, &before)));
    }
    let whole = [old, new].iter().all(|row| row.targets().is_subset(targets));
    let registers = |row: &LegalForm| {
        format!("{:?}", [row.a_regs, row.b_regs, row.c_regs, row.d_regs].map(|r| r.unwrap_or(0)))
    };
    let described = |row: &LegalForm| {
        [&row.family, &row.shape, &row.a, &row.b, &row.c, &row.d].map(String::as_str).join(" ")
    };
    let mut compare = |name: &str, old: &str, new: &str| {
        if old != new {
            say("changed", format!("{name} from `{old}` to `{new}`"));
        }
    };
    compare("shape and elements", &described(old), &described(new));
    compare("registers of A, B, C, D", &registers(old), &registers(new));
    compare("selectors", &old.sparse_selectors, &new.sparse_selectors);
    if targets.contains("sm_90") {
        compare("machine code on sm_90", &old.on_sm_90, &new.on_sm_90);
    }
    if whole {
        compare("least PTX version", &old.min_ptx, &new.min_ptx);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_written_as_it_was_read() {
        let rows = read().unwrap();
        let mut writer = csv::Writer::from_writer(Vec::new());
        rows.iter().try_for_each(|row| writer.serialize(row)).unwrap();
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        assert_eq!(text, std::fs::read_to_string(file()).unwrap());
    }

    #[test]
    fn each_kind_of_difference_is_named() {
        let old = read().unwrap();
        let targets: BTreeSet<&str> = old.iter().flat_map(LegalForm::targets).collect();
        assert_eq!(differences(&old, &old, &targets), [""; 0]);
        let mut new = old.clone();
        let gone = new.remove(0);
        new[0].targets = new[0].targets.replace("sm_75 ", "") + " sm_200";
        new[1].min_ptx = String::from("9.9");
        new[2].form += ".foo";
        let with_new: BTreeSet<&str> = targets.iter().copied().chain(["sm_200"]).collect();
        let said = differences(&old, &new, &with_new);
        let has = |kind: &str, form: &str, text: &str| {
            assert!(
                said.iter().any(|line| line.starts_with(kind)
                    && line.contains(form)
                    && line.contains(text)),
                "{said:?}"
            );
        };
        has("vanished", &gone.form, "was on sm_75");
        has("vanished", &new[0].form, "on sm_75");
        has("new", &new[0].form, "on sm_200");
        has("changed", &new[1].form, "from `6.5` to `9.9`");
        has("new", &new[2].form, "on sm_75");
        has("vanished", &old[3].form, "was on sm_75");
        assert_eq!(said.len(), 6);
        // With one target in the comparison, differences in the others do not count.
        let few = differences(&old, &new, &BTreeSet::from(["sm_200"]));
        assert_eq!(few.len(), 1, "{few:?}");
    }
}
