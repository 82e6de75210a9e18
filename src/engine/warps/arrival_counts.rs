//! Finds the mistake with the number of arrivals at an mbarrier: a count that is too small, or a
//! warp that arrives too often.

use crate::engine::findings::{
    Actor, Ahead, BarrierPhase, BarrierUse, Cause, EarlyEnd, Place, address_of, split_address,
};
use crate::engine::memory::race::Access;
use crate::engine::warps::barrier_history::Arrived;
use crate::engine::warps::block::ClusterState;
use crate::engine::warps::handover::{Conflict, cluster_actor};
use crate::engine::warps::mbarrier::Barrier;
use std::vec::Vec;

/// The rank of the block, and the address in it, of a barrier in a cause.
pub(super) fn with_rank(address: u32) -> (usize, u32) {
    let (rank, local) = split_address(address);
    (rank.expect("a cause names the block of a barrier"), local)
}

/// The mistake of a warp that arrives at a barrier more often than a phase has arrivals.
///
/// If that warp starts the copies that signal the barrier, it did not wait for the phase of the
/// last copy. Or it did, and that phase ended with too few arrivals.
pub(super) fn runs_ahead(
    cluster: &ClusterState,
    rank: usize,
    address: u32,
    agent: usize,
) -> Option<Cause> {
    let barriers = cluster.blocks[rank].barriers.borrow();
    let barrier = barriers.get(address)?;
    if let Some(cause) = by_lanes(cluster, rank, address, barrier) {
        return Some(cause);
    }
    let (history, phase) = (&barrier.history, barrier.phase());
    let is_first = |of: &Arrived| of.by.agent == agent && of.phase == phase;
    let first = history.arrivals().find(is_first)?.by;
    if !history.copiers.contains(&agent) {
        return None;
    }
    drop(barriers);
    // After the first arrival, or after the copy that belongs to it.
    let signals = Some(BarrierPhase { barrier: address, phase });
    let conflict = Conflict { rank, address, read: first, copy: first, signals };
    let wait = match conflict.latest_wait(cluster, |wait| wait >= first.tick) {
        // It has waited for the right phase: that phase may have ended too early.
        Some(latest) if !latest.wait.again && latest.wait.phase.wrapping_add(1) > phase => {
            return too_few(cluster, latest.awaited(), address_of(rank, address));
        }
        latest => latest.map(|latest| (latest.awaited(), cluster_actor(cluster, latest.wait.by))),
    };
    Some(Cause::RunsAhead {
        barrier: address_of(rank, address),
        phase,
        first: cluster_actor(cluster, first),
        wait,
        release: None,
    })
}

/// The mistake of a warp that arrives too often, if another warp misses a phase by that.
/// `behind` phases have ended since the phase that warp `agent` waits for.
pub(super) fn overrun(
    cluster: &ClusterState,
    rank: usize,
    address: u32,
    agent: usize,
    (behind, place): (u32, Place),
) -> Option<Cause> {
    let barriers = cluster.blocks[rank].barriers.try_borrow().ok()?;
    let barrier = barriers.get(address)?;
    let last = barrier.phase().wrapping_sub(1);
    let waited = last.wrapping_sub(behind);
    // A warp that has waited for the phase already is itself behind.
    let is_first =
        barrier.history.wait_of(agent).is_none_or(|wait| wait.phase.wrapping_add(1) == waited);
    if !is_first {
        return None;
    }
    let at = address_of(rank, address);
    let others = barrier.history.arrivals().filter(|of| of.by.agent != agent);
    let others: Vec<_> = others.map(|of| (of, ahead(cluster, at, (agent, of.by.agent)))).collect();
    let is_known = |ahead: &Option<Ahead>| ahead.as_ref().is_some_and(Ahead::is_known);
    let named = others.iter().find(|(_, ahead)| is_known(ahead));
    let (arrival, ahead) = named.or_else(|| others.iter().find(|(of, _)| of.phase == last))?;
    let (warp, block) = cluster.blocks[0].findings.warp(agent);
    Some(Cause::PhaseOverrun {
        barrier: at,
        waited,
        wait: Actor { block, warp, lane: None, place },
        behind,
        arrival: cluster_actor(cluster, arrival.by),
        ahead: ahead.clone(),
    })
}

