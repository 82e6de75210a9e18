//! Memory that mbarriers hand over from who copies to it to who reads it: which mistake is behind a
//! misuse of it.
//!
//! Each mbarrier keeps who arrived at it last, and who waited for it; nothing here decides whether
//! something is wrong. Only when something is, the mistake is looked for: the line to mend is
//! seldom the one at which it shows.

use crate::engine::findings::{Actor, Cause, Mistake, RANK_SHIFT, address_of};
use crate::engine::memory::order::{Order, is_warp_group, warps_of_group};
use crate::engine::memory::race::{Access, Lanes};
use crate::engine::warps::block::{BlockState, ClusterState};
use crate::engine::warps::context::try_with_cluster;
use core::panic::Location;
use std::cell::RefCell;
use std::vec::Vec;

/// What an mbarrier was told, and by whom.
#[derive(Default)]
pub(crate) struct BarrierHistory {
    /// Who initialised it.
    made: Option<Access>,
    /// Bytes that the current phase was told to expect, and by whom last.
    expected: i64,
    expected_by: Option<Access>,
    /// Bytes that the phase before was told to expect.
    expected_before: i64,
    /// Bytes of the copies that tell the current phase, by the line that starts them.
    copies: Vec<(&'static Location<'static>, i64)>,
    /// Of these, bytes that have not landed.
    in_flight: i64,
    /// Whether a copy of another block has ever told it.
    is_told_by_peers: bool,
    /// Who started a copy last.
    last_copy: Option<Access>,
    /// Each warp's last arrival, and its phase.
    arrivals: Vec<(u32, Access)>,
    /// Each warp's last wait.
    waits: Vec<Waited>,
    /// The first mistake that was found of who hands memory over by it: what else goes wrong
    /// there, comes of that.
    explained: RefCell<Option<Cause>>,
}

/// A wait that has ended.
#[derive(Clone, Copy)]
struct Waited {
    by: Access,
    /// The phase; the one before the first is `u32::MAX`.
    phase: u32,
    /// Whether the warp had waited for it before.
    again: bool,
    /// Whether who started the last copy knew of something that the warp did behind the wait, and
    /// before it told others.
    is_released: bool,
}

impl BarrierHistory {
    pub(super) fn new(made: Access) -> Self {
        BarrierHistory { made: Some(made), ..BarrierHistory::default() }
    }

    /// Who initialised it.
    pub(super) fn made(&self) -> Option<Access> {
        self.made
    }

    pub(super) fn note_expected(&mut self, by: Access, bytes: u32) {
        if bytes > 0 {
            self.expected += i64::from(bytes);
            self.expected_by = Some(by);
        }
    }

    pub(super) fn note_arrival(&mut self, by: Access, phase: u32) {
        match self.arrivals.iter_mut().find(|(_, of)| of.agent == by.agent) {
            Some(last) => *last = (phase, by),
            None => self.arrivals.push((phase, by)),
        }
    }

    pub(super) fn note_wait(&mut self, by: Access, phase: u32) {
        let waited = Waited { by, phase, again: false, is_released: false };
        match self.waits.iter_mut().find(|last| last.by.agent == by.agent) {
            // Another lane of the same closure.
            Some(last) if last.phase == phase && last.by.by != by.by => {}
            Some(last) => *last = Waited { again: last.phase == phase, ..waited },
            None => self.waits.push(waited),
        }
    }

    /// A copy of so many bytes starts that is to tell the current phase.
    pub(super) fn note_copy(&mut self, by: Access, bytes: i64, is_of_peer: bool, order: &Order) {
        self.note_bytes(by.location, bytes);
        self.in_flight += bytes;
        self.is_told_by_peers |= is_of_peer;
        self.last_copy = Some(by);
        for wait in &mut self.waits {
            let is_own = wait.by.agent == by.agent;
            wait.is_released = is_own || order.knows_some_lane(&by, wait.by.agent, wait.by.tick);
        }
    }

    /// A copy has landed.
    pub(super) fn note_landed(&mut self, bytes: i64) {
        self.in_flight -= bytes;
    }

    /// The current phase is told of so many bytes, by this line.
    pub(super) fn note_bytes(&mut self, location: &'static Location<'static>, bytes: i64) {
        match self.copies.iter_mut().find(|(of, _)| *of == location) {
            Some((_, of_line)) => *of_line += bytes,
            None => self.copies.push((location, bytes)),
        }
    }

