//! Finds the mistake that explains a misuse of memory guarded by mbarriers.
//!
//! A copy fills the memory, an mbarrier hands it over, and readers release it. Each mbarrier
//! records its last arrivals and waits ([`BarrierHistory`]). These records do not decide whether a
//! run is wrong. They are searched only after a misuse was found, since the line to correct is
//! rarely the line of the misuse.

use crate::engine::findings::{
    Actor, BarrierPhase, BarrierUse, Cause, Mistake, PHASE_BEFORE_FIRST, address_of,
};
use crate::engine::memory::order::{Order, is_asynchronous, is_warp_group, warps_of_group};
use crate::engine::memory::race::{Access, Lanes};
use crate::engine::warps::arrival_counts::{arrived_twice, too_few, with_rank, wrong_count};
use crate::engine::warps::barrier_history::{Arrived, BarrierHistory, Waited};
use crate::engine::warps::block::{BlockState, ClusterState};
use crate::engine::warps::context::try_with_cluster;
use crate::engine::warps::mbarrier::Barrier;
use core::panic::Location;
use std::collections::VecDeque;
use std::ops::Range;
use std::vec::Vec;

/// A read and a copy of the same memory without an order between them.
#[derive(Clone, Copy)]
pub(crate) struct Conflict {
    /// The rank of the block, and an address in it.
    pub(crate) rank: usize,
    pub(crate) address: u32,
    /// The read. For a `wgmma`: by the warp that starts it, or by its warpgroup.
    pub(crate) read: Access,
    /// The start of the copy.
    pub(crate) copy: Access,
    /// The mbarrier that the copy signals, and its phase at that time.
    pub(crate) signals: Option<BarrierPhase>,
}

impl Conflict {
    /// The mistake that explains a read of memory with a copy in flight or landed.
    ///
    /// `read_at` is the tick of the same warp's previous read of the same byte. For the reads of a
    /// `wgmma` it is unknown.
    pub(crate) fn cause_of_early_read(
        mut self,
        read_at: Option<u32>,
        is_wgmma: bool,
    ) -> Option<Cause> {
        try_with_cluster(|cluster| {
            let signals = self.signals.or_else(|| self.find_signalled(cluster))?;
            self.signals = Some(signals);
            let BarrierPhase { barrier, phase } = signals;
            if let Some(cause) = self.not_expected(cluster, signals) {
                return Some(cause);
            }
            let (wait, of_others) = with_history(cluster, self.rank, barrier, |history| {
                let before = |wait: &&Waited| phase > 0 && wait.phase == phase - 1;
                (history.wait_of(self.read.agent), history.waits.iter().find(before).copied())
            })?;
            let mistake = match wait {
                // Another warp has waited for the data and synchronised with this reader. The
                // copying warp does not know that the memory is released.
                None if of_others.is_some_and(|wait| !wait.is_released) => {
                    self.mistake_in_refill(cluster, None)
                }
                None => self.mistake_without_wait(cluster),
                // The reader has waited for the right phase: the mistake is elsewhere.
                Some(wait) if wait.phase == phase => return None,
                Some(wait) => {
                    // The warp that copies did not wait until this reader released the previous
                    // copy.
                    let is_read_in_time =
                        !wait.again && wait.phase == phase.wrapping_sub(1) && phase > 0;
                    if is_read_in_time && !wait.is_released {
                        self.mistake_in_refill(cluster, Some(wait))
                    } else {
                        self.mistake_in_wait(cluster, wait, read_at, is_wgmma)
                    }
                }
            };
            self.explained(cluster, barrier, mistake)
        })
    }

    /// The first mistake found with the signalled barrier, if its previous phase should have
    /// expected the copy.
    fn not_expected(&self, cluster: &ClusterState, signals: BarrierPhase) -> Option<Cause> {
        let cause = not_expected(&cluster.blocks[self.rank], &self.copy, signals)?;
        with_history(cluster, self.rank, signals.barrier, |history| history.first_cause(cause))
    }

