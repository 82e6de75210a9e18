//! Runs pipelines, and compares the findings with the model's.

use super::model::{Landing, Model, SEVERAL_PHASES, Schedule, Wrong};
use super::program::{Program, Shape};
use super::values::{BOXES_ROWS, boxes, operands, rows, stored};
use ptx_matrix::element::bf16;
use ptx_matrix::launch::{Device, Grid, KernelInfo, LaunchError, Tensor};
use ptx_matrix::sim::{Misuse, SimError, Simulator};
use ptx_matrix_fuzz_kernels::pipeline::{
    self, A, ArgumentsHost, B, BOX_ROWS, Boxed, COLS, K, LEFT, M, N, STORED_BOXES,
};
use std::borrow::{Borrow, BorrowMut};
use std::collections::BTreeSet;

/// The number of simulators with one order each, and the number of orders of a last simulator.
const SEEDS: u64 = 2;
const SCHEDULES: u64 = 4;
/// Orders to run the model in, if the simulator differs from it.
const ORDERS: u64 = 64;

/// The model's verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Correct in every order that was tried, with this output.
    Right { out: Vec<u32>, stored: Vec<u32> },
    /// Wrong in every order that was tried.
    Wrong { by: BTreeSet<Wrong> },
    /// Wrong in some orders, or possibly so.
    Doubtful { why: Vec<&'static str> },
}

