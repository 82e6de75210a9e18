//! Generates random programs: correct ones by construction, and changes of them.

use super::model::{Model, Violation, Wrong};
use super::program::{Entry, Places, Program, Step, Threads};
use fastrand::Rng;
use ptx_matrix_fuzz_kernels::script::{ARRIVALS, CHUNKS, ELEMENTS, GLOBAL, PARTS, SIGNALS, WARPS};

/// The device that runs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// The simulator, which has every form.
    Simulator,
    /// A GPU, which lacks the one-byte forms of `ldmatrix` and `stmatrix`.
    Gpu,
}

/// A program without violations in the model. If a step would be a violation, steps that prevent it
/// are inserted before.
pub fn program(random: &mut Rng, runner: For) -> Program {
    let blocks = if random.u8(..4) == 0 { 3 } else { 1 };
    let (warps, steps) = (random.usize(1..=WARPS), random.usize(4..40));
    let mut program = Program { blocks, entries: Vec::new() };
    let mut model = Model::new(0);
    for _ in 0..steps {
        let warp = random.usize(..warps);
        let wanted = match random.u8(..24) {
            0 => Entry::BlockSync { without: None },
            1 => Entry::Warp(warp, Step::WarpSync),
            _ => Entry::Warp(warp, step(random, &model, warp, runner)),
        };
        for _ in 0..4 {
            let mut tried = model.clone();
            tried.run(wanted);
            let Some(violation) = tried.violations().first() else {
                program.entries.push(wanted);
                model = tried;
                break;
            };
            // The step is dropped if nothing prevents the violation, or if that takes too many
            // steps.
            for mend in mends(random, &model, violation, wanted, warps) {
                let mut mended = model.clone();
                mended.run(mend);
                if mended.violations().is_empty() {
                    program.entries.push(mend);
                    model = mended;
                }
            }
        }
    }
    program
}

/// Steps that may prevent a violation, to be inserted before `wanted`.
fn mends(
    random: &mut Rng,
    model: &Model,
    violation: &Violation,
    wanted: Entry,
    warps: usize,
) -> Vec<Entry> {
    let Entry::Warp(warp, step) = wanted else { return Vec::new() };
    let (block, own) = (Entry::BlockSync { without: None }, Entry::Warp(warp, Step::WarpSync));
    let land =
        |warp| [Entry::Warp(warp, Step::Commit), Entry::Warp(warp, Step::Wait { newest: 0 })];
    match violation {
        Violation { wrong: Wrong::Race, between_warps: true, .. } if random.bool() => {
            let handoff = handoff(random, model, warp, warps);
            if handoff.is_empty() { vec![block] } else { handoff }
        }
        Violation { wrong: Wrong::Race, between_warps: true, .. } => vec![block],
        Violation { wrong: Wrong::Race, .. } => vec![if random.u8(..4) == 0 { block } else { own }],
        Violation { wrong: Wrong::InFlight, between_warps: true, .. } => {
            (0..warps).flat_map(land).chain([block]).collect()
        }
        Violation { wrong: Wrong::InFlight, .. } => land(warp).into_iter().chain([own]).collect(),
        Violation { wrong: Wrong::Unwritten, .. } => {
            let part = match step {
                Step::Get { part, .. } | Step::Load { part, .. } | Step::LoadBytes { part, .. } => {
                    part
                }
                Step::Multiply { a, b, .. } | Step::MultiplySparse { a, b, .. } => {
                    [a.0, b.0][random.usize(..2)]
                }
                _ => return Vec::new(),
            };
            let fill = Step::Fill { part, threads: Threads::Warp, seed: seed(random) };
            let copy =
                Step::CopyTile { part, threads: Threads::Warp, shift: random.usize(..8), some: 8 };
            let write = Entry::Warp(warp, if random.bool() { fill } else { copy });
            vec![write]
        }
        Violation { wrong: Wrong::Deadlock, .. } => Vec::new(),
    }
}