    /// The mistake of a reader that has never waited for the copy's barrier. It may have waited for
    /// another barrier that a copy of the same line signals.
    fn mistake_without_wait(&self, cluster: &ClusterState) -> Mistake {
        let signalled = self.signals.map(|of| of.barrier);
        let instead = cluster.blocks[self.rank].barriers.try_borrow().ok().and_then(|barriers| {
            let waits = barriers.iter().filter(|(at, _)| Some(*at) != signalled).filter_map(
                |(at, Barrier { history, .. })| {
                    let wait = history.wait_of(self.read.agent)?;
                    let copy = history.last_copy?;
                    (copy.location == self.copy.location).then_some((at, wait.by))
                },
            );
            waits.max_by_key(|(_, wait)| wait.tick)
        });
        let instead = instead.map(|(at, wait)| BarrierUse {
            barrier: address_of(self.rank, at),
            by: cluster_actor(cluster, wait),
        });
        Mistake::NotWaited { last: None, instead }
    }

    /// The mistake that explains a read of unwritten memory, which this copy fills later.
    fn cause_of_unwritten_read(self) -> Option<Cause> {
        try_with_cluster(|cluster| {
            let barrier = self.signals?.barrier;
            let wait = with_history(cluster, self.rank, barrier, |history| {
                history.wait_of(self.read.agent)
            })?;
            let mistake = match wait {
                Some(wait) if wait.is_for_over() => {
                    wait.mistake(cluster, address_of(self.rank, barrier))
                }
                Some(wait) => {
                    Mistake::NotWaited { last: Some(wait.described(cluster)), instead: None }
                }
                None => self.mistake_without_wait(cluster),
            };
            self.explained(cluster, barrier, mistake)
        })
    }

    /// The mistake of a reader whose last wait for the copy's barrier was for an earlier phase.
    fn mistake_in_wait(
        &self,
        cluster: &ClusterState,
        wait: Waited,
        read_at: Option<u32>,
        is_wgmma: bool,
    ) -> Mistake {
        let barrier = self.signals.map_or(0, |of| address_of(self.rank, of.barrier));
        let read_since = read_at.is_some_and(|tick| tick >= wait.by.tick);
        let behind_wait =
            |arrival: &Access| arrival.tick >= wait.by.tick && arrival.tick < self.read.tick;
        let latest = self.wait_before_copy(cluster);
        let is_of_it =
            |release: &Release| latest.is_some_and(|wait| wait.barrier == release.barrier);
        // At the barrier that the copying warp waited for right before the copy, if it did.
        let behind = self
            .releases(cluster)
            .filter(|release| behind_wait(&release.by) && (latest.is_none() || is_of_it(release)));
        let release = behind.min_by_key(|release| !release.is_waited_for);
        match release {
            Some(release) if !is_wgmma && !read_since && release.is_waited_for => {
                Mistake::ReleasedEarly {
                    release: cluster_actor(cluster, release.by),
                    barrier: release.barrier,
                }
            }
            // The reader is late: the copying warp did not wait for it.
            None if !read_since && !wait.is_for_over() => {
                self.mistake_in_refill(cluster, Some(wait))
            }
            None if !read_since => wait.mistake(cluster, barrier),
            _ => Mistake::NotWaited { last: Some(wait.described(cluster)), instead: None },
        }
    }

    /// The mistake that explains a copy to memory that may still be read.
    pub(crate) fn cause_of_early_copy(self) -> Option<Cause> {
        try_with_cluster(|cluster| {
            let readers = self.readers(cluster);
            if readers.is_empty() {
                return None;
            }
            let Some(BarrierPhase { barrier, phase }) = self.signals else {
                // Copies by `cp.async` signal no barrier when they start.
                let mistake = self.mistake_in_release(cluster, None)?;
                return Some(self.cause(cluster, mistake));
            };
            if let Some(cause) = self.not_expected(cluster, BarrierPhase { barrier, phase }) {
                return Some(cause);
            }
            let waits = with_history(cluster, self.rank, barrier, |history| {
                readers
                    .iter()
                    .filter_map(|&reader| history.wait_of(reader))
                    .max_by_key(|wait| wait.by.tick)
            })?;
            let mistake = match waits {
                None if phase == 0 => self.mistake_without_wait(cluster),
                None => self.mistake_in_refill(cluster, None),
                Some(wait) if wait.is_for_over() => {
                    wait.mistake(cluster, address_of(self.rank, barrier))
                }
                Some(wait) => self.mistake_in_refill(cluster, Some(wait)),
            };
            self.explained(cluster, barrier, mistake)
        })
    }

