//! mbarriers: arrivals, expected bytes and waits for phases.

use crate::engine::findings::{Awaited, BarrierMisuse, BarrierState, Misuse, PhaseUse};
use crate::engine::memory::copies::arrival_at;
pub(crate) use crate::engine::memory::copies::{arrive_when_copied, hold_until_copied};
use crate::engine::memory::order::Space;
use crate::engine::memory::order::{Clock, Order, agents_of_barrier, executing};
use crate::engine::memory::peer::{self, Visit};
use crate::engine::memory::race::{Access, Lanes};
use crate::engine::record::note_lane;
use crate::engine::warps::barrier_history::{Arrived, BarrierHistory};
use crate::engine::warps::block::{BlockState, Waiting, WarpOfBlock};
use crate::engine::warps::context::{current_lane, fail, with_block, with_cluster};
use crate::engine::warps::handover;
use crate::engine::warps::lanes::{Pause, pause};
use crate::engine::warps::phase_order::{Needed, PhaseOrder};
use crate::engine::warps::polling::note_access;
use crate::lane::Site;
use core::panic::Location;
use std::boxed::Box;
use std::collections::BTreeMap;
use std::vec;

/// The size and the alignment of an mbarrier, in bytes.
pub(crate) const BYTES: usize = 8;

/// The largest count of arrivals, and the largest transaction count in bytes, of a phase.
const MOST: u32 = (1 << 20) - 1;

/// The mbarriers of a block, by address.
pub(crate) struct Barriers {
    live: BTreeMap<u32, Barrier>,
    /// Number of mbarriers that the block has initialised.
    made: usize,
    /// Changes of a phase so far: arrivals, expected bytes and landed bytes.
    events: u64,
    /// Determines the waits that give up at once.
    random: fastrand::Rng,
}

/// An mbarrier.
pub(crate) struct Barrier {
    /// Arrivals that each phase needs, from the next phase on.
    count: u32,
    /// Arrivals that the current phase needs, and those that are still missing.
    of_phase: u32,
    pending: u32,
    /// Bytes that the current phase still expects. Negative if more bytes have landed than are
    /// expected so far.
    bytes: i64,
    /// Number of completed phases.
    phase: u32,
    /// Accesses released by the arrivals of the current phase.
    released: Clock,
    /// Accesses released by the arrivals of all earlier phases.
    over: Clock,
    /// The same for arrivals of other blocks of the cluster. Only waits of cluster scope acquire
    /// them.
    released_by_peers: Clock,
    over_of_peers: Clock,
    /// Whether a `fence.mbarrier_init` follows its initialisation.
    is_fenced: bool,
    /// The agents of asynchronous operations that signal this barrier, indexed by [`Proxy`].
    agents: [usize; 2],
    /// The barrier's identity: the upper fields of [`state`], from `ADDRESS` on.
    which: u64,
    /// Finds operations that another schedule would put into another phase.
    order: PhaseOrder,
    /// For reports.
    pub(super) history: BarrierHistory,
}

/// The 64-bit state that an arrival returns.
///
/// | bits | field |
/// | --- | --- |
/// | 0 to 19 | number of the phase |
/// | 20 to 39 | arrivals that the phase still needed |
/// | 40 to 54 | address of the barrier, in units of 8 bytes |
/// | 55 to 58 | rank of its block in the cluster |
/// | 59 to 63 | number of barriers that the block had before |
///
/// Each field has the lowest bits of its number. A GPU uses another format, which PTX leaves open.
mod state {
    pub(super) const PHASES: u32 = (1 << 20) - 1;
    pub(super) const PENDING: u32 = 20;
    pub(super) const ADDRESS: u32 = 40;
    pub(super) const RANK: u32 = 55;
    pub(super) const MADE: u32 = 59;
}

/// The arrivals that the phase still needed, from a state.
pub(crate) const fn pending(of_state: u64) -> u32 {
    (of_state >> state::PENDING) as u32 & MOST
}

/// The way in which data that signals an mbarrier reaches shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// Through the async proxy, like bulk copies.
    Async,
    /// Like ordinary stores, but later: `cp.async`, `st.async` and `red.async`.
    Generic,
}

