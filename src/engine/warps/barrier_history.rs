//! The operations on an mbarrier, remembered for reports.

use crate::engine::findings::{Actor, Cause, Mistake, PHASE_BEFORE_FIRST, PhaseUse, WaitForOver};
use crate::engine::memory::order::Order;
use crate::engine::memory::race::{Access, NO_CLOSURE};
use crate::engine::warps::block::ClusterState;
use crate::engine::warps::handover::cluster_actor;
use core::panic::Location;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::vec::Vec;

/// Repeated arrivals that a barrier remembers.
const REMEMBERED: usize = 8;

/// The operations on an mbarrier, and their authors.
#[derive(Default)]
pub(super) struct BarrierHistory {
    /// The initialisation.
    pub(super) made: Option<Access>,
    /// Bytes that the current phase expects, and the last access that set them.
    expected: i64,
    expected_by: Option<Access>,
    /// Bytes that the previous phase expected.
    expected_before: i64,
    /// Bytes of the copies that signal the current phase, by the source line of the copy.
    pub(super) copies: Vec<(&'static Location<'static>, i64)>,
    /// The places that these copies fill, and two copies of one lane to one place.
    filled: FxHashMap<u32, Access>,
    filled_again: Option<[Access; 2]>,
    /// Bytes of these copies that are still in flight.
    in_flight: i64,
    /// Whether a copy from another block has ever signalled this barrier.
    is_signalled_by_peers: bool,
    /// The start of the last copy.
    pub(super) last_copy: Option<Access>,
    /// The warps that have started copies.
    pub(super) copiers: Vec<usize>,
    /// Each warp's last arrival.
    pub(super) arrivals: Vec<Arrived>,
    /// The last phases in which a lane arrived more than once, and two arrivals of each.
    pub(super) twice: VecDeque<(u32, [Access; 2])>,
    /// The most lanes of a warp that have arrived by one line in one section, and the last of
    /// them.
    pub(super) most_lanes: Option<(u32, Access)>,
    /// The last `cp.async.mbarrier.arrive`: its arrival adds to those that the phase needs.
    pub(super) held: Option<Access>,
    /// Whether an arrival has lowered the count of later phases (`arrive_drop`).
    pub(super) is_lowered: bool,
    /// Each warp's last wait.
    pub(super) waits: Vec<Waited>,
    /// The first mistake found with this barrier. Later errors there follow from it.
    explained: RefCell<Option<Cause>>,
}

/// An arrival.
#[derive(Clone, Copy)]
pub(super) struct Arrived {
    pub(super) by: Access,
    /// The phase.
    pub(super) phase: u32,
    /// The number of lanes that have arrived by its line in its section, with this one.
    pub(super) lanes: u32,
}

impl Arrived {
    /// Whether another lane of the warp arrives by the same line, in the same section.
    fn is_followed_by(&self, by: Access) -> bool {
        let of = |by: Access| (by.agent, by.location, by.closure);
        by.closure != NO_CLOSURE && of(by) == of(self.by) && by.by != self.by.by
    }
}

/// A wait that has ended.
#[derive(Clone, Copy)]
pub(super) struct Waited {
    pub(super) by: Access,
    /// The phase, or [`PHASE_BEFORE_FIRST`].
    pub(super) phase: u32,
    /// Whether the warp had waited for this phase before.
    pub(super) again: bool,
    /// Whether the warp released the memory after this wait, to the warp that started the last
    /// copy.
    pub(super) is_released: bool,
}

impl Waited {
    /// Whether the wait was for a phase that was over: the one before the first, or one that the
    /// warp had waited for.
    pub(super) fn is_for_over(self) -> bool {
        self.again || self.phase == PHASE_BEFORE_FIRST
    }

    /// Such a wait for the barrier at this address, for a report.
    pub(super) fn for_over(self, cluster: &ClusterState, barrier: u32) -> WaitForOver {
        let wait = cluster_actor(cluster, self.by);
        WaitForOver { wait, barrier, waited: self.phase, again: self.again }
    }