/// Why warp `first` is ahead of warp `last`, which waits for its arrivals at this barrier. At
/// another one, `first` should wait for `last`.
fn ahead(cluster: &ClusterState, at: u32, (last, first): (usize, usize)) -> Option<Ahead> {
    // The arrivals of `last`; the waits of `first` there, and where no other warp has arrived.
    let (mut paces, mut waits, mut waits_elsewhere) = (Vec::new(), Vec::new(), Vec::new());
    // Whether `first` has waited for another warp, or `last` for `first`, in some other way.
    let mut is_paced = false;
    // A warp waits for barriers of its own block only.
    let (block, _) = cluster.warp(first);
    for (local, Barrier { history, .. }) in block.barriers.try_borrow().ok()?.iter() {
        let address = address_of(block.rank, local);
        let wait = history.wait_of(first).map(|wait| (address, wait));
        let arrives = |agent| history.arrivals().find(|of| of.by.agent == agent);
        if address == at {
            is_paced |= wait.is_some();
        } else if let Some(arrival) = arrives(last) {
            paces.push((address, arrival.by));
            waits.extend(wait);
        } else if history.arrivals().all(|of| of.by.agent == first) {
            is_paced |= arrives(first).is_some() && history.wait_of(last).is_some();
            waits_elsewhere.extend(wait);
        } else {
            is_paced |= wait.is_some();
        }
    }
    let waits = if paces.is_empty() { waits_elsewhere } else { waits };
    if let Some((address, wait)) = waits.into_iter().max_by_key(|(_, wait)| wait.by.tick) {
        return wait.again.then(|| Ahead::WaitedForOver(wait.for_over(cluster, address)));
    }
    // In a ring, the barrier of the oldest arrival is the next one.
    match paces.into_iter().min_by_key(|(_, arrival)| arrival.tick) {
        Some((barrier, arrival)) => {
            let by = cluster_actor(cluster, arrival);
            Some(Ahead::NotWaited { arrival: Some(BarrierUse { barrier, by }) })
        }
        None => (!is_paced).then_some(Ahead::NotWaited { arrival: None }),
    }
}

/// The mistake of a warp whose lanes arrive where one should.
fn by_lanes(cluster: &ClusterState, rank: usize, address: u32, at: &Barrier) -> Option<Cause> {
    let (of, history) = (at.count(), &at.history);
    let (lanes, last) = history.most_lanes?;
    let (barrier, last) = (address_of(rank, address), cluster_actor(cluster, last));
    (lanes > of && !history.is_lowered).then_some(Cause::ArrivedByLanes {
        barrier,
        of,
        lanes,
        last,
    })
}

/// The mistake of a barrier whose count is smaller than the number of warps that arrive at it, or
/// of lanes of a warp.
pub(super) fn wrong_count(cluster: &ClusterState, rank: usize, address: u32) -> Option<Cause> {
    let barriers = cluster.blocks[rank].barriers.borrow();
    let barrier = barriers.get(address)?;
    let (history, of) = (&barrier.history, barrier.count());
    if let Some(cause) = by_lanes(cluster, rank, address, barrier) {
        return Some(cause);
    }
    let number = history.arrivals().map(|of| of.lanes).sum();
    let is_wrong = number > of && !history.is_lowered;
    let made = cluster_actor(cluster, history.made.filter(|_| is_wrong)?);
    let arrivals = history.arrivals().map(|of| cluster_actor(cluster, of.by)).collect();
    let barrier = address_of(rank, address);
    Some(Cause::Count { barrier, of, made, arrivals, number, early: None })
}

