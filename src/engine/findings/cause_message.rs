//! Report text about causes.

use super::barrier_message::{phase, phases};
use super::cause::{
    Actor, Ahead, BarrierUse, Cause, EarlyEnd, Mistake, PHASE_BEFORE_FIRST, PhaseUse, WaitForOver,
};
use super::names::Namer;
use super::notes::of;
use crate::lane::LANES;
use std::fmt;
use std::format;
use std::string::String;

/// "warp 1 of block (1, 0, 0)".
fn who(actor: &Actor) -> String {
    format!("warp {}{}", actor.warp, of(actor.block))
}

fn brought(copies: &[(super::Place, i64)]) -> i64 {
    copies.iter().map(|(_, bytes)| bytes).sum()
}

/// The title for a wait for a phase that was over before.
fn for_over(f: &mut fmt::Formatter<'_>, over: &WaitForOver, names: Namer) -> fmt::Result {
    let barrier = names.barrier(over.barrier);
    if over.waited == PHASE_BEFORE_FIRST && !over.again {
        return write!(
            f,
            "a wait that waits for nothing: the phase before the first of {barrier} is over from \
             the beginning"
        );
    }
    let again = if over.again { ", and this warp has waited for it before" } else { "" };
    let phase = phase(over.waited);
    write!(f, "a wait for a phase that is over already: {phase} of {barrier}{again}")
}

/// The help line for a wait for a phase that was over before.
fn for_over_help(over: &WaitForOver) -> String {
    if over.waited == PHASE_BEFORE_FIRST && !over.again {
        "who reads waits for `Phase::FIRST` first; the phase before it is for who waits for memory \
         that is free at first"
            .into()
    } else {
        "wait for the next phase: keep the phase that `wait` returns, for each barrier by itself, \
         or take it from `PipelineState`"
            .into()
    }
}

