//! Finds operations on an mbarrier that another schedule would put into another phase.
//!
//! - A wait for a phase must be ordered after the end of the phase before. A GPU tells only odd
//!   phases from even ones, and takes a phase that has not begun for over. The same holds for
//!   expected bytes and for copies. (Arrivals are exempt: a phase ends with their number, so the
//!   arrivals of two warps may swap phases, as when a reader releases its stage to several blocks.)
//! - A wait for a phase must be ordered before the end of the next one, which a GPU takes for the
//!   phase before. So an operation that the next phase needs must be ordered after the wait.
//! - Bytes must be expected before their phase ends, and `hold_until_copied` must come before that.
//!   So an operation that the phase needs must be ordered after them.
//!
//! Here "ordered" means progress in every schedule, not visible writes: see
//! [`Order::has_come`].

use crate::engine::findings::{BarrierMisuse, Misuse};
use crate::engine::memory::order::Order;
use crate::engine::memory::race::{Access, Lanes};
use crate::engine::warps::block::BlockState;
use std::collections::HashSet;
use std::vec::Vec;

/// The operations on an mbarrier in its current phase and in the two before.
#[derive(Default)]
pub(super) struct PhaseOrder {
    /// The current phase.
    current: PhaseRecord,
    /// Operations that expected bytes of the current phase.
    expected: Vec<Expected>,
    /// The bytes of each copy of the current phase.
    copies: Vec<i64>,
    /// Each warp's last `hold_until_copied` in the current phase.
    held: Vec<Ordered>,
    /// The phase before the current one.
    last: PhaseRecord,
    /// The phase before that.
    before_last: PhaseRecord,
    /// The operations that another schedule would put into another phase.
    unordered: Vec<Unordered>,
}

/// The operations on a phase.
#[derive(Default)]
struct PhaseRecord {
    /// Each warp's last arrival.
    arrivals: Vec<Access>,
    /// Whether the phase needs copies, too.
    needs_copies: bool,
    /// Each warp's last wait for it.
    waits: Vec<Ordered>,
}

/// An operation, and whether the current phase needs an operation that is ordered after it.
struct Ordered {
    by: Access,
    is_before_end: bool,
}

/// An operation that expected bytes.
struct Expected {
    operation: Ordered,
    bytes: u32,
    /// The bytes that other operations expect and that are not ordered after this one.
    expected_before: i64,
    /// The bytes of each copy that is not ordered after this operation.
    copies_before: Vec<i64>,
}

impl Expected {
    /// Whether the phase may end without this operation. All its arrivals may come before, and
    /// some of the copies complete all bytes that are expected so far.
    fn is_late(&self) -> bool {
        if self.operation.is_before_end {
            return false;
        }
        let mut sums = HashSet::from([0]);
        for bytes in &self.copies_before {
            let with: Vec<i64> = sums.iter().map(|sum| sum + bytes).collect();
            sums.extend(with);
            if sums.len() > MOST_SUMS {
                return self.copies_before.iter().sum::<i64>() == self.expected_before;
            }
        }
        sums.contains(&self.expected_before)
    }
}

/// The sums of some copies' bytes that are compared. With more different sums, only that of all
/// copies counts.
const MOST_SUMS: usize = 1 << 12;

/// An operation that is not ordered relative to the end of a phase.
enum Unordered {
    /// An operation, and the end of the phase before its own.
    Early { by: Access },
    /// A wait, and the end of the next phase by this last arrival.
    Wait { by: Access, arrival: Access },
    /// An operation that expected bytes, and the end of their phase.
    Expected { by: Access, bytes: u32 },
    /// A `hold_until_copied`, and the end of its phase.
    Held { by: Access },
}

/// An operation that the current phase needs.
#[derive(Clone, Copy)]
pub(super) enum Needed {
    Arrival,
    /// An arrival when the warp's copies have landed.
    LaterArrival,
    /// Bytes that a copy completes.
    Bytes(i64),
}

impl PhaseRecord {
    /// Whether the author of an operation that is made now knows that the phase is over: by a wait
    /// for it, or because all arrivals come before.
    fn is_over_before(&self, by: &Access, order: &Order) -> bool {
        self.waits.iter().any(|wait| order.has_come(by, &wait.by))
            || !self.needs_copies && self.arrivals.iter().all(|other| order.has_come(by, other))
    }
}

/// Whether a thread that makes an operation now knows that an earlier one has happened. The lanes
/// of a warp know of each other what `warp.sync` and mbarriers tell them.
fn follows(by: &Access, earlier: &Access, order: &Order) -> bool {
    let is_other_lane = matches!(
        (by.by, earlier.by),
        (Lanes::One(lane), Lanes::One(other)) if lane != other
    );
    if by.agent == earlier.agent && is_other_lane {
        earlier.is_before(by, order)
    } else {
        order.has_come(by, earlier)
    }
}

