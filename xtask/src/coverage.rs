use crate::process::status;
use anyhow::{Context, Result, ensure};
use ptx_matrix::forms::{self, Form, Nature};
use ptx_matrix_build::Toolchain;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only forms whose name contains this.
    #[arg(long)]
    filter: Option<String>,
}

/// The PTX version that forms are assembled with: the first that has all targets.
const PTX_VERSION: &str = "9.5";

/// What was done with the forms.
struct Evidence {
    /// Checks that ran on the simulator, and whether each passed.
    simulated: BTreeMap<String, bool>,
    /// Checks that are said not to have been run on hardware yet.
    awaiting: BTreeSet<String>,
    /// Cases of each check that ran on hardware and were compared with the simulator.
    cases: BTreeMap<String, u64>,
    /// Launches of each check on hardware that are recorded.
    records: BTreeMap<String, u64>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let legal = legal()?;
    let targets: BTreeSet<&str> = legal.iter().flat_map(|(_, targets)| targets.split(' ')).collect();
    let by_name: BTreeMap<&str, &Form> = forms::all().map(|form| (form.ptx, form)).collect();
    let (simulated, awaiting) = simulated()?;
    let evidence = Evidence { simulated, awaiting, cases: cases()?, records: records()? };
    let assembled = assembled(&targets)?;

    let (mut holes, mut rows, mut on_hardware) = (0, 0, 0);
    println!("{:<100} {:>9} {:>10} {:>22} {:>9}", "form", "simulated", "assembled", "on hardware", "on sm_90");
    for (name, targets) in &legal {
        if arguments.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        rows += 1;
        let Some(form) = by_name.get(name.as_str()) else {
            holes += 1;
            println!("{name:<100} not in the crate");
            continue;
        };
        let of_form =
            |check: &str| check.strip_prefix(form.ptx).is_some_and(|rest| rest.is_empty() || rest.starts_with(", "));
        let mut checks = evidence.simulated.iter().filter(|(check, _)| of_form(check)).peekable();
        let simulated = checks.peek().is_some() && checks.all(|(_, passed)| *passed);
        let targets: BTreeSet<&str> = targets.split(' ').collect();
        let accepted =
            targets.iter().filter(|target| form.needs.are_met_by(target) && assembled.contains(**target)).count();
        let sum =
            |of: &BTreeMap<String, u64>| of.iter().filter(|(check, _)| of_form(check)).map(|(_, n)| n).sum::<u64>();
        let (cases, launches) = (sum(&evidence.cases), sum(&evidence.records));
        let hardware = match (form.on_sm_90, cases, launches) {
            (Nature::Absent, ..) => "not run".to_owned(),
            (_, 0, 0) if evidence.awaiting.iter().any(|check| of_form(check)) => "not yet".to_owned(),
            (_, 0, 0) => "no".to_owned(),
            (_, 0, launches) => format!("{launches} launches"),
            (_, cases, _) => format!("{cases} cases"),
        };
        let whole = simulated && accepted == targets.len() && hardware != "no";
        holes += usize::from(!whole);
        on_hardware += usize::from(launches > 0);
        println!(
            "{name:<100} {:>9} {:>10} {hardware:>22} {:>9}{}",
            if simulated { "yes" } else { "no" },
            format!("{accepted} of {}", targets.len()),
            match form.on_sm_90 {
                Nature::Native => "native",
                Nature::Emulated => "emulated",
                Nature::Absent => "absent",
            },
            if whole { "" } else { "  <- hole" }
        );
    }
    for check in &evidence.awaiting {
        println!("not yet run on hardware: {check}");
    }
    println!("coverage: {rows} forms, {on_hardware} run on an H200, {holes} with a hole");
    Ok(if holes == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The list of legal forms, with their targets.
fn legal() -> Result<Vec<(String, String)>> {
    let text = fs::read_to_string(crate::root().join("tests/forms/legal.csv"))?;
    let rows = text.lines().skip(1).map(|line| {
        let mut fields = line.split(',');
        let name = fields.nth(1).context("a row of the list has a form")?;
        Ok((name.to_owned(), fields.nth(9).context("a row of the list has targets")?.to_owned()))
    });
    rows.collect()
}

/// Runs every check once on the simulator. Returns whether each passed, and those that were not yet run on hardware.
fn simulated() -> Result<(BTreeMap<String, bool>, BTreeSet<String>)> {
    let report = crate::target().join("coverage.json");
    let program = crate::CONFORMANCE.build()?;
    let mut conformance = Command::new(program);
    conformance.args(["--on", "sim", "--rounds", "1", "--report"]).arg(&report);
    ensure!(
        status(conformance.stdout(std::process::Stdio::null()))?.code().is_some_and(|code| code < 2),
        "the simulator's run failed"
    );
    let outcomes = read(&report)?;
    let outcomes = outcomes["outcomes"].as_array().context("a report has outcomes")?;
    let passed = outcomes.iter().map(|outcome| (text(&outcome["name"]), outcome["status"] == "passed")).collect();
    let awaiting = outcomes.iter().filter(|outcome| outcome["awaits_hardware"] == true);
    Ok((passed, awaiting.map(|outcome| text(&outcome["name"])).collect()))
}

fn cases() -> Result<BTreeMap<String, u64>> {
    let trials = read(&crate::root().join("tests/trials/h200.json"))?;
    let cases = trials["cases"].as_object().context("trials have cases")?.iter();
    Ok(cases.map(|(check, cases)| (check.clone(), cases.as_u64().unwrap_or(0))).collect())
}

fn records() -> Result<BTreeMap<String, u64>> {
    let mut launches = BTreeMap::new();
    for file in fs::read_dir(crate::root().join("tests/recorded"))? {
        let recording = read(&file?.path())?;
        for record in recording["records"].as_array().context("a recording has records")? {
            *launches.entry(text(&record["check"])).or_default() += 1;
        }
    }
    Ok(launches)
}

/// The targets for which ptxas assembles every form that the tables say they have.
fn assembled<'t>(targets: &BTreeSet<&'t str>) -> Result<BTreeSet<&'t str>> {
    let store = crate::target().join("ptx-matrix").join("toolchain");
    let toolchain = Toolchain::find_or_fetch(&crate::kernels(), &store, &|step| eprintln!("{step}"))?;
    let mut assembled = BTreeSet::new();
    for &target in targets {
        let file = crate::target().join(format!("coverage-{target}.ptx"));
        let mut text = format!(".version {PTX_VERSION}\n.target {target}\n.address_size 64\n");
        forms::all().filter(|form| form.needs.are_met_by(target)).for_each(|form| text += &form.kernel(&form.name()));
        fs::write(&file, text)?;
        match toolchain.assembles(target, &file) {
            Ok(()) => _ = assembled.insert(target),
            Err(error) => eprintln!("{target}: {error}"),
        }
        fs::remove_file(&file)?;
    }
    Ok(assembled)
}

fn read(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("cannot understand {}", file.display()))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
