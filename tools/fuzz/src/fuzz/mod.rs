//! Tests of the simulator with random programs. A program that is correct by construction must run
//! clean, and its output must equal a sequential model's. Changed programs lack a barrier, a wait
//! or a commit, or have a moved access. The simulator must report the violation that the model
//! finds in them.

mod generate;
mod model;
pub mod pipeline;
mod program;
mod trial;

use fastrand::Rng;
use generate::For;
use ptx_matrix::launch::Device;
use std::fmt;

pub use program::Program;
pub use trial::Kind;

/// Changes of each program to try.
const CHANGES: usize = 6;

/// The number of programs of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub right: u64,
    pub wrong: u64,
    pub harmless: u64,
}

/// A program with a wrong report of the simulator, shrunk as far as possible.
#[derive(Debug)]
pub struct Failure {
    pub seed: u64,
    pub program: Program,
    pub why: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}\n{}", self.seed, self.why, self.program)
    }
}

/// Generates the program of a seed and its changes, and checks the simulator's reports for each.
///
/// # Errors
/// The first wrong report.
pub fn try_seed(seed: u64, tally: &mut Tally) -> Result<(), Box<Failure>> {
    let mut random = Rng::with_seed(seed);
    let right = generate::program(&mut random, For::Simulator);
    if right.entries.is_empty() {
        return Ok(());
    }
    let mut programs = vec![right];
    programs.extend(
        (0..CHANGES).map(|_| generate::changed(&mut random, &programs[0])).collect::<Vec<_>>(),
    );
    for program in programs {
        let known = trial::Known::of(&program);
        match known.kind() {
            Kind::Right => tally.right += 1,
            Kind::Wrong => tally.wrong += 1,
            Kind::Harmless => tally.harmless += 1,
        }
        if trial::check(&program, &known, seed).is_err() {
            let (program, why) = trial::shrink(&program, seed);
            return Err(Box::new(Failure { seed, program, why }));
        }
    }
    Ok(())
}

/// Runs the correct program of a seed on a device, such as a GPU, and compares the output.
///
/// # Errors
/// The device's error, or the first difference.
pub fn try_on<D: Device>(device: &D, seed: u64, tally: &mut Tally) -> anyhow::Result<()> {
    let program = generate::program(&mut Rng::with_seed(seed), For::Gpu);
    tally.right += 1;
    let left = trial::run(device, &program)?;
    trial::compare(&left, trial::Known::of(&program).left())
        .map_err(|why| anyhow::anyhow!("seed {seed}: {why}\n{program}"))
}