/// Puts an operation in the place of an earlier one of the same warp.
fn replace<T>(all: &mut Vec<T>, with: T, by: impl Fn(&T) -> &Access) {
    all.retain(|other| by(other).agent != by(&with).agent);
    all.push(with);
}

impl PhaseOrder {
    /// Records a wait for the phase before the current one.
    pub(super) fn wait(&mut self, by: Access, order: &Order) {
        if !self.before_last.is_over_before(&by, order) {
            self.unordered.push(Unordered::Early { by });
        }
        replace(&mut self.last.waits, Ordered { by, is_before_end: false }, |wait| &wait.by);
    }

    /// Records that the current phase expects further bytes.
    pub(super) fn expect(&mut self, by: Access, bytes: u32, order: &Order) {
        if bytes == 0 {
            return;
        }
        self.begin(by, order);
        let expected_before = self.expected.iter().map(|of| i64::from(of.bytes)).sum();
        for of in &mut self.expected {
            if !follows(&by, &of.operation.by, order) {
                of.expected_before += i64::from(bytes);
            }
        }
        let operation = Ordered { by, is_before_end: false };
        let copies_before = self.copies.clone();
        self.expected.push(Expected { operation, bytes, expected_before, copies_before });
    }

    /// Records that an arrival waits for the copies of a warp, and that the current phase needs it
    /// too.
    pub(super) fn hold(&mut self, by: Access) {
        replace(&mut self.held, Ordered { by, is_before_end: false }, |held| &held.by);
    }

    /// Records the arrival, or the start of the copy, of a warp.
    pub(super) fn need(&mut self, by: Access, needed: Needed, order: &Order) {
        if matches!(needed, Needed::Bytes(_)) {
            self.begin(by, order);
        }
        for wait in &mut self.last.waits {
            wait.is_before_end = wait.is_before_end || order.has_come(&by, &wait.by);
        }
        for of in &mut self.expected {
            let is_after = follows(&by, &of.operation.by, order);
            match needed {
                Needed::Arrival | Needed::LaterArrival => of.operation.is_before_end |= is_after,
                Needed::Bytes(bytes) if !is_after => of.copies_before.push(bytes),
                Needed::Bytes(_) => {}
            }
        }
        match needed {
            Needed::Arrival => {
                for held in &mut self.held {
                    held.is_before_end |= follows(&by, &held.by, order);
                }
            }
            Needed::LaterArrival => self.current.needs_copies = true,
            Needed::Bytes(bytes) => {
                self.copies.push(bytes);
                self.current.needs_copies = true;
            }
        }
        if !matches!(needed, Needed::Bytes(_)) {
            replace(&mut self.current.arrivals, by, |by| by);
        }
    }

    /// Checks an operation in the current phase.
    fn begin(&mut self, by: Access, order: &Order) {
        if !self.last.is_over_before(&by, order) {
            self.unordered.push(Unordered::Early { by });
        }
    }

    /// Ends the current phase.
    pub(super) fn end_phase(&mut self) {
        let ended = std::mem::take(&mut self.current);
        self.copies.clear();
        let late = self.expected.drain(..).filter(Expected::is_late);
        self.unordered
            .extend(late.map(|of| Unordered::Expected { by: of.operation.by, bytes: of.bytes }));
        let late = self.held.drain(..).filter(|held| !held.is_before_end);
        self.unordered.extend(late.map(|held| Unordered::Held { by: held.by }));
        if let Some(&arrival) = ended.arrivals.last() {
            let waits = self.last.waits.iter().filter(|wait| !wait.is_before_end);
            self.unordered.extend(waits.map(|wait| Unordered::Wait { by: wait.by, arrival }));
        }
        self.before_last = std::mem::replace(&mut self.last, ended);
    }

    /// Reports the operations that another schedule would put into another phase, for the barrier
    /// at this address of a block.
    pub(super) fn report(&mut self, block: &BlockState, address: u32) {
        let findings = &block.findings;
        for unordered in self.unordered.drain(..) {
            let misuse = |misuse| Misuse::Barrier { address, misuse };
            let (by, misuse) = match unordered {
                Unordered::Early { by } => (by, misuse(BarrierMisuse::MayBeEarly)),
                Unordered::Expected { by, bytes } => {
                    (by, misuse(BarrierMisuse::ExpectedLate { bytes }))
                }
                Unordered::Held { by } => (by, misuse(BarrierMisuse::HeldLate)),
                Unordered::Wait { by, arrival } => {
                    (arrival, Misuse::PhaseMayEnd { address, wait: findings.actor(by) })
                }
            };
            findings.note_suspected(by, misuse.in_memory_of(block.rank, findings.rank(by)));
        }
    }
}