/// The other warps signal to a warp that their accesses are done, through an mbarrier if one is
/// unused.
fn handoff(random: &mut Rng, model: &Model, warp: usize, warps: usize) -> Vec<Entry> {
    let Some(signal) = (0..SIGNALS).find(|&signal| model.lacks(signal) == ARRIVALS) else {
        return Vec::new();
    };
    let others: Vec<usize> = (0..warps).filter(|&other| other != warp).collect();
    let mut entries = Vec::new();
    for (index, &other) in others.iter().enumerate() {
        let per_warp = ARRIVALS / others.len() as u32;
        let arrivals =
            if index == 0 { ARRIVALS - per_warp * (others.len() as u32 - 1) } else { per_warp };
        if arrivals == ARRIVALS && random.bool() {
            // Each lane arrives for itself.
            entries.push(Entry::Warp(other, Step::Arrive { signal, mask: u32::MAX, times: 1 }));
        } else {
            // One lane arrives for all.
            entries.push(Entry::Warp(other, Step::WarpSync));
            let mask = 1 << random.u32(..32);
            entries.push(Entry::Warp(other, Step::Arrive { signal, mask, times: arrivals }));
        }
    }
    entries.push(Entry::Warp(warp, Step::Await { signal }));
    entries
}

/// An arrival of some lanes, or a wait for an mbarrier with all its arrivals.
fn signal(random: &mut Rng, model: &Model) -> Option<Step> {
    let signal = random.usize(..SIGNALS);
    let lacks = model.lacks(signal);
    if lacks == 0 {
        return Some(Step::Await { signal });
    }
    let mask = match random.u8(..3) {
        0 => u32::MAX,
        1 => 1 << random.u32(..32),
        _ => random.u32(1..),
    };
    let most = lacks / mask.count_ones();
    (most > 0).then(|| Step::Arrive {
        signal,
        mask,
        times: if random.bool() { most } else { random.u32(1..=most) },
    })
}

fn seed(random: &mut Rng) -> u32 {
    // A small seed is the value itself, so that values repeat.
    if random.u8(..3) == 0 { random.u32(..3) } else { random.u32(8..1 << 20) }
}

fn places(random: &mut Rng, all: usize) -> Places {
    let mask = match random.u8(..4) {
        0 => 1 << random.u32(..32),
        1 => random.u32(..),
        _ => u32::MAX,
    };
    let stride = match random.u8(..8) {
        0 => random.usize(..8),
        1..4 => 1,
        _ => random.usize(..all / 2) * 2 + 1,
    };
    Places { first: random.usize(..all), stride, mask }
}

fn step(random: &mut Rng, model: &Model, warp: usize, runner: For) -> Step {
    // Copies are mostly followed by the commits and waits that they need.
    let (open, groups) = model.in_flight(warp);
    if open && random.u8(..4) == 0 {
        return Step::Commit;
    }
    if groups > 0 && random.u8(..5) == 0 {
        return Step::Wait { newest: random.usize(..groups.min(3)) };
    }
    if random.u8(..8) == 0
        && let Some(step) = signal(random, model)
    {
        return step;
    }
    let part = random.usize(..PARTS);
    let threads = if random.u8(..3) == 0 { Threads::Block } else { Threads::Warp };
    let (count, trans) = (1 << random.u32(..3), random.bool());
    match random.u8(..20) {
        0..3 => Step::Set { part, places: places(random, ELEMENTS), seed: seed(random) },
        3 => Step::SetUniform { part, element: random.usize(..ELEMENTS), seed: seed(random) },
        4..7 => Step::Get { part, places: places(random, ELEMENTS) },
        7 => Step::Fill { part, threads, seed: seed(random) },
        8 | 9 if random.u8(..3) == 0 && runner == For::Simulator => {
            Step::LoadBytes { part, places: everywhere(random), count: 1 << random.u32(..2) }
        }
        10 | 11 if random.u8(..3) == 0 && runner == For::Simulator => {
            Step::StoreBytes { part, places: everywhere(random), count, seed: seed(random) }
        }
        8 | 9 => Step::Load { part, places: everywhere(random), count, trans },
        10 | 11 => {
            Step::Store { part, places: everywhere(random), count, trans, seed: seed(random) }
        }
        12 => Step::Transpose,
        13 if random.bool() => Step::MultiplySparse {
            a: (part, random.usize(..4)),
            b: (random.usize(..PARTS), random.usize(..4)),
            d: (random.usize(..PARTS), random.usize(..4)),
            selector: random.usize(..4),
            seed: seed(random),
        },
        13 => Step::Multiply {
            a: (part, random.usize(..2)),
            b: (random.usize(..PARTS), random.usize(..4)),
            d: (random.usize(..PARTS), random.usize(..4)),
            stmatrix: random.bool(),
        },
        14 | 15 => {
            let bytes = [4, 8, 16][random.usize(..3)];
            let (chunks, most) = (ELEMENTS * 2 / bytes, bytes / 2);
            let some = if random.bool() { most } else { random.usize(..=most) };
            Step::Copy {
                part,
                places: places(random, chunks),
                bytes,
                shift: random.usize(..chunks),
                some,
            }
        }
        16 => {
            let some =
                if threads == Threads::Block && random.bool() { random.usize(1..=8) } else { 8 };
            Step::CopyTile { part, threads, shift: random.usize(..CHUNKS), some }
        }
        17 => Step::GlobalSet { places: places(random, GLOBAL), seed: seed(random) },
        18 if random.bool() => {
            Step::GlobalSetUniform { element: random.usize(..GLOBAL), seed: seed(random) }
        }
        _ => Step::GlobalGet { places: places(random, GLOBAL) },
    }
}

