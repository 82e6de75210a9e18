//! `cargo xtask legal`: asks ptxas which forms of the matrix instructions it accepts, and compares
//! the answer with `tests/forms/legal.csv`.

mod grammar;
mod instruction;
mod journal;
mod ptxas;
mod search;

use crate::legal_forms::{self, LegalForm};
use anyhow::{Context, Result, ensure};
use grammar::FAMILIES;
use journal::Journal;
use ptx_matrix_build::Toolchain;
use ptx_matrix_output::{errln, outln};
use ptxas::Ptxas;
use search::Search;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// A family of instructions to ask about; may be repeated (default: all)
    #[arg(long, value_parser = FAMILIES)]
    family: Vec<String>,
    /// A target to ask about, such as sm_90a; may be repeated (default: all that ptxas knows)
    #[arg(long, value_name = "TARGET")]
    arch: Vec<String>,
    /// Run N ptxas processes at a time (default: one for each core)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// The ptxas to ask (default: the project's own)
    #[arg(long, value_name = "PATH")]
    ptxas: Option<PathBuf>,
    /// Discard the answers of earlier runs
    #[arg(long)]
    fresh: bool,
    /// Replace the rows of the families in tests/forms/legal.csv
    #[arg(long, conflicts_with = "arch")]
    write: bool,
}

const AFTER_HELP: &str = "\
ptxas's answers are kept in target/legal/, so an interrupted run continues.

Examples:
  cargo xtask legal --family ldmatrix
  cargo xtask legal --arch sm_90a --arch sm_100a --jobs 4
  cargo xtask legal --ptxas /usr/local/cuda/bin/ptxas --fresh
  cargo xtask legal --write              accept ptxas's answers as the new list

Exit codes:
  0  the list is what ptxas accepts, or --write has replaced it
  1  the list differs
  2  wrong options, or ptxas cannot run";

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let project = crate::root().to_owned();
    let toolchain =
        Toolchain::find_or_fetch(&project, &Toolchain::store()?, &|step| errln!("{step}"))?;
    let path = arguments.ptxas.clone().unwrap_or_else(|| toolchain.ptxas().path().to_owned());
    let folder = crate::target().join("legal");
    let ptxas = Ptxas::new(&path, &folder)?;
    let targets = targets(&ptxas, &arguments.arch)?;
    let journal = folder.join(format!(
        "{}-{:016x}.journal",
        ptxas.release(),
        journal::hash([ptxas.identity.as_str()])
    ));
    let journal = Journal::open(&journal, arguments.fresh)?;
    let jobs = arguments
        .jobs
        .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    errln!("ptxas {}, {} targets, PTX up to {}", ptxas.release(), targets.len(), ptxas.newest());
    let search = Search { ptxas: &ptxas, journal: &journal, toolchain: &toolchain, jobs, targets };

    let old = legal_forms::read()?;
    let mut new: Vec<LegalForm> = Vec::new();
    let mut asked = BTreeSet::new();
    for family in FAMILIES {
        let known: Vec<LegalForm> =
            old.iter().filter(|row| row.family == family).cloned().collect();
        if arguments.family.is_empty() || arguments.family.iter().any(|name| name == family) {
            asked.insert(family);
            new.extend(in_order(&known, search.family(family, &known)?));
        } else {
            new.extend(known);
        }
    }
    let of = |rows: &[LegalForm]| -> Vec<LegalForm> {
        rows.iter().filter(|row| asked.contains(row.family.as_str())).cloned().collect()
    };
    let mut compared: BTreeSet<&str> = search.targets.iter().map(String::as_str).collect();
    if arguments.arch.is_empty() {
        // This ptxas may have dropped targets of the list: their forms are gone, and reported.
        compared.extend(old.iter().flat_map(LegalForm::targets));
    }
    let differences = legal_forms::differences(&of(&old), &of(&new), &compared);
    differences.iter().for_each(|difference| outln!("{difference}"));
    for target in &search.targets {
        let count = |rows: &[LegalForm]| {
            of(rows).iter().filter(|row| row.targets().contains(target.as_str())).count()
        };
        let (before, now) = (count(&old), count(&new));
        if before != now {
            outln!("{target}: {before} forms in the list, {now} by ptxas {}", ptxas.release());
        }
    }
    outln!(
        "{} forms, {} differences from tests/forms/legal.csv",
        of(&new).len(),
        differences.len()
    );
    if arguments.write {
        legal_forms::write(&new)?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The targets to ask about: those named, or all that ptxas knows.
fn targets(ptxas: &Ptxas, asked: &[String]) -> Result<Vec<String>> {
    for target in asked {
        ensure!(
            ptxas.targets.contains(target),
            "ptxas knows no {target}; it knows {}",
            ptxas.targets.join(", ")
        );
    }
    let takes = |target: &&String| asked.is_empty() || asked.contains(target);
    let targets: Vec<String> = ptxas.targets.iter().filter(takes).cloned().collect();
    targets.last().context("no target is asked about")?;
    Ok(targets)
}

/// Sorts rows, and the targets of each, into the order of the list; new ones come last. So a
/// rewritten list differs only where an answer does.
fn in_order(known: &[LegalForm], mut rows: Vec<LegalForm>) -> Vec<LegalForm> {
    let order: Vec<&str> = known.iter().flat_map(|row| row.targets.split(' ')).collect();
    let place =
        |target: &&str| order.iter().position(|other| other == target).unwrap_or(usize::MAX);
    for row in &mut rows {
        let mut targets: Vec<&str> = row.targets.split(' ').collect();
        targets.sort_by_key(place);
        row.targets = targets.join(" ");
        let same =
            known.iter().find(|other| other.form == row.form && other.on_sm_90 == row.on_sm_90);
        // The SASS summary depends on the kernel around the instruction. It is kept as long as
        // `on_sm_90`, the kind of machine code, is the same.
        if let Some(known) = same {
            row.sass_sm_90.clone_from(&known.sass_sm_90);
        }
    }
    rows.sort_by_key(|row| {
        known.iter().position(|other| other.form == row.form).unwrap_or(usize::MAX)
    });
    rows
}
