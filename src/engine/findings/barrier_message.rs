//! Report text about mbarriers.

use super::cause::PHASE_BEFORE_FIRST;
use super::misuse::BarrierMisuse;
use super::names::Namer;
use std::format;
use std::string::String;

/// The missing parts of a phase: "1 of 2 arrivals missing; 512 bytes more arrived than were
/// expected".
pub(super) fn phase_lacks(of: u32, arrivals: u32, bytes: i64) -> String {
    let arrivals = match arrivals {
        0 => "all arrivals have come".into(),
        _ => format!("{arrivals} of {of} arrivals missing"),
    };
    match bytes {
        0 => arrivals,
        1.. => format!("{arrivals}; {bytes} of the bytes that it expects have not come"),
        _ => format!("{arrivals}; {} bytes more arrived than were expected", -bytes),
    }
}

/// The name of a phase in reports.
pub(super) fn phase(number: u32) -> String {
    match number {
        PHASE_BEFORE_FIRST => "the phase before the first".into(),
        _ => format!("phase {number}"),
    }
}

pub(super) fn phases(count: u32) -> &'static str {
    if count == 1 { "phase" } else { "phases" }
}

/// The predicate of a sentence about an mbarrier: follows the barrier's name.
pub(super) fn barrier(misuse: BarrierMisuse, names: Namer) -> String {
    match misuse {
        BarrierMisuse::Uninitialised => "is used, and nothing has initialised it".into(),
        BarrierMisuse::Unfenced => {
            "is to be signalled by a copy, and no fence follows its initialisation".into()
        }
        BarrierMisuse::InitialisedAgain => "is initialised again while it is in use".into(),
        BarrierMisuse::ArrivalOfAnother { address } => {
            format!(
                "is waited for with the state of an arrival at another, {}",
                names.barrier(address)
            )
        }
        BarrierMisuse::Count { count } => format!("cannot count {count} arrivals"),
        BarrierMisuse::TooManyArrivals { of } => {
            format!("gets more arrivals in a phase than its count, which is {of}")
        }
        BarrierMisuse::TooManyBytes { bytes } => format!("cannot wait for {bytes} bytes"),
        BarrierMisuse::UnexpectedBytes { bytes } => {
            format!("gets {bytes} bytes more than its phase expects")
        }
        BarrierMisuse::MayBeEarly => {
            "may still be in the phase before: nothing orders this after that phase's end".into()
        }
        BarrierMisuse::ExpectedLate { bytes } => {
            format!("may be in the next phase when it is to expect {bytes} bytes more")
        }
        BarrierMisuse::HeldLate => {
            "may be in the next phase when `hold_until_copied` adds an arrival".into()
        }
        BarrierMisuse::PhaseMissed { behind } => {
            format!("is waited for too late: it is {behind} {} further", phases(behind))
        }
        BarrierMisuse::PhaseAhead { ahead } => {
            format!(
                "is waited for too early: {ahead} {} before the awaited one {} not ended",
                phases(ahead),
                if ahead == 1 { "has" } else { "have" }
            )
        }
    }
}

/// The help line of a misused mbarrier.
pub(super) fn barrier_help(misuse: BarrierMisuse) -> &'static str {
    match misuse {
        BarrierMisuse::Uninitialised => {
            "one thread initialises it, once, and the block waits at a `sync` before others use it"
        }
        BarrierMisuse::Unfenced => {
            "the thread that initialises it executes `fence.mbarrier_init` after that, before the \
             `sync`"
        }
        BarrierMisuse::InitialisedAgain => {
            "initialise it once, before the loop, and count phases; or end it by `invalidate` \
             before it is initialised again"
        }
        BarrierMisuse::ArrivalOfAnother { .. } => "wait at the barrier that was arrived at",
        BarrierMisuse::Count { .. } => "a phase has from 1 to 1048575 arrivals",
        BarrierMisuse::TooManyArrivals { .. } => {
            "initialise it for as many arrivals as a phase gets; who has arrived waits for the \
             phase before it arrives again"
        }
        BarrierMisuse::TooManyBytes { .. } => "a phase has at most 1048575 bytes",
        BarrierMisuse::UnexpectedBytes { .. } => {
            "expect as many bytes as the copies of the phase complete; one lane starts a copy \
             (`Warp::elect`)"
        }
        BarrierMisuse::MayBeEarly => {
            "wait for the phase before, or for an operation of a warp that has waited for it; a \
             barrier that several warps use counts an arrival of each"
        }
        BarrierMisuse::ExpectedLate { .. } => {
            "expect the bytes before the last arrival of the phase, with a `warp.sync` between \
             lanes: `arrive_expecting` those of all copies; or initialise the barrier for an \
             arrival of each thread that expects bytes"
        }
        BarrierMisuse::HeldLate => {
            "arrive after it, by the same lane, and count this arrival: the phase cannot end before"
        }
        BarrierMisuse::PhaseMissed { .. } => {
            "a phase must not end before all have waited for the one before: let them arrive at \
             another barrier, and wait for that; and phases count on from tile to tile, so a \
             `PipelineState` must not start again"
        }
        BarrierMisuse::PhaseAhead { .. } => {
            "wait for each phase in turn: a GPU tells only odd phases from even ones, so it takes \
             this one for over"
        }
    }
}