/// The phase of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AwaitedPhase {
    /// The phase of this number, or `PHASE_BEFORE_FIRST`.
    Number(u32),
    /// The last phase of this parity.
    Parity(u32),
    /// The phase of an arrival, from the state that it returned.
    Of(u64),
}

/// A wait of a warp or of a lane for the end of a phase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PhaseWait {
    pub(crate) address: u32,
    pub(crate) phase: AwaitedPhase,
    pub(crate) location: &'static Location<'static>,
    /// Whether the wait may end without the phase if no warp can run otherwise.
    pub(crate) gives_up: bool,
}

/// The operands of an arrival.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// Its count, in each lane that executes it.
    pub(crate) count: u32,
    /// Bytes by which it raises the transaction count of the phase.
    pub(crate) expect: u32,
    /// Whether it also lowers the count of later phases (`arrive_drop`).
    pub(crate) drop: bool,
    /// The scope in which it releases earlier writes.
    pub(crate) scope: Scope,
}

impl Arrival {
    /// A plain arrival.
    pub(crate) const ONE: Self = Arrival { count: 1, expect: 0, drop: false, scope: Scope::Block };
}

/// The scope of an arrival or a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The executing block (`.cta`).
    Block,
    /// All blocks of the cluster (`.cluster`).
    Cluster,
}

impl Barrier {
    /// Whether a phase is over. An error if the wait is too late or too early to be reliable.
    ///
    /// A GPU identifies phases by parity. So it confuses the phase after the current one with the
    /// one before it, which is over. A correct kernel never waits like this: the end of one phase
    /// tells it that it may wait for the next.
    fn is_over(&self, phase: AwaitedPhase) -> Result<bool, BarrierMisuse> {
        match phase {
            AwaitedPhase::Parity(parity) => Ok(self.phase % 2 != parity % 2),
            AwaitedPhase::Of(of_state)
                if of_state >> state::ADDRESS != self.which >> state::ADDRESS =>
            {
                let units = (of_state >> state::ADDRESS) as u32
                    & ((1 << (state::RANK - state::ADDRESS)) - 1);
                Err(BarrierMisuse::ArrivalOfAnother { address: units * BYTES as u32 })
            }
            AwaitedPhase::Of(of_state) => {
                let behind = self.phase.wrapping_sub(of_state as u32) & state::PHASES;
                self.is_over(AwaitedPhase::Number(self.phase.wrapping_sub(behind)))
            }
            AwaitedPhase::Number(number) => match self.phase.wrapping_sub(number) {
                0 => Ok(false),
                1 => Ok(true),
                behind @ 2..=0x7fff_ffff => Err(BarrierMisuse::PhaseMissed { behind: behind - 1 }),
                short => Err(BarrierMisuse::PhaseAhead { ahead: short.wrapping_neg() }),
            },
        }
    }

    fn expect(&mut self, by: Access, bytes: u32, order: &Order) -> Result<(), BarrierMisuse> {
        self.history.note_expected(by, bytes);
        self.order.expect(by, bytes, order);
        self.bytes += i64::from(bytes);
        if self.bytes > i64::from(MOST) {
            Err(BarrierMisuse::TooManyBytes { bytes: self.bytes })
        } else {
            Ok(())
        }
    }

    /// Counts bytes that a warp completes by an instruction.
    fn complete(&mut self, by: Access, bytes: u32, order: &Order) -> Result<(), BarrierMisuse> {
        self.history.note_bytes(by.location, bytes.into());
        self.need(by, Needed::Bytes(bytes.into()), order);
        self.receive(bytes)
    }

    /// Records an operation of a warp that the current phase needs, other than an arrival that
    /// releases its accesses. Who waits for the phase knows that the warp has reached it.
    fn need(&mut self, by: Access, needed: Needed, order: &Order) {
        self.order.need(by, needed, order);
        self.released.join(&order.release_progress(by.agent));
    }

    /// Counts bytes that have landed.
    fn receive(&mut self, bytes: u32) -> Result<(), BarrierMisuse> {
        self.bytes -= i64::from(bytes);
        if self.bytes < -i64::from(MOST) {
            return Err(BarrierMisuse::TooManyBytes { bytes: self.bytes });
        }
        self.end_phase()
    }

