//! Runs checks on a device.

use super::by_name::{self, ByName, Digests, FormCheck};
use super::checks::{Check, Checked};
use super::data::Rng;
use super::record::Record;
use indicatif::{ProgressBar, ProgressStyle};
use ptx_matrix::launch::Device;
use ptx_matrix::sim::{Arch, Simulator};
use rand::SeedableRng;
use rayon::prelude::*;
use serde::Serialize;
use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::iter::zip;
use std::ops::Range;

/// The selection of checks, and how to run them.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Run only checks whose name contains this.
    pub filter: Option<String>,
    /// The first seed.
    pub seed: u64,
    /// Rounds of each check, instead of the check's own number.
    pub rounds: Option<u64>,
    /// The target of the PTX (`sm_90a`). Checks that need another target are skipped. `None` skips
    /// no check.
    pub target: Option<String>,
    /// The GPU whose arithmetic is the reference.
    pub gpu: Option<Arch>,
    /// Record the device's results: for each check, launches up to this number of bytes, and at
    /// least one launch.
    pub keep: Option<usize>,
}

/// No check's name contains the filter.
#[derive(Debug, thiserror::Error)]
#[error("no check's name contains `{filter}`; names begin with:\n{beginnings}")]
pub struct UnknownFilter {
    filter: String,
    beginnings: String,
}

impl UnknownFilter {
    /// The error of a filter that is in none of these names.
    pub(crate) fn among(names: impl Iterator<Item = String>, options: &Options) -> Self {
        let beginnings: BTreeSet<String> = names
            .filter_map(|name| Some(name.split(['.', ' ', ',', ':', '_']).next()?.to_owned()))
            .collect();
        let beginnings = beginnings.iter().map(|name| format!("  {name}\n")).collect();
        UnknownFilter { filter: options.filter.clone().unwrap_or_default(), beginnings }
    }
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All rounds were right.
    Passed,
    /// The first wrong round, and its difference.
    Failed(String),
    /// The check was not run, and the reason.
    Skipped(String),
}

/// A check that was run or skipped.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The name of the check.
    pub name: String,
    /// The status of the check.
    pub status: Status,
    /// Rounds that were run.
    pub rounds: u64,
    /// The seed of the first round.
    pub seed: u64,
    /// Bytes of an output element.
    pub element: usize,
}

/// The outcome of the whole run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// The GPU whose arithmetic was the reference, if one was named.
    #[serde(skip)]
    pub gpu: Option<Arch>,
    /// The outcome of each check.
    pub outcomes: Vec<Outcome>,
    /// The device's results, if they were recorded.
    #[serde(skip)]
    pub records: Vec<Record>,
    /// Digests of the results of forms that were executed by their names, if they were recorded.
    #[serde(skip)]
    pub by_name: Option<Digests>,
}

impl Summary {
    fn count(&self, which: impl Fn(&Status) -> bool) -> usize {
        self.outcomes.iter().filter(|outcome| which(&outcome.status)).count()
    }

    /// Checks that passed.
    pub fn passed(&self) -> usize {
        self.count(|status| *status == Status::Passed)
    }

    /// Checks that failed.
    pub fn failed(&self) -> usize {
        self.count(|status| matches!(status, Status::Failed(_)))
    }

    /// Checks that were not run.
    pub fn skipped(&self) -> usize {
        self.count(|status| matches!(status, Status::Skipped(_)))
    }
}

/// The failures, and the closing line.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for outcome in &self.outcomes {
            match &outcome.status {
                Status::Passed => {}
                Status::Failed(why) => {
                    writeln!(f, "failed: {}\n  {}", outcome.name, why.replace('\n', "\n  "))?
                }
                Status::Skipped(why) => writeln!(f, "skipped: {}: {why}", outcome.name)?,
            }
        }
        write!(
            f,
            "conformance: {} passed, {} failed, {} skipped",
            self.passed(),
            self.failed(),
            self.skipped()
        )?;
        self.gpu.map_or(Ok(()), |gpu| write!(f, ", by the arithmetic of {gpu}"))
    }
}