/// The title of a report.
pub(super) fn title(f: &mut fmt::Formatter<'_>, cause: &Cause, names: Namer) -> fmt::Result {
    match cause {
        Cause::Bytes { barrier, phase, expected: 0, copies, .. } => {
            write!(
                f,
                "phase {phase} of {} ended with 0 bytes expected, and ",
                names.barrier(*barrier)
            )?;
            match &copies[..] {
                [(place, bytes)] => write!(f, "the copy started at {place} completes {bytes}"),
                _ => write!(f, "the copies that signal it complete {}", brought(copies)),
            }
        }
        Cause::Bytes { barrier, phase, expected, copies, .. } => {
            write!(
                f,
                "phase {phase} of {} expects {expected} bytes, and ",
                names.barrier(*barrier)
            )?;
            match brought(copies) {
                0 => f.write_str("no copy signals it"),
                brought => write!(f, "the copies that signal it complete {brought}"),
            }
        }
        Cause::RunsAhead { barrier, phase, first, wait: Some((waited, _)), .. } => {
            let (barrier, of) = (names.barrier(*barrier), names.barrier(waited.barrier));
            write!(
                f,
                "a wait for a phase that is over already: {} of {of}; ",
                self::phase(waited.phase)
            )?;
            write!(
                f,
                "after it {} fills a stage again, and phase {phase} of {barrier} is not over",
                who(first)
            )
        }
        Cause::RunsAhead { barrier, phase, first, wait: None, release } => {
            let (barrier, who) = (names.barrier(*barrier), who(first));
            match release {
                Some(release) => write!(
                    f,
                    "the stage of {barrier} is refilled without a wait for {}: ",
                    names.barrier(release.barrier)
                )?,
                None => write!(
                    f,
                    "the stage of {barrier} is refilled without a wait for its release: "
                )?,
            }
            write!(f, "{who} arrives at {barrier} again, and its phase {phase} is not over")
        }
        Cause::PhaseOverrun { ahead: Some(Ahead::WaitedForOver(over)), .. } => {
            for_over(f, over, names)
        }
        Cause::PhaseOverrun {
            barrier, wait, ahead: Some(Ahead::NotWaited { arrival }), ..
        } => {
            let (at, other) = (names.barrier(*barrier), arrival.as_ref());
            let other = other.map_or_else(|| who(wait), |of| names.barrier(of.barrier));
            write!(f, "no wait for {other} is before the arrival at {at}")
        }
        Cause::PhaseOverrun { barrier, waited, wait, behind, .. } => write!(
            f,
            "{} gets too many arrivals: {behind} more {} ended before {} waits for {}",
            names.barrier(*barrier),
            phases(*behind),
            who(wait),
            phase(*waited)
        ),
        Cause::FilledTwice { barrier, phase: filled, again, .. } => write!(
            f,
            "{} of {} gets too many bytes: {} copies to the same place again",
            phase(*filled),
            names.barrier(*barrier),
            who(again)
        ),
        Cause::ArrivedByLanes { barrier, of, lanes, last } => write!(
            f,
            "{} gets too many arrivals: {lanes} lanes of {} arrive, and a phase has {of}",
            names.barrier(*barrier),
            who(last)
        ),
        Cause::ArrivedTwice { barrier, phase: ended, again, .. } => write!(
            f,
            "{} gets too many arrivals: {} arrives twice in {}",
            names.barrier(*barrier),
            who(again),
            phase(*ended)
        ),
        Cause::ReleasedUnfilled { barrier, release, copies, .. } => write!(
            f,
            "a stage is released before it is filled: {} arrives at {}, and has not waited for {} \
             of {}",
            who(release),
            names.barrier(*barrier),
            phase(copies.phase),
            names.barrier(copies.barrier)
        ),
        Cause::Count { barrier, of, early: Some(EarlyEnd { phase: ended, copies }), .. } => write!(
            f,
            "{} is initialised for {of} arrival{}, which is too few: its {} ends before {} of {}",
            names.barrier(*barrier),
            if *of == 1 { "" } else { "s" },
            phase(*ended),
            phase(copies.phase),
            names.barrier(copies.barrier)
        ),
        Cause::Count { barrier, of, arrivals, number, .. } => {
            let (barrier, plural) = (names.barrier(*barrier), if *of == 1 { "" } else { "s" });
            write!(f, "{barrier} is initialised for {of} arrival{plural}, and ")?;
            match arrivals.len() {
                warps if warps == *number as usize => write!(f, "{warps} warps arrive")?,
                1 => write!(f, "{number} lanes of a warp arrive")?,
                warps => write!(f, "{number} lanes of {warps} warps arrive")?,
            }
            f.write_str(" at it: its phases end too early")
        }
        Cause::Handover { mistake, address, read, signals, .. } => {
            let memory = names.at(*address);
            match mistake {
                Mistake::NotWaited { instead: Some(waited), .. } => {
                    write!(f, "{memory} is read before the copy to it has come: ")?;
                    let signalled =
                        signals.map_or_else(|| "no barrier".into(), |of| names.barrier(of.barrier));
                    write!(
                        f,
                        "{} has waited for {}, and the copy signals {signalled}",
                        who(read),
                        names.barrier(waited.barrier)
                    )
                }
                Mistake::NotWaited { .. } => {
                    write!(f, "{memory} is read before the copy to it has come: ")?;
                    match signals {
                        Some(of) => {
                            write!(
                                f,
                                "no wait for {} of {} is before",
                                phase(of.phase),
                                names.barrier(of.barrier)
                            )
                        }
                        None => f.write_str("no wait for it is before"),
                    }
                }
                Mistake::WaitedForOver(over) => for_over(f, over, names),
                Mistake::ReleasedEarly { release, barrier } => {
                    let (releases, reads) = (who(release), who(read));
                    let of = if releases == reads {
                        "its read".into()
                    } else {
                        format!("the read by {reads}")
                    };
                    write!(
                        f,
                        "{memory} is released too early: {releases} arrives at {} before {of} is \
                         over",
                        names.barrier(*barrier)
                    )
                }
                Mistake::ReleasedWithoutSync { barrier, .. } => write!(
                    f,
                    "{memory} is released too early: {} arrives at {} with no `sync` of the warp \
                     after its reads",
                    who(read),
                    names.barrier(*barrier)
                ),
                Mistake::NotReleased { release } => {
                    write!(f, "{memory} is refilled while {} may still read it: ", who(read))?;
                    match release {
                        Some(release) => write!(
                            f,
                            "no wait for {} is before the copy",
                            names.barrier(release.barrier)
                        ),
                        None => f.write_str("no wait for its release is before the copy"),
                    }
                }
                Mistake::RefilledBehindOver { barrier, waited, .. } => {
                    let barrier = names.barrier(*barrier);
                    write!(
                        f,
                        "a wait for a phase that is over already: {} of {barrier}; ",
                        phase(*waited)
                    )?;
                    write!(f, "{memory} is refilled after it while {} may still read it", who(read))
                }
                Mistake::ReaderNotCounted { barrier, waited, of, .. } => write!(
                    f,
                    "{memory} is refilled while {} may still read it: {} of {}, which is for {of} \
                     arrival{}, ended without it",
                    who(read),
                    phase(*waited),
                    names.barrier(*barrier),
                    if *of == 1 { "" } else { "s" },
                ),
            }
        }
    }
}