impl Verdict {
    /// Whether two verdicts have the same kind.
    pub fn is_like(&self, other: &Verdict) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// Runs the model in a few orders.
pub fn verdict(program: &Program, seed: u64) -> Verdict {
    let landings = [Landing::Late, Landing::Early, Landing::Random];
    let model = |(order, landing)| Model::run(program, seed + order, landing, Schedule::Random);
    let models: Vec<Model<'_>> = (0..).zip(landings).map(model).collect();
    // The program may be correct in another order of lanes, which the model does not try.
    let may_be_right = models.iter().any(|model| model.doubts.contains(SEVERAL_PHASES));
    let is_wrong = models.iter().all(|model| !model.wrong.is_empty());
    if is_wrong && !may_be_right {
        return Verdict::Wrong {
            by: models.iter().flat_map(|model| model.wrong.iter().copied()).collect(),
        };
    }
    if models.iter().any(|model| !model.doubts.is_empty() || !model.wrong.is_empty()) {
        return Verdict::Doubtful {
            why: models.iter().flat_map(|model| model.doubts.iter().copied()).collect(),
        };
    }
    let (out, stored) = models[0].left();
    Verdict::Right { out: out.to_vec(), stored: stored.to_vec() }
}

/// Whether the model finds the opposite of a verdict in another order.
///
/// If a phase gets more arrivals than it needs, some of them count for the next phase. The order
/// decides which, and so which warps learn of which events.
pub fn depends_on_order(program: &Program, verdict: &Verdict, seed: u64) -> bool {
    let schedule = |order| if order % 2 == 0 { Schedule::Ranked } else { Schedule::Random };
    let mut others = (0..ORDERS)
        .map(|order| Model::run(program, seed + order, Landing::Random, schedule(order)));
    match verdict {
        Verdict::Right { .. } => others.any(|model| !model.wrong.is_empty()),
        Verdict::Wrong { .. } => others.any(|model| model.wrong.is_empty()),
        Verdict::Doubtful { .. } => true,
    }
}

/// The output of a program: its results, and the boxes that it stored by TMA.
type Left = (Vec<u32>, Vec<u32>);

/// Runs a program on a device, and returns the output.
///
/// # Errors
/// The device's error.
pub fn run<D: Device>(device: &D, program: &Program) -> Result<Left, LaunchError<D::Error>> {
    let floats = |shape| -> Vec<bf16> {
        operands(shape).into_iter().map(|element| bf16::from_f32(element as f32)).collect()
    };
    let run = |error| LaunchError::Device(error);
    let (script, rows) =
        (device.upload(&program.script()).map_err(run)?, device.upload(&rows()).map_err(run)?);
    let boxes = device.upload(&boxes()).map_err(run)?;
    let (a, b) = (
        device.upload(&floats(Shape::A)).map_err(run)?,
        device.upload(&floats(Shape::B)).map_err(run)?,
    );
    let mut out = device.upload(&vec![0; program.blocks * LEFT]).map_err(run)?;
    let mut kept = device.upload(&vec![0; stored(program.blocks)]).map_err(run)?;
    {
        let map_boxes = Tensor::<Boxed, 2>::new([COLS, BOXES_ROWS]).map(device, boxes.borrow())?;
        let map_a = Tensor::<A, 2>::new([K, Shape::A.sources() * M]).map(device, a.borrow())?;
        let map_b = Tensor::<B, 2>::new([K, Shape::B.sources() * N]).map(device, b.borrow())?;
        let box_rows = program.blocks * STORED_BOXES * BOX_ROWS;
        let mut map_kept =
            Tensor::<Boxed, 2>::new([COLS, box_rows]).map_mut(device, kept.borrow_mut())?;
        let grid = Grid::from(program.blocks as u32);
        // The kernel has an instance for each number of blocks in a cluster.
        let of_blocks = |info: &KernelInfo| info.cluster.blocks() == program.blocks as u64;
        let instance =
            pipeline::run::INSTANCES.iter().position(of_blocks).expect("1, 2 or 4 blocks");
        let arguments = ArgumentsHost {
            boxes: &map_boxes,
            a: &map_a,
            b: &map_b,
            stored: map_kept.by_ref(),
            script: script.borrow(),
            rows: rows.borrow(),
            out: out.borrow_mut(),
        };
        pipeline::run::launch(instance, device, grid, arguments).map_err(run)?;
    }
    Ok((device.download(out.borrow()).map_err(run)?, device.download(kept.borrow()).map_err(run)?))
}

/// Compares the output of a program with the model's.
///
/// # Errors
/// The first wrong word.
pub fn compare(left: &(Vec<u32>, Vec<u32>), out: &[u32], stored: &[u32]) -> Result<(), String> {
    for (name, left, expected) in [("the words", &left.0, out), ("the boxes", &left.1, stored)] {
        if let Some(at) = left.iter().zip(expected).position(|(left, expected)| left != expected) {
            return Err(format!(
                "of {name}, it leaves {:#x} at {at}, and not {:#x}",
                left[at], expected[at]
            ));
        }
    }
    Ok(())
}

/// Runs a program on simulators, and compares their findings with the verdict.
///
/// # Errors
/// A false report, a missed violation, a wrong value, or a finding of another kind.
pub fn check(program: &Program, verdict: &Verdict, seed: u64) -> Result<(), String> {
    let simulators = (seed..seed + SEEDS).map(Simulator::new);
    for simulator in simulators.chain([Simulator::new(seed).schedules(SCHEDULES)]) {
        let ran = run(&simulator.strict(), program);
        match (verdict, ran) {
            (_, Err(LaunchError::TensorMap(error))) => return Err(error.to_string()),
            (Verdict::Right { out, stored }, Ok(left)) => compare(&left, out, stored)?,
            (Verdict::Right { .. }, Err(LaunchError::Device(error))) => {
                return Err(format!("a false report, with {simulator:?}:\n{error}"));
            }
            (Verdict::Wrong { by }, Ok(_)) => {
                return Err(format!("a miss, with {simulator:?}: there is {by:?}"));
            }
            (Verdict::Wrong { by }, Err(LaunchError::Device(error))) => {
                let found = found(&error);
                if !shows(by, &found) {
                    return Err(format!(
                        "with {simulator:?} there is {by:?}, but it says {found:?}:\n{error}"
                    ));
                }
            }
            (Verdict::Doubtful { .. }, _) => {}
        }
    }
    Ok(())
}

/// Whether the findings can follow from the violations: one kind can show as another.
fn shows(by: &BTreeSet<Wrong>, found: &BTreeSet<Wrong>) -> bool {
    // The phase of an arrival, and the warps that wait forever, depend on the order.
    if by.contains(&Wrong::Barrier)
        || by.contains(&Wrong::Deadlock)
        || found.contains(&Wrong::Barrier)
    {
        return !found.is_empty();
    }
    let shows_as = |wrong: &Wrong| match wrong {
        // A tile that is accessed too early may also be unwritten.
        Wrong::Unordered | Wrong::Unwritten => vec![Wrong::Unordered, Wrong::Unwritten],
        other => vec![*other],
    };
    by.iter().flat_map(shows_as).any(|kind| found.contains(&kind))
}

fn found(error: &SimError) -> BTreeSet<Wrong> {
    let wrong = |misuse: &Misuse| match misuse {
        Misuse::Race { .. } | Misuse::CopyInFlight { .. } | Misuse::CopySourceInFlight { .. } => {
            Some(Wrong::Unordered)
        }
        Misuse::SharedUnwritten { .. } => Some(Wrong::Unwritten),
        Misuse::ProxyFence { .. } => Some(Wrong::Fence),
        Misuse::Barrier { .. } => Some(Wrong::Barrier),
        Misuse::Deadlock { .. } => Some(Wrong::Deadlock),
        Misuse::PeerNotStarted { .. } | Misuse::PeerEnded { .. } => Some(Wrong::Peer),
        Misuse::BulkUnfinished | Misuse::WgmmaUnfinished => Some(Wrong::Unfinished),
        Misuse::AccumulatorInFlight { .. } => Some(Wrong::Accumulators),
        Misuse::WarpGroupDiverges { .. } => Some(Wrong::Diverged),
        _ => None,
    };
    error.findings().iter().filter_map(|finding| wrong(&finding.misuse)).collect()
}

/// Shrinks a program that fails, as long as it fails in the same way.
pub fn shrink(program: &Program, seed: u64) -> (Program, String) {
    let kind = verdict(program, seed);
    let fails = |program: &Program| {
        let of = verdict(program, seed);
        let why = if of.is_like(&kind) { check(program, &of, seed).err()? } else { return None };
        (!depends_on_order(program, &of, seed)).then_some(why)
    };
    let (mut program, mut why) = (program.clone(), fails(program).unwrap_or_default());
    let mut keep_if = |program: &mut Program, smaller: Program| match fails(&smaller) {
        Some(still) if smaller.steps() < program.steps() => {
            (*program, why) = (smaller, still);
            true
        }
        _ => false,
    };
    // First whole channels, then their last rounds.
    let channels = program.warps.iter().flatten().map(|entry| entry.channel).max().unwrap_or(0);
    for channel in 1..=channels {
        for round in 0..8 {
            let smaller = program.filtered(|entry| entry.channel != channel || entry.round < round);
            if keep_if(&mut program, smaller) {
                break;
            }
        }
    }
    // Then single steps. Removing one may make it possible to remove another.
    loop {
        let mut changed = false;
        for warp in 0..program.warps.len() {
            let mut at = 0;
            while at < program.warps[warp].len() {
                let mut smaller = program.clone();
                smaller.warps[warp].remove(at);
                if keep_if(&mut program, smaller) {
                    changed = true;
                } else {
                    at += 1;
                }
            }
        }
        if !changed {
            return (program, why);
        }
    }
}