    /// The mistake of such a wait.
    pub(super) fn mistake(self, cluster: &ClusterState, barrier: u32) -> Mistake {
        Mistake::WaitedForOver(self.for_over(cluster, barrier))
    }

    /// The wait, for a report.
    pub(super) fn described(self, cluster: &ClusterState) -> PhaseUse {
        PhaseUse { phase: self.phase, by: cluster_actor(cluster, self.by) }
    }
}

/// Replaces the largest number of lanes if this one is larger.
fn keep_most(most: &mut Option<(u32, Access)>, lanes: u32, by: Access) {
    if most.is_none_or(|(most, _)| lanes > most) {
        *most = Some((lanes, by));
    }
}

impl BarrierHistory {
    pub(super) fn new(made: Access) -> Self {
        BarrierHistory { made: Some(made), ..BarrierHistory::default() }
    }

    /// The initialisation.
    pub(super) fn made(&self) -> Option<Access> {
        self.made
    }

    pub(super) fn note_expected(&mut self, by: Access, bytes: u32) {
        if bytes > 0 {
            self.expected += i64::from(bytes);
            self.expected_by = Some(by);
        }
    }

    /// Records an arrival of this many lanes.
    pub(super) fn note_arrival(&mut self, by: Access, phase: u32, lanes: u32) {
        let mut arrived = Arrived { by, phase, lanes };
        match self.arrivals.iter_mut().find(|last| last.by.agent == by.agent) {
            Some(last) => {
                if last.is_followed_by(by) {
                    arrived.lanes += last.lanes;
                    keep_most(&mut self.most_lanes, arrived.lanes, by);
                }
                if last.phase == phase && last.by.by == by.by {
                    self.twice.truncate(REMEMBERED - 1);
                    self.twice.push_front((phase, [last.by, by]));
                }
                *last = arrived;
            }
            None => self.arrivals.push(arrived),
        }
    }

    /// Records an arrival that the running phase does not need.
    pub(super) fn note_refused(&mut self, by: Access, phase: u32) {
        let is_first = |of: &&Arrived| of.phase == phase && of.is_followed_by(by);
        if let Some(first) = self.arrivals.iter().find(is_first) {
            keep_most(&mut self.most_lanes, first.lanes + 1, by);
        }
    }

    pub(super) fn note_wait(&mut self, by: Access, phase: u32) {
        let waited = Waited { by, phase, again: false, is_released: false };
        match self.waits.iter_mut().find(|last| last.by.agent == by.agent) {
            // Another lane of the same closure.
            Some(last) if last.phase == phase && last.by.by != by.by => {}
            Some(last) => *last = Waited { again: last.phase == phase, ..waited },
            None => self.waits.push(waited),
        }
    }

    /// Records the start of a copy that signals the current phase: its bytes, and the place that it
    /// fills, unless it reduces.
    pub(super) fn note_copy(
        &mut self,
        by: Access,
        (bytes, fills): (i64, Option<u32>),
        is_of_peer: bool,
        order: &Order,
    ) {
        if let Some(place) = fills
            && let Some(first) = self.filled.insert(place, by)
            && first.is_by_author_of(&by)
        {
            self.filled_again.get_or_insert([first, by]);
        }
        self.note_bytes(by.location, bytes);
        self.in_flight += bytes;
        self.is_signalled_by_peers |= is_of_peer;
        self.last_copy = Some(by);
        if !self.copiers.contains(&by.agent) {
            self.copiers.push(by.agent);
        }
        for wait in &mut self.waits {
            let is_own = wait.by.agent == by.agent;
            wait.is_released = is_own || order.knows_some_lane(&by, wait.by.agent, wait.by.tick);
        }
    }

    /// Records that a copy has landed.
    pub(super) fn note_landed(&mut self, bytes: i64) {
        self.in_flight -= bytes;
    }

