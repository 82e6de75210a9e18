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

pub use cause::{Actor, Cause, Mistake};
pub use error::{Finding, SimError};
pub(crate) use misuse::address_of;
pub use misuse::{
    Agent, Awaited, BarrierMisuse, BarrierState, ClusterMisuse, EndedWarp, Memory, Misuse, Place,
    WaitingWarp,
};

pub use names::{NameByte, SharedField, SharedName, name_fields};
pub(crate) use names::{Names, RANK_SHIFT};
pub use report::Report;
pub(crate) use sparse::allowed;

use crate::engine::memory::{
    order::{is_asynchronous, is_warp_group, rank_of_asynchronous},
    race::{Access, Lanes},
};
use crate::lane::Grid;
use std::boxed::Box;
use std::cell::RefCell;
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
}

/// Findings, in the order of their discovery.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) errors: Vec<Finding>,
    /// Misuses that work on most of today's GPUs, without a guarantee of PTX.
    pub(crate) warnings: Vec<Finding>,
}

impl Found {
    /// Adds a finding unless an equal one is known.
    pub(crate) fn add(&mut self, finding: Finding) {
        let found =
            if finding.misuse.is_tolerated() { &mut self.warnings } else { &mut self.errors };
        if !found.iter().any(|known| known.is_like(&finding)) {
            found.push(finding);
        }
    }

    pub(crate) fn append(&mut self, other: Found) {
        other.errors.into_iter().chain(other.warnings).for_each(|finding| self.add(finding));
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
        Findings { kernel, blocks, warps, seed, names, found: RefCell::default() }
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
        let (place, lane) = (Some(by.location.into()), by.lane());
        let warp = (!is_asynchronous(by.agent)).then(|| by.agent % self.warps);
        self.add(misuse, cause, place, self.rank(by), warp, lane.filter(|_| warp.is_some()));
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

    /// Adds a finding in the block of this rank unless an equal one is known.
    pub(crate) fn add(
        &self,
        misuse: Misuse,
        cause: Option<Cause>,
        place: Option<Place>,
        rank: usize,
        warp: Option<usize>,
        lane: Option<usize>,
    ) {
        let (kernel, block, seed, names) =
            (self.kernel, Some(self.blocks[rank]), self.seed, Some(self.names));
        let cause = cause.map(Box::new);
        let mut finding = Finding { misuse, cause, kernel, place, block, warp, lane, seed, names };
        if let Some(Actor { block, warp, lane, place }) =
            finding.cause.as_ref().and_then(|cause| cause.blamed()).cloned()
        {
            (finding.place, finding.warp, finding.lane) = (Some(place), Some(warp), lane);
            finding.block = block.or(finding.block);
        }
        self.found.borrow_mut().add(finding);
    }

    /// The author of the earlier of two accesses, relative to the later one.
    pub(crate) fn agent(&self, later: Access, earlier: Access) -> Agent {
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

    pub(crate) fn take(&self) -> Found {
        self.found.take()
    }
}

impl Misuse {
    /// Whether the misuse is only a warning.
    ///
    /// Warnings are outside boxes and most races within a warp. Today's GPUs mostly run a warp in
    /// lockstep, so the result is determined; compute-sanitizer warns of such races too. It is an
    /// error if two different values are written, or if the read value depends on the simulator's
    /// order of lanes within a closure.
    fn is_tolerated(&self) -> bool {
        if matches!(self, Misuse::BoxOutside { .. }) {
            return true;
        }
        let Misuse::Race { access, other_access, other, same_closure, .. } = self else {
            return false;
        };
        let within_a_warp = matches!(other, Agent::LaneOfWarp(_) | Agent::SameWarp);
        within_a_warp && !same_closure && (*access, *other_access) != ("write", "write")
    }
}