/// The selected checks.
pub struct Selected<D: Device> {
    /// Kernels with their data.
    pub checks: Vec<Check<D>>,
    /// Forms that are executed by their names.
    pub forms: Vec<FormCheck>,
}

/// The checks that the options select.
pub fn select<D: Checked>(options: &Options) -> Result<Selected<D>, UnknownFilter> {
    let (mut checks, mut forms) =
        (D::checks(options.gpu.unwrap_or_default()), by_name::all().collect::<Vec<FormCheck>>());
    if let Some(filter) = &options.filter {
        let names =
            checks.iter().map(|check| check.name.clone()).chain(forms.iter().map(FormCheck::name));
        let unknown = UnknownFilter::among(names, options);
        checks.retain(|check| check.name.contains(filter));
        forms.retain(|check| check.name().contains(filter));
        if checks.is_empty() && forms.is_empty() {
            return Err(unknown);
        }
    }
    Ok(Selected { checks, forms })
}

/// Rounds whose references are computed in parallel.
const BATCH: usize = 64;

/// Runs the selected checks, one after another.
pub fn run<D: Checked + ByName + Sync>(
    device: &D,
    options: &Options,
) -> Result<Summary, UnknownFilter> {
    run_all(device, options, |checks, progress| {
        checks.iter().map(|check| run_check(|_| device, check, options, progress)).unzip()
    })
}

/// Runs the selected checks in parallel, on the simulators of these seeds. The launches of a kernel
/// share this number of schedules. Each launch has at least one, and no two have the same.
pub fn run_in_schedules(
    simulator: impl Fn(u64) -> Simulator + Sync,
    schedules: u64,
    options: &Options,
) -> Result<Summary, UnknownFilter> {
    run_all(&simulator(options.seed), options, |checks, progress| {
        let launches = launches(checks, options);
        let run = |(check, (first, of_kernel)): (&Check<Simulator>, _)| {
            let simulator = |round| {
                let of_launch = share(schedules, first + round, of_kernel);
                let seed = options.seed.wrapping_add(of_launch.start);
                simulator(seed).schedules(of_launch.end - of_launch.start)
            };
            run_check(simulator, check, options, progress)
        };
        checks.par_iter().zip(launches).map(run).unzip()
    })
}

/// For each check, its first launch among those of its kernel, and the number of these.
fn launches<D: Device>(checks: &[Check<D>], options: &Options) -> Vec<(u64, u64)> {
    let mut of_kernels: HashMap<&str, u64> = HashMap::new();
    let first = |check| {
        let launches = of_kernels.entry(kernel(check)).or_default();
        let first = *launches;
        *launches += rounds(check, options);
        first
    };
    let firsts: Vec<u64> = checks.iter().map(first).collect();
    zip(checks, firsts).map(|(check, first)| (first, of_kernels[kernel(check)])).collect()
}

/// The kernel of a check. If there are checks of several kinds of data, their names are the form, a
/// comma, and the kind.
fn kernel<D: Device>(check: &Check<D>) -> &str {
    let of_kinds = check.arithmetic.as_ref().and_then(|_| check.name.split_once(", "));
    of_kinds.map_or(&check.name, |(form, _)| form)
}

fn rounds<D: Device>(check: &Check<D>, options: &Options) -> u64 {
    options.rounds.unwrap_or(check.rounds)
}

/// The schedules of one launch of a kernel.
fn share(schedules: u64, launch: u64, launches: u64) -> Range<u64> {
    let schedules = schedules.max(launches);
    let (each, more) = (schedules / launches, schedules % launches);
    let first = each * launch + more.min(launch);
    first..first + each + u64::from(launch < more)
}

/// The outcome of each check in order, and its records.
type Ended = (Vec<Outcome>, Vec<Vec<Record>>);