    /// Adds bytes that signal the current phase, by their source line.
    pub(super) fn note_bytes(&mut self, location: &'static Location<'static>, bytes: i64) {
        match self.copies.iter_mut().find(|(of, _)| *of == location) {
            Some((_, of_line)) => *of_line += bytes,
            None => self.copies.push((location, bytes)),
        }
    }

    /// Bytes of copies in flight that signal the current phase.
    pub(super) fn in_flight(&self) -> i64 {
        self.in_flight
    }

    /// Ends the phase.
    pub(super) fn end_phase(&mut self) {
        self.expected_before = self.expected;
        (self.expected, self.expected_by, self.in_flight) = (0, None, 0);
        self.copies.clear();
        self.filled.clear();
        self.filled_again = None;
    }

    /// Each warp's last arrival.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = Arrived> + '_ {
        self.arrivals.iter().copied()
    }

    /// The warps that have started copies in earlier phases, and none in this one.
    pub(super) fn copiers_behind(&self) -> impl Iterator<Item = usize> + '_ {
        let has_copied = |agent: usize| self.filled.values().any(|by| by.agent == agent);
        self.copiers.iter().copied().filter(move |&agent| !has_copied(agent))
    }

    pub(super) fn is_signalled_by_peers(&self) -> bool {
        self.is_signalled_by_peers
    }

    /// The cause "the bytes of the current phase differ from the expected bytes". If there are too
    /// many, because copies of one phase fill a place twice, that is the cause.
    pub(super) fn wrong_bytes(
        &self,
        barrier: u32,
        phase: u32,
        actor: impl Fn(Access) -> Actor,
    ) -> Cause {
        let copied: i64 = self.copies.iter().map(|(_, bytes)| bytes).sum();
        if let Some([first, again]) = self.filled_again.filter(|_| copied > self.expected) {
            return Cause::FilledTwice { barrier, phase, first: actor(first), again: actor(again) };
        }
        Cause::Bytes {
            barrier,
            phase,
            expected: self.expected,
            expected_by: self.expected_by.map(actor),
            copies: self.copies.iter().map(|&(location, bytes)| (location.into(), bytes)).collect(),
            has_ended: self.in_flight > 0,
        }
    }

    /// The first mistake found with this barrier: `cause`, if there was none before.
    pub(super) fn first_cause(&self, cause: Cause) -> Cause {
        self.explained.borrow_mut().get_or_insert(cause).clone()
    }

    /// The arrival that ended the phase before `phase`: right before the copy started, or by a warp
    /// of the barrier's block, if the copy is of another one.
    ///
    /// Returned if that phase expected no bytes: the copy was meant for it.
    pub(super) fn phase_that_expected_nothing(
        &self,
        copy: &Access,
        phase: u32,
        order: &Order,
    ) -> Option<Access> {
        let right_before = |by: &Access| {
            by.tick < copy.tick && order.releases(copy.agent, by.tick..copy.tick) == 1
        };
        let ended = |Arrived { by, phase: of, .. }: &Arrived| {
            let is_meant = match by.agent == copy.agent {
                true => right_before(by),
                // The copy is of another block, whose warps do not arrive.
                false => self.is_signalled_by_peers,
            };
            of.wrapping_add(1) == phase && is_meant
        };
        // Or the same warp expects them after its arrival.
        let is_late = |arrival: &Access| {
            let behind = |by: &Access| by.agent == arrival.agent && by.tick > arrival.tick;
            self.expected == 0 || self.expected_by.as_ref().is_some_and(behind)
        };
        let arrival = self.arrivals.iter().find(|arrived| ended(arrived)).map(|arrived| arrived.by);
        arrival.filter(|by| phase > 0 && self.expected_before == 0 && is_late(by))
    }

    /// Whether a wait has ended.
    pub(super) fn had_wait(&self) -> bool {
        !self.waits.is_empty()
    }

    pub(super) fn wait_of(&self, agent: usize) -> Option<Waited> {
        self.waits.iter().find(|wait| wait.by.agent == agent).copied()
    }
}
