//! Deadlocks: the waits of all warps, and the wait that causes the others.

use crate::engine::findings::{
    Awaited, BarrierMisuse, BarrierState, Cause, EndedWarp, Misuse, Place, WaitingWarp, address_of,
    split_address,
};
use crate::engine::warps::block::{BlockState, ClusterState, Waiting};
use crate::engine::warps::schedule::{Progress, Stopped};
use crate::engine::warps::{arrival_counts, mbarrier};
use core::panic::Location;
use std::vec::Vec;

/// The distance of a wait from the cause of the deadlock; 0 is nearest. Of equal ones, a wait for a
/// barrier that ended no wait before is nearer: in a ring, the others wait in a later round. Warps
/// wait for a warp of their warpgroup that waits for registers.
fn distance(cluster: &ClusterState, progress: &[Progress], waits: &WaitingWarp) -> (usize, bool) {
    let had_wait = at_barrier(cluster, waits).is_some_and(|(rank, local)| {
        let barriers = cluster.blocks[rank].barriers.borrow();
        barriers.get(local).is_some_and(|barrier| !barrier.history.waits.is_empty())
    });
    let is_for_group = matches!(waits.awaited, Awaited::WarpGroup { .. });
    (levels(cluster, progress, waits), had_wait || is_for_group)
}

/// The distance in levels.
fn levels(cluster: &ClusterState, progress: &[Progress], waits: &WaitingWarp) -> usize {
    let Awaited::Barrier { address, phase, arrivals, bytes, .. } = waits.awaited else {
        return match waits.awaited {
            Awaited::Registers { .. } | Awaited::WarpGroup { .. } => 0,
            _ => 6,
        };
    };
    let is_waiting = |agent: usize| !matches!(progress.get(agent), Some(Progress::Ended) | None);
    let (rank, local) = memory(cluster, waits, address);
    let barriers = cluster.blocks[rank].barriers.borrow();
    let history = barriers.get(local).map(|barrier| &barrier.history);
    if arrivals == 0 && bytes > 0 {
        // If a warp that has to start such copies waits, too, they come after its wait.
        let is_partly_copied = history.is_some_and(|history| !history.copies.is_empty());
        let mut copiers = history.into_iter().flat_map(|history| history.copiers_behind());
        return match (is_partly_copied, copiers.any(is_waiting)) {
            (true, false) => 1,
            (false, false) => 2,
            (true, true) => 4,
            (false, true) => 5,
        };
    }
    let arrived = || history.into_iter().flat_map(|history| history.arrivals());
    let has_arrived = |agent| arrived().any(|of| of.phase == phase && of.by.agent == agent);
    // Warps that wait at a `sync` may arrive after it.
    let is_before_sync = progress.iter().enumerate().any(|(agent, of)| {
        matches!(of, Progress::Waiting(Waiting::Sync(_))) && !has_arrived(agent)
    });
    if has_some_arrivals(waits) {
        // If only this warp waits elsewhere, it may be the kernel's last `sync`.
        let waits_for_phase = |of: &&Progress| matches!(of, Progress::Waiting(Waiting::Phases(_)));
        let others = progress.iter().filter(waits_for_phase).count() > 1;
        return if is_before_sync && others { 7 } else { 3 };
    }
    // A warp that arrived before and waits now arrives again after its own wait.
    let is_of_waiting = if arrived().next().is_none() {
        is_before_sync
    } else {
        arrived().any(|of| of.phase != phase && is_waiting(of.by.agent))
    };
    if is_of_waiting { 7 } else { 5 }
}

/// Whether a wait is for a phase in which some warps have arrived, and others have not.
fn has_some_arrivals(waits: &WaitingWarp) -> bool {
    matches!(waits.awaited, Awaited::Barrier { of, arrivals, .. } if 0 < arrivals && arrivals < of)
}

/// The rank of the block, and the address in it, of the mbarrier that a warp waits for, if it does.
fn at_barrier(cluster: &ClusterState, waits: &WaitingWarp) -> Option<(usize, u32)> {
    let Awaited::Barrier { address, .. } = waits.awaited else { return None };
    Some(memory(cluster, waits, address))
}

/// The same for the address of the mbarrier.
fn memory(cluster: &ClusterState, waits: &WaitingWarp, address: u32) -> (usize, u32) {
    let is_its = |block: &BlockState| Some(block.index) == waits.block;
    let own = cluster.blocks.iter().position(is_its).unwrap_or(0);
    let (rank, local) = split_address(address);
    (rank.unwrap_or(own), local)
}

