//! The registers of a block, which `setmaxnreg` redistributes.
//!
//! All warps of a warpgroup must execute the same `setmaxnreg`, and synchronise before the next
//! one. Otherwise the behaviour is undefined.
//!
//! The assembler decides how many registers a thread has at the start. The simulator assumes the
//! most that the kernel's launch bounds allow. A kernel with `setmaxnreg` gets that number.

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

/// Registers of an SM.
const ALL: u32 = 65_536;
/// The most registers of a thread at its start: 255, rounded down to a multiple of eight.
const MOST: u32 = 248;

/// Warps of a warpgroup.
const WARPS: usize = 4;

/// The registers of a block, counted for one lane of each warp: all lanes of a warp have equally
/// many.
pub(crate) struct RegisterPool {
    warps: Vec<Warp>,
    free: u32,
}

/// A warp's registers and the instructions that changed them.
#[derive(Clone)]
struct Warp {
    held: u32,
    /// The `setmaxnreg`s that the warp has executed.
    set: Vec<Set>,
    has_ended: bool,
}

/// One execution of `setmaxnreg`.
#[derive(Clone, Copy)]
struct Set {
    form: &'static str,
    count: u32,
    by: Access,
}

impl Set {
    /// Whether both are the same instruction.
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

    /// The other warps of a warp's warpgroup, with their numbers.
    fn others(&self, warp: usize) -> impl Iterator<Item = (usize, &Warp)> {
        let first = warp / WARPS * WARPS;
        let group = self.warps.iter().enumerate().skip(first).take(WARPS);
        group.filter(move |(other, _)| *other != warp)
    }

    /// The misuse in a warp's next `setmaxnreg`, if there is one.
    fn wrong_with(&self, warp: usize, set: &Set, order: &Order) -> Option<Misuse> {
        let number = self.warps[warp].set.len();
        let diverges = |(index, other): (usize, &Warp)| match other.set.get(number) {
            Some(of_other) => (!of_other.is(set)).then(|| set.diverges(index, Some(of_other))),
            None => other.has_ended.then(|| set.diverges(index, None)),
        };
        // The lanes of a warp are synchronised there, so one lane's knowledge suffices.
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

    /// Ends a warp. Returns a `setmaxnreg` of its warpgroup that it did not execute.
    fn end_warp(&mut self, warp: usize) -> Option<(Set, Misuse)> {
        self.warps[warp].has_ended = true;
        let number = self.warps[warp].set.len();
        self.others(warp).find_map(|(_, other)| {
            other.set.get(number).map(|set| (*set, set.diverges(warp, None)))
        })
    }

    /// Whether enough registers are free for a warp to have this many.
    pub(crate) fn has(&self, warp: usize, count: u32) -> bool {
        count <= self.warps[warp].held + self.free
    }

    /// Registers of each lane of a warp.
    pub(crate) fn held(&self, warp: usize) -> u32 {
        self.warps[warp].held
    }

    /// Free registers.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    fn set(&mut self, warp: usize, count: u32) {
        let held = &mut self.warps[warp].held;
        self.free = self.free + *held - count;
        *held = count;
    }
}

/// Sets the registers of the running warp. Waits until enough are free.
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

/// `setmaxnreg` by a raw function, in a lane of the running warp.
#[track_caller]
pub(crate) fn set_in_lane(form: &'static str, count: u32) {
    collective(Site::here(), form, (), move |warp, site, _| {
        set(warp, site, form, count);
        PerLane::splat(())
    });
}
