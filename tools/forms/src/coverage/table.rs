//! The table of forms, and its summary.

use super::Format;
use super::hardware::GPU;
use super::machine_code::Outcome;
use anyhow::Result;
use comfy_table::{Table, presets};
use ptx_matrix::forms::Nature;
use ptx_matrix_output::{out, outln};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The tests of a form.
pub struct Row {
    pub form: String,
    /// Whether it is in the list of the forms that ptxas accepts.
    pub listed: bool,
    /// Whether the crate has it. The same row of a table makes its typed and its raw function.
    pub typed: bool,
    /// Whether all its checks passed on the simulator.
    pub simulated: bool,
    pub hardware: Hardware,
    /// The outcome of assembling it, for each target.
    pub on: BTreeMap<String, Outcome>,
}

/// The result on the recorded GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hardware {
    /// The GPU does not have the form.
    Absent,
    NotRun,
    /// It ran, and this number of elements was compared.
    Ran(u64),
}

impl Row {
    /// The missing tests.
    pub fn holes(&self) -> Vec<String> {
        let refused: Vec<&str> = self.targets(|outcome| outcome == Outcome::Refused).collect();
        let missing = [
            (!self.listed, "not in the list of legal forms".to_owned()),
            (!self.typed, "no typed wrapper".to_owned()),
            (!self.simulated, "not simulated".to_owned()),
            (!refused.is_empty(), format!("not assembled for {}", refused.join(" "))),
            (self.hardware == Hardware::NotRun, format!("not run on an {GPU}")),
        ];
        missing.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, what)| what).collect()
    }

    fn targets(&self, of: impl Fn(Outcome) -> bool) -> impl Iterator<Item = &str> {
        self.on.iter().filter(move |(_, outcome)| of(**outcome)).map(|(target, _)| target.as_str())
    }

    fn assembled(&self) -> usize {
        self.targets(|outcome| outcome != Outcome::Refused).count()
    }
}

pub fn print(rows: &[Row], format: Format) -> Result<()> {
    match format {
        Format::Csv => {
            let mut text = Vec::new();
            csv(rows, &mut text)?;
            out!("{}", String::from_utf8_lossy(&text));
            Ok(())
        }
        Format::Text => {
            outln!("{}", table(rows, presets::NOTHING));
            Ok(())
        }
        Format::Markdown => {
            outln!("{}", table(rows, presets::ASCII_MARKDOWN));
            Ok(())
        }
    }
}

/// A table with aligned columns, targets by their numbers.
fn table(rows: &[Row], preset: &str) -> Table {
    let mut table = Table::new();
    table.load_preset(preset);
    let heads = ["form", "typed", "simulated", "assembled for", "native on sm_", "emulated on sm_"];
    let mut head: Vec<String> = heads.map(str::to_owned).into();
    head.push(format!("run on an {GPU}"));
    let with_holes = rows.iter().any(|row| !row.holes().is_empty());
    head.extend(with_holes.then(|| "holes".to_owned()));
    table.set_header(head);
    let chips: BTreeSet<u32> =
        rows.iter().flat_map(|row| row.on.keys()).map(|target| chip(target)).collect();
    for row in rows {
        let became = |nature| {
            ranges(
                &chips,
                &row.targets(|outcome| outcome == Outcome::Became(nature)).map(chip).collect(),
            )
        };
        let mut cells = vec![
            row.form.clone(),
            yes(row.typed),
            yes(row.simulated),
            format!("{} of {} targets", row.assembled(), row.on.len()),
            became(Nature::Native),
            became(Nature::Emulated),
            match row.hardware {
                Hardware::Absent => "assembled, not run".to_owned(),
                Hardware::NotRun => "no".to_owned(),
                Hardware::Ran(cases) => format!("{cases} cases"),
            },
        ];
        cells.extend(with_holes.then(|| row.holes().join("; ")));
        table.add_row(cells);
    }
    table
}

/// CSV with the name of every target.
fn csv(rows: &[Row], to: impl io::Write) -> Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record([
        "form",
        "typed",
        "simulated",
        "assembled",
        "native",
        "emulated",
        "cases",
        "holes",
    ])?;
    for row in rows {
        let names = |of: &dyn Fn(Outcome) -> bool| row.targets(of).collect::<Vec<&str>>().join(" ");
        writer.write_record([
            row.form.clone(),
            yes(row.typed),
            yes(row.simulated),
            names(&|outcome| outcome != Outcome::Refused),
            names(&|outcome| outcome == Outcome::Became(Nature::Native)),
            names(&|outcome| outcome == Outcome::Became(Nature::Emulated)),
            match row.hardware {
                Hardware::Ran(cases) => cases.to_string(),
                Hardware::Absent | Hardware::NotRun => "0".to_owned(),
            },
            row.holes().join("; "),
        ])?;
    }
    Ok(writer.flush()?)
}