/// The notes of a report: the other lines that belong to the mistake.
pub(super) fn notes(f: &mut fmt::Formatter<'_>, cause: &Cause, names: Namer) -> fmt::Result {
    match cause {
        Cause::Bytes { expected, copies, .. } => {
            if *expected == 0 && copies.len() == 1 {
                return Ok(());
            }
            copies.iter().try_for_each(|(place, bytes)| {
                write!(f, "\n   = the copy started at {place} completes {bytes}")
            })
        }
        Cause::PhaseOverrun { barrier, waited, wait, behind, ahead: Some(ahead), .. } => {
            write!(
                f,
                "\n   = {behind} more {} of {} ended before {} waits for {} at {}",
                phases(*behind),
                names.barrier(*barrier),
                who(wait),
                phase(*waited),
                wait.place
            )?;
            match ahead {
                Ahead::NotWaited { arrival: Some(BarrierUse { barrier, by }) } => {
                    let barrier = names.barrier(*barrier);
                    write!(f, "\n   = {} arrives at {barrier} at {}", who(by), by.place)
                }
                _ => Ok(()),
            }
        }
        Cause::PhaseOverrun { barrier, waited, behind, arrival, .. } => write!(
            f,
            "\n   = {} ended {} of {} at {}",
            who(arrival),
            phase(waited.wrapping_add(*behind)),
            names.barrier(*barrier),
            arrival.place
        ),
        Cause::RunsAhead { barrier, phase, first, release, .. } => {
            if let Some(BarrierUse { barrier, by }) = release {
                write!(
                    f,
                    "\n   = {} releases it at {}, by its arrival at {}",
                    who(by),
                    by.place,
                    names.barrier(*barrier)
                )?;
            }
            let barrier = names.barrier(*barrier);
            write!(
                f,
                "\n   = {} arrived in phase {phase} of {barrier} at {}",
                who(first),
                first.place
            )
        }
        Cause::FilledTwice { first, .. } => {
            write!(f, "\n   = the first copy is started at {}", first.place)
        }
        Cause::ArrivedByLanes { .. } => Ok(()),
        Cause::ArrivedTwice { of, first, .. } => {
            write!(f, "\n   = it arrives at {}, too", first.place)?;
            let plural = if *of == 1 { "" } else { "s" };
            write!(f, "\n   = the phase ends by {of} arrival{plural}, so others are missing")
        }
        Cause::ReleasedUnfilled { barrier, phase: ended, copies, .. } => write!(
            f,
            "\n   = {} of {} then ends while the copies that signal {} are in flight",
            phase(*ended),
            names.barrier(*barrier),
            names.barrier(copies.barrier)
        ),
        Cause::Count { barrier, arrivals, .. } => arrivals.iter().try_for_each(|arrival| {
            write!(
                f,
                "\n   = {} arrives at {} at {}",
                who(arrival),
                names.barrier(*barrier),
                arrival.place
            )
        }),
        Cause::Handover { mistake, address, read, copy, signals } => {
            let memory = names.at(*address);
            if !matches!(mistake, Mistake::NotWaited { .. }) {
                write!(f, "\n   = {} reads {memory} at {}", who(read), read.place)?;
            }
            if let Mistake::NotReleased { release: Some(BarrierUse { barrier, by }) } = mistake {
                let (place, barrier) = (&by.place, names.barrier(*barrier));
                write!(
                    f,
                    "\n   = {} releases it at {place}, by its arrival at {barrier}",
                    who(by)
                )?;
            }
            if let Mistake::ReaderNotCounted { wait, barrier, .. } = mistake {
                let barrier = names.barrier(*barrier);
                write!(
                    f,
                    "\n   = {} waits for {barrier} at {}, before the copy",
                    who(wait),
                    wait.place
                )?;
            }
            if let Mistake::NotWaited { instead: Some(BarrierUse { barrier, by }), .. } = mistake {
                let barrier = names.barrier(*barrier);
                write!(f, "\n   = {} waits for {barrier} at {}", who(by), by.place)?;
            }
            if let Mistake::NotWaited { last: Some(PhaseUse { phase: waited, by }), .. } = mistake {
                write!(
                    f,
                    "\n   = {} waited last for {}, at {}",
                    who(by),
                    phase(*waited),
                    by.place
                )?;
            }
            match (copy, signals) {
                (Some(copy), Some(of)) => write!(
                    f,
                    "\n   = the copy started at {}, by {}, signals {} of {}",
                    copy.place,
                    who(copy),
                    phase(of.phase),
                    names.barrier(of.barrier)
                ),
                (Some(copy), None) => {
                    write!(f, "\n   = the copy is started at {}, by {}", copy.place, who(copy))
                }
                (None, _) => Ok(()),
            }
        }
    }
}

