//! The layout of a printed finding: title, source line, notes.

use super::barrier_message::{phase, phase_lacks};
use super::cause::PhaseUse;
use super::cause_message;
use super::error::Finding;
use super::misuse::{Awaited, BarrierState, EndedWarp, Misuse, Uncovered, WaitingWarp};
use super::names::Namer;
use crate::engine::warps::divergence::{WaitingLanes, lanes};
use crate::lane::Grid;
use std::fmt;
use std::format;
use std::string::String;
use std::vec::Vec;

/// " of block (1, 0, 0)", or nothing without a block.
pub(super) fn of(block: Option<Grid>) -> String {
    block.map_or(String::new(), |block| format!(" of block {block}"))
}

/// "1", "1 and 2", "1, 2 and 3".
pub(super) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// "warp 0" or "warps 0 and 2", for each block if there are several.
pub(super) fn warps(mut warps: Vec<(Option<Grid>, usize)>) -> String {
    warps.dedup();
    let of_block = |warps: &[(Option<Grid>, usize)]| {
        let plural = if warps.len() == 1 { "warp" } else { "warps" };
        let ranges =
            warps.chunk_by(|one, next| one.1 + 1 == next.1).flat_map(|range| match range {
                [first, _, _, .., last] => Vec::from([format!("{} to {}", first.1, last.1)]),
                few => few.iter().map(|(_, warp)| format!("{warp}")).collect(),
            });
        format!("{plural} {}{}", listed(&ranges.collect::<Vec<_>>()), of(warps[0].0))
    };
    let blocks: Vec<String> = warps.chunk_by(|one, next| one.0 == next.0).map(of_block).collect();
    blocks.join(" and ")
}

/// In the format of compiler errors.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Namer { names: self.names, block: self.block };
        f.write_str("error: ")?;
        match &self.cause {
            Some(cause) => cause_message::title(f, cause, names)?,
            None => self.misuse.title(f, names)?,
        }
        f.write_str("\n")?;
        if let Some(place) = &self.place {
            writeln!(f, "  --> {place}")?;
        }
        write!(f, "   = in kernel `{}`", self.kernel)?;
        if let Some(block) = self.block {
            write!(f, ", block {block}")?;
        }
        if let Some(warp) = self.warp {
            write!(f, ", warp {warp}")?;
        }
        if let Some(lane) = self.lane {
            write!(f, ", lane {lane}")?;
        }
        match &self.cause {
            Some(cause) => {
                cause_message::notes(f, cause, names)?;
                if let Misuse::Deadlock { waiting, .. } = &self.misuse {
                    waits(f, waiting, &[], names)?;
                }
            }
            None => self.notes(f, names)?,
        }
        if self.seed != 0 {
            write!(f, "\n   = with seed {}, which shows it again", self.seed)?;
        }
        let help = match &self.cause {
            Some(cause) => Some(cause_message::help(cause, names)),
            None => self.misuse.help(self.place.as_ref(), names),
        };
        help.map_or(Ok(()), |help| write!(f, "\n   = help: {help}"))
    }
}

