//! The registers of a block, as `setmaxnreg` has them change hands.
//!
//! All warps of a warpgroup execute the same, and wait for each other before they execute another;
//! else a GPU may do anything.
//!
//! How many a thread has when a kernel begins, the assembler decides; here it is as many as the
//! kernel's bounds allow, which a kernel with `setmaxnreg` gets.

use crate::engine::{
    Job,
    findings::Misuse,
    memory::{
        order::Order,
        race::{Access, Lanes},
    },
    record::note_collective,
    warps::{
        block::{BlockState, Waiting, WarpOfBlock},
        context::{fail, with_block},
        lanes::collective,
    },
};
use crate::lane::{LANES, PerLane, Site};
use std::vec;
use std::vec::Vec;

/// Registers of a multiprocessor.
const ALL: u32 = 65_536;
/// The most of a thread at its beginning: 255, of which whole eights are given.
const MOST: u32 = 248;

/// Warps of a warpgroup.
const WARPS: usize = 4;

/// The registers of a block: for each lane of a warp, as all lanes of a warp have the same.
pub(crate) struct RegisterPool {
    warps: Vec<Warp>,
    free: u32,
}

/// What a warp has, and by what.
#[derive(Clone)]
struct Warp {
    held: u32,
    /// Those that it has executed.
    set: Vec<Set>,
    has_ended: bool,
}

/// A `setmaxnreg`.
#[derive(Clone, Copy)]
struct Set {
    form: &'static str,
    count: u32,
    by: Access,
}

impl Set {
    /// Whether it is the same instruction.
    fn is(&self, other: &Set) -> bool {
        (self.form, self.count, self.by.location) == (other.form, other.count, other.by.location)
    }

    fn diverges(&self, warp: usize, other: Option<&Set>) -> Misuse {
        Misuse::RegistersDiverge {
            form: self.form,
            warp,
            other: other.map(|other| other.by.location.into()),
        }
    }
}

impl RegisterPool {
    pub(crate) fn new(kernel: &Job<'_>) -> Self {
        let fitting = ALL / (kernel.threads * kernel.min_blocks.max(1)) / 8 * 8;
        let bound = if kernel.max_registers == 0 { MOST } else { kernel.max_registers / 8 * 8 };
        let warp = Warp { held: fitting.min(bound), set: Vec::new(), has_ended: false };
        RegisterPool { warps: vec![warp; kernel.threads as usize / LANES], free: 0 }
    }

    /// The other warps of a warp's warpgroup, by number.
    fn others(&self, warp: usize) -> impl Iterator<Item = (usize, &Warp)> {
        let first = warp / WARPS * WARPS;
        let group = self.warps.iter().enumerate().skip(first).take(WARPS);
        group.filter(move |(other, _)| *other != warp)
    }

    /// What is wrong with what a warp comes to as its next.
    fn wrong_with(&self, warp: usize, set: &Set, order: &Order) -> Option<Misuse> {
        let number = self.warps[warp].set.len();
        let diverges = |(index, other): (usize, &Warp)| match other.set.get(number) {
            Some(of_other) => (!of_other.is(set)).then(|| set.diverges(index, Some(of_other))),
            None => other.has_ended.then(|| set.diverges(index, None)),
        };
        // The lanes of a warp wait for each other there: any of them speaks for all.
        let knows = |last: &Set| {
            (0..LANES)
                .any(|lane| Access { by: Lanes::one(lane), ..last.by }.is_seen_by(&set.by, order))
        };
        let is_behind = |other: &Warp| other.set[..number].last().is_none_or(knows);
        let mut unsynced =
            self.others(warp).filter(|(_, other)| other.set.len() < number || !is_behind(other));
        let unsynced =
            || unsynced.next().map(|(warp, _)| Misuse::RegistersUnsynced { form: set.form, warp });
        self.others(warp).find_map(diverges).or_else(unsynced)
    }

    /// A warp has ended: what others of its warpgroup have executed that it has not.
    fn end_warp(&mut self, warp: usize) -> Option<(Set, Misuse)> {
        self.warps[warp].has_ended = true;
        let number = self.warps[warp].set.len();
        self.others(warp).find_map(|(_, other)| {
            other.set.get(number).map(|set| (*set, set.diverges(warp, None)))
        })
    }

    /// Whether a warp can have so many.
    pub(crate) fn has(&self, warp: usize, count: u32) -> bool {
        count <= self.warps[warp].held + self.free
    }

    /// Registers that each lane of a warp has.
    pub(crate) fn held(&self, warp: usize) -> u32 {
        self.warps[warp].held
    }

    /// Registers that nobody holds.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    fn set(&mut self, warp: usize, count: u32) {
        let held = &mut self.warps[warp].held;
        self.free = self.free + *held - count;
        *held = count;
    }
}

/// The running warp is to have so many registers: it waits until there are.
pub(crate) fn set(warp: WarpOfBlock<'_>, site: Site, form: &'static str, count: u32) {
    if std::thread::panicking() {
        return;
    }
    note_collective(site, form);
    let held = with_block(|block| {
        let mut pool = block.registers.borrow_mut();
        let set = Set { form, count, by: block.access(site) };
        if let Some(misuse) = pool.wrong_with(warp.warp(), &set, &block.order) {
            block.findings.note(set.by, misuse);
        }
        pool.warps[warp.warp()].set.push(set);
        pool.warps[warp.warp()].held
    });
    if if form.contains(".dec.") { count > held } else { count < held } {
        fail(site, Misuse::RegisterCount { form, count, held });
    }
    while !with_block(|block| block.registers.borrow().has(warp.warp(), count)) {
        warp.suspend(Waiting::Registers { warp: warp.warp(), count, location: site.location });
        if std::thread::panicking() {
            return;
        }
    }
    with_block(|block| block.registers.borrow_mut().set(warp.warp(), count));
}

/// The running warp of a block has ended.
pub(crate) fn end_warp(block: &BlockState) {
    if let Some((set, misuse)) = block.registers.borrow_mut().end_warp(block.running()) {
        block.findings.note(set.by, misuse);
    }
}

/// The running warp, by a raw function, likewise.
#[track_caller]
pub(crate) fn set_in_lane(form: &'static str, count: u32) {
    collective(Site::here(), form, (), move |warp, site, _| {
        set(warp, site, form, count);
        PerLane::splat(())
    });
}