/// The help line of a report.
pub(super) fn help(cause: &Cause, names: Namer) -> String {
    match cause {
        Cause::Bytes { expected: 0, copies, .. } => {
            let bytes = brought(copies);
            format!(
                "expect them: `arrive_expecting(lane, {bytes})` where it is `arrive`, or `expect` \
                 before it"
            )
        }
        Cause::Bytes { expected, copies, .. } => match brought(copies) {
            bytes if *expected > 0 && bytes == LANES as i64 * expected => {
                "let one lane start the copy, `warp.elect(|lane| ..)`: a copy that all 32 start \
                 counts 32 times"
                    .into()
            }
            0 => "start the copies that it waits for, or expect no bytes".into(),
            bytes => format!(
                "expect {bytes}, as many as the copies of the phase complete: a box counts whole, \
                 with its part beyond the tensor"
            ),
        },
        Cause::FilledTwice { .. } => {
            "start each copy of a round once, and those of the next round after a wait for the \
             readers (`empty`), who arrive when they have read"
                .into()
        }
        Cause::ArrivedByLanes { barrier, .. } => format!(
            "arrive in one lane, by `warp.elect(|lane| ..)`; or initialise {} for the arrivals of \
             all lanes that arrive",
            names.barrier(*barrier)
        ),
        Cause::RunsAhead { wait: Some((of, _)), .. } => format!(
            "wait for the phase of {} in which the readers of this fill arrive: one more for each \
             time round the ring",
            names.barrier(of.barrier)
        ),
        Cause::RunsAhead { release: Some(release), .. } => format!(
            "wait for {} before the arrival for the next copy, for the phase in which the readers \
             arrive",
            names.barrier(release.barrier)
        ),
        Cause::PhaseOverrun { ahead: Some(Ahead::WaitedForOver(over)), .. } => for_over_help(over),
        Cause::PhaseOverrun { wait, ahead: Some(Ahead::NotWaited { arrival }), .. } => {
            let Some(BarrierUse { barrier, by }) = arrival else {
                return format!(
                    "let {} arrive at another barrier when it has used the stage, and wait for \
                     that before the stage is used again",
                    who(wait)
                );
            };
            let (barrier, who) = (names.barrier(*barrier), who(by));
            format!(
                "wait for {barrier} before the stage is used, for the phase in which {who} arrives"
            )
        }
        Cause::PhaseOverrun { barrier, .. } | Cause::ArrivedTwice { barrier, .. } => format!(
            "let each warp arrive at {} once for each phase, and only after the wait for the \
             phase before",
            names.barrier(*barrier)
        ),
        Cause::RunsAhead { .. } => {
            "wait for the barrier at which the readers release the stage (`empty`) before the \
             arrival for the next copy"
                .into()
        }
        Cause::ReleasedUnfilled { barrier, copies, .. } => format!(
            "let each reader arrive at {} once for each phase of {}, after the wait for that phase",
            names.barrier(*barrier),
            names.barrier(copies.barrier)
        ),
        Cause::Count { barrier, early: Some(_), .. } => format!(
            "initialise {} for an arrival of each reader of the stage, in all blocks that the \
             copies go to",
            names.barrier(*barrier)
        ),
        Cause::Count { barrier, arrivals, number, .. } => format!(
            "initialise {} for at least {number} arrivals, one of each {} that arrives; or let one \
             of them arrive for all",
            names.barrier(*barrier),
            if arrivals.len() == *number as usize { "warp" } else { "lane" }
        ),
        Cause::Handover { mistake, signals, read, copy, .. } => match mistake {
            Mistake::NotWaited { instead: Some(waited), .. } => {
                let signalled = signals.map_or_else(String::new, |of| names.barrier(of.barrier));
                format!(
                    "let the copy signal {}, or start it to the stage of {signalled}; or wait for \
                     {signalled}",
                    names.barrier(waited.barrier)
                )
            }
            Mistake::NotWaited { .. } => match signals {
                Some(of) => {
                    format!(
                        "wait for {} of {} before the read",
                        phase(of.phase),
                        names.barrier(of.barrier)
                    )
                }
                None => "wait for the copy before the read".into(),
            },
            Mistake::WaitedForOver(over) => for_over_help(over),
            Mistake::ReleasedEarly { .. } => {
                "arrive after the last read; where a `wgmma` reads, after the wait for its group"
                    .into()
            }
            Mistake::ReleasedWithoutSync { .. } => {
                "put a `sync` of the warp before the arrival, which covers the reads of its own \
                 lane only"
                    .into()
            }
            Mistake::NotReleased { release: Some(release) } => {
                format!(
                    "wait for {} before the copy, for the phase in which the readers arrive",
                    names.barrier(release.barrier)
                )
            }
            Mistake::NotReleased { release: None }
                if copy
                    .as_ref()
                    .is_some_and(|copy| (copy.block, copy.warp) == (read.block, read.warp)) =>
            {
                "put a `sync` of the warp between its reads and the copy".into()
            }
            Mistake::NotReleased { release: None } => {
                "let the readers arrive at a barrier after their reads (`empty`), and wait for it \
                 before the copy"
                    .into()
            }
            Mistake::RefilledBehindOver { .. } => {
                "wait for the phase in which the readers of this fill arrive: one more for each \
                 time round the ring"
                    .into()
            }
            Mistake::ReaderNotCounted { .. } => {
                "initialise the barrier for the arrivals of all readers, and let each arrive \
                 after its reads"
                    .into()
            }
        },
    }
}