/// The closing line.
pub fn summary(rows: &[Row]) -> String {
    let count = |is: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
    let cases = rows.iter().map(|row| match row.hardware {
        Hardware::Ran(cases) => cases,
        Hardware::Absent | Hardware::NotRun => 0,
    });
    format!(
        "coverage: {} forms; {} typed, {} simulated, {} assembled for each of their targets, {} \
         run on an {GPU} with {} cases, \
         {} assembled and not run; {} with a hole",
        rows.len(),
        count(&|row| row.typed),
        count(&|row| row.simulated),
        count(&|row| row.assembled() == row.on.len()),
        count(&|row| matches!(row.hardware, Hardware::Ran(_))),
        cases.sum::<u64>(),
        count(&|row| row.hardware == Hardware::Absent),
        count(&|row| !row.holes().is_empty()),
    )
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

/// The number of a target: 120 for `sm_120f`.
fn chip(target: &str) -> u32 {
    target.trim_start_matches("sm_").trim_end_matches(['a', 'f']).parse().unwrap_or_default()
}

/// Ranges such as `75-90, 120`. A range has no gap among `all` chips.
fn ranges(all: &BTreeSet<u32>, some: &BTreeSet<u32>) -> String {
    let all: Vec<u32> = all.iter().copied().collect();
    let runs = all.chunk_by(|one, next| some.contains(one) == some.contains(next));
    let runs = runs.filter(|run| some.contains(&run[0])).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => unreachable!("runs have chips"),
    });
    runs.collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(outcomes: &[(&str, Outcome)]) -> Row {
        Row {
            form: "mma.one".into(),
            listed: true,
            typed: true,
            simulated: true,
            hardware: Hardware::Ran(1280),
            on: outcomes.iter().map(|(target, outcome)| ((*target).to_owned(), *outcome)).collect(),
        }
    }

    const NATIVE: Outcome = Outcome::Became(Nature::Native);
    const EMULATED: Outcome = Outcome::Became(Nature::Emulated);

    #[test]
    fn whole_row_has_no_hole() {
        let whole =
            row(&[("sm_80", NATIVE), ("sm_90a", EMULATED), ("sm_100f", Outcome::Assembled)]);
        assert!(whole.holes().is_empty());
        assert!(Row { hardware: Hardware::Absent, ..whole }.holes().is_empty());
    }

    #[test]
    fn whatever_is_missing_is_a_hole() {
        let whole = || row(&[("sm_80", NATIVE)]);
        let holes = |row: Row| row.holes().join("; ");
        assert_eq!(holes(Row { listed: false, ..whole() }), "not in the list of legal forms");
        assert_eq!(holes(Row { typed: false, ..whole() }), "no typed wrapper");
        assert_eq!(holes(Row { simulated: false, ..whole() }), "not simulated");
        assert_eq!(holes(Row { hardware: Hardware::NotRun, ..whole() }), "not run on an H200");
        let refused =
            row(&[("sm_80", NATIVE), ("sm_90", Outcome::Refused), ("sm_90a", Outcome::Refused)]);
        assert_eq!(holes(refused), "not assembled for sm_90 sm_90a");
    }

    #[test]
    fn table_and_its_closing_line() {
        let rows = [
            row(&[
                ("sm_80", NATIVE),
                ("sm_90", EMULATED),
                ("sm_90a", EMULATED),
                ("sm_120a", NATIVE),
            ]),
            Row {
                form: "mma.other".into(),
                typed: false,
                hardware: Hardware::Absent,
                ..row(&[("sm_100a", NATIVE), ("sm_120a", Outcome::Refused)])
            },
        ];
        let text = table(&rows, presets::ASCII_MARKDOWN).to_string();
        let cells: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        assert_eq!(
            cells[2],
            ["mma.one", "yes", "yes", "4 of 4 targets", "80, 120", "90", "1280 cases", ""]
        );
        let holes = "no typed wrapper; not assembled for sm_120a";
        assert_eq!(
            cells[3],
            ["mma.other", "no", "yes", "1 of 2 targets", "100", "", "assembled, not run", holes]
        );
        assert_eq!(
            summary(&rows),
            "coverage: 2 forms; 1 typed, 2 simulated, 1 assembled for each of their targets, 1 run \
             on an H200 with 1280 cases, \
             1 assembled and not run; 1 with a hole"
        );
        let mut written = Vec::new();
        csv(&rows, &mut written).unwrap();
        let lines: Vec<&str> = std::str::from_utf8(&written).unwrap().lines().collect();
        assert_eq!(
            lines[1],
            "mma.one,yes,yes,sm_120a sm_80 sm_90 sm_90a,sm_120a sm_80,sm_90 sm_90a,1280,"
        );
        assert_eq!(lines[2], format!("mma.other,no,yes,sm_100a,sm_100a,,0,{holes}"));
    }

    #[test]
    fn chips_in_a_row_are_a_range() {
        let all = BTreeSet::from([75, 80, 90, 100, 120]);
        assert_eq!(ranges(&all, &all), "75-120");
        assert_eq!(ranges(&all, &BTreeSet::from([75, 80, 120])), "75-80, 120");
        assert_eq!(ranges(&all, &BTreeSet::new()), "");
    }
}