    /// Counts the arrival of each executing lane. Returns the state before it.
    fn count_arrival(
        &mut self,
        by: Access,
        arrival: Arrival,
        order: &Order,
    ) -> Result<u64, BarrierMisuse> {
        let Arrival { count, expect, drop, .. } = arrival;
        let lanes = executing(current_lane()).len() as u32;
        let arrivals = count.saturating_mul(lanes);
        // Before the bytes: the phase must stay as it is if other warps run on.
        if arrivals > self.pending {
            self.history.note_refused(by, self.phase);
            return Err(BarrierMisuse::TooManyArrivals { of: self.of_phase });
        }
        let state = u64::from(self.phase & state::PHASES)
            | u64::from(self.pending) << state::PENDING
            | self.which;
        self.expect(by, expect.saturating_mul(lanes), order)?;
        self.order.need(by, Needed::Arrival, order);
        let phase = self.phase;
        if drop {
            let of = self.count;
            self.count = of.checked_sub(arrivals).ok_or(BarrierMisuse::TooManyArrivals { of })?;
            self.history.is_lowered = true;
        }
        self.arrive(arrivals)?;
        self.history.note_arrival(by, phase, lanes);
        Ok(state)
    }

    fn arrive(&mut self, count: u32) -> Result<(), BarrierMisuse> {
        if count == 0 {
            return Err(BarrierMisuse::Count { count });
        }
        let of = self.of_phase;
        self.pending =
            self.pending.checked_sub(count).ok_or(BarrierMisuse::TooManyArrivals { of })?;
        self.end_phase()
    }

    /// Ends the phase if no arrival and no bytes are missing.
    fn end_phase(&mut self) -> Result<(), BarrierMisuse> {
        if self.pending > 0 {
            return Ok(());
        }
        // Copies in flight might have landed by now.
        let unexpected = self.history.in_flight() - self.bytes;
        if self.bytes <= 0 && unexpected > 0 {
            return Err(BarrierMisuse::UnexpectedBytes { bytes: unexpected });
        }
        if self.bytes == 0 {
            self.order.end_phase();
            self.history.end_phase();
            self.phase = self.phase.wrapping_add(1);
            (self.of_phase, self.pending) = (self.count, self.count);
            self.over.join(&std::mem::take(&mut self.released));
            self.over_of_peers.join(&std::mem::take(&mut self.released_by_peers));
        }
        Ok(())
    }

    /// Records that an asynchronous operation belongs to the current phase, whose end releases it.
    /// Returns the access that stands for it.
    fn release_asynchronously(
        &mut self,
        proxy: Proxy,
        location: &'static Location<'static>,
    ) -> Access {
        let access = self.asynchronous(proxy, self.phase, location);
        self.released.pass_asynchronously(access.agent, access.tick);
        access
    }

    /// The access of an asynchronous operation that belongs to this phase.
    fn asynchronous(
        &self,
        proxy: Proxy,
        phase: u32,
        location: &'static Location<'static>,
    ) -> Access {
        Access {
            agent: self.agents[proxy as usize],
            by: Lanes::One(0),
            closure: 0,
            before: 0,
            epoch: u32::MAX,
            warp_epoch: 0,
            tick: phase.wrapping_add(1),
            location,
        }
    }

    /// The missing arrivals and bytes of the current phase, for the barrier at this address.
    pub(crate) fn awaited(&self, address: u32) -> Awaited {
        Awaited::Barrier {
            address,
            phase: self.phase,
            of: self.of_phase,
            arrivals: self.pending,
            bytes: self.bytes,
        }
    }

    /// The current phase, and its missing arrivals and bytes.
    fn missing(&self) -> (u32, u32, i64) {
        (self.phase, self.pending, self.bytes)
    }

    /// The current phase.
    pub(super) fn phase(&self) -> u32 {
        self.phase
    }

    /// Arrivals that a phase needs.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Whether only bytes are missing that no copy will bring.
    pub(super) fn lacks_bytes_only(&self) -> bool {
        self.pending == 0 && self.bytes > 0 && !self.history.is_signalled_by_peers()
    }

