//! Executes forms by their names, and compares the results.

use super::FormCheck;
use super::device::{ByName, Outputs, simulate};
use super::matrices::{ROWS, reference};
use super::record::{Digests, of_matrices, of_outputs};
use crate::run::{Outcome, Status};
use indicatif::ProgressBar;
use ptx_matrix::forms::{WgmmaForm, WgmmaMatrices};
use rayon::prelude::*;

/// A form and its recorded digests.
type Recorded = (String, [String; 2]);

/// Runs the checks. Returns their outcomes, and the digests to record.
pub(crate) fn run<D: ByName + Sync>(
    device: &D,
    checks: &[FormCheck],
    target: Option<&str>,
    seed: u64,
    progress: &ProgressBar,
) -> (Vec<Outcome>, Digests) {
    let outcome = |check: &FormCheck, status, rounds| {
        progress.inc(1);
        Outcome { name: check.name(), status, rounds, seed, element: check.element() }
    };
    if let Some(target) = target.filter(|target| !WgmmaForm::NEEDS.are_met_by(target)) {
        let why = Status::Skipped(format!("it needs {}, and this is {target}", WgmmaForm::NEEDS));
        return (
            checks.iter().map(|check| outcome(check, why.clone(), 0)).collect(),
            Digests::default(),
        );
    }
    let families: Vec<&[FormCheck]> =
        checks.chunk_by(|one, next| one.form.family == next.form.family).collect();
    let run_family = |family: &&[FormCheck]| -> Vec<(Outcome, Option<Recorded>)> {
        let drawn: Vec<_> = family.par_iter().map(|check| (*check, check.matrices(seed))).collect();
        match device.execute(&drawn) {
            Err(why) => family
                .iter()
                .map(|check| (outcome(check, Status::Failed(why.clone()), 1), None))
                .collect(),
            Ok(outputs) => {
                let compare =
                    |((check, matrices), outputs): (&(FormCheck, WgmmaMatrices), &Outputs)| {
                        let status = match difference::<D>(check, matrices, outputs) {
                            None => Status::Passed,
                            Some(why) => Status::Failed(format!("seed {seed}: {why}")),
                        };
                        // Right and wrong results are both recorded.
                        let digests = [of_matrices(matrices), of_outputs(outputs)];
                        (outcome(check, status, 1), Some((check.form.ptx.to_owned(), digests)))
                    };
                drawn.par_iter().zip(&outputs).map(compare).collect()
            }
        }
    };
    let ended: Vec<_> = families.par_iter().flat_map_iter(run_family).collect();
    let (outcomes, digests): (Vec<_>, Vec<_>) = ended.into_iter().unzip();
    (outcomes, Digests { seed, forms: digests.into_iter().flatten().collect() })
}

/// The first wrong element in the outputs of a form.
fn difference<D: ByName>(
    check: &FormCheck,
    matrices: &WgmmaMatrices,
    outputs: &Outputs,
) -> Option<String> {
    let simulated = D::IS_GPU.then(|| simulate(check, matrices));
    let form = &check.form;
    let places = places(form.n, D::IS_GPU);
    check.ways().into_iter().enumerate().find_map(|(which, (options, adds))| {
        let memory = form.memory(&options);
        let d = memory.decode(&outputs[which]);
        let wrong = |by: &str, expected: &dyn Fn(usize, usize) -> u32| {
            let differs =
                |&&(row, col): &&(usize, usize)| expected(row, col) != d[row * form.n + col];
            let &(row, col) = places.iter().find(differs)?;
            let (right, wrong) = (expected(row, col), d[row * form.n + col]);
            let how = if adds { "added to" } else { "overwritten" };
            Some(format!(
                "{options:?}, D {how}: element ({row}, {col}) is {wrong:#x}, by the {by} {right:#x}"
            ))
        };
        let by_simulator = simulated.as_ref().and_then(|simulated| {
            let simulated = memory.decode(&simulated[which]);
            wrong("simulator", &|row, col| simulated[row * form.n + col])
        });
        by_simulator.or_else(|| {
            wrong("reference", &reference(matrices, form, check.family, (options, adds)))
        })
    })
}

/// Elements of D with `n` columns to compare: all, or at least one in each row and in each column.
fn places(n: usize, all: bool) -> Vec<(usize, usize)> {
    match all {
        true => (0..ROWS * n).map(|index| (index / n, index % n)).collect(),
        // The rows start at another offset after each 64 columns.
        false => {
            (0..n.max(ROWS)).map(|index| ((index + index / ROWS * 11) % ROWS, index % n)).collect()
        }
    }
}
