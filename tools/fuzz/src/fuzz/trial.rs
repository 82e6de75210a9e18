//! Runs programs, and compares the simulator's reports with the model.

use super::model::{Model, Violation, Wrong, initial, source};
use super::program::Program;
use ptx_matrix::launch::Device;
use ptx_matrix::sim::{Misuse, SimError, Simulator};
use ptx_matrix_fuzz_kernels::script;
use std::borrow::BorrowMut;
use std::collections::BTreeSet;

/// The number of orders of the warps in one run, and the number of runs with one order each.
const SCHEDULES: u64 = 8;
const SEEDS: u64 = 3;

/// The model's verdict on a program.
#[derive(Debug)]
pub struct Known {
    violations: BTreeSet<Violation>,
    left: Vec<u32>,
}

/// The kinds of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Right,
    Wrong,
    /// Accesses are unordered, but no result depends on their order. The simulator may report them.
    Harmless,
}

impl Known {
    pub fn of(program: &Program) -> Self {
        let blocks: Vec<Model> =
            (0..program.blocks).map(|block| Model::of(program, block)).collect();
        Known {
            violations: blocks.iter().flat_map(Model::violations).copied().collect(),
            left: blocks.iter().flat_map(Model::left).collect(),
        }
    }

    pub fn kind(&self) -> Kind {
        match (
            self.violations.is_empty(),
            self.violations.iter().all(|violation| violation.harmless),
        ) {
            (true, _) => Kind::Right,
            (_, true) => Kind::Harmless,
            _ => Kind::Wrong,
        }
    }

    /// The findings that the violations may cause, in some order of the warps.
    fn may_show_as(&self) -> BTreeSet<Wrong> {
        let shows_as = |violation: &Violation| match violation {
            Violation { wrong: Wrong::Deadlock, .. } => vec![Wrong::Deadlock],
            // The warp that comes first finds the memory unwritten, or no copy in flight.
            Violation { between_warps: true, .. } => {
                vec![Wrong::Race, Wrong::InFlight, Wrong::Unwritten]
            }
            // An access before the copy lands is also a race with the copy's write.
            Violation { wrong: Wrong::InFlight, .. } => vec![Wrong::InFlight, Wrong::Race],
            // Unwritten memory has any value. So it is open whether two writes derived from it are
            // the same.
            Violation { wrong: Wrong::Unwritten, .. } => vec![Wrong::Unwritten, Wrong::Race],
            violation => vec![violation.wrong],
        };
        self.violations.iter().flat_map(shows_as).collect()
    }
}

/// Runs a program on a device, and returns the output.
pub fn run<D: Device>(device: &D, program: &Program) -> Result<Vec<u32>, D::Error> {
    let (script, source) = (device.upload(&program.script())?, device.upload(&source())?);
    let mut out = device.upload(&initial(program.blocks))?;
    script::run::launch(
        device,
        program.blocks,
        std::borrow::Borrow::borrow(&script),
        std::borrow::Borrow::borrow(&source),
        out.borrow_mut(),
    )?;
    device.download(std::borrow::Borrow::borrow(&out))
}

/// Checks the simulator's report for a program. The error describes a wrong report.
pub fn check(program: &Program, known: &Known, seed: u64) -> Result<(), String> {
    let simulators = (seed..seed + SEEDS).map(Simulator::new);
    for simulator in simulators.chain([Simulator::new(seed).schedules(SCHEDULES)]) {
        let ran = run(&simulator.strict(), program);
        match (known.kind(), ran) {
            (Kind::Right, Err(error)) => {
                return Err(format!("a false report, with {simulator:?}:\n{error}"));
            }
            (Kind::Right, Ok(left)) => compare(&left, &known.left)?,
            (Kind::Harmless, _) => {}
            (Kind::Wrong, Ok(_)) => {
                return Err(format!(
                    "a missed misuse, with {simulator:?}: there is {:?}",
                    known.violations
                ));
            }
            (Kind::Wrong, Err(error)) => {
                let (found, may) = (found(&error), known.may_show_as());
                let deadlocks = may.contains(&Wrong::Deadlock) && !found.contains(&Wrong::Deadlock);
                if deadlocks || !found.is_subset(&may) {
                    let violations = &known.violations;
                    return Err(format!(
                        "with {simulator:?} there is {violations:?}, but it says:\n{error}"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Compares the output of a correct program with the model's.
pub fn compare(left: &[u32], expected: &[u32]) -> Result<(), String> {
    match left.iter().zip(expected).position(|(left, expected)| left != expected) {
        None => Ok(()),
        Some(at) => Err(format!("it leaves {:#x} at {at}, and not {:#x}", left[at], expected[at])),
    }
}

impl Known {
    /// The output of a correct program.
    pub fn left(&self) -> &[u32] {
        &self.left
    }
}

fn found(error: &SimError) -> BTreeSet<Wrong> {
    let wrong = |misuse: &Misuse| match misuse {
        Misuse::Race { .. } => Wrong::Race,
        Misuse::CopyInFlight { .. } => Wrong::InFlight,
        Misuse::SharedUnwritten { .. } => Wrong::Unwritten,
        Misuse::Deadlock { .. } => Wrong::Deadlock,
        other => panic!("no program does this: {other}"),
    };
    error.findings().iter().map(|finding| wrong(&finding.misuse)).collect()
}

/// Shrinks a program that fails: removes entries as long as it fails in the same way.
pub fn shrink(program: &Program, seed: u64) -> (Program, String) {
    let fails = |program: &Program, kind: Kind| {
        let known = Known::of(program);
        if known.kind() == kind { check(program, &known, seed).err() } else { None }
    };
    let kind = Known::of(program).kind();
    let (mut program, mut why) = (program.clone(), fails(program, kind).unwrap_or_default());
    let mut at = 0;
    while at < program.entries.len() {
        let smaller = program.without(at);
        match fails(&smaller, kind) {
            Some(still) => (program, why, at) = (smaller, still, 0),
            None => at += 1,
        }
    }
    (program, why)
}