    /// Whether asynchronous operations that signal this barrier count as this agent's.
    pub(super) fn is_agent(&self, agent: usize) -> bool {
        self.agents.contains(&agent)
    }
}

/// The arrivals at a barrier, for reports.
pub(crate) fn barrier_state(block: &BlockState, address: u32, barrier: &Barrier) -> BarrierState {
    let arrivals = barrier
        .history
        .arrivals()
        .map(|Arrived { by, phase, .. }| PhaseUse { phase, by: block.findings.actor(by) })
        .collect();
    let made = barrier.history.made().map(|by| block.findings.actor(by));
    let held = barrier.history.held.map(|by| block.findings.actor(by));
    BarrierState { address, made, arrivals, held, had_wait: barrier.history.had_wait() }
}

impl Barriers {
    /// No barriers yet.
    pub(crate) fn new(random: fastrand::Rng) -> Self {
        Barriers { live: BTreeMap::new(), made: 0, events: 0, random }
    }

    pub(crate) fn get(&self, address: u32) -> Option<&Barrier> {
        self.live.get(&address)
    }

    /// The barriers, by address.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Barrier)> {
        self.live.iter().map(|(&address, barrier)| (address, barrier))
    }

    /// Whether the wait is over: by the phase, or by a misuse.
    pub(crate) fn is_settled(&self, wait: &PhaseWait) -> bool {
        self.live.get(&wait.address).is_none_or(|barrier| barrier.is_over(wait.phase) != Ok(false))
    }

    /// Changes of a phase so far.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }
}

/// Performs an operation of the running lane, or of each lane of the warp, on a barrier of its
/// block.
fn at_barrier<R: Default>(
    site: Site,
    address: u32,
    form: &'static str,
    work: impl FnOnce(&BlockState, Access, &mut Barrier) -> Result<R, BarrierMisuse>,
) -> R {
    // A destructor while a failed run is unwound.
    if std::thread::panicking() {
        return R::default();
    }
    note_access(site);
    note_lane(site, form);
    let done = with_block(|block| {
        let by = block.access(site);
        use_barrier(block, by, address, |barrier| work(block, by, barrier))
    });
    done.unwrap_or_else(|misuse| fail(site, misuse))
}

/// Performs an operation on a barrier of the block that the cluster address names.
///
/// Calls `work(own block, whether the barrier is another block's, access, barrier)`.
fn at_barrier_of_cluster<R: Default>(
    site: Site,
    address: u32,
    form: &'static str,
    work: impl FnOnce(&BlockState, bool, Access, &mut Barrier) -> Result<R, BarrierMisuse>,
) -> R {
    if std::thread::panicking() {
        return R::default();
    }
    note_access(site);
    note_lane(site, form);
    let done = peer::at_peer(site, address, Visit::Arrival, |own, peer, by, address| {
        use_barrier(peer, by, address, |barrier| work(own, own.rank != peer.rank, by, barrier))
    });
    done.unwrap_or_else(|misuse| fail(site, misuse))
}

fn use_barrier<R>(
    block: &BlockState,
    by: Access,
    address: u32,
    work: impl FnOnce(&mut Barrier) -> Result<R, BarrierMisuse>,
) -> Result<R, Misuse> {
    block.shared.use_barrier(by, address)?;
    let Barriers { live, events, .. } = &mut *block.barriers.borrow_mut();
    let done = match live.get_mut(&address) {
        Some(barrier) => {
            let before = barrier.missing();
            let done = work(barrier);
            *events += u64::from(barrier.missing() != before);
            barrier.order.report(block, address);
            done
        }
        None => Err(BarrierMisuse::Uninitialised),
    };
    done.map_err(|misuse| Misuse::Barrier { address, misuse })
}