/// The cause "more warps arrive at this barrier than it counts", for an arrival at this place by a
/// warp that has not arrived in the phase.
pub(super) fn one_too_many(
    cluster: &ClusterState,
    rank: usize,
    address: u32,
    agent: usize,
    place: &Place,
) -> Option<Cause> {
    let barriers = cluster.blocks[rank].barriers.borrow();
    let barrier = barriers.get(address)?;
    let (history, of, phase) = (&barrier.history, barrier.count(), barrier.phase());
    let in_phase = || history.arrivals().filter(|of| of.phase == phase);
    let number = in_phase().map(|of| of.lanes).sum::<u32>() + 1;
    let (warp, block) = cluster.blocks[0].findings.warp(agent);
    let last = Actor { block, warp, lane: None, place: place.clone() };
    let others = in_phase().map(|of| cluster_actor(cluster, of.by));
    let arrivals: Vec<_> = others.chain([last]).collect();
    let is_one_more =
        number > of && !history.is_lowered && in_phase().all(|of| of.by.agent != agent);
    let made = cluster_actor(cluster, history.made.filter(|_| is_one_more)?);
    let barrier = address_of(rank, address);
    Some(Cause::Count { barrier, of, made, arrivals, number, early: None })
}

/// The cause "this barrier has too small a count". Either more warps arrive than its count
/// ([`wrong_count`]), or its phase `ended` completed while the copies that signal the barrier
/// `copies` are in flight. In the second case, all arrivals came from readers that already wait for
/// these copies, so the missing readers are in another block.
pub(super) fn too_few(cluster: &ClusterState, ended: BarrierPhase, copies: u32) -> Option<Cause> {
    let ((rank, address), (of_copies, in_block)) = (with_rank(ended.barrier), with_rank(copies));
    if let Some(cause) = wrong_count(cluster, rank, address) {
        return Some(cause);
    }
    let barriers = cluster.blocks[rank].barriers.borrow();
    let barrier = barriers.get(address)?;
    let made = barrier.history.made?;
    let running = cluster.blocks[of_copies].barriers.borrow().get(in_block)?.phase();
    let arrivals: Vec<Access> =
        barrier.history.arrivals().filter(|of| of.phase == ended.phase).map(|of| of.by).collect();
    let waited = |by: &Access| {
        let (block, _) = cluster.warp(by.agent);
        let barriers = block.barriers.borrow();
        let wait = barriers.get(in_block).and_then(|barrier| barrier.history.wait_of(by.agent));
        wait.is_some_and(|wait| wait.phase == running)
    };
    // In the block of the copies, nobody can have waited for them.
    let is_unfilled =
        |by: &&Access| ended.phase == running && cluster.warp(by.agent).0.rank == of_copies;
    if let Some(&unfilled) = arrivals.iter().find(is_unfilled) {
        return Some(Cause::ReleasedUnfilled {
            barrier: ended.barrier,
            phase: ended.phase,
            release: cluster_actor(cluster, unfilled),
            copies: BarrierPhase { barrier: copies, phase: running },
        });
    }
    if arrivals.is_empty() || !arrivals.iter().all(waited) {
        return None;
    }
    if let Some(cause) = arrived_twice(cluster, ended, barrier) {
        return Some(cause);
    }
    Some(Cause::Count {
        barrier: address_of(rank, address),
        of: barrier.count(),
        made: cluster_actor(cluster, made),
        number: arrivals.len() as u32,
        arrivals: arrivals.into_iter().map(|by| cluster_actor(cluster, by)).collect(),
        early: Some(EarlyEnd {
            phase: ended.phase,
            copies: BarrierPhase { barrier: copies, phase: running },
        }),
    })
}

/// The mistake of a lane that arrives more than once in a phase: it ends without others.
pub(super) fn arrived_twice(
    cluster: &ClusterState,
    ended: BarrierPhase,
    barrier: &Barrier,
) -> Option<Cause> {
    let mut twice = barrier.history.twice.iter();
    let &(_, [first, again]) = twice.find(|(phase, _)| *phase == ended.phase)?;
    Some(Cause::ArrivedTwice {
        barrier: ended.barrier,
        phase: ended.phase,
        of: barrier.count(),
        first: cluster_actor(cluster, first),
        again: cluster_actor(cluster, again),
    })
}
