//! Why something went wrong, where the line that shows it is not the line to mend.

use super::error::Finding;
use super::misuse::{Agent, BarrierMisuse, Misuse, Place};
use crate::lane::Grid;
use std::vec::Vec;

/// A warp, or a lane of it, that did something, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Its block, in a cluster of several.
    pub block: Option<Grid>,
    /// The warp.
    pub warp: usize,
    /// The lane, if one lane did it.
    pub lane: Option<usize>,
    /// The line.
    pub place: Place,
}

/// The mistake behind a misuse. A finding that has one is reported at the mistake's line.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// The copies that tell a phase of an mbarrier bring other bytes than it was told to expect.
    Bytes {
        /// The barrier's address.
        barrier: u32,
        /// The phase.
        phase: u32,
        /// The bytes that it was told to expect.
        expected: i64,
        /// Who told it so last.
        expected_by: Option<Actor>,
        /// The bytes that copies bring, by the line that starts them.
        copies: Vec<(Place, i64)>,
        /// Whether the phase has ended, and some of them come later.
        has_ended: bool,
    },
    /// Who starts the copies that tell an mbarrier arrives for the next one before the phase of the
    /// last one is over.
    RunsAhead {
        /// The barrier's address.
        barrier: u32,
        /// The phase that is not over.
        phase: u32,
        /// The arrival in that phase.
        first: Actor,
        /// The barrier that it waited for between the two, the phase, and where; nothing, if it
        /// has waited for none. That phase was over before.
        wait: Option<(u32, u32, Actor)>,
    },
    /// More warps arrive at an mbarrier than it has arrivals in a phase.
    Count {
        /// The barrier's address.
        barrier: u32,
        /// Arrivals of a phase.
        of: u32,
        /// Who initialised it.
        made: Actor,
        /// Each warp's last arrival.
        arrivals: Vec<Actor>,
    },
    /// A part of shared memory is read before its copy has come, or copied to before it was read.
    Handover {
        /// What is done too early.
        mistake: Mistake,
        /// A byte of the memory.
        address: u32,
        /// Who reads it.
        read: Actor,
        /// Who copies to it.
        copy: Option<Actor>,
        /// The mbarrier that the copy tells, and its phase then.
        told: Option<(u32, u32)>,
    },
}

/// What is done too early where memory is handed over by mbarriers.
#[derive(Debug, Clone, PartialEq)]
pub enum Mistake {
    /// The reader has not waited for the copy.
    NotWaited {
        /// The phase of the copy's barrier that it waited for last.
        last: Option<(u32, Actor)>,
    },
    /// The reader waits for a phase that was over before.
    WaitedForOver {
        /// The wait.
        wait: Actor,
        /// The barrier.
        barrier: u32,
        /// The phase that was waited for; the one before the first is `u32::MAX`.
        waited: u32,
        /// Whether it had waited for that phase before.
        again: bool,
    },
    /// The reader tells a barrier that it has read, and reads behind that.
    ReleasedEarly {
        /// The arrival.
        release: Actor,
        /// Where it arrives.
        barrier: u32,
    },
    /// Who copies has waited for nothing that the reader does behind its read.
    NotReleased {
        /// The barrier that the reader arrives at behind its read, and where, if it has.
        release: Option<(u32, Actor)>,
    },
    /// Who copies waits for a phase that was over before.
    RefilledBehindOver {
        /// The wait.
        wait: Actor,
        /// The barrier.
        barrier: u32,
        /// The phase that was waited for.
        waited: u32,
    },
    /// Who copies has waited for a phase that ended without the reader.
    ReaderNotCounted {
        /// The wait.
        wait: Actor,
        /// The barrier.
        barrier: u32,
        /// The phase that was waited for.
        waited: u32,
        /// Arrivals that a phase of it needs.
        of: u32,
        /// Who initialised it.
        made: Actor,
    },
}

impl Cause {
    /// Who made the mistake; none, where it is who is found anyway.
    pub(super) fn blamed(&self) -> Option<&Actor> {
        match self {
            Cause::Bytes { expected_by, .. } => expected_by.as_ref(),
            Cause::RunsAhead { wait, .. } => wait.as_ref().map(|(.., wait)| wait),
            Cause::Count { made, .. } => Some(made),
            Cause::Handover { mistake, read, copy, .. } => match mistake {
                Mistake::NotWaited { .. } => Some(read),
                Mistake::WaitedForOver { wait, .. } => Some(wait),
                Mistake::ReleasedEarly { release, .. } => Some(release),
                Mistake::NotReleased { .. } => copy.as_ref(),
                Mistake::RefilledBehindOver { wait, .. } => Some(wait),
                Mistake::ReaderNotCounted { made, .. } => Some(made),
            },
        }
    }

    /// Whether it is of a barrier that warps wait for: who waits in vain, may do so because of it.
    pub(super) fn is_of_barrier(&self) -> bool {
        !matches!(self, Cause::Handover { told: None, .. })
    }

    /// Whether it is the same mistake: found with the finding's place.
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
    /// Whether it names the mistake: that of its cause, or access to a block of which nothing says
    /// that it runs.
    pub(super) fn is_mistake(&self) -> bool {
        self.cause.is_some() || matches!(self.misuse, Misuse::PeerNotStarted { .. })
    }

    /// Whether it is what comes of access to a block that may not run yet: what that has not
    /// written, or writes then.
    pub(super) fn is_of_peer_not_started(&self) -> bool {
        let Misuse::Race { other, .. } = self.misuse else {
            return matches!(self.misuse, Misuse::SharedUnwritten { .. });
        };
        self.cause.is_none() && matches!(other, Agent::WarpOfPeer { .. })
    }

    /// Whether it is what comes of a mistake that another finding names: copies that nobody waits
    /// for, warps that wait in vain.
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