fn run_all<D: Checked + ByName + Sync>(
    device: &D,
    options: &Options,
    run: impl FnOnce(&[Check<D>], &ProgressBar) -> Ended,
) -> Result<Summary, UnknownFilter> {
    let Selected { checks, forms } = select::<D>(options)?;
    let style =
        ProgressStyle::with_template("{bar:32} {pos}/{len} {wide_msg}").expect("a valid template");
    let progress = ProgressBar::new((checks.len() + forms.len()) as u64).with_style(style);
    let (mut outcomes, records) = run(&checks, &progress);
    progress.set_message("forms of `wgmma` by their names");
    let (by_name, digests) =
        by_name::run(device, &forms, options.target.as_deref(), options.seed, &progress);
    progress.finish_and_clear();
    outcomes.extend(by_name);
    let is_kept = options.keep.is_some() && !digests.forms.is_empty();
    Ok(Summary {
        gpu: options.gpu,
        outcomes,
        records: records.concat(),
        by_name: is_kept.then_some(digests),
    })
}

/// Runs a check, each round on its device. Returns its outcome and its records.
fn run_check<D: Device + 'static, B: Borrow<D>>(
    device: impl Fn(u64) -> B,
    check: &Check<D>,
    options: &Options,
    progress: &ProgressBar,
) -> (Outcome, Vec<Record>) {
    progress.set_message(check.name.clone());
    let mut records = Vec::new();
    let outcome = run_rounds(device, check, options, &mut records);
    progress.inc(1);
    (outcome, records)
}

fn run_rounds<D: Device + 'static, B: Borrow<D>>(
    device: impl Fn(u64) -> B,
    check: &Check<D>,
    options: &Options,
    records: &mut Vec<Record>,
) -> Outcome {
    let (name, seed, element) = (&check.name, options.seed, check.element);
    let outcome = |status, rounds| Outcome { name: name.clone(), status, rounds, seed, element };
    if let Some(target) = options.target.as_deref().filter(|target| !check.needs.are_met_by(target))
    {
        return outcome(
            Status::Skipped(format!("it needs {}, and this is {target}", check.needs)),
            0,
        );
    }
    let mut kept = 0;
    let rounds = rounds(check, options);
    // The launches run one after another. Data and references are computed in parallel.
    for first in (0..rounds).step_by(BATCH) {
        let batch = first..rounds.min(first + BATCH as u64);
        let seed = |round: u64| options.seed.wrapping_add(round);
        let draw = |round: u64| (check.inputs)(&mut Rng::seed_from_u64(seed(round)));
        let inputs: Vec<_> = batch.clone().into_par_iter().map(draw).collect();
        let run = |(round, inputs)| (check.run)(device(round).borrow(), inputs);
        let outputs: Vec<_> = zip(batch.clone(), &inputs).map(run).collect();
        let expected: Vec<_> = inputs.par_iter().map(|inputs| (check.reference)(inputs)).collect();
        for ((round, inputs), (output, expected)) in zip(zip(batch, inputs), zip(outputs, expected))
        {
            let (seed, round) = (seed(round), round + 1);
            let output = match output {
                Ok(output) => output,
                Err(error) => {
                    return outcome(Status::Failed(format!("seed {seed}: {error}")), round);
                }
            };
            let difference = check.difference(&inputs, &expected, &output);
            // Right and wrong results are both recorded.
            let bytes = inputs.iter().map(Vec::len).sum::<usize>() + output.len();
            if options.keep.is_some_and(|budget| kept == 0 || kept + bytes <= budget) {
                kept += bytes;
                records.push(Record { check: check.name.clone(), inputs, output });
            }
            if let Some(why) = difference {
                return outcome(Status::Failed(format!("seed {seed}: {why}")), round);
            }
        }
    }
    outcome(Status::Passed, rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_filter_is_told_how_names_begin() {
        let names = ["mma.sync.aligned", "mma.sp", "core: i32"].map(str::to_owned);
        let options = Options { filter: Some("nosuch".to_owned()), ..Options::default() };
        let error = UnknownFilter::among(names.into_iter(), &options).to_string();
        assert_eq!(error, "no check's name contains `nosuch`; names begin with:\n  core\n  mma\n");
    }

    #[test]
    fn launches_of_a_kernel_share_the_schedules() {
        let shares = |schedules, launches| -> Vec<_> {
            (0..launches).map(|launch| share(schedules, launch, launches)).collect()
        };
        assert_eq!(shares(7, 3), [0..3, 3..5, 5..7]);
        assert_eq!(shares(1, 3), [0..1, 1..2, 2..3]);
        assert_eq!(share(100, 0, 1), 0..100);
    }
}