/// Describes a deadlock: no warp can run, and not all have ended.
pub(super) fn deadlock(progress: &[Progress], cluster: &ClusterState) -> Stopped {
    let (mut waiting, mut ended) = (Vec::new(), Vec::new());
    for (agent, progress) in progress.iter().enumerate() {
        let (state, _) = cluster.warp(agent);
        let (warp, block) = state.findings.warp(agent);
        let mut waits = |location: &'static Location<'static>, awaited| {
            let waits = WaitingWarp { warp, block, place: location.into(), awaited };
            // Lanes of one warp may wait individually.
            if !waiting.contains(&waits) {
                waiting.push(waits);
            }
        };
        match progress {
            Progress::Waiting(Waiting::Sync(location)) => waits(location, Awaited::Sync),
            Progress::Waiting(Waiting::Named { barrier, threads, location, .. }) => {
                let (barrier, threads) = (*barrier, *threads);
                let arrived = state.named.borrow().threads(barrier);
                waits(location, Awaited::Named { barrier, threads, arrived });
            }
            Progress::Waiting(Waiting::Cluster { location, .. }) => {
                let lacking = cluster.barrier.borrow().lacking().count();
                waits(location, Awaited::Cluster { lacking });
            }
            Progress::Waiting(Waiting::WarpGroup { group, location, .. }) => {
                waits(location, Awaited::WarpGroup { group: *group });
            }
            Progress::Waiting(Waiting::Registers { warp, count, location }) => {
                let registers = state.registers.borrow();
                let (held, free) = (registers.held(*warp), registers.free());
                waits(location, Awaited::Registers { count: *count, held, free });
            }
            Progress::Waiting(Waiting::Phases(phases)) => {
                for wait in phases {
                    let barriers = state.barriers.borrow();
                    // In a cluster, the address includes the rank of the barrier's block.
                    let address = if block.is_some() {
                        address_of(state.rank, wait.address)
                    } else {
                        wait.address
                    };
                    if let Some(barrier) = barriers.get(wait.address) {
                        waits(wait.location, barrier.awaited(address));
                    }
                }
            }
            Progress::Waiting(Waiting::Scheduler(_) | Waiting::Launch) | Progress::Ended => {
                ended.push(EndedWarp { warp, block })
            }
        }
    }
    waiting.sort_by_cached_key(|waits| distance(cluster, progress, waits));
    let first = waiting.first();
    let place = first.map(|waiting: &WaitingWarp| waiting.place.clone());
    let in_it = |block: &BlockState| Some(block.index) == first.and_then(|waiting| waiting.block);
    let rank = cluster.blocks.iter().position(in_it).unwrap_or(0);
    let mut barriers: Vec<BarrierState> = Vec::new();
    for waits in &waiting {
        if let Awaited::Barrier { address, .. } = waits.awaited
            && barriers.iter().all(|known| known.address != address)
        {
            let (rank, local) = memory(cluster, waits, address);
            let block = &cluster.blocks[rank];
            if let Some(barrier) = block.barriers.borrow().get(local) {
                barriers.push(BarrierState {
                    address,
                    ..mbarrier::barrier_state(block, local, barrier)
                });
            }
        }
    }
    Stopped {
        misuse: Misuse::Deadlock { waiting, ended, barriers },
        place,
        rank,
        warp: None,
        lane: None,
    }
}

/// The mistake that explains the end of a run. `rank` and `warp` name the warp that ended it.
///
/// The mistake is a phase whose copies differ from its expected bytes, a barrier with too few
/// arrivals, or an arrival that comes too early.
pub(super) fn cause(
    cluster: &ClusterState,
    misuse: &Misuse,
    rank: usize,
    warp: Option<usize>,
    place: Option<&Place>,
) -> Option<Cause> {
    let at = match misuse {
        Misuse::Barrier { address, misuse } => {
            let (of, address) = split_address(*address);
            let of = of.unwrap_or(rank);
            match misuse {
                BarrierMisuse::UnexpectedBytes { .. } => Some((of, address)),
                BarrierMisuse::TooManyArrivals { .. } => {
                    let agent = cluster.blocks[rank].agent_of(warp?);
                    return arrival_counts::runs_ahead(cluster, of, address, agent).or_else(|| {
                        arrival_counts::one_too_many(cluster, of, address, agent, place?)
                    });
                }
                BarrierMisuse::PhaseMissed { behind } => {
                    let agent = cluster.blocks[rank].agent_of(warp?);
                    let wait = (*behind, place?.clone());
                    let overrun = arrival_counts::overrun(cluster, of, address, agent, wait);
                    if overrun.as_ref().is_some_and(Cause::names_wait) {
                        return overrun;
                    }
                    return arrival_counts::wrong_count(cluster, of, address).or(overrun);
                }
                _ => None,
            }
        }
        // The nearest wait is the first one.
        Misuse::Deadlock { waiting, .. } => {
            let before_arrivals = waiting.iter().take_while(|waits| !has_some_arrivals(waits));
            before_arrivals.filter_map(|waits| at_barrier(cluster, waits)).find(|&(rank, local)| {
                let barriers = cluster.blocks[rank].barriers.borrow();
                barriers.get(local).is_some_and(|barrier| barrier.lacks_bytes_only())
            })
        }
        _ => None,
    };
    let (rank, address) = at?;
    let block = &cluster.blocks[rank];
    let barriers = block.barriers.borrow();
    let barrier = barriers.get(address)?;
    let named = if cluster.blocks.len() > 1 { address_of(rank, address) } else { address };
    Some(barrier.history.wrong_bytes(named, barrier.phase(), |by| block.findings.actor(by)))
}
