//! `cargo xtask coverage`: how each legal form was tested.

mod hardware;
mod machine_code;
mod simulated;
mod table;

use crate::legal_forms::{self, LegalForm};
use anyhow::{Result, ensure};
use clap::ValueEnum;
use ptx_matrix::forms::{self, Form, WgmmaForm};
use ptx_matrix_output::{errln, outln};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use hardware::Cases;
use machine_code::MachineCode;
use simulated::Simulated;
use table::{Hardware, Row};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// List only forms whose name contains TEXT, such as ldmatrix, mma.sp or .e4m3.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// List only forms with a hole
    #[arg(long)]
    holes: bool,
    /// The format of the table; with csv, the closing line goes to standard error
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The conformance program, which `cargo xtask coverage` builds
    #[arg(long, hide = true, value_name = "PROGRAM")]
    conformance: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns, targets by their numbers
    Text,
    /// The same as a Markdown table
    Markdown,
    /// CSV, every target by its name
    Csv,
}

const AFTER_HELP: &str = "\
A form has a hole if it is not in the list of legal forms, has no typed wrapper, does not pass on
the simulator, does not assemble for one of its targets, or was not run on the recorded GPU although
that GPU has it.

Examples:
  cargo xtask coverage --filter mma.sp
  cargo xtask coverage --holes
  cargo xtask coverage --format csv > coverage.csv

Exit codes:
  0  there is no hole
  1  there is a hole
  2  no form has such a name, or another error";

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let filter = arguments.filter.as_deref().unwrap_or_default();
    let legal: Vec<LegalForm> =
        legal_forms::read()?.into_iter().filter(|row| row.form.contains(filter)).collect();
    let ours: Vec<&Form> = forms::all().filter(|form| form.ptx.contains(filter)).collect();
    let groups: Vec<WgmmaForm> =
        forms::all_wgmma().filter(|form| form.ptx.contains(filter)).collect();
    ensure!(
        !legal.is_empty() || !ours.is_empty() || !groups.is_empty(),
        "no form's name contains `{filter}`"
    );

    errln!("running every check on the simulator");
    let has_checks = !ours.is_empty() || !groups.is_empty();
    let simulated = if has_checks {
        Simulated::run(&arguments.conformance, filter)?
    } else {
        Simulated::default()
    };
    let cases = Cases::recorded(&simulated)?;
    let mut targets: BTreeSet<&str> = legal.iter().flat_map(LegalForm::targets).collect();
    targets.extend((!groups.is_empty()).then_some(hardware::TARGET));
    let machine_code = MachineCode::of(&ours, &groups, &targets)?;

    let mut rows = rows(&legal, &ours, &simulated, &cases, &machine_code);
    rows.extend(group_rows(&groups, &simulated, &cases, &machine_code));
    let summary = table::summary(&rows);
    let whole = rows.iter().all(|row| row.holes().is_empty());
    if arguments.holes {
        rows.retain(|row| !row.holes().is_empty());
    }
    table::print(&rows, arguments.format)?;
    if arguments.format == Format::Csv {
        errln!("{summary}")
    } else {
        outln!("{summary}")
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A row for each form of the list, and for each form of the crate that the list lacks.
fn rows(
    legal: &[LegalForm],
    ours: &[&Form],
    simulated: &Simulated,
    cases: &Cases,
    machine_code: &MachineCode,
) -> Vec<Row> {
    let listed: BTreeSet<&str> = legal.iter().map(|row| row.form.as_str()).collect();
    let unlisted = ours
        .iter()
        .filter(|form| !listed.contains(form.ptx))
        .map(|form| (form.ptx, Default::default()));
    let all = legal.iter().map(|row| (row.form.as_str(), row.targets())).chain(unlisted);
    all.map(|(form, targets)| Row {
        form: form.to_owned(),
        listed: listed.contains(form),
        typed: ours.iter().any(|ours| ours.ptx == form),
        simulated: simulated.passed(form),
        hardware: match (targets.contains(hardware::TARGET), cases.of(form)) {
            (false, _) => Hardware::Absent,
            (true, Some(count)) => Hardware::Ran(count),
            (true, None) => Hardware::NotRun,
        },
        on: targets
            .iter()
            .map(|target| ((*target).to_owned(), machine_code.outcome(form, target)))
            .collect(),
    })
    .collect()
}

/// A row for each form of `wgmma`. The list does not have them; `tests/wgmma.rs` asks ptxas about
/// all of them.
fn group_rows(
    groups: &[WgmmaForm],
    simulated: &Simulated,
    cases: &Cases,
    machine_code: &MachineCode,
) -> Vec<Row> {
    let row = |form: &WgmmaForm| Row {
        form: form.ptx.to_owned(),
        listed: true,
        typed: true,
        simulated: simulated.passed(form.ptx),
        hardware: cases.of(form.ptx).map_or(Hardware::NotRun, Hardware::Ran),
        on: [(hardware::TARGET.to_owned(), machine_code.outcome(form.ptx, hardware::TARGET))]
            .into(),
    };
    groups.iter().map(row).collect()
}

/// Whether a check of the conformance run belongs to a form: the check's name is the form, or the
/// form, a comma and the kind of data.
fn is_of(check: &str, form: &str) -> bool {
    check.strip_prefix(form).is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
}
