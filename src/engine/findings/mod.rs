//! Findings: the misuses of a run, each recorded once, and their reports.
//!
//! | file | contents |
//! | --- | --- |
//! | `misuse.rs` | all misuses |
//! | `cause.rs` | the mistakes behind misuses |
//! | `error.rs`, `report.rs` | [`SimError`] with its [`Finding`]s; the [`Report`] of a run |
//! | `message.rs`, `cause_message.rs`, `barrier_message.rs` | titles of reports |
//! | `notes.rs`, `help.rs`, `sparse.rs` | notes and help lines of reports |
//! | `names.rs` | names of places in shared memory |
//!
//! Every other folder of the engine records findings here. `sim/` returns them to the program.

mod barrier_message;
mod cause;
mod cause_message;
mod error;
mod help;
mod message;
mod misuse;
mod names;
mod notes;
mod report;
mod sparse;

pub use cause::{
    Actor, Ahead, BarrierPhase, BarrierUse, Cause, EarlyEnd, Mistake, PHASE_BEFORE_FIRST, PhaseUse,
    WaitForOver,
};
pub use error::{Finding, SimError};
pub use misuse::{
    Agent, Awaited, BarrierMisuse, BarrierState, ClusterMisuse, CopyGroup, EndedWarp, Memory,
    Misuse, Place, Uncovered, WaitingWarp,
};

pub use names::{NameByte, SharedField, SharedName, name_fields};
pub(crate) use names::{Names, RANK_SHIFT, address_of, split_address};
pub use report::Report;
pub(crate) use sparse::allowed;

use crate::engine::memory::{
    order::{Order, is_asynchronous, is_warp_group, rank_of_asynchronous},
    race::{Access, Lanes},
};
use crate::fragment::SwizzleBits;
use crate::lane::{AccessKind, Grid};
use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::vec::Vec;

/// The findings of a cluster's blocks.
///
/// A misuse after which a GPU would continue is recorded here, and the block continues too. A
/// misuse that would stop it ends the block ([`fail`](crate::engine::fail)) and comes last.
pub(crate) struct Findings {
    kernel: &'static str,
    /// The blocks, by rank.
    blocks: Vec<Grid>,
    /// Number of warps of a block.
    warps: usize,
    seed: u64,
    names: Names,
    found: RefCell<Found>,
    /// Findings whose cause a later operation may show.
    open: RefCell<Vec<Open>>,
    /// Misuses that only another schedule shows. Without other errors, these are errors.
    suspected: RefCell<Found>,
    /// Whether the cluster runs on only to show causes. Further findings would be consequences.
    is_derailed: Cell<bool>,
}

/// A finding whose cause a later operation may show.
struct Open {
    /// The index of the finding in [`Found::errors`].
    index: usize,
    lacks: Lacks,
}

/// The operation that a finding lacks to show its cause.
enum Lacks {
    /// The copy that fills the unwritten byte at this address, in the block of this rank.
    Copy { rank: usize, address: u32, read: Access },
    /// The reader's arrival, by which it releases the memory.
    Release,
}

/// Findings, in the order of their discovery.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) errors: Vec<Finding>,
    /// Misuses that work on most of today's GPUs, without a guarantee of PTX.
    pub(crate) warnings: Vec<Finding>,
}

impl Found {
    /// Adds a finding unless an equal one is known. Returns whether it is a new error.
    pub(crate) fn add(&mut self, finding: Finding) -> bool {
        let is_error = !finding.misuse.is_tolerated();
        let found = if is_error { &mut self.errors } else { &mut self.warnings };
        let is_new = !found.iter().any(|known| known.is_like(&finding));
        if is_new {
            found.push(finding);
        }
        is_new && is_error
    }

    pub(crate) fn append(&mut self, other: Found) {
        for finding in other.errors.into_iter().chain(other.warnings) {
            self.add(finding);
        }
    }
}

impl Findings {
    pub(crate) fn new(
        kernel: &'static str,
        blocks: Vec<Grid>,
        warps: usize,
        seed: u64,
        names: Names,
    ) -> Self {
        Findings {
            kernel,
            blocks,
            warps,
            seed,
            names,
            found: RefCell::default(),
            open: RefCell::default(),
            suspected: RefCell::default(),
            is_derailed: Cell::new(false),
        }
    }