    /// Bytes of copies that tell the current phase and have not landed.
    pub(super) fn in_flight(&self) -> i64 {
        self.in_flight
    }

    /// The phase ends.
    pub(super) fn end_phase(&mut self) {
        self.expected_before = self.expected;
        (self.expected, self.expected_by, self.in_flight) = (0, None, 0);
        self.copies.clear();
    }

    /// Each warp's last arrival, and its phase.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = (u32, Access)> + '_ {
        self.arrivals.iter().copied()
    }

    pub(super) fn is_told_by_peers(&self) -> bool {
        self.is_told_by_peers
    }

    /// That the current phase is told of other bytes than it expects.
    pub(super) fn wrong_bytes(
        &self,
        barrier: u32,
        phase: u32,
        actor: impl Fn(Access) -> Actor,
    ) -> Cause {
        Cause::Bytes {
            barrier,
            phase,
            expected: self.expected,
            expected_by: self.expected_by.map(actor),
            copies: self.copies.iter().map(|&(location, bytes)| (location.into(), bytes)).collect(),
            has_ended: self.in_flight > 0,
        }
    }

    /// The first mistake that was found, which is this one if there was none.
    fn first_cause(&self, cause: Cause) -> Cause {
        self.explained.borrow_mut().get_or_insert(cause).clone()
    }

    /// Whether who started a copy that tells this phase arrived right before that, and so ended the
    /// phase before, which expected nothing: then it is that phase which was to expect the copy.
    fn phase_that_expected_nothing(&self, copy: &Access, phase: u32) -> Option<Access> {
        let ended = |(of, by): &(u32, Access)| {
            by.agent == copy.agent && of.wrapping_add(1) == phase && by.tick + 1 == copy.tick
        };
        let arrival = self.arrivals.iter().copied().find(ended);
        arrival
            .filter(|_| phase > 0 && self.expected == 0 && self.expected_before == 0)
            .map(|(_, by)| by)
    }

    fn wait_of(&self, agent: usize) -> Option<Waited> {
        self.waits.iter().find(|wait| wait.by.agent == agent).copied()
    }
}

/// Memory of a block that is read and copied to, in an order that nothing ensures.
#[derive(Clone, Copy)]
pub(crate) struct Conflict {
    /// The block, by rank, and an address in it.
    pub(crate) rank: usize,
    pub(crate) address: u32,
    /// Who reads; a `wgmma` does as the warp that starts it, or as its warpgroup.
    pub(crate) read: Access,
    /// Who starts the copy.
    pub(crate) copy: Access,
    /// The mbarrier that the copy tells, and its phase then.
    pub(crate) told: Option<(u32, u32)>,
}

impl Conflict {
    /// The mistake behind a read of memory while a copy to it is in flight, or has landed.
    /// `read_at` is the tick at which the same warp read the same byte before; of a `wgmma`'s reads
    /// that is not known.
    pub(crate) fn of_read(mut self, read_at: Option<u32>, is_wgmma: bool) -> Option<Cause> {
        try_with_cluster(|cluster| {
            let (barrier, phase) = self.told.or_else(|| self.find_told(cluster))?;
            self.told = Some((barrier, phase));
            if let Some(cause) =
                not_expected(&cluster.blocks[self.rank], &self.copy, (barrier, phase))
            {
                return with_history(cluster, self.rank, barrier, |history| {
                    history.first_cause(cause)
                });
            }
            let (wait, of_others) = with_history(cluster, self.rank, barrier, |history| {
                let before = |wait: &&Waited| phase > 0 && wait.phase == phase - 1;
                (history.wait_of(self.read.agent), history.waits.iter().find(before).copied())
            })?;
            let mistake = match wait {
                // Another warp has waited for what it reads, and told it so.
                None if of_others.is_some_and(|wait| !wait.is_released) => {
                    self.of_release(cluster, None).unwrap_or(Mistake::NotReleased { release: None })
                }
                None => Mistake::NotWaited { last: None },
                // It has come for what it reads: what is wrong is something else.
                Some(wait) if wait.phase == phase => return None,
                Some(wait) => {
                    // Who copies has not waited until this reader releases the copy before.
                    let is_read_in_time =
                        !wait.again && wait.phase == phase.wrapping_sub(1) && phase > 0;
                    if is_read_in_time && !wait.is_released {
                        self.of_refill(cluster, wait)
                    } else {
                        self.of_wait(cluster, wait, read_at, is_wgmma)
                    }
                }
            };
            self.explained(cluster, barrier, mistake)
        })
    }