    /// The mistake that explains a copy to memory to which the same warp's last copy has not
    /// landed.
    pub(crate) fn cause_of_second_copy(self) -> Option<Cause> {
        try_with_cluster(|cluster| {
            let copies = address_of(self.rank, self.signals?.barrier);
            too_few(cluster, self.wait_before_copy(cluster)?.awaited(), copies)
        })
    }

    /// The mistake if memory is refilled that a reader has waited for and may still read.
    fn mistake_in_refill(&self, cluster: &ClusterState, wait: Option<Waited>) -> Mistake {
        self.mistake_in_release(cluster, wait).unwrap_or(Mistake::NotReleased { release: None })
    }

    /// The mistake with the barriers by which the reader releases memory to the copying warp.
    fn mistake_in_release(&self, cluster: &ClusterState, wait: Option<Waited>) -> Option<Mistake> {
        let is_wgmma = is_warp_group(self.read.agent, cluster.blocks.len());
        let latest = self.wait_before_copy(cluster);
        let early = |release: &Release| {
            let behind_wait = wait.is_none_or(|wait| release.by.tick >= wait.by.tick);
            let is_of_it = latest.is_some_and(|wait| wait.barrier == release.barrier);
            let is_waited_for = is_of_it && release.is_waited_for;
            is_waited_for && behind_wait && (is_wgmma || release.by.tick < self.read.tick)
        };
        if let Some(release) =
            self.releases(cluster).filter(early).max_by_key(|release| release.by.tick)
        {
            return Some(Mistake::ReleasedEarly {
                release: cluster_actor(cluster, release.by),
                barrier: release.barrier,
            });
        }
        // The reading warp arrives after its read, and yet is not ordered: another lane of it
        // arrives, or another lane of the copying warp has waited.
        let behind = |release: &Release| {
            let is_of_it = latest.is_some_and(|wait| wait.barrier == release.barrier);
            is_of_it && release.is_waited_for && !is_wgmma && release.by.tick >= self.read.tick
        };
        if let Some(Release { by, barrier, .. }) = self.releases(cluster).find(behind) {
            let release = cluster_actor(cluster, by);
            return Some(if self.read.is_before_in_warp(&by) {
                Mistake::NotReleased { release: Some(BarrierUse { barrier, by: release }) }
            } else {
                Mistake::ReleasedWithoutSync { release, barrier }
            });
        }
        // The copying warp waits for a barrier of the readers, but for the wrong phase; or the
        // phase completed without this reader.
        let fills = self.signals.map(|of| of.phase);
        if let Some(ReleaseWait { wait, barrier, count: of, made }) = latest {
            let (waited, actor) = (wait.phase, cluster_actor(cluster, wait.by));
            let is_behind = fills.is_some_and(|fills| waited.wrapping_add(1) < fills);
            return Some(if wait.again || is_behind {
                Mistake::RefilledBehindOver { wait: actor, barrier, waited }
            } else {
                Mistake::ReaderNotCounted {
                    made: cluster_actor(cluster, made.unwrap_or(wait.by)),
                    wait: actor,
                    barrier,
                    waited,
                    of,
                }
            });
        }
        let behind =
            self.releases(cluster).filter(|release| is_wgmma || release.by.tick >= self.read.tick);
        let release = behind.min_by_key(|release| release.by.tick);
        let release = release.map(|release| BarrierUse {
            barrier: release.barrier,
            by: cluster_actor(cluster, release.by),
        });
        (self.signals.is_some() || release.is_some()).then_some(Mistake::NotReleased { release })
    }

    /// The copying warp's wait right before the copy, for a barrier at which others arrive; at
    /// best, for one at which a reader arrives.
    fn wait_before_copy(&self, cluster: &ClusterState) -> Option<ReleaseWait> {
        let Access { agent, tick, .. } = self.copy;
        if is_asynchronous(agent) {
            return None;
        }
        let (block, _) = cluster.warp(agent);
        let copy_waits = block.copy_waits.borrow();
        let Some(waits) = copy_waits.of(&self.copy) else {
            // A `cp.async`, or a copy long ago.
            return self.latest_wait(cluster, |wait| {
                wait >= tick || is_right_before(&block.order, agent, wait, tick)
            });
        };
        let readers = self.readers(cluster);
        let signalled = self.signals.map(|of| address_of(self.rank, of.barrier));
        let of_others =
            waits.iter().filter(|wait| Some(wait.barrier) != signalled).filter_map(|wait| {
                let (rank, local) = with_rank(wait.barrier);
                let agents: Vec<usize> = with_history(cluster, rank, local, |history| {
                    history.arrivals().map(|of| of.by.agent).collect()
                })?;
                let has_readers = agents.iter().any(|agent| readers.contains(agent));
                agents.iter().any(|&other| other != agent).then_some((has_readers, wait))
            });
        let last = of_others.max_by_key(|(has_readers, wait)| (*has_readers, wait.wait.by.tick));
        last.map(|(_, wait)| *wait)
    }

