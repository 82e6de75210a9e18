//! Causes: the mistake behind a misuse, if its line is not the line to correct.

use super::error::Finding;
use super::misuse::{Agent, BarrierMisuse, Misuse, Place};
use super::names::split_address;
use crate::lane::Grid;
use std::vec::Vec;

/// A warp, or one of its lanes, with the source line of its action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Its block, if the cluster has several.
    pub block: Option<Grid>,
    /// The warp.
    pub warp: usize,
    /// The lane, if one lane did it.
    pub lane: Option<usize>,
    /// The line.
    pub place: Place,
}

/// The number of the phase before an mbarrier's first one, which is over from the start.
pub const PHASE_BEFORE_FIRST: u32 = u32::MAX;

/// An mbarrier and one of its phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BarrierPhase {
    /// The barrier's address.
    pub barrier: u32,
    /// The phase, counted from 0, or [`PHASE_BEFORE_FIRST`].
    pub phase: u32,
}

/// An arrival at an mbarrier, or a wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BarrierUse {
    /// The barrier's address.
    pub barrier: u32,
    /// The author.
    pub by: Actor,
}

/// An arrival in a phase of an mbarrier, or a wait for the phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseUse {
    /// The phase, counted from 0.
    pub phase: u32,
    /// The author.
    pub by: Actor,
}

/// Why a warp is ahead of another one, which waits for its arrivals at an mbarrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ahead {
    /// It waits for a phase that was over before.
    WaitedForOver(WaitForOver),
    /// It does not wait for the other warp.
    NotWaited {
        /// An arrival of the other warp. `None` before its first one.
        arrival: Option<BarrierUse>,
    },
}

impl Ahead {
    /// Whether a wait, or the barrier of a missing one, is known.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self, Ahead::NotWaited { arrival: None })
    }
}

/// A wait for a phase of an mbarrier that was over before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitForOver {
    /// The wait.
    pub wait: Actor,
    /// The barrier's address.
    pub barrier: u32,
    /// The phase of the wait, or [`PHASE_BEFORE_FIRST`].
    pub waited: u32,
    /// Whether the warp had waited for that phase before.
    pub again: bool,
}

/// A phase of an mbarrier that ends too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlyEnd {
    /// The phase, counted from 0.
    pub phase: u32,
    /// The barrier and the phase of the copies to the stage, which are not over.
    pub copies: BarrierPhase,
}

/// The mistake behind a misuse. A finding with a cause is reported at the mistake's line.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// The copies that signal a phase of an mbarrier differ from its expected bytes.
    Bytes {
        /// The barrier's address.
        barrier: u32,
        /// The phase.
        phase: u32,
        /// The bytes that the phase expects.
        expected: i64,
        /// The last operation that set them.
        expected_by: Option<Actor>,
        /// The bytes of the copies, by the line that starts them.
        copies: Vec<(Place, i64)>,
        /// Whether the phase has ended, and some copies land later.
        has_ended: bool,
    },
    /// A warp that starts copies arrives for the next phase before the last copy's phase is over.
    RunsAhead {
        /// The barrier's address.
        barrier: u32,
        /// The phase that is still running.
        phase: u32,
        /// The warp's first arrival in that phase.
        first: Actor,
        /// The wait between the two arrivals, if there is one, and its phase. That phase was over
        /// before.
        wait: Option<(BarrierPhase, Actor)>,
        /// An arrival by which a reader releases the stage, if known.
        release: Option<BarrierUse>,
    },
    /// A phase of an mbarrier ends before a warp has waited for the phase before it.
    PhaseOverrun {
        /// The barrier's address.
        barrier: u32,
        /// The phase that is waited for.
        waited: u32,
        /// The wait, which comes too late.
        wait: Actor,
        /// The number of phases that ended since.
        behind: u32,
        /// An arrival of the warp that is ahead; if none is known to be, one in the last phase.
        arrival: Actor,
        /// Why its author is ahead, if known.
        ahead: Option<Ahead>,
    },
    /// Copies that signal one phase of an mbarrier fill a place twice, and complete more bytes than
    /// the phase expects: the same copy twice, or copies of several rounds.
    FilledTwice {
        /// The barrier's address.
        barrier: u32,
        /// The phase.
        phase: u32,
        /// The start of the first of the two copies.
        first: Actor,
        /// The start of the second one.
        again: Actor,
    },
    /// A lane arrives more than once in a phase of an mbarrier. So the phase ends before others
    /// arrive.
    ArrivedTwice {
        /// The barrier's address.
        barrier: u32,
        /// The phase.
        phase: u32,
        /// The barrier's count: arrivals of a phase.
        of: u32,
        /// The first of the two arrivals.
        first: Actor,
        /// The second one.
        again: Actor,
    },
    /// More lanes of a warp arrive at once than a phase of an mbarrier has arrivals.
    ArrivedByLanes {
        /// The barrier's address.
        barrier: u32,
        /// The barrier's count: arrivals of a phase.
        of: u32,
        /// The number of lanes.
        lanes: u32,
        /// The last of these arrivals.
        last: Actor,
    },
    /// A warp releases a stage before it has waited for the copies to it. So the phase by which the
    /// readers release the stage ends while these copies are in flight.
    ReleasedUnfilled {
        /// The address of the barrier at which it arrives.
        barrier: u32,
        /// The phase of the arrival.
        phase: u32,
        /// The arrival.
        release: Actor,
        /// The barrier that the copies signal, and its phase.
        copies: BarrierPhase,
    },
    /// More warps arrive at an mbarrier than its count allows in a phase. Or a phase ends before
    /// all readers of a stage have arrived.
    Count {
        /// The barrier's address.
        barrier: u32,
        /// The barrier's count: arrivals of a phase.
        of: u32,
        /// The initialisation.
        made: Actor,
        /// Each warp's last arrival.
        arrivals: Vec<Actor>,
        /// The number of these arrivals, of each lane.
        number: u32,
        /// The phase that ended too early. `None` if the number of warps shows the mistake.
        early: Option<EarlyEnd>,
    },
    /// Shared memory is read before its copy has landed, or refilled before it was read.
    Handover {
        /// The premature operation.
        mistake: Mistake,
        /// The address of a byte of the memory.
        address: u32,
        /// The reader.
        read: Actor,
        /// The start of the copy.
        copy: Option<Actor>,
        /// The mbarrier that the copy signals, and its phase at that time.
        signals: Option<BarrierPhase>,
    },
}