    /// The mistake of a reader whose last wait for the copy's barrier was for an earlier phase.
    fn of_wait(
        &self,
        cluster: &ClusterState,
        wait: Waited,
        read_at: Option<u32>,
        is_wgmma: bool,
    ) -> Mistake {
        let barrier = self.told.map_or(0, |(barrier, _)| address_of(self.rank, barrier));
        let read_since = read_at.is_some_and(|tick| tick >= wait.by.tick);
        let behind_wait =
            |arrival: &Access| arrival.tick >= wait.by.tick && arrival.tick < self.read.tick;
        let latest = self.wait_for_it(cluster);
        let is_of_it =
            |release: &Release| latest.is_some_and(|(_, barrier, _)| barrier == release.barrier);
        // Rather the one that who copies has waited for right before.
        let behind = self.releases(cluster).filter(|release| behind_wait(&release.by));
        let release = behind.min_by_key(|release| (!is_of_it(release), !release.is_waited_for));
        match release {
            Some(release) if !is_wgmma && !read_since && release.is_waited_for => {
                Mistake::ReleasedEarly {
                    release: cluster_actor(cluster, release.by),
                    barrier: release.barrier,
                }
            }
            None if !read_since => Mistake::WaitedForOver {
                wait: cluster_actor(cluster, wait.by),
                barrier,
                waited: wait.phase,
                again: wait.again,
            },
            _ => Mistake::NotWaited { last: Some((wait.phase, cluster_actor(cluster, wait.by))) },
        }
    }

    /// The mistake behind a copy to memory that somebody may still read.
    pub(crate) fn of_copy(self) -> Option<Cause> {
        try_with_cluster(|cluster| {
            let readers = self.readers(cluster);
            let Some((barrier, phase)) = self.told else {
                // Copies by `cp.async` tell no barrier when they start.
                let mistake = self.of_release(cluster, None)?;
                return Some(self.cause(cluster, mistake));
            };
            let waits = with_history(cluster, self.rank, barrier, |history| {
                readers
                    .iter()
                    .filter_map(|&reader| history.wait_of(reader))
                    .max_by_key(|wait| wait.by.tick)
            })?;
            let mistake = match waits {
                None if phase == 0 => Mistake::NotWaited { last: None },
                None => {
                    self.of_release(cluster, None).unwrap_or(Mistake::NotReleased { release: None })
                }
                Some(wait) if wait.again || wait.phase == u32::MAX => Mistake::WaitedForOver {
                    wait: cluster_actor(cluster, wait.by),
                    barrier: address_of(self.rank, barrier),
                    waited: wait.phase,
                    again: wait.again,
                },
                Some(wait) => self.of_refill(cluster, wait),
            };
            self.explained(cluster, barrier, mistake)
        })
    }

    /// The mistake where memory is refilled that a reader has waited for, and may still read.
    fn of_refill(&self, cluster: &ClusterState, wait: Waited) -> Mistake {
        self.of_release(cluster, Some(wait)).unwrap_or(Mistake::NotReleased { release: None })
    }