/// `mbarrier.init`.
pub(crate) fn init(site: Site, form: &'static str, address: u32, count: u32) {
    if std::thread::panicking() {
        return;
    }
    note_access(site);
    note_lane(site, form);
    let made = with_block(|block| {
        block.order.start_clocks();
        let mut barriers = block.barriers.borrow_mut();
        let misuse = |misuse| Err(Misuse::Barrier { address, misuse });
        if !(1..=MOST).contains(&count) {
            return misuse(BarrierMisuse::Count { count });
        }
        if barriers.live.contains_key(&address) {
            return misuse(BarrierMisuse::InitialisedAgain);
        }
        block.shared.make_barrier(block.access(site), address)?;
        let which = (u64::from(address) / BYTES as u64) & 0x7fff;
        let which = which << state::ADDRESS
            | (block.rank as u64) << state::RANK
            | (barriers.made as u64) << state::MADE;
        let agents = agents_of_barrier(barriers.made).map(|number| block.asynchronous(number));
        barriers.made += 1;
        let barrier = Barrier {
            count,
            of_phase: count,
            pending: count,
            bytes: 0,
            phase: 0,
            released: Clock::default(),
            over: Clock::default(),
            released_by_peers: Clock::default(),
            over_of_peers: Clock::default(),
            is_fenced: false,
            agents,
            which,
            order: PhaseOrder::default(),
            history: BarrierHistory::new(block.access(site)),
        };
        barriers.live.insert(address, barrier);
        Ok(())
    });
    made.unwrap_or_else(|misuse| fail(site, misuse));
}

/// `mbarrier.inval`.
pub(crate) fn invalidate(site: Site, form: &'static str, address: u32) {
    at_barrier(site, address, form, |_, _, _| Ok(()));
    if !std::thread::panicking() {
        let done = with_block(|block| {
            check_unsignalled(block, address)?;
            block.barriers.borrow_mut().live.remove(&address);
            block.shared.end_barrier(block.access(site), address)
        });
        done.unwrap_or_else(|misuse| fail(site, misuse));
    }
}

/// Checks that no operation in flight is going to signal an mbarrier, which ends.
fn check_unsignalled(block: &BlockState, address: u32) -> Result<(), Misuse> {
    let bulk = block.bulk.borrow().signals(address);
    let Some(started) = bulk.or_else(|| arrival_at(block, address)) else { return Ok(()) };
    let (warp, of_block) = block.findings.warp(started.agent);
    let place = started.location.into();
    Err(Misuse::BarrierInFlight { address, place, warp, block: of_block })
}

/// `mbarrier.arrive` and its variants. Returns the state before the arrival.
pub(crate) fn arrive(site: Site, form: &'static str, address: u32, arrival: Arrival) -> u64 {
    let state = at_barrier(site, address, form, |block, by, barrier| {
        let released = block.order.release(block.agent(), executing(current_lane()));
        barrier.released.join(&released);
        barrier.count_arrival(by, arrival, &block.order)
    });
    explain_refills(site, address);
    state
}

/// An arrival at this address may be the one that a finding lacks.
fn explain_refills(site: Site, address: u32) {
    if std::thread::panicking() {
        return;
    }
    with_cluster(|cluster, own| {
        if own.findings.lack_causes()
            && let Ok((block, address)) = peer::resolve(cluster, own, address)
        {
            handover::explain_refills(cluster, block.rank, address, own.access(site));
        }
    });
}

/// `mbarrier.arrive` at the barrier of a `.shared::cluster` address.
pub(crate) fn arrive_at_peer(site: Site, form: &'static str, address: u32, arrival: Arrival) {
    at_barrier_of_cluster(site, address, form, |own, is_peer, by, barrier| {
        let released = own.order.release(own.agent(), executing(current_lane()));
        match arrival.scope {
            _ if !is_peer => barrier.released.join(&released),
            Scope::Block => barrier.released.join(&released.without_writes()),
            Scope::Cluster => barrier.released_by_peers.join(&released),
        }
        barrier.count_arrival(by, arrival, &own.order).map(drop)
    });
    explain_refills(site, address);
}

/// The bytes of the running lane, or those of each lane together. Too many for a barrier stay so.
fn of_all_lanes(bytes: u32) -> u32 {
    bytes.saturating_mul(executing(current_lane()).len() as u32)
}

