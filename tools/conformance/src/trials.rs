//! Compares many random results of a device with the simulator's arithmetic.

use super::Buffers;
use super::checks::{Check, Checked};
use super::data::Rng;
use super::run::{Options, UnknownFilter, select};
use indicatif::{ProgressBar, ProgressStyle};
use ptx_matrix::launch::Device;
use rand::SeedableRng;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::iter::zip;

/// Rounds in a launch.
const JOINED: u64 = 1024;

/// The outcome of the cases.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Trials {
    /// The number of compared output elements of each check.
    pub cases: BTreeMap<String, u64>,
    /// The first difference of a check.
    pub mismatches: BTreeMap<String, String>,
    /// Selected checks that were not run: the target lacks them, or the simulator knows their
    /// arithmetic only through a kernel.
    #[serde(skip)]
    pub skipped: usize,
}

/// The differences, and the closing line.
impl fmt::Display for Trials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mismatches
            .iter()
            .try_for_each(|(check, why)| writeln!(f, "failed: {check}\n  {why}"))?;
        let (checks, failed) = (self.cases.len(), self.mismatches.len());
        let cases: u64 = self.cases.values().sum();
        write!(
            f,
            "trials: {cases} cases; {} checks passed, {failed} failed, {} skipped",
            checks - failed,
            self.skipped
        )
    }
}

/// Runs the checks whose arithmetic the simulator knows without their kernel. Each runs enough
/// rounds for at least `cases` output elements, which are compared with that arithmetic.
pub fn trials<D: Checked>(
    device: &D,
    options: &Options,
    cases: u64,
) -> Result<Trials, UnknownFilter> {
    let checks = select::<D>(options)?.checks;
    if checks.iter().all(|check| check.arithmetic.is_none()) {
        let mut known = D::checks(options.gpu.unwrap_or_default());
        known.retain(|check| check.arithmetic.is_some());
        return Err(UnknownFilter::among(known.into_iter().map(|check| check.name), options));
    }
    Ok(trials_of(device, checks, options, cases))
}

fn trials_of<D: Device + 'static>(
    device: &D,
    checks: Vec<Check<D>>,
    options: &Options,
    cases: u64,
) -> Trials {
    let is_run = |check: &Check<D>| {
        check.arithmetic.is_some()
            && options.target.as_deref().is_none_or(|target| check.needs.are_met_by(target))
    };
    let (checks, skipped): (Vec<_>, Vec<_>) = checks.into_iter().partition(is_run);
    let style =
        ProgressStyle::with_template("{bar:32} {pos}/{len} {wide_msg}").expect("a valid template");
    let progress = ProgressBar::new(checks.len() as u64).with_style(style);
    let mut trials = Trials { skipped: skipped.len(), ..Trials::default() };
    for check in &checks {
        progress.set_message(check.name.clone());
        let (compared, mismatch) = trial(device, check, options.seed, cases);
        trials.cases.insert(check.name.clone(), compared);
        trials.mismatches.extend(mismatch.map(|why| (check.name.clone(), why)));
        progress.inc(1);
    }
    progress.finish_and_clear();
    trials
}

/// Returns the number of compared elements, up to the end or up to the first launch with a
/// difference.
fn trial<D: Device + 'static>(
    device: &D,
    check: &Check<D>,
    seed: u64,
    cases: u64,
) -> (u64, Option<String>) {
    let arithmetic = check.arithmetic.as_ref().expect("a check that has it");
    let (mut compared, mut mismatch) = (0, None);
    let mut first = seed;
    while compared < cases && mismatch.is_none() {
        let round = |seed: u64| {
            let inputs = (check.inputs)(&mut Rng::seed_from_u64(seed));
            let expected = arithmetic(&inputs);
            (inputs, expected)
        };
        let (inputs, expected): (Vec<Buffers>, Vec<Vec<u8>>) =
            (first..first + JOINED).into_par_iter().map(round).unzip();
        let joined = (0..inputs[0].len())
            .map(|buffer| inputs.iter().flat_map(|round| &round[buffer]).copied().collect());
        match (check.run)(device, &joined.collect()) {
            Ok(output) => {
                let outputs = output.chunks(expected[0].len());
                let rounds = zip(first.., zip(&inputs, zip(&expected, outputs)));
                let mut differences = rounds.filter_map(|(seed, (inputs, (expected, output)))| {
                    check
                        .difference(inputs, expected, output)
                        .map(|why| format!("seed {seed}: {why}"))
                });
                mismatch = differences.next();
                compared += (output.len() / check.element) as u64;
            }
            Err(error) => mismatch = Some(error.to_string()),
        }
        first += JOINED;
    }
    (compared, mismatch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::cast_slice;
    use ptx_matrix::sim::Simulator;
    use ptx_matrix::target::{AtLeast, Requirement};
    use rand::RngExt;

    /// A check that adds one to four numbers.
    fn check(name: &str, arithmetic: Option<fn(u32) -> u32>) -> Check<Simulator> {
        let of_each = |of: fn(u32) -> u32| {
            move |inputs: &Buffers| {
                let numbers = super::super::elements::<u32>(&inputs[0]);
                super::super::bytes(&numbers.into_iter().map(of).collect::<Vec<u32>>())
            }
        };
        let successor = of_each(|number| number.wrapping_add(1));
        Check {
            name: name.to_owned(),
            needs: AtLeast::<75>::NEEDS,
            rounds: 1,
            element: 4,
            inputs: Box::new(|rng| {
                vec![cast_slice(&[(); 4].map(|()| rng.random::<u32>())).to_vec()]
            }),
            run: Box::new(move |_, inputs| Ok(successor(inputs))),
            reference: Box::new(successor),
            arithmetic: arithmetic.map(|of| Box::new(of_each(of)) as _),
            labels: None,
        }
    }

    fn on_the_simulator(checks: Vec<Check<Simulator>>, options: &Options) -> Trials {
        trials_of(&Simulator::default(), checks, options, 5000)
    }

    #[test]
    fn cases_are_counted_and_skipped_checks_too() {
        let checks = || {
            let known =
                ["one", "another"].map(|name| check(name, Some(|number| number.wrapping_add(1))));
            Vec::from_iter(known.into_iter().chain([check("of no known arithmetic", None)]))
        };
        let trials = on_the_simulator(checks(), &Options::default());
        assert_eq!(
            trials.cases,
            [("another".to_owned(), 8192), ("one".to_owned(), 8192)].into(),
            "{trials:?}"
        );
        assert_eq!(trials.to_string(), "trials: 16384 cases; 2 checks passed, 0 failed, 1 skipped");

        let options = Options { target: Some("sm_70".to_owned()), ..Options::default() };
        let none = on_the_simulator(checks(), &options);
        assert_eq!(none.to_string(), "trials: 0 cases; 0 checks passed, 0 failed, 3 skipped");
    }

    #[test]
    fn difference_is_a_failure() {
        let options = Options { seed: 7, ..Options::default() };
        let trials = on_the_simulator(vec![check("wrong", Some(|_| 1))], &options);
        // One launch only: it has the first difference.
        assert_eq!(trials.cases["wrong"], 4096);
        assert!(trials.mismatches["wrong"].starts_with("seed 7: "), "{trials:?}");
        let text = trials.to_string();
        assert!(
            text.ends_with("trials: 4096 cases; 0 checks passed, 1 failed, 0 skipped"),
            "{text}"
        );
    }
}