    /// The mistake with the barriers at which the reader arrives, for who copies to wait for them.
    fn of_release(&self, cluster: &ClusterState, wait: Option<Waited>) -> Option<Mistake> {
        let is_wgmma = is_warp_group(self.read.agent, cluster.blocks.len());
        let latest = self.wait_for_it(cluster);
        let early = |release: &Release| {
            let behind_wait = wait.is_none_or(|wait| release.by.tick >= wait.by.tick);
            let is_of_it = latest.is_some_and(|(_, barrier, _)| barrier == release.barrier);
            let is_told = is_of_it && release.is_waited_for;
            is_told && behind_wait && (is_wgmma || release.by.tick < self.read.tick)
        };
        if let Some(release) =
            self.releases(cluster).filter(early).max_by_key(|release| release.by.tick)
        {
            return Some(Mistake::ReleasedEarly {
                release: cluster_actor(cluster, release.by),
                barrier: release.barrier,
            });
        }
        // Who copies waits for a barrier that readers arrive at, and for the wrong phase of it; or
        // it ended without this reader.
        let fills = self.told.map(|(_, phase)| phase);
        if let Some((wait, barrier, (of, made))) = latest {
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
        let release = release.map(|release| (release.barrier, cluster_actor(cluster, release.by)));
        (self.told.is_some() || release.is_some()).then_some(Mistake::NotReleased { release })
    }

    /// The wait right before the copy, likewise: an arrival, which may expect its bytes, is between
    /// the two at most.
    fn wait_for_it(&self, cluster: &ClusterState) -> Option<(Waited, u32, (u32, Option<Access>))> {
        self.latest_wait(cluster, self.copy.tick.saturating_sub(1))
    }

    /// The last wait of who copies for a barrier that others arrive at, from a tick on: with the
    /// barrier, and the arrivals of its phases.
    fn latest_wait(
        &self,
        cluster: &ClusterState,
        from: u32,
    ) -> Option<(Waited, u32, (u32, Option<Access>))> {
        let told = self.told.map(|(barrier, _)| (self.rank, barrier));
        let mut latest: Option<(Waited, u32, (u32, Option<Access>))> = None;
        for block in &cluster.blocks {
            let Ok(barriers) = block.barriers.try_borrow() else { continue };
            for (address, barrier) in
                barriers.iter().filter(|(address, _)| Some((block.rank, *address)) != told)
            {
                let history = &barrier.history;
                let is_of_others =
                    history.arrivals.iter().any(|(_, by)| by.agent != self.copy.agent);
                let wait = history
                    .wait_of(self.copy.agent)
                    .filter(|wait| is_of_others && wait.by.tick >= from);
                if let Some(wait) = wait
                    && latest.is_none_or(|(other, ..)| other.by.tick <= wait.by.tick)
                {
                    latest = Some((
                        wait,
                        address_of(block.rank, address),
                        (barrier.count(), history.made),
                    ));
                }
            }
        }
        latest
    }

    /// The warps that read.
    fn readers(&self, cluster: &ClusterState) -> Vec<usize> {
        let blocks = cluster.blocks.len();
        if is_warp_group(self.read.agent, blocks) {
            warps_of_group(self.read.agent, blocks, cluster.blocks[0].warps()).collect()
        } else {
            Vec::from([self.read.agent])
        }
    }

    /// The last arrivals of who reads, at other barriers than the copy's.
    fn releases(&self, cluster: &ClusterState) -> impl Iterator<Item = Release> {
        let readers = self.readers(cluster);
        let told = self.told.map(|(barrier, _)| (self.rank, barrier));
        let mut releases = Vec::new();
        for block in &cluster.blocks {
            let Ok(barriers) = block.barriers.try_borrow() else { continue };
            for (address, barrier) in
                barriers.iter().filter(|(address, _)| Some((block.rank, *address)) != told)
            {
                let wait = barrier.history.wait_of(self.copy.agent).filter(|wait| !wait.again);
                let of_readers =
                    barrier.history.arrivals().filter(|(_, by)| readers.contains(&by.agent));
                releases.extend(of_readers.map(|(phase, by)| Release {
                    by,
                    barrier: address_of(block.rank, address),
                    is_waited_for: wait.is_some_and(|wait| wait.phase == phase),
                }));
            }
        }
        releases.into_iter()
    }

    /// The barrier that the copy tells, and its phase when it was started.
    fn find_told(&self, cluster: &ClusterState) -> Option<(u32, u32)> {
        cluster.blocks[self.rank].bulk.try_borrow().ok()?.told_of(&self.copy, self.address)
    }

    /// The first mistake that was found of this barrier.
    fn explained(&self, cluster: &ClusterState, barrier: u32, mistake: Mistake) -> Option<Cause> {
        let cause = self.cause(cluster, mistake);
        with_history(cluster, self.rank, barrier, |history| history.first_cause(cause))
    }

    fn cause(&self, cluster: &ClusterState, mistake: Mistake) -> Cause {
        if let Mistake::ReaderNotCounted { barrier, .. } = mistake {
            let (rank, local) =
                ((barrier >> RANK_SHIFT) as usize - 1, barrier & ((1 << RANK_SHIFT) - 1));
            if let Some(cause) = wrong_count(cluster, rank, local) {
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
            told: self.told.map(|(barrier, phase)| (address_of(self.rank, barrier), phase)),
        }
    }
}

/// That the phase before the one that a copy tells, of a barrier of the block, was to expect it.
pub(crate) fn not_expected(block: &BlockState, copy: &Access, told: (u32, u32)) -> Option<Cause> {
    let barriers = block.barriers.try_borrow().ok()?;
    let history = &barriers.get(told.0)?.history;
    let arrival = history.phase_that_expected_nothing(copy, told.1)?;
    let of_line = |(location, _): &&(&Location<'_>, i64)| *location == copy.location;
    let bytes = history.copies.iter().find(of_line).map_or(0, |(_, bytes)| *bytes);
    Some(Cause::Bytes {
        barrier: address_of(block.rank, told.0),
        phase: told.1 - 1,
        expected: 0,
        expected_by: Some(block.findings.actor(arrival)),
        copies: Vec::from([(copy.location.into(), bytes)]),
        has_ended: true,
    })
}

/// The mistake of a warp that arrives at a barrier more often than a phase has arrivals: if it
/// starts the copies that tell the barrier, it has not waited for the phase of the last one.
pub(super) fn runs_ahead(
    cluster: &ClusterState,
    rank: usize,
    address: u32,
    agent: usize,
) -> Option<Cause> {
    let barriers = cluster.blocks[rank].barriers.borrow();
    let barrier = barriers.get(address)?;
    let (history, phase) = (&barrier.history, barrier.phase());
    let (_, first) =
        history.arrivals.iter().copied().find(|&(of, by)| by.agent == agent && of == phase)?;
    history.last_copy.filter(|copy| copy.agent == agent)?;
    drop(barriers);
    // Behind the first arrival, or the copy that comes with it.
    let conflict =
        Conflict { rank, address, read: first, copy: first, told: Some((address, phase)) };
    let wait = match conflict.latest_wait(cluster, first.tick) {
        Some((wait, ..)) if !wait.again && wait.phase.wrapping_add(1) > phase => return None,
        wait => wait.map(|(wait, of, _)| (of, wait.phase, cluster_actor(cluster, wait.by))),
    };
    Some(Cause::RunsAhead {
        barrier: address_of(rank, address),
        phase,
        first: cluster_actor(cluster, first),
        wait,
    })
}

/// The mistake of a barrier that has fewer arrivals in a phase than there are warps that arrive at
/// it.
pub(super) fn wrong_count(cluster: &ClusterState, rank: usize, address: u32) -> Option<Cause> {
    let barriers = cluster.blocks[rank].barriers.borrow();
    let barrier = barriers.get(address)?;
    let (history, of) = (&barrier.history, barrier.count());
    let made = history.made.filter(|_| history.arrivals.len() > of as usize)?;
    let arrivals = history.arrivals.iter().map(|&(_, by)| cluster_actor(cluster, by)).collect();
    Some(Cause::Count {
        barrier: address_of(rank, address),
        of,
        made: cluster_actor(cluster, made),
        arrivals,
    })
}

/// An arrival of who reads.
struct Release {
    by: Access,
    /// The barrier, with its block.
    barrier: u32,
    /// Whether who copies has waited for its phase.
    is_waited_for: bool,
}

/// The mistake behind a read of memory that nothing wrote, if the wait before it was for a phase
/// before the first.
pub(crate) fn of_unwritten(rank: usize, address: u32, read: Access) -> Option<Cause> {
    try_with_cluster(|cluster| {
        let barriers = cluster.blocks[rank].barriers.try_borrow().ok()?;
        let waits = barriers
            .iter()
            .filter_map(|(at, barrier)| Some((at, barrier.history.wait_of(read.agent)?)));
        let (barrier, wait) = waits.max_by_key(|(_, wait)| wait.by.tick)?;
        let is_for_nothing = wait.phase == u32::MAX && !wait.again;
        let mistake = Mistake::WaitedForOver {
            wait: cluster_actor(cluster, wait.by),
            barrier: address_of(rank, barrier),
            waited: wait.phase,
            again: false,
        };
        let cause = Cause::Handover {
            mistake,
            address: address_of(rank, address),
            read: cluster_actor(cluster, read),
            copy: None,
            told: None,
        };
        is_for_nothing
            .then(|| barriers.get(barrier).map(|barrier| barrier.history.first_cause(cause)))
            .flatten()
    })
}

/// Copies of which a barrier has been told, that landed: who started the last, and which barrier
/// and phase that was.
pub(crate) fn landed(rank: usize, by: &Access) -> Option<(Access, (u32, u32))> {
    try_with_cluster(|cluster| {
        let barriers = cluster.blocks[rank].barriers.try_borrow().ok()?;
        let (address, barrier) = barriers.iter().find(|(_, barrier)| barrier.is_agent(by.agent))?;
        let copy = barrier.history.last_copy?;
        Some((Access { location: by.location, ..copy }, (address, by.tick.wrapping_sub(1))))
    })
}

fn cluster_actor(cluster: &ClusterState, by: Access) -> Actor {
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