/// `mbarrier.expect_tx`.
pub(crate) fn expect_bytes(site: Site, form: &'static str, address: u32, bytes: u32) {
    at_barrier(site, address, form, |block, by, barrier| {
        barrier.expect(by, of_all_lanes(bytes), &block.order)
    });
}

/// `mbarrier.complete_tx`.
pub(crate) fn complete_bytes(site: Site, form: &'static str, address: u32, bytes: u32) {
    at_barrier(site, address, form, |block, by, barrier| {
        barrier.complete(by, of_all_lanes(bytes), &block.order)
    });
}

/// `mbarrier.expect_tx` at the barrier of a `.shared::cluster` address.
pub(crate) fn expect_bytes_at_peer(site: Site, form: &'static str, address: u32, bytes: u32) {
    let bytes = of_all_lanes(bytes);
    count_bytes_at_peer(site, form, address, |by, barrier, order| barrier.expect(by, bytes, order));
}

/// `mbarrier.complete_tx` at the barrier of a `.shared::cluster` address.
pub(crate) fn complete_bytes_at_peer(site: Site, form: &'static str, address: u32, bytes: u32) {
    let bytes = of_all_lanes(bytes);
    count_bytes_at_peer(site, form, address, |by, barrier, order| {
        barrier.complete(by, bytes, order)
    });
}

/// Changes the transaction count of a barrier in any block of the cluster.
///
/// It releases no earlier accesses. But the phase cannot end without these bytes, so the phase's
/// end proves that this operation has happened. In this it is like the landing of a copy.
fn count_bytes_at_peer(
    site: Site,
    form: &'static str,
    address: u32,
    count: impl FnOnce(Access, &mut Barrier, &Order) -> Result<(), BarrierMisuse>,
) {
    if std::thread::panicking() {
        return;
    }
    note_access(site);
    note_lane(site, form);
    let counted = peer::at_peer(site, address, Visit::Bytes, |own, peer, by, address| {
        use_barrier(peer, by, address, |barrier| {
            if own.rank != peer.rank {
                peer::count_bytes(
                    peer,
                    by,
                    barrier.release_asynchronously(Proxy::Async, site.location),
                );
            }
            count(by, barrier, &own.order)
        })
    });
    counted.unwrap_or_else(|misuse| fail(site, misuse));
}

/// Tests a phase. If it is over, the executing lanes acquire the accesses that its arrivals
/// released.
fn look(site: Site, form: &'static str, wait: PhaseWait, scope: Scope) -> bool {
    at_barrier(site, wait.address, form, |block, by, barrier| {
        let over = is_over_or_missed(block, barrier, wait.phase)?;
        if over {
            let number = match wait.phase {
                AwaitedPhase::Number(number) => number,
                AwaitedPhase::Parity(_) | AwaitedPhase::Of(_) => barrier.phase.wrapping_sub(1),
            };
            barrier.history.note_wait(by, number);
            barrier.order.wait(by, &block.order);
            let lanes = executing(current_lane());
            block.order.acquire(block.agent(), lanes.clone(), &barrier.over);
            if block.blocks > 1 {
                let known = match scope {
                    Scope::Block => &barrier.over_of_peers.without_writes(),
                    Scope::Cluster => &barrier.over_of_peers,
                };
                block.order.acquire(block.agent(), lanes, known);
            }
        }
        Ok(over)
    })
}

/// At warp scope: tests a phase that the warp waits for later. Finds waits that are too late or too
/// early. Acquires nothing.
pub(crate) fn look_ahead(site: Site, form: &'static str, address: u32, phase: AwaitedPhase) {
    at_barrier(site, address, form, |block, _, barrier| {
        is_over_or_missed(block, barrier, phase).map(drop)
    });
}

/// Whether a phase is over. A missed phase counts as over where a read of unwritten memory lacks
/// its cause: its reader has not waited for the copy, and the copy starts after this wait.
fn is_over_or_missed(
    block: &BlockState,
    barrier: &Barrier,
    phase: AwaitedPhase,
) -> Result<bool, BarrierMisuse> {
    match barrier.is_over(phase) {
        Err(BarrierMisuse::PhaseMissed { .. }) if block.findings.lack_copies() => {
            block.findings.derail();
            Ok(true)
        }
        over => over,
    }
}

