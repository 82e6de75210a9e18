//! Many random cases: the results of a device against the simulator's, which computes as many in the same time as a GPU.

use super::Buffers;
use super::checks::{Check, all};
use super::compare::difference;
use super::data::Rng;
use super::run::{Options, UnknownFilter, select};
use indicatif::{ProgressBar, ProgressStyle};
use ptx_matrix::launch::Device;
use ptx_matrix::sim::Simulator;
use rand::SeedableRng;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::HashMap;

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

/// Runs, of each check whose inputs can be joined, so many rounds that there are at least `cases` elements of output; compares them
/// with what the simulator returns.
pub fn trials<D: Device + 'static>(device: &D, options: &Options, cases: u64) -> Result<Vec<Trial>, UnknownFilter> {
    let has = |check: &Check<D>| options.target.as_deref().is_none_or(|target| check.needs.are_met_by(target));
    let checks: Vec<_> = select::<D>(options)?.into_iter().filter(|check| check.joins && has(check)).collect();
    let simulated: HashMap<String, _> =
        all::<Simulator>().into_iter().map(|check| (check.name.clone(), check)).collect();
    let style = ProgressStyle::with_template("{bar:32} {pos}/{len} {wide_msg}").expect("a valid template");
    let progress = ProgressBar::new(checks.len() as u64).with_style(style);
    let trials = checks.iter().map(|check| {
        progress.set_message(check.name.clone());
        let trial = trial(device, check, &simulated[&check.name], options.seed, cases);
        progress.inc(1);
        trial
    });
    let trials = trials.collect();
    progress.finish_and_clear();
    Ok(trials)
}

fn trial<D: Device + 'static>(
    device: &D,
    check: &Check<D>,
    simulated: &Check<Simulator>,
    seed: u64,
    cases: u64,
) -> Trial {
    let mut trial = Trial { name: check.name.clone(), cases: 0, mismatch: None };
    let mut first = seed;
    while trial.cases < cases && trial.mismatch.is_none() {
        let inputs = joined(check, first);
        let expected = (simulated.run)(&Simulator::default().strict(), &inputs).map_err(|error| error.to_string());
        let output = (check.run)(device, &inputs).map_err(|error| error.to_string());
        trial.mismatch = match (&expected, &output) {
            (Ok(expected), Ok(output)) => difference(expected, output, check.element),
            (Err(error), _) | (_, Err(error)) => Some(error.clone()),
        };
        trial.cases += output.map_or(0, |output| (output.len() / check.element) as u64);
        first += JOINED;
    }
    trial
}

/// The inputs of many rounds, one behind the other.
fn joined<D: Device>(check: &Check<D>, first: u64) -> Buffers {
    let rounds: Vec<Buffers> =
        (first..first + JOINED).into_par_iter().map(|seed| (check.inputs)(&mut Rng::seed_from_u64(seed))).collect();
    (0..rounds[0].len()).map(|buffer| rounds.iter().flat_map(|round| &round[buffer]).copied().collect()).collect()
}