    /// The kernel's name.
    pub(crate) fn kernel(&self) -> &'static str {
        self.kernel
    }

    /// Records a misuse by an access.
    pub(crate) fn note(&self, by: Access, misuse: Misuse) {
        self.note_caused(by, misuse, None);
    }

    /// The same, with its cause, if known.
    pub(crate) fn note_caused(&self, by: Access, misuse: Misuse, cause: Option<Cause>) {
        self.note_new(by, misuse, cause);
    }

    /// Records a read of unwritten memory, at an address in the block of a rank. The copy that
    /// fills it may start later, and shows whether another cause is the right one.
    pub(crate) fn note_unwritten(
        &self,
        by: Access,
        misuse: Misuse,
        cause: Option<Cause>,
        (rank, address): (usize, u32),
    ) {
        if self.note_new(by, misuse, cause) {
            self.open(Lacks::Copy { rank, address, read: by });
        }
    }

    /// Records a misuse by an access. Returns whether it is a new error.
    fn note_new(&self, by: Access, misuse: Misuse, cause: Option<Cause>) -> bool {
        self.add(self.finding_of(by, misuse, cause))
    }

    /// Records a misuse that only another schedule shows. Another error may be its cause, so it
    /// counts only without others.
    pub(crate) fn note_suspected(&self, by: Access, misuse: Misuse) {
        let finding = self.finding_of(by, misuse, None);
        self.suspected.borrow_mut().add(finding);
    }

    fn finding_of(&self, by: Access, misuse: Misuse, cause: Option<Cause>) -> Finding {
        let (place, lane) = (Some(by.location.into()), by.lane());
        let warp = (!is_asynchronous(by.agent)).then(|| by.agent % self.warps);
        let lane = lane.filter(|_| warp.is_some());
        self.finding(misuse, cause, place, self.rank(by), warp, lane)
    }

    /// The rank of the block of an access.
    pub(crate) fn rank(&self, by: Access) -> usize {
        if is_asynchronous(by.agent) {
            rank_of_asynchronous(by.agent, self.blocks.len())
        } else {
            by.agent / self.warps
        }
    }

    /// The warp of an access.
    pub(crate) fn actor(&self, by: Access) -> Actor {
        let (warp, block) = self.warp(by.agent);
        Actor { block, warp, lane: by.lane(), place: by.location.into() }
    }

    /// Whether an access belongs to a warpgroup's `wgmma`.
    pub(crate) fn is_group(&self, by: Access) -> bool {
        is_warp_group(by.agent, self.blocks.len())
    }

    /// Makes a finding in the block of this rank.
    pub(crate) fn finding(
        &self,
        misuse: Misuse,
        cause: Option<Cause>,
        place: Option<Place>,
        rank: usize,
        warp: Option<usize>,
        lane: Option<usize>,
    ) -> Finding {
        let (kernel, block, seed, names) =
            (self.kernel, Some(self.blocks[rank]), self.seed, Some(self.names));
        let cause = cause.map(Box::new);
        let mut finding = Finding { misuse, cause, kernel, place, block, warp, lane, seed, names };
        finding.blame();
        finding
    }

    /// Adds a finding unless an equal one is known. Returns whether it is a new error.
    pub(crate) fn add(&self, finding: Finding) -> bool {
        if self.is_derailed.get() {
            return false;
        }
        let lacks_release = finding.cause.as_ref().is_some_and(|cause| cause.lacks_release());
        let is_new = self.found.borrow_mut().add(finding);
        if is_new && lacks_release {
            self.open(Lacks::Release);
        }
        is_new
    }

    /// Keeps the newest error open.
    fn open(&self, lacks: Lacks) {
        let index = self.found.borrow().errors.len() - 1;
        self.open.borrow_mut().push(Open { index, lacks });
    }

    /// Whether a read of unwritten memory lacks the copy that fills it.
    pub(crate) fn lack_copies(&self) -> bool {
        self.open.borrow().iter().any(|open| matches!(open.lacks, Lacks::Copy { .. }))
    }

    /// Whether a later operation may show the cause of a finding.
    pub(crate) fn lack_causes(&self) -> bool {
        !self.open.borrow().is_empty()
    }

    /// A copy to these bytes of a block starts: `cause(address, read)` explains earlier reads.
    pub(crate) fn explain_reads(
        &self,
        of: usize,
        addresses: Range<u32>,
        cause: impl Fn(u32, Access) -> Option<Cause>,
    ) {
        self.open.borrow_mut().retain(|open| {
            let Lacks::Copy { rank, address, read } = open.lacks else { return true };
            if rank != of || !addresses.contains(&address) {
                return true;
            }
            let cause = cause(address, read);
            if cause.is_some() {
                self.explain(open.index, |of| *of = cause.map(Box::new));
            }
            false
        });
    }

    /// A warp arrives at a barrier. `is_release(cause)` says whether it releases the memory of this
    /// cause.
    pub(crate) fn explain_refills(
        &self,
        barrier: u32,
        by: &Actor,
        is_release: impl Fn(&Cause) -> bool,
    ) {
        self.open.borrow_mut().retain(|open| {
            let is_it = matches!(open.lacks, Lacks::Release)
                && self.found.borrow().errors[open.index].cause.as_deref().is_some_and(&is_release);
            if is_it {
                self.explain(open.index, |cause| {
                    if let Some(cause) = cause {
                        cause.set_release(BarrierUse { barrier, by: by.clone() });
                    }
                });
            }
            !is_it
        });
    }

    fn explain(&self, index: usize, change: impl FnOnce(&mut Option<Box<Cause>>)) {
        let finding = &mut self.found.borrow_mut().errors[index];
        change(&mut finding.cause);
        finding.blame();
    }

    /// From here on the cluster runs only to show the causes of its findings.
    pub(crate) fn derail(&self) {
        self.is_derailed.set(true);
    }

    /// The race of an access with an earlier one by another thread of the cluster.
    pub(crate) fn race(
        &self,
        (access, other_access): (AccessKind, AccessKind),
        memory: Memory,
        by: Access,
        earlier: Access,
        order: &Order,
    ) -> Misuse {
        let (other_place, other) = (earlier.location.into(), self.agent(by, earlier));
        let are_writes = (access == AccessKind::Write, other_access == AccessKind::Write);
        let same_closure = by.shows_order(&earlier, are_writes, order);
        let synced = order.sync_between(&by, &earlier);
        Misuse::Race { access, memory, other_access, other_place, other, same_closure, synced }
    }

    /// The author of the earlier of two accesses, relative to the later one.
    fn agent(&self, later: Access, earlier: Access) -> Agent {
        let Access { agent, by, .. } = earlier;
        match by {
            _ if is_warp_group(agent, self.blocks.len()) => Agent::WarpGroup,
            _ if is_asynchronous(agent) => Agent::Asynchronous,
            _ if agent / self.warps != later.agent / self.warps => Agent::WarpOfPeer {
                block: self.blocks[agent / self.warps],
                warp: agent % self.warps,
            },
            _ if agent != later.agent => Agent::WarpOfBlock(agent % self.warps),
            Lanes::One(lane) => Agent::LaneOfWarp(lane.into()),
            Lanes::Each | Lanes::Together(_) => Agent::SameWarp,
        }
    }

    /// The warp of an agent, and its block if the cluster has several.
    pub(crate) fn warp(&self, agent: usize) -> (usize, Option<Grid>) {
        (agent % self.warps, (self.blocks.len() > 1).then(|| self.blocks[agent / self.warps]))
    }

    /// The findings, each once: their causes may have become equal.
    pub(crate) fn take(&self) -> Found {
        let mut found = Found::default();
        found.append(self.found.take());
        if found.errors.is_empty() {
            found.append(self.suspected.take());
        }
        found
    }
}

impl Misuse {
    /// Whether the misuse is only a warning.
    ///
    /// Warnings are outside boxes, most races within a warp, and swizzled tiles that are read or
    /// written without a swizzle: a kernel may apply the swizzle itself. Today's GPUs mostly run a
    /// warp in lockstep, so the result is determined; compute-sanitizer warns of such races
    /// too. It is an error if two different values are written, or if the read value depends on
    /// the simulator's order of lanes within a closure.
    pub(crate) fn is_tolerated(&self) -> bool {
        if matches!(
            self,
            Misuse::BoxOutside { .. }
                | Misuse::WrongTileSwizzle { read: SwizzleBits { bits: 0, .. }, .. }
                | Misuse::WrongStoredSwizzle { written: SwizzleBits { bits: 0, .. }, .. }
        ) {
            return true;
        }
        let Misuse::Race { access, other_access, other, same_closure, .. } = self else {
            return false;
        };
        let within_a_warp = matches!(other, Agent::LaneOfWarp(_) | Agent::SameWarp);
        within_a_warp
            && !same_closure
            && (*access, *other_access) != (AccessKind::Write, AccessKind::Write)
    }
}