/// The operation that is too early where mbarriers guard memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Mistake {
    /// The reader did not wait for the copy.
    NotWaited {
        /// Its last wait for the copy's barrier.
        last: Option<PhaseUse>,
        /// Its wait for another barrier, which a copy started at the same line signals.
        instead: Option<BarrierUse>,
    },
    /// The reader waits for a phase that was over before.
    WaitedForOver(WaitForOver),
    /// The reader releases the memory, and reads it after that.
    ReleasedEarly {
        /// The arrival.
        release: Actor,
        /// The barrier of the arrival.
        barrier: u32,
    },
    /// A lane of the reading warp releases the memory, and is not ordered after the reads of the
    /// other lanes.
    ReleasedWithoutSync {
        /// The arrival.
        release: Actor,
        /// The barrier of the arrival.
        barrier: u32,
    },
    /// The copying warp did not wait for any operation of the reader after its read.
    NotReleased {
        /// The reader's arrival after its read, if there is one.
        release: Option<BarrierUse>,
    },
    /// The copying warp waits for a phase that was over before.
    RefilledBehindOver {
        /// The wait.
        wait: Actor,
        /// The barrier.
        barrier: u32,
        /// The phase of the wait.
        waited: u32,
    },
    /// The copying warp waited for a phase that ended without the reader.
    ReaderNotCounted {
        /// The wait.
        wait: Actor,
        /// The barrier.
        barrier: u32,
        /// The phase of the wait.
        waited: u32,
        /// The barrier's count: arrivals of a phase.
        of: u32,
        /// The initialisation.
        made: Actor,
    },
}

impl Cause {
    /// The author of the mistake; `None` if it is the finding's own author.
    pub(super) fn blamed(&self) -> Option<&Actor> {
        match self {
            Cause::Bytes { expected_by, .. } => expected_by.as_ref(),
            Cause::RunsAhead { wait, .. } => wait.as_ref().map(|(_, wait)| wait),
            Cause::Count { made, .. } => Some(made),
            Cause::ReleasedUnfilled { release, .. } => Some(release),
            Cause::ArrivedTwice { again, .. } | Cause::FilledTwice { again, .. } => Some(again),
            Cause::PhaseOverrun { wait, arrival, ahead, .. } => Some(match ahead {
                Some(Ahead::WaitedForOver(over)) => &over.wait,
                Some(Ahead::NotWaited { .. }) => arrival,
                None => wait,
            }),
            Cause::ArrivedByLanes { last, .. } => Some(last),
            Cause::Handover { mistake, read, copy, .. } => match mistake {
                Mistake::NotWaited { .. } => Some(read),
                Mistake::WaitedForOver(over) => Some(&over.wait),
                Mistake::ReleasedEarly { release, .. }
                | Mistake::ReleasedWithoutSync { release, .. } => Some(release),
                Mistake::NotReleased { .. } => copy.as_ref(),
                Mistake::RefilledBehindOver { wait, .. } => Some(wait),
                Mistake::ReaderNotCounted { made, .. } => Some(made),
            },
        }
    }

    /// Whether it names the wait that is wrong, or the barrier of a missing one.
    pub(crate) fn names_wait(&self) -> bool {
        matches!(self, Cause::PhaseOverrun { ahead: Some(ahead), .. } if ahead.is_known())
    }

