//! The barrier of a cluster (`barrier.cluster`): arrivals and waits.

use crate::engine::{
    findings::{ClusterMisuse, Misuse},
    memory::order::{Clock, executing},
    record::{note_collective, note_lane},
    warps::{
        block::{Waiting, WarpOfBlock},
        context::{current_lane, fail, with_cluster},
        lanes::collective,
    },
};
use crate::lane::{LANES, PerLane, Site};
use std::ops::Range;
use std::vec;
use std::vec::Vec;

/// The state of a cluster's barrier. Warps that have ended are not waited for.
pub(crate) struct ClusterBarrier {
    /// Number of times that the barrier has completed.
    times: u32,
    warps: Vec<Warp>,
    /// Accesses released by arrivals since the last completion.
    released: Clock,
    /// Accesses released by all arrivals before that.
    over: Clock,
}

/// The lanes of a warp, one bit for each.
#[derive(Debug, Clone, Copy, Default)]
struct Warp {
    has_ended: bool,
    /// Lanes that have arrived since the last completion.
    arrived: u32,
    /// Lanes that have arrived and not waited since.
    owes_wait: u32,
}

impl Warp {
    fn is_lacking(&self) -> bool {
        !self.has_ended && self.arrived != u32::MAX
    }
}

fn bits(lanes: Range<usize>) -> u32 {
    lanes.fold(0, |bits, lane| bits | 1 << lane)
}

impl ClusterBarrier {
    /// A barrier of this many warps.
    pub(crate) fn new(warps: usize) -> Self {
        ClusterBarrier {
            times: 0,
            warps: vec![Warp::default(); warps],
            released: Clock::default(),
            over: Clock::default(),
        }
    }

    /// Whether the barrier has completed this many times.
    pub(crate) fn was_met(&self, times: u32) -> bool {
        self.times >= times
    }

    /// The warps whose arrival is missing, by their number within the cluster.
    pub(crate) fn lacking(&self) -> impl Iterator<Item = usize> {
        (0..self.warps.len()).filter(|&agent| self.warps[agent].is_lacking())
    }

    /// A warp has ended.
    pub(crate) fn leave(&mut self, agent: usize) {
        self.warps[agent].has_ended = true;
        self.meet();
    }

    fn arrive(
        &mut self,
        agent: usize,
        lanes: Range<usize>,
        released: &Clock,
    ) -> Result<(), ClusterMisuse> {
        let (warp, lanes) = (&mut self.warps[agent], bits(lanes));
        if warp.owes_wait & lanes != 0 {
            return Err(ClusterMisuse::ArrivedAgain);
        }
        warp.arrived |= lanes;
        warp.owes_wait |= lanes;
        self.released.join(released);
        self.meet();
        Ok(())
    }

    /// The number of completions that these lanes must wait for.
    fn awaited(&mut self, agent: usize, lanes: Range<usize>) -> Result<u32, ClusterMisuse> {
        let (warp, lanes) = (&mut self.warps[agent], bits(lanes));
        if warp.owes_wait & lanes != lanes {
            return Err(ClusterMisuse::NotArrived);
        }
        warp.owes_wait &= !lanes;
        Ok(if warp.arrived & lanes == 0 { self.times } else { self.times + 1 })
    }

    /// Completes the barrier if all warps have arrived, and resets it.
    fn meet(&mut self) {
        if self.warps.iter().any(|warp| warp.arrived != 0)
            && !self.warps.iter().any(Warp::is_lacking)
        {
            self.times += 1;
            self.warps.iter_mut().for_each(|warp| warp.arrived = 0);
            self.over.join(&std::mem::take(&mut self.released));
        }
    }
}

/// `barrier.cluster.arrive`, by the running lane or by all lanes of the warp. A relaxed arrival
/// releases no earlier writes.
pub(crate) fn arrive(site: Site, form: &'static str, is_relaxed: bool) {
    if std::thread::panicking() {
        return;
    }
    note_lane(site, form);
    let arrived = with_cluster(|cluster, block| {
        let lanes = executing(current_lane());
        block.order.start_clocks();
        let released = block.order.release(block.agent(), lanes.clone());
        let released = if is_relaxed { released.relaxed() } else { released };
        cluster.barrier.borrow_mut().arrive(block.agent(), lanes, &released)
    });
    arrived.unwrap_or_else(|misuse| fail(site, Misuse::ClusterBarrier { misuse }));
}

/// `barrier.cluster.wait`, by a warp.
pub(crate) fn wait(warp: WarpOfBlock<'_>, site: Site, form: &'static str) {
    if std::thread::panicking() {
        return;
    }
    note_collective(site, form);
    let awaited = with_cluster(|cluster, block| {
        cluster.barrier.borrow_mut().awaited(block.agent(), 0..LANES)
    });
    let times = awaited.unwrap_or_else(|misuse| fail(site, Misuse::ClusterBarrier { misuse }));
    while !with_cluster(|cluster, _| cluster.barrier.borrow().was_met(times)) {
        warp.suspend(Waiting::Cluster { times, location: site.location });
        if std::thread::panicking() {
            return;
        }
    }
    // No warp arrives again before this one does. So `over` holds exactly the accesses released by
    // the arrivals that this warp has waited for.
    with_cluster(|cluster, block| {
        block.order.acquire(block.agent(), 0..LANES, &cluster.barrier.borrow().over)
    });
}

// The functions below are called by `raw`. Each runs in one lane.

/// `barrier.cluster.arrive`. All lanes execute an `.aligned` one together.
#[track_caller]
pub(crate) fn arrive_in_lane(form: &'static str, is_relaxed: bool) {
    let site = Site::here();
    if form.ends_with(".aligned") {
        collective(site, form, (), move |_, site, nothing| {
            arrive(site, form, is_relaxed);
            nothing
        });
    } else if current_lane().is_some() || std::thread::panicking() {
        arrive(site, form, is_relaxed);
    } else {
        fail(site, Misuse::RawAtWarpScope { form });
    }
}

/// `barrier.cluster.wait`. The lanes of a warp wait together. Without `.aligned`, their calls may
/// be on different source lines.
#[track_caller]
pub(crate) fn wait_in_lane(form: &'static str) {
    collective(Site::here(), form, (), move |warp, site, _| {
        wait(warp, site, form);
        PerLane::splat(())
    });
}