    /// The copying warp's last wait, in one of these ticks, for a barrier at which others arrive.
    pub(super) fn latest_wait(
        &self,
        cluster: &ClusterState,
        is_meant: impl Fn(u32) -> bool,
    ) -> Option<ReleaseWait> {
        let signalled = self.signals.map(|of| (self.rank, of.barrier));
        let mut latest: Option<ReleaseWait> = None;
        for block in &cluster.blocks {
            let Ok(barriers) = block.barriers.try_borrow() else { continue };
            for (address, barrier) in
                barriers.iter().filter(|(address, _)| Some((block.rank, *address)) != signalled)
            {
                let history = &barrier.history;
                let is_of_others =
                    history.arrivals().any(|arrived| arrived.by.agent != self.copy.agent);
                let wait = history
                    .wait_of(self.copy.agent)
                    .filter(|wait| is_of_others && is_meant(wait.by.tick));
                if let Some(wait) = wait
                    && latest.is_none_or(|other| other.wait.by.tick <= wait.by.tick)
                {
                    latest = Some(ReleaseWait {
                        wait,
                        barrier: address_of(block.rank, address),
                        count: barrier.count(),
                        made: history.made,
                    });
                }
            }
        }
        latest
    }

    /// The warps that read; none for a bulk copy, whose author is not known any more.
    fn readers(&self, cluster: &ClusterState) -> Vec<usize> {
        let blocks = cluster.blocks.len();
        if is_warp_group(self.read.agent, blocks) {
            warps_of_group(self.read.agent, blocks, cluster.blocks[0].warps()).collect()
        } else if is_asynchronous(self.read.agent) {
            Vec::new()
        } else {
            Vec::from([self.read.agent])
        }
    }

    /// The readers' last arrivals at barriers other than the copy's.
    fn releases(&self, cluster: &ClusterState) -> impl Iterator<Item = Release> {
        let readers = self.readers(cluster);
        let signalled = self.signals.map(|of| (self.rank, of.barrier));
        let mut releases = Vec::new();
        for block in &cluster.blocks {
            let Ok(barriers) = block.barriers.try_borrow() else { continue };
            for (address, barrier) in
                barriers.iter().filter(|(address, _)| Some((block.rank, *address)) != signalled)
            {
                let wait = barrier.history.wait_of(self.copy.agent).filter(|wait| !wait.again);
                let of_readers =
                    barrier.history.arrivals().filter(|of| readers.contains(&of.by.agent));
                releases.extend(of_readers.map(|Arrived { by, phase, .. }| Release {
                    by,
                    barrier: address_of(block.rank, address),
                    is_waited_for: wait.is_some_and(|wait| wait.phase == phase),
                }));
            }
        }
        releases.into_iter()
    }

    /// The barrier that the copy signals, and its phase when the copy started.
    fn find_signalled(&self, cluster: &ClusterState) -> Option<BarrierPhase> {
        cluster.blocks[self.rank].bulk.try_borrow().ok()?.signalled_by(&self.copy, self.address)
    }

    /// The first mistake found with this barrier.
    fn explained(&self, cluster: &ClusterState, barrier: u32, mistake: Mistake) -> Option<Cause> {
        let cause = self.cause(cluster, mistake);
        with_history(cluster, self.rank, barrier, |history| history.first_cause(cause))
    }

    fn cause(&self, cluster: &ClusterState, mistake: Mistake) -> Cause {
        if let Mistake::ReaderNotCounted { barrier, waited: phase, .. } = mistake {
            let (rank, local) = with_rank(barrier);
            let ended = BarrierPhase { barrier, phase };
            let twice = || {
                let barriers = cluster.blocks[rank].barriers.try_borrow().ok()?;
                arrived_twice(cluster, ended, barriers.get(local)?)
            };
            if let Some(cause) = wrong_count(cluster, rank, local).or_else(twice) {
                return cause;
            }
        }
        let read = match self.readers(cluster)[..] {
            [_] => self.read,
            ref warps => Access { agent: warps[0], by: Lanes::Each, ..self.read },
        };
        Cause::Handover {
            mistake,
            address: address_of(self.rank, self.address),
            read: cluster_actor(cluster, read),
            copy: Some(cluster_actor(cluster, self.copy)),
            signals: self
                .signals
                .map(|of| BarrierPhase { barrier: address_of(self.rank, of.barrier), ..of }),
        }
    }
}