/// At warp scope: waits for a phase.
pub(crate) fn wait(
    warp: WarpOfBlock<'_>,
    site: Site,
    form: &'static str,
    address: u32,
    phase: AwaitedPhase,
    scope: Scope,
) {
    let wait = PhaseWait { address, phase, location: site.location, gives_up: false };
    while !std::thread::panicking() && !look(site, form, wait, scope) {
        warp.suspend(Waiting::Phases(vec![wait]));
    }
}

/// In a lane closure: waits for a phase for a limited time, and returns whether it is over
/// (`mbarrier.try_wait`).
///
/// PTX leaves the time limit open. The run's seed makes some waits give up at once. This finds
/// kernels that ignore the result. The other waits give up when no warp can run. So a kernel that
/// does other work after a failed wait is not reported as endless.
pub(crate) fn wait_in_lane(
    site: Site,
    form: &'static str,
    address: u32,
    phase: AwaitedPhase,
    scope: Scope,
) -> bool {
    let wait = PhaseWait { address, phase, location: site.location, gives_up: true };
    if std::thread::panicking() || look(site, form, wait, scope) {
        return true;
    }
    if with_block(|block| block.barriers.borrow_mut().random.bool()) {
        return false;
    }
    pause(site, form, Pause::Phase(wait));
    std::thread::panicking() || look(site, form, wait, scope)
}

/// In a lane closure: whether a phase is over (`mbarrier.test_wait`). If not, other lanes and warps
/// run before this lane continues.
pub(crate) fn test_in_lane(
    site: Site,
    form: &'static str,
    address: u32,
    phase: AwaitedPhase,
    scope: Scope,
) -> bool {
    if std::thread::panicking() {
        return true;
    }
    let wait = PhaseWait { address, phase, location: site.location, gives_up: true };
    let over = look(site, form, wait, scope);
    if !over {
        if with_cluster(|cluster, _| cluster.polls_endlessly()) {
            fail(site, with_block(|block| polling(block, address)));
        }
        pause(site, form, Pause::Test(address));
    }
    over
}

/// The misuse of a loop that polls a barrier without end.
fn polling(block: &BlockState, address: u32) -> Misuse {
    let barriers = block.barriers.borrow();
    let barrier = &barriers.live[&address];
    Misuse::PollingBarrier {
        awaited: barrier.awaited(address),
        barrier: Box::new(barrier_state(block, address, barrier)),
    }
}

/// Registers the start of a copy that signals a barrier, and the place that it fills, unless it
/// reduces. Returns the barrier's current phase.
pub(crate) fn phase_for_copy(
    block: &BlockState,
    by: Access,
    address: u32,
    proxy: Proxy,
    bytes: usize,
    fills: Option<u32>,
) -> Result<u32, Misuse> {
    block.shared.use_barrier(by, address)?;
    let mut barriers = block.barriers.borrow_mut();
    let barrier = barriers.live.get_mut(&address);
    let barrier =
        barrier.ok_or(Misuse::Barrier { address, misuse: BarrierMisuse::Uninitialised })?;
    if proxy == Proxy::Async && !barrier.is_fenced && !block.shared.is_barrier_fenced(by, address) {
        return Err(Misuse::Barrier { address, misuse: BarrierMisuse::Unfenced });
    }
    let is_of_peer = block.findings.rank(by) != block.rank;
    barrier.history.note_copy(by, (bytes as i64, fills), is_of_peer, &block.order);
    barrier.need(by, Needed::Bytes(bytes as i64), &block.order);
    Ok(barrier.phase)
}

/// The access of a bulk copy that signals the barrier at this address, in this phase.
pub(crate) fn access_of_copy(
    block: &BlockState,
    address: u32,
    phase: u32,
    location: &'static Location<'static>,
) -> Option<Access> {
    let barriers = block.barriers.borrow();
    Some(barriers.get(address)?.asynchronous(Proxy::Async, phase, location))
}