    /// Whether warps wait for its barrier. Then a wait without end may be its consequence.
    pub(super) fn is_of_barrier(&self) -> bool {
        !matches!(self, Cause::Handover { signals: None, .. })
    }

    /// Whether the arrival by which the readers release the memory is unknown.
    pub(super) fn lacks_release(&self) -> bool {
        match self {
            Cause::RunsAhead { wait: None, release: None, .. } => true,
            Cause::Handover {
                mistake: Mistake::NotReleased { release: None }, signals, ..
            } => signals.is_some(),
            _ => false,
        }
    }

    /// Sets the arrival by which the readers release the memory.
    pub(super) fn set_release(&mut self, to: BarrierUse) {
        if let Cause::RunsAhead { release, .. }
        | Cause::Handover { mistake: Mistake::NotReleased { release }, .. } = self
        {
            *release = Some(to);
        }
    }

    /// Whether the mistake is a consequence of another one.
    pub(super) fn follows_from(&self, other: &Cause) -> bool {
        // The reader is out of step with the copies.
        let early_read = match other {
            Cause::Handover {
                mistake: Mistake::NotWaited { .. } | Mistake::WaitedForOver(_),
                copy,
                signals,
                ..
            } => Some((copy, signals)),
            _ => None,
        };
        match self {
            // No reader waits for the phase that is to end.
            Cause::RunsAhead { barrier, .. } => early_read
                .is_some_and(|(_, signals)| signals.is_some_and(|of| of.barrier == *barrier)),
            // A phase that ends too early lets the copies of the next round start too early.
            Cause::Bytes { .. } | Cause::FilledTwice { .. } => {
                matches!(
                    other,
                    Cause::Count { .. }
                        | Cause::ArrivedTwice { .. }
                        | Cause::ArrivedByLanes { .. }
                        | Cause::ReleasedUnfilled { .. }
                )
            }
            Cause::PhaseOverrun { .. } => !matches!(other, Cause::PhaseOverrun { .. }),
            // A reader that does not wait releases the stage again and again.
            Cause::ArrivedTwice { .. } | Cause::ReleasedUnfilled { .. } => early_read.is_some(),
            Cause::Handover {
                mistake: Mistake::NotWaited { .. } | Mistake::WaitedForOver(_),
                ..
            } => false,
            Cause::Handover { mistake, copy, .. } => {
                let is_of_early_read = early_read.is_some_and(|(of, _)| {
                    of.as_ref().map(|of| &of.place) == copy.as_ref().map(|of| &of.place)
                });
                // Another copy to the stage that is released too early.
                let is_of_early_release = matches!(
                    (mistake, other),
                    (
                        Mistake::NotReleased { release: Some(release) },
                        Cause::Handover {
                            mistake: Mistake::ReleasedEarly { release: early, .. }, ..
                        },
                    ) if release.by.place == early.place
                );
                is_of_early_read || is_of_early_release
            }
            _ => false,
        }
    }

    /// Whether both are the same mistake. The caller compares the places.
    pub(super) fn is_like(&self, other: &Cause) -> bool {
        match (self, other) {
            (Cause::Handover { mistake: one, .. }, Cause::Handover { mistake: other, .. }) => {
                std::mem::discriminant(one) == std::mem::discriminant(other)
            }
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        }
    }
}

impl Finding {
    /// Whether the finding names the mistake: by its cause, or as an access to a block that may not
    /// run yet.
    pub(super) fn is_mistake(&self) -> bool {
        self.cause.is_some() || matches!(self.misuse, Misuse::PeerNotStarted { .. })
    }

    /// Whether the finding may follow from an access to a block that may not run yet: unwritten
    /// memory, or a race with a warp of that block.
    pub(super) fn is_of_peer_not_started(&self) -> bool {
        let Misuse::Race { other, .. } = self.misuse else {
            let of_peer = |address: u32| split_address(address).0.is_some();
            return matches!(self.misuse, Misuse::SharedUnwritten { .. })
                || matches!(
                    self.misuse,
                    Misuse::Barrier { address, misuse: BarrierMisuse::Uninitialised }
                        if of_peer(address)
                );
        };
        self.cause.is_none() && matches!(other, Agent::WarpOfPeer { .. })
    }

    /// Whether the finding may follow from a mistake that another finding names: copies that no
    /// warp waits for, or waits without end.
    pub(super) fn is_consequence(&self) -> bool {
        self.cause.is_none()
            && matches!(
                self.misuse,
                Misuse::BulkUnfinished
                    | Misuse::Panic { .. }
                    | Misuse::Deadlock { .. }
                    | Misuse::SharedUnwritten { .. }
                    | Misuse::Barrier {
                        misuse: BarrierMisuse::PhaseMissed { .. }
                            | BarrierMisuse::PhaseAhead { .. }
                            | BarrierMisuse::TooManyArrivals { .. },
                        ..
                    }
            )
    }
}