impl Finding {
    /// Writes the notes of the misuse.
    fn notes(&self, f: &mut fmt::Formatter<'_>, names: Namer) -> fmt::Result {
        match &self.misuse {
            Misuse::Race { other_access, other_place, other, synced, .. } => {
                write!(f, "\n   = the {other_access} by {other} is at {other_place}")?;
                if let Some(line) = synced {
                    write!(f, "\n   = the `sync` in line {line} comes before both")?;
                }
            }
            Misuse::BarrierMemory { place, .. } => {
                write!(f, "\n   = the mbarrier is initialised at {place}")?
            }
            Misuse::PhaseMayEnd { wait, .. } => write!(f, "\n   = the wait is at {}", wait.place)?,
            Misuse::ProxyFence { place, .. } | Misuse::WrongStoredSwizzle { place, .. } => {
                write!(f, "\n   = the store is at {place}")?
            }
            Misuse::CopyInFlight { place, .. }
            | Misuse::CopySourceInFlight { place, .. }
            | Misuse::StoreInFlight { place, .. }
            | Misuse::WrongSwizzle { place, .. }
            | Misuse::WrongTileSwizzle { place, .. } => {
                write!(f, "\n   = the copy is started at {place}")?
            }
            Misuse::BarrierInFlight { place, .. } => {
                write!(f, "\n   = the copy, or the arrival that waits for it, is at {place}")?
            }
            Misuse::NamedBarrierTwice { place, .. } => {
                write!(f, "\n   = it first arrived at {place}")?
            }
            Misuse::NamedBarrierShared { place, .. } => {
                write!(f, "\n   = the others came to it at {place}")?
            }
            Misuse::AccumulatorInFlight { place, .. } => {
                write!(f, "\n   = the `wgmma` is at {place}")?
            }
            Misuse::WarpGroupDiverges { place, other, .. } => {
                write!(f, "\n   = the `wgmma` is at {place}")?;
                if let Some(other) = other {
                    write!(f, "\n   = the warp comes to one at {other}")?;
                }
            }
            Misuse::RegistersDiverge { other: Some(other), .. } => {
                write!(f, "\n   = the warp comes to one at {other}")?;
            }
            Misuse::BoxOutside { uncovered, .. } => match uncovered {
                Some(Uncovered { dimension, end }) => write!(
                    f,
                    "\n   = the boxes inside of the tensor leave out dimension {dimension} from \
                     coordinate {end} on"
                )?,
                None => {
                    f.write_str("\n   = all boxes that the launch copies by this map lie outside")?
                }
            },
            Misuse::Deadlock { waiting, ended, barriers } => {
                waits(f, waiting, barriers, names)?;
                if !ended.is_empty() {
                    let have = if ended.len() == 1 { "has" } else { "have" };
                    let all =
                        ended.iter().map(|EndedWarp { warp, block }| (*block, *warp)).collect();
                    write!(f, "\n   = {} {have} ended", warps(all))?;
                }
            }
            Misuse::PollingBarrier { awaited: Awaited::Barrier { phase, .. }, barrier } => {
                arrivals(f, barrier, *phase, names)?;
            }
            Misuse::Divergence { waiting, ended } => {
                for WaitingLanes { lanes: of, form, place } in waiting {
                    let wait = if of.len() == 1 { "waits" } else { "wait" };
                    write!(f, "\n   = {} {wait} at `{form}`, at {place}", lanes(of))?;
                }
                if !ended.is_empty() {
                    let have = if ended.len() == 1 { "has" } else { "have" };
                    write!(f, "\n   = {} {have} ended the lane closure", lanes(ended))?;
                }
            }
            Misuse::WrongOperand { place, .. } => {
                write!(f, "\n   = the `mma` that returned them is at {place}")?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Writes a line for each place and event of a wait, with the arrivals so far.
fn waits(
    f: &mut fmt::Formatter<'_>,
    waiting: &[WaitingWarp],
    barriers: &[BarrierState],
    names: Namer,
) -> fmt::Result {
    /// The block, if there are several, and the warp.
    type Warp = (Option<Grid>, usize);
    let mut groups: Vec<(&WaitingWarp, Vec<Warp>)> = Vec::new();
    for one in waiting {
        let warp = (one.block, one.warp);
        match groups.iter_mut().find(|(of, _)| (&of.place, of.awaited) == (&one.place, one.awaited))
        {
            Some((_, warps)) => warps.push(warp),
            None => groups.push((one, Vec::from([warp]))),
        }
    }
    for (index, (WaitingWarp { place, awaited, .. }, who)) in groups.iter().enumerate() {
        let wait = if who.len() == 1 { "waits" } else { "wait" };
        write!(f, "\n   = {} {wait}", warps(who.clone()))?;
        match awaited {
            Awaited::Sync => write!(f, " at {place}")?,
            Awaited::Cluster { lacking } => {
                let come = if *lacking == 1 {
                    "warp of the cluster has"
                } else {
                    "warps of the cluster have"
                };
                write!(f, " at {place}: {lacking} {come} not come to its barrier")?;
            }
            Awaited::Named { barrier, threads, arrived } => {
                write!(
                    f,
                    " at {place}, at named barrier {barrier}: {arrived} of {threads} threads have \
                     come"
                )?;
            }
            Awaited::WarpGroup { group } => {
                write!(
                    f,
                    " at {place}, for all four warps of warpgroup {group} to come to its `wgmma`s"
                )?;
            }
            Awaited::Registers { count, held, free } => {
                write!(
                    f,
                    " at {place}, for {count} registers a thread; it has {held}, and {free} are \
                     free"
                )?;
            }
            Awaited::Barrier { address, phase, of, arrivals, bytes } => {
                let lacks = phase_lacks(*of, *arrivals, *bytes);
                write!(f, " for {} at {place}, phase {phase}: {lacks}", names.barrier(*address))?;
                // Only for the first barrier: the others would not help.
                if index == 0
                    && let Some(barrier) =
                        barriers.iter().find(|barrier| barrier.address == *address)
                {
                    self::arrivals(f, barrier, *phase, names)?;
                }
            }
        }
    }
    Ok(())
}

/// Writes the arrivals at a barrier in the current phase, or, if there are none, in earlier ones.
fn arrivals(
    f: &mut fmt::Formatter<'_>,
    barrier: &BarrierState,
    current: u32,
    names: Namer,
) -> fmt::Result {
    let name = names.barrier(barrier.address);
    if let Some(made) = &barrier.made {
        write!(f, "\n   = {name} is initialised at {}", made.place)?;
    }
    if let Some(held) = &barrier.held {
        write!(
            f,
            "\n   = `hold_until_copied` of warp {}{} at {} adds an arrival to those that the phase \
             needs",
            held.warp,
            of(held.block),
            held.place
        )?;
    }
    let Some(last) = barrier.arrivals.iter().map(|of| of.phase.wrapping_add(1)).max() else {
        return write!(f, "\n   = nobody has ever arrived at {name}");
    };
    let last = last.wrapping_sub(1);
    let in_last = barrier.arrivals.iter().filter(|of| of.phase == last);
    let who: Vec<String> = in_last
        .map(|PhaseUse { by: who, .. }| {
            format!("warp {}{} at {}", who.warp, of(who.block), who.place)
        })
        .collect();
    if last == current {
        write!(f, "\n   = in {} arrived {}", phase(last), listed(&who))
    } else {
        write!(f, "\n   = the last arrival at {name} was in {}, by {}", phase(last), listed(&who))
    }
}
