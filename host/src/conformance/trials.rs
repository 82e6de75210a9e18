//! Many random cases: the results of a device against the simulator's arithmetic.

use super::Buffers;
use super::checks::Check;
use super::compare::difference;
use super::data::Rng;
use super::run::{Options, UnknownFilter, select};
use indicatif::{ProgressBar, ProgressStyle};
use ptx_matrix::launch::Device;
use rand::SeedableRng;
use rayon::prelude::*;
use serde::Serialize;
use std::iter::zip;

/// Rounds in a launch.
const JOINED: u64 = 1024;

/// What became of a check's cases.
#[derive(Debug, Clone, Serialize)]
pub struct Trial {
    /// The check.
    pub name: String,
    /// Elements of the output that were compared.
    pub cases: u64,
    /// The first one that differed, and how.
    pub mismatch: Option<String>,
}

/// Runs, of each check whose arithmetic the simulator knows apart from its kernel, so many rounds that there are at least `cases`
/// elements of output, and compares them with it.
pub fn trials<D: Device + 'static>(device: &D, options: &Options, cases: u64) -> Result<Vec<Trial>, UnknownFilter> {
    let has = |check: &Check<D>| options.target.as_deref().is_none_or(|target| check.needs.are_met_by(target));
    let checks: Vec<_> =
        select::<D>(options)?.into_iter().filter(|check| check.arithmetic.is_some() && has(check)).collect();
    let style = ProgressStyle::with_template("{bar:32} {pos}/{len} {wide_msg}").expect("a valid template");
    let progress = ProgressBar::new(checks.len() as u64).with_style(style);
    let trials = checks.iter().map(|check| {
        progress.set_message(check.name.clone());
        let trial = trial(device, check, options.seed, cases);
        progress.inc(1);
        trial
    });
    let trials = trials.collect();
    progress.finish_and_clear();
    Ok(trials)
}

fn trial<D: Device + 'static>(device: &D, check: &Check<D>, seed: u64, cases: u64) -> Trial {
    let arithmetic = check.arithmetic.as_ref().expect("a check that has it");
    let mut trial = Trial { name: check.name.clone(), cases: 0, mismatch: None };
    let mut first = seed;
    while trial.cases < cases && trial.mismatch.is_none() {
        let round = |seed: u64| {
            let inputs = (check.inputs)(&mut Rng::seed_from_u64(seed));
            let expected = arithmetic(&inputs);
            (inputs, expected)
        };
        let (inputs, expected): (Vec<Buffers>, Vec<Vec<u8>>) =
            (first..first + JOINED).into_par_iter().map(round).unzip();
        let joined =
            (0..inputs[0].len()).map(|buffer| inputs.iter().flat_map(|round| &round[buffer]).copied().collect());
        match (check.run)(device, &joined.collect()) {
            Ok(output) => {
                let rounds = zip(first.., zip(&expected, output.chunks(expected[0].len())));
                let mut differences = rounds.filter_map(|(seed, (expected, output))| {
                    difference(expected, output, check.element).map(|why| format!("seed {seed}: {why}"))
                });
                trial.mismatch = differences.next();
                trial.cases += (output.len() / check.element) as u64;
            }
            Err(error) => trial.mismatch = Some(error.to_string()),
        }
        first += JOINED;
    }
    trial
}