/// The cause "the previous phase should have expected this copy", for a barrier of the block.
pub(crate) fn not_expected(
    block: &BlockState,
    copy: &Access,
    signalled: BarrierPhase,
) -> Option<Cause> {
    let barriers = block.barriers.try_borrow().ok()?;
    let history = &barriers.get(signalled.barrier)?.history;
    let arrival = history.phase_that_expected_nothing(copy, signalled.phase, &block.order)?;
    let of_line = |(location, _): &&(&Location<'_>, i64)| *location == copy.location;
    let bytes = history.copies.iter().find(of_line).map_or(0, |(_, bytes)| *bytes);
    Some(Cause::Bytes {
        barrier: address_of(block.rank, signalled.barrier),
        phase: signalled.phase - 1,
        expected: 0,
        expected_by: Some(block.findings.actor(arrival)),
        copies: Vec::from([(copy.location.into(), bytes)]),
        has_ended: true,
    })
}

/// A copy to these bytes of a block starts: explains earlier reads of them, which found them
/// unwritten.
pub(crate) fn explain_reads(
    block: &BlockState,
    addresses: Range<u32>,
    copy: Access,
    signalled: BarrierPhase,
) {
    let (rank, signals) = (block.rank, Some(signalled));
    block.findings.explain_reads(rank, addresses, |address, read| {
        Conflict { rank, address, read, copy, signals }.cause_of_unwritten_read()
    });
}

/// A warp has arrived at a barrier of the block of this rank: explains refills without a wait for
/// that.
pub(super) fn explain_refills(cluster: &ClusterState, rank: usize, address: u32, by: Access) {
    let findings = &cluster.blocks[0].findings;
    let is_of_copies = with_history(cluster, rank, address, |history| history.last_copy.is_some());
    if is_of_copies != Some(false) {
        return;
    }
    let actor = findings.actor(by);
    let same_warp = |other: &Actor| (other.block, other.warp) == (actor.block, actor.warp);
    // A warp that waits for each phase of this barrier waits for the release of other memory.
    let is_awaited_by = |copier: &Actor| {
        let is = with_history(cluster, rank, address, |history| {
            let arrived = history.arrivals().find(|of| of.by.agent == by.agent);
            history.waits.iter().any(|wait| {
                let waits = findings.actor(wait.by);
                (waits.block, waits.warp) == (copier.block, copier.warp)
                    && arrived.is_some_and(|of| wait.phase.wrapping_add(1) >= of.phase)
                    && !wait.again
            })
        });
        is == Some(true)
    };
    findings.explain_refills(address_of(rank, address), &actor, |cause| match cause {
        Cause::RunsAhead { barrier, phase, first, wait, .. } => {
            let (rank, local) = with_rank(*barrier);
            let awaited = with_history(cluster, rank, local, |history| history.wait_of(by.agent));
            !same_warp(first)
                && awaited.flatten().is_some_and(|wait| wait.phase == *phase)
                && (wait.is_some() || !is_awaited_by(first))
        }
        Cause::Handover { read, copy: Some(copy), .. } => {
            same_warp(read) && !same_warp(copy) && !is_awaited_by(copy)
        }
        Cause::Handover { read, copy: None, .. } => same_warp(read),
        _ => false,
    });
}

/// The copying warp's wait for a barrier at which others arrive.
#[derive(Clone, Copy)]
pub(super) struct ReleaseWait {
    pub(super) wait: Waited,
    /// The barrier's address, with the rank of its block.
    barrier: u32,
    /// The barrier's count: arrivals of a phase.
    count: u32,
    /// The barrier's initialisation.
    made: Option<Access>,
}

impl ReleaseWait {
    /// The awaited phase.
    pub(super) fn awaited(self) -> BarrierPhase {
        BarrierPhase { barrier: self.barrier, phase: self.wait.phase }
    }
}

/// Whether at most one arrival lies between a wait of a warp and a copy that it starts, the one
/// that may expect the copy's bytes.
fn is_right_before(order: &Order, agent: usize, wait: u32, copy: u32) -> bool {
    order.releases(agent, wait..copy) <= 1
}

/// The last bulk copies of a block's warps, and for each the warp's waits right before it.
///
/// A barrier remembers each warp's last wait only. By the time of a report, that may be the wait
/// for the next phase.
#[derive(Default)]
pub(crate) struct CopyWaits(VecDeque<(Access, Vec<ReleaseWait>)>);

/// Copies that are remembered.
const REMEMBERED_COPIES: usize = 256;

impl CopyWaits {
    /// A warp of the block starts a copy.
    pub(crate) fn note(&mut self, block: &BlockState, by: Access) {
        if self.0.back().is_some_and(|(other, _)| is_in_tick(other, &by)) {
            return;
        }
        let barriers = block.barriers.borrow();
        let waits = barriers.iter().filter_map(|(address, barrier)| {
            let wait = barrier.history.wait_of(by.agent)?;
            is_right_before(&block.order, by.agent, wait.by.tick, by.tick).then(|| ReleaseWait {
                wait,
                barrier: address_of(block.rank, address),
                count: barrier.count(),
                made: barrier.history.made,
            })
        });
        if self.0.len() == REMEMBERED_COPIES {
            self.0.pop_front();
        }
        self.0.push_back((by, waits.collect()));
    }

    /// The waits right before a copy, if the copy is remembered.
    fn of(&self, copy: &Access) -> Option<&[ReleaseWait]> {
        let mut copies = self.0.iter().rev();
        copies.find(|(by, _)| is_in_tick(by, copy)).map(|(_, waits)| &waits[..])
    }
}

/// Whether one warp makes both accesses, in one tick.
fn is_in_tick(one: &Access, other: &Access) -> bool {
    (one.agent, one.tick) == (other.agent, other.tick)
}

/// An arrival by which a reader releases memory.
struct Release {
    by: Access,
    /// The barrier's address, with the rank of its block.
    barrier: u32,
    /// Whether the copying warp has waited for its phase.
    is_waited_for: bool,
}

/// The mistake that explains a read of unwritten memory, if the wait before it was for the phase
/// before the first.
pub(crate) fn cause_before_first_phase(rank: usize, address: u32, read: Access) -> Option<Cause> {
    try_with_cluster(|cluster| {
        let barriers = cluster.blocks[rank].barriers.try_borrow().ok()?;
        let waits = barriers
            .iter()
            .filter_map(|(at, barrier)| Some((at, barrier.history.wait_of(read.agent)?)));
        let (barrier, wait) = waits.max_by_key(|(_, wait)| wait.by.tick)?;
        let is_for_nothing = wait.phase == PHASE_BEFORE_FIRST && !wait.again;
        let mistake = wait.mistake(cluster, address_of(rank, barrier));
        let cause = Cause::Handover {
            mistake,
            address: address_of(rank, address),
            read: cluster_actor(cluster, read),
            copy: None,
            signals: None,
        };
        is_for_nothing
            .then(|| barriers.get(barrier).map(|barrier| barrier.history.first_cause(cause)))
            .flatten()
    })
}

/// For the asynchronous agent of a barrier: the last copy that landed, and the phase that it
/// signalled.
pub(crate) fn landed(rank: usize, by: &Access) -> Option<(Access, BarrierPhase)> {
    try_with_cluster(|cluster| {
        let barriers = cluster.blocks[rank].barriers.try_borrow().ok()?;
        let (address, barrier) = barriers.iter().find(|(_, barrier)| barrier.is_agent(by.agent))?;
        let copy = barrier.history.last_copy?;
        let signalled = BarrierPhase { barrier: address, phase: by.tick.wrapping_sub(1) };
        Some((Access { location: by.location, ..copy }, signalled))
    })
}

pub(super) fn cluster_actor(cluster: &ClusterState, by: Access) -> Actor {
    cluster.blocks[0].findings.actor(by)
}

fn with_history<R>(
    cluster: &ClusterState,
    rank: usize,
    barrier: u32,
    work: impl FnOnce(&BarrierHistory) -> R,
) -> Option<R> {
    let barriers = cluster.blocks[rank].barriers.try_borrow().ok()?;
    barriers.get(barrier).map(|barrier| work(&barrier.history))
}