/// Rows of matrices. Every lane gives an address.
fn everywhere(random: &mut Rng) -> Places {
    Places { mask: u32::MAX, ..places(random, CHUNKS) }
}

/// The program with one change, which may or may not make it wrong.
pub fn changed(random: &mut Rng, program: &Program) -> Program {
    let at = random.usize(..program.entries.len());
    let orders = |entry: &Entry| match entry {
        Entry::BlockSync { .. } => true,
        Entry::Warp(_, step) => {
            matches!(
                step,
                Step::WarpSync
                    | Step::Wait { .. }
                    | Step::Commit
                    | Step::Arrive { .. }
                    | Step::Await { .. }
            )
        }
    };
    // Most changes are to synchronisation.
    let ordering: Vec<usize> =
        (0..program.entries.len()).filter(|&at| orders(&program.entries[at])).collect();
    let at = if random.u8(..4) == 0 { at } else { random.choice(ordering).unwrap_or(at) };
    let mut changed = program.clone();
    match &mut changed.entries[at] {
        Entry::BlockSync { without } if random.u8(..4) == 0 => {
            *without = Some(random.usize(..WARPS))
        }
        Entry::Warp(_, Step::Wait { newest }) if random.bool() => *newest = 2.min(*newest + 1),
        Entry::Warp(
            _,
            Step::Get { places, .. }
            | Step::Set { places, .. }
            | Step::Load { places, .. }
            | Step::LoadBytes { places, .. },
        ) if random.bool() => {
            places.first += 1;
        }
        Entry::Warp(
            _,
            Step::Fill { part, .. }
            | Step::Store { part, .. }
            | Step::StoreBytes { part, .. }
            | Step::CopyTile { part, .. },
        ) if random.bool() => {
            *part = (*part + 1) % PARTS;
        }
        _ => drop(changed.entries.remove(at)),
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The names of the steps in programs.
    fn drawn(runner: For) -> HashSet<String> {
        let programs = (0..200).map(|seed| program(&mut Rng::with_seed(seed), runner));
        let steps = programs.flat_map(|program| program.entries).filter_map(|entry| match entry {
            Entry::Warp(_, step) => format!("{step:?}").split(' ').next().map(str::to_owned),
            Entry::BlockSync { .. } => None,
        });
        steps.collect()
    }

    #[test]
    fn every_step_is_drawn_but_none_missing_on_the_gpu() {
        let mut steps = drawn(For::Simulator);
        for step in [
            "WarpSync",
            "Load",
            "Store",
            "Multiply",
            "MultiplySparse",
            "LoadBytes",
            "StoreBytes",
            "Await",
        ] {
            assert!(steps.contains(step), "{step}: {steps:?}");
        }
        steps.retain(|step| !step.ends_with("Bytes"));
        assert_eq!(drawn(For::Gpu), steps);
    }
}