/// Lands the bytes of a copy: `land` writes them to memory as the given access.
pub(crate) fn receive_copy(
    block: &BlockState,
    address: u32,
    bytes: u32,
    proxy: Proxy,
    started: &'static Location<'static>,
    land: impl FnOnce(Access),
) -> Result<(), Misuse> {
    let mut barriers = block.barriers.borrow_mut();
    barriers.events += 1;
    let misuse = |misuse| Misuse::Barrier { address, misuse };
    let barrier = barriers.live.get_mut(&address).ok_or(misuse(BarrierMisuse::Uninitialised))?;
    land(barrier.release_asynchronously(proxy, started));
    barrier.history.note_landed(bytes.into());
    let received = barrier.receive(bytes).map_err(misuse);
    barrier.order.report(block, address);
    received
}

/// `cp.async.mbarrier.arrive`: the barrier receives an arrival when the copies have landed.
///
/// With `is_counted` it is one of the arrivals that the phase needs. Otherwise it raises their
/// number by one.
pub(crate) fn arrive_later(
    block: &BlockState,
    by: Access,
    address: u32,
    is_counted: bool,
) -> Result<(), Misuse> {
    use_barrier(block, by, address, |barrier| {
        barrier.need(by, Needed::LaterArrival, &block.order);
        if is_counted {
            let lanes = executing(current_lane()).len() as u32;
            barrier.history.note_arrival(by, barrier.phase, lanes);
            return Ok(());
        }
        barrier.history.held = Some(by);
        barrier.order.hold(by);
        barrier.pending += 1;
        if barrier.pending > MOST {
            Err(BarrierMisuse::Count { count: barrier.pending })
        } else {
            Ok(())
        }
    })
}

/// Lands these copies: `land` writes them to memory as the given access, which is returned. The
/// phase also releases the `earlier` copies, which have landed before.
pub(crate) fn receive_arrival(
    block: &BlockState,
    address: u32,
    started: &'static Location<'static>,
    earlier: &[Access],
    land: impl FnOnce(Access),
) -> Result<Access, Misuse> {
    let mut barriers = block.barriers.borrow_mut();
    barriers.events += 1;
    let misuse = |misuse| Misuse::Barrier { address, misuse };
    let barrier = barriers.live.get_mut(&address).ok_or(misuse(BarrierMisuse::Uninitialised))?;
    let by = barrier.release_asynchronously(Proxy::Generic, started);
    earlier
        .iter()
        .for_each(|earlier| barrier.released.pass_asynchronously(earlier.agent, earlier.tick));
    land(by);
    barrier.arrive(1).map_err(misuse)?;
    barrier.order.report(block, address);
    Ok(by)
}

/// `fence.mbarrier_init`: makes initialisations visible to asynchronous operations. Applies to
/// those that the executing lanes made or have acquired. It does not cover other threads'
/// initialisations.
pub(crate) fn fence_init(site: Site, form: &'static str) {
    if !std::thread::panicking() {
        note_lane(site, form);
        with_block(|block| {
            let lanes = executing(current_lane());
            for (&address, barrier) in &mut block.barriers.borrow_mut().live {
                let knows = |lane| {
                    block
                        .shared
                        .is_barrier_made_before(block.access_by(Lanes::one(lane), site), address)
                };
                barrier.is_fenced |= lanes.clone().any(knows);
            }
            if block.blocks > 1 {
                block.order.fence(block.agent(), lanes, &[Space::Barriers]);
            }
        });
    }
}

/// The memory that a proxy fence is for.
#[derive(Clone, Copy)]
pub(crate) enum Fenced {
    All,
    SharedOfBlock,
    Global,
}

/// `fence.proxy.async` for this memory.
pub(crate) fn fence_proxy(site: Site, form: &'static str, of: Fenced) {
    if !std::thread::panicking() {
        note_lane(site, form);
        with_block(|block| {
            let spaces = match of {
                Fenced::All => {
                    (0..block.blocks).map(Space::Shared).chain([Space::Global]).collect()
                }
                Fenced::SharedOfBlock => vec![Space::Shared(block.rank)],
                Fenced::Global => vec![Space::Global],
            };
            block.order.fence(block.agent(), executing(current_lane()), &spaces);
        });
    }
}
