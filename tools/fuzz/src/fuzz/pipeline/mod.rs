//! Tests of the simulator with random warp-specialized pipelines: TMA, mbarriers, `wgmma` and
//! clusters.
//!
//! A correct pipeline must run clean in every order, and its output must equal the model's. A
//! pipeline with a planted mistake must be reported, unless the model finds it correct
//! nevertheless.

mod barrier;
mod generate;
mod known;
mod mistakes;
mod model;
mod program;
mod trial;
mod values;

use fastrand::Rng;
use mistakes::Mistake;
use ptx_matrix::launch::Device;
use std::collections::BTreeMap;
use std::fmt;
use trial::Verdict;

/// Mistakes to plant in each program, one at a time.
const MISTAKES: usize = 8;

/// Programs with one kind of mistake.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Planted {
    wrong: u64,
    right: u64,
    doubtful: u64,
}

/// The number of pipelines of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Programs without a mistake.
    pub right: u64,
    planted: BTreeMap<Mistake, Planted>,
}

impl Tally {
    /// Programs that the model finds wrong.
    pub fn wrong(&self) -> u64 {
        self.planted.values().map(|planted| planted.wrong).sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<20} {:>10} {:>10} {:>10} {:>10}",
            "mistake", "planted", "reported", "harmless", "doubtful"
        )?;
        for (mistake, &Planted { wrong, right, doubtful }) in &self.planted {
            let (name, all) = (format!("{mistake:?}"), wrong + right + doubtful);
            write!(f, "\n{name:<20} {all:>10} {wrong:>10} {right:>10} {doubtful:>10}")?;
        }
        Ok(())
    }
}

/// A pipeline on which the simulator and the model differ, shrunk as far as possible.
#[derive(Debug)]
pub struct Failure {
    mistake: Option<Mistake>,
    program: program::Program,
    why: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mistake {
            None => writeln!(f, "a right pipeline: {}", self.why)?,
            Some(mistake) => writeln!(f, "a pipeline with {mistake:?}: {}", self.why)?,
        }
        write!(f, "{}", self.program)
    }
}

/// Generates the pipeline of a seed, plants mistakes in it, and checks each program.
///
/// # Errors
/// The first program on which the simulator and the model differ.
pub fn try_seed(seed: u64, tally: &mut Tally) -> Result<(), Box<Failure>> {
    let mut random = Rng::with_seed(seed);
    let right = generate::program(&mut random);
    let verdict = trial::verdict(&right, seed);
    if !matches!(verdict, Verdict::Right { .. }) {
        let why = format!("the generator's mistake: {verdict:?}");
        return Err(Box::new(Failure { mistake: None, program: right, why }));
    }
    tally.right += 1;
    check(&right, verdict, None, seed)?;
    for _ in 0..MISTAKES {
        let mistake = Mistake::ALL[random.usize(..Mistake::ALL.len())];
        let Some(program) = mistake.plant(&mut random, &right) else { continue };
        let verdict = check(&program, trial::verdict(&program, seed), Some(mistake), seed)?;
        let planted = tally.planted.entry(mistake).or_default();
        match verdict {
            Verdict::Right { .. } => planted.right += 1,
            Verdict::Wrong { .. } => planted.wrong += 1,
            Verdict::Doubtful { .. } => planted.doubtful += 1,
        }
    }
    Ok(())
}

/// Runs a program, and compares the findings with the verdict. Returns the verdict, or a doubtful
/// one if it depends on the order.
fn check(
    program: &program::Program,
    verdict: Verdict,
    mistake: Option<Mistake>,
    seed: u64,
) -> Result<Verdict, Box<Failure>> {
    match trial::check(program, &verdict, seed) {
        Ok(()) => Ok(verdict),
        Err(_) if mistake.is_some() && trial::depends_on_order(program, &verdict, seed) => {
            Ok(Verdict::Doubtful { why: vec!["it depends on the order"] })
        }
        Err(_) => {
            let (program, why) = trial::shrink(program, seed);
            Err(Box::new(Failure { mistake, program, why }))
        }
    }
}

/// Runs the correct pipeline of a seed on a device, such as a GPU, and compares the whole output.
///
/// # Errors
/// The device's error, or the first wrong word.
pub fn try_on<D: Device>(device: &D, seed: u64, tally: &mut Tally) -> anyhow::Result<()> {
    let program = generate::program(&mut Rng::with_seed(seed));
    let Verdict::Right { out, stored } = trial::verdict(&program, seed) else {
        anyhow::bail!("seed {seed}: the generator's mistake\n{program}");
    };
    tally.right += 1;
    let left = trial::run(device, &program)
        .map_err(|error| anyhow::anyhow!("seed {seed}: {error:?}\n{program}"))?;
    trial::compare(&left, &out, &stored)
        .map_err(|why| anyhow::anyhow!("seed {seed}: {why}\n{program}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn pipelines_are_right_and_each_mistake_is_found() {
        let mut wrong = BTreeSet::new();
        for seed in 0..30 {
            let mut random = Rng::with_seed(seed);
            let right = generate::program(&mut random);
            let verdict = trial::verdict(&right, seed);
            assert!(matches!(verdict, Verdict::Right { .. }), "seed {seed}: {verdict:?}\n{right}");
            for mistake in Mistake::ALL {
                let planted = mistake.plant(&mut random, &right);
                if planted.is_some_and(|program| {
                    matches!(trial::verdict(&program, seed), Verdict::Wrong { .. })
                }) {
                    wrong.insert(mistake);
                }
            }
        }
        assert_eq!(wrong, BTreeSet::from(Mistake::ALL));
    }
}
