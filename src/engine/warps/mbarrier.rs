//! mbarriers: what has arrived at each, and who waits for which phase.

use crate::engine::findings::{Awaited, BarrierMisuse, BarrierState, Misuse};
pub(crate) use crate::engine::memory::copies::{arrive_when_copied, hold_until_copied};
pub(crate) use crate::engine::memory::order::Space;
use crate::engine::memory::order::{Known, agents_of_barrier, executing};
use crate::engine::memory::peer::{self, Visit};
use crate::engine::memory::race::{Access, Lanes};
use crate::engine::record::note_lane;
use crate::engine::warps::block::{BlockState, Waiting, WarpOfBlock};
use crate::engine::warps::context::{current_lane, fail, with_block};
use crate::engine::warps::handover::BarrierHistory;
use crate::engine::warps::lanes::{Pause, pause};
use crate::engine::warps::polling::note_access;
use crate::lane::Site;
use core::panic::Location;
use std::boxed::Box;
use std::collections::BTreeMap;
use std::vec;

/// Bytes of an mbarrier, and its alignment.
pub(crate) const BYTES: usize = 8;

/// The most arrivals, and the most bytes, that a phase can have.
const MOST: u32 = (1 << 20) - 1;

/// Tests that may find nothing new, one behind the other: nobody makes so many but in a loop that
/// waits for what does not happen.
const VAIN_TESTS: u64 = 1 << 16;

/// The mbarriers of a block, by address.
pub(crate) struct Barriers {
    live: BTreeMap<u32, Barrier>,
    /// How many there have been.
    made: usize,
    /// Tests since something has happened to a barrier, and waits that were given up.
    vain_tests: u64,
    /// Draws which waits give up at once.
    random: fastrand::Rng,
}

/// An mbarrier.
pub(crate) struct Barrier {
    /// Arrivals that a phase needs, from the next one on.
    count: u32,
    /// Arrivals that the current one still needs.
    pending: u32,
    /// Bytes that the current one still needs; below 0, more have come than were asked for yet.
    bytes: i64,
    /// Phases that are over.
    phase: u32,
    /// What those who arrived in this phase told.
    told: Known,
    /// What all told who arrived in the phases before.
    over: Known,
    /// The same of other blocks of the cluster, which those learn of who wait for what the cluster
    /// did.
    told_by_peers: Known,
    over_of_peers: Known,
    /// Whether a fence of its own is behind its initialisation.
    is_fenced: bool,
    /// What comes asynchronously counts as done by these agents.
    agents: [usize; 2],
    /// Where it is, and which one it is of those that were there: in a state, behind the arrivals.
    which: u64,
    /// For reports.
    pub(super) history: BarrierHistory,
}

/// What an arrival returns, from the lowest bit on: the number of its phase, 20 bits; the arrivals
/// that the phase still needed, 20; the barrier's address, in units of eight bytes, 15; the rank of
/// its block in the cluster, 4; and how many barriers the block had before, 5. Of the numbers, the
/// lowest bits. (A GPU's has another form, of which PTX says nothing.)
mod state {
    pub(super) const PHASES: u32 = (1 << 20) - 1;
    pub(super) const PENDING: u32 = 20;
    pub(super) const ADDRESS: u32 = 40;
    pub(super) const RANK: u32 = 55;
    pub(super) const MADE: u32 = 59;
}

/// The arrivals that the phase still needed, by a state.
pub(crate) const fn pending(of_state: u64) -> u32 {
    (of_state >> state::PENDING) as u32 & MOST
}

/// How something that an mbarrier is told of comes to shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// By the async proxy, as bulk copies do.
    Async,
    /// As ordinary stores do, though it takes its time: by `cp.async`, `st.async` and `red.async`.
    Generic,
}

/// A phase that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The phase of this number; before the first is `u32::MAX`.
    Number(u32),
    /// The last phase of this parity.
    Parity(u32),
    /// The one that an arrival was in, by the state that it returned.
    Of(u64),
}

/// A warp, or a lane, waits for a phase to be over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PhaseWait {
    pub(crate) address: u32,
    pub(crate) phase: Phase,
    pub(crate) location: &'static Location<'static>,
    /// Whether it ends, by the phase or without, where nobody can go on otherwise.
    pub(crate) gives_up: bool,
}

/// What an arrival does besides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// As how many arrivals it counts, in each lane that executes it.
    pub(crate) count: u32,
    /// Bytes that the phase is to wait for.
    pub(crate) expect: u32,
    /// Whether later phases are to need as many fewer.
    pub(crate) drop: bool,
    /// Who is told of what was written before it.
    pub(crate) scope: Scope,
}

impl Arrival {
    /// A plain one.
    pub(crate) const ONE: Self = Arrival { count: 1, expect: 0, drop: false, scope: Scope::Block };
}

/// Whose writes an arrival or a wait orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The executing block's (`.cta`).
    Block,
    /// Those of all blocks of the cluster.
    Cluster,
}

impl Barrier {
    /// Whether a phase is over; the waiter is told if it comes too late to be sure, or too early: a
    /// GPU tells phases by their parity, so it takes the one behind the current for the one
    /// before it, which is over. Who is right never asks for that: that it may wait for a phase,
    /// it knows by the end of the one before.
    fn is_over(&self, phase: Phase) -> Result<bool, BarrierMisuse> {
        match phase {
            Phase::Parity(parity) => Ok(self.phase % 2 != parity % 2),
            Phase::Of(of_state) if of_state >> state::ADDRESS != self.which >> state::ADDRESS => {
                let units = (of_state >> state::ADDRESS) as u32
                    & ((1 << (state::RANK - state::ADDRESS)) - 1);
                Err(BarrierMisuse::ArrivalOfAnother { address: units * BYTES as u32 })
            }
            Phase::Of(of_state) => {
                let behind = self.phase.wrapping_sub(of_state as u32) & state::PHASES;
                self.is_over(Phase::Number(self.phase.wrapping_sub(behind)))
            }
            Phase::Number(number) => match self.phase.wrapping_sub(number) {
                0 => Ok(false),
                1 => Ok(true),
                behind @ 2..=0x7fff_ffff => Err(BarrierMisuse::PhaseMissed { behind: behind - 1 }),
                short => Err(BarrierMisuse::PhaseAhead { ahead: short.wrapping_neg() }),
            },
        }
    }

    fn expect(&mut self, by: Access, bytes: u32) -> Result<(), BarrierMisuse> {
        self.history.note_expected(by, bytes);
        self.bytes += i64::from(bytes);
        if self.bytes > i64::from(MOST) {
            Err(BarrierMisuse::TooManyBytes { bytes: self.bytes })
        } else {
            Ok(())
        }
    }

    /// Bytes have come.
    fn receive(&mut self, bytes: u32) -> Result<(), BarrierMisuse> {
        self.bytes -= i64::from(bytes);
        if self.bytes < -i64::from(MOST) {
            return Err(BarrierMisuse::TooManyBytes { bytes: self.bytes });
        }
        self.end_phase()
    }

    /// The lanes that execute it arrive. Returns the state before.
    fn count_arrival(&mut self, by: Access, arrival: Arrival) -> Result<u64, BarrierMisuse> {
        let Arrival { count, expect, drop, .. } = arrival;
        let lanes = executing(current_lane()).len() as u32;
        let arrivals = count * lanes;
        let state = u64::from(self.phase & state::PHASES)
            | u64::from(self.pending) << state::PENDING
            | self.which;
        self.expect(by, expect * lanes)?;
        let phase = self.phase;
        if drop {
            let of = self.count;
            self.count = of.checked_sub(arrivals).ok_or(BarrierMisuse::TooManyArrivals { of })?;
        }
        self.arrive(arrivals)?;
        self.history.note_arrival(by, phase);
        Ok(state)
    }

    fn arrive(&mut self, count: u32) -> Result<(), BarrierMisuse> {
        if count == 0 {
            return Err(BarrierMisuse::Count { count });
        }
        let of = self.count;
        self.pending =
            self.pending.checked_sub(count).ok_or(BarrierMisuse::TooManyArrivals { of })?;
        self.end_phase()
    }

    /// Ends the phase, if nothing is missing.
    fn end_phase(&mut self) -> Result<(), BarrierMisuse> {
        if self.pending > 0 {
            return Ok(());
        }
        // Copies that have not landed might have, before now.
        let unexpected = self.history.in_flight() - self.bytes;
        if self.bytes <= 0 && unexpected > 0 {
            return Err(BarrierMisuse::UnexpectedBytes { bytes: unexpected });
        }
        if self.bytes == 0 {
            self.history.end_phase();
            self.phase = self.phase.wrapping_add(1);
            self.pending = self.count;
            self.over.join(&std::mem::take(&mut self.told));
            self.over_of_peers.join(&std::mem::take(&mut self.told_by_peers));
        }
        Ok(())
    }

    /// What comes asynchronously comes in this phase, at whose end it is known: as done by whom,
    /// when.
    fn tell_asynchronously(
        &mut self,
        proxy: Proxy,
        location: &'static Location<'static>,
    ) -> Access {
        let (agent, tick) = (self.agents[proxy as usize], self.phase.wrapping_add(1));
        self.told.pass_asynchronously(agent, tick);
        Access {
            agent,
            by: Lanes::One(0),
            closure: 0,
            before: 0,
            epoch: u32::MAX,
            warp_epoch: 0,
            tick,
            location,
        }
    }

    /// What the current phase still needs, of the barrier of this address.
    pub(crate) fn awaited(&self, address: u32) -> Awaited {
        Awaited::Barrier {
            address,
            phase: self.phase,
            of: self.count,
            arrivals: self.pending,
            bytes: self.bytes,
        }
    }

    /// The phase that is running.
    pub(super) fn phase(&self) -> u32 {
        self.phase
    }

    /// Arrivals that a phase needs.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Whether bytes are missing, and nothing else, that no copy will bring.
    pub(super) fn lacks_bytes_only(&self) -> bool {
        self.pending == 0 && self.bytes > 0 && !self.history.is_told_by_peers()
    }

    /// Whether it is by this agent that what comes to it asynchronously counts as done.
    pub(super) fn is_agent(&self, agent: usize) -> bool {
        self.agents.contains(&agent)
    }
}

/// Who has arrived at a barrier.
pub(crate) fn barrier_state(block: &BlockState, address: u32, barrier: &Barrier) -> BarrierState {
    let arrivals =
        barrier.history.arrivals().map(|(phase, by)| (phase, block.findings.actor(by))).collect();
    let made = barrier.history.made().map(|by| block.findings.actor(by));
    BarrierState { address, made, arrivals }
}

impl Barriers {
    /// None yet.
    pub(crate) fn new(random: fastrand::Rng) -> Self {
        Barriers { live: BTreeMap::new(), made: 0, vain_tests: 0, random }
    }

    pub(crate) fn get(&self, address: u32) -> Option<&Barrier> {
        self.live.get(&address)
    }

    /// The barriers, by address.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Barrier)> {
        self.live.iter().map(|(&address, barrier)| (address, barrier))
    }

    /// Whether the wait has an end: by the phase, or by a misuse.
    pub(crate) fn is_settled(&self, wait: &PhaseWait) -> bool {
        self.live.get(&wait.address).is_none_or(|barrier| barrier.is_over(wait.phase) != Ok(false))
    }

    /// Whether the wait may give up now. One that has done so again and again is part of a loop
    /// that waits for what does not happen.
    pub(crate) fn may_give_up(&self, wait: &PhaseWait) -> bool {
        wait.gives_up && self.vain_tests < VAIN_TESTS
    }
}

/// The running lane, or each of the warp, does something to a barrier of its block.
fn at_barrier<R: Default>(
    site: Site,
    address: u32,
    form: &'static str,
    work: impl FnOnce(&BlockState, Access, &mut Barrier) -> Result<R, BarrierMisuse>,
) -> R {
    // A destructor, while a run that failed is unwound.
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

/// The same to a barrier of the block of the cluster that the address names: `work(own, is it
/// another's, barrier)`.
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
    let mut barriers = block.barriers.borrow_mut();
    barriers.vain_tests = 0;
    let barrier = barriers.live.get_mut(&address).ok_or(BarrierMisuse::Uninitialised);
    barrier.and_then(work).map_err(|misuse| Misuse::Barrier { address, misuse })
}

/// `mbarrier.init`.
pub(crate) fn init(site: Site, form: &'static str, address: u32, count: u32) {
    if std::thread::panicking() {
        return;
    }
    note_access(site);
    note_lane(site, form);
    let made = with_block(|block| {
        block.order.make_partial();
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
            pending: count,
            bytes: 0,
            phase: 0,
            told: Known::default(),
            over: Known::default(),
            told_by_peers: Known::default(),
            over_of_peers: Known::default(),
            is_fenced: false,
            agents,
            which,
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
            block.barriers.borrow_mut().live.remove(&address);
            block.shared.end_barrier(block.access(site), address)
        });
        done.unwrap_or_else(|misuse| fail(site, misuse));
    }
}

/// `mbarrier.arrive` and its like. Returns the state before.
pub(crate) fn arrive(site: Site, form: &'static str, address: u32, arrival: Arrival) -> u64 {
    at_barrier(site, address, form, |block, by, barrier| {
        let told = block.order.release(block.agent(), executing(current_lane()));
        barrier.told.join(&told);
        barrier.count_arrival(by, arrival)
    })
}

/// The same at a barrier of the block that an address of the `.shared::cluster` window names.
pub(crate) fn arrive_at_peer(site: Site, form: &'static str, address: u32, arrival: Arrival) {
    at_barrier_of_cluster(site, address, form, |own, is_peer, by, barrier| {
        let told = own.order.release(own.agent(), executing(current_lane()));
        match arrival.scope {
            _ if !is_peer => barrier.told.join(&told),
            Scope::Block => barrier.told.join(&told.without_writes()),
            Scope::Cluster => barrier.told_by_peers.join(&told),
        }
        barrier.count_arrival(by, arrival).map(drop)
    });
}

/// `mbarrier.expect_tx`.
pub(crate) fn expect_bytes(site: Site, form: &'static str, address: u32, bytes: u32) {
    at_barrier(site, address, form, |_, by, barrier| {
        barrier.expect(by, bytes * executing(current_lane()).len() as u32)
    });
}

/// `mbarrier.complete_tx`.
pub(crate) fn complete_bytes(site: Site, form: &'static str, address: u32, bytes: u32) {
    at_barrier(site, address, form, |_, by, barrier| {
        let bytes = bytes * executing(current_lane()).len() as u32;
        barrier.history.note_bytes(by.location, bytes.into());
        barrier.receive(bytes)
    });
}

/// `mbarrier.expect_tx`, likewise.
pub(crate) fn expect_bytes_at_peer(site: Site, form: &'static str, address: u32, bytes: u32) {
    let bytes = bytes * executing(current_lane()).len() as u32;
    count_bytes_at_peer(site, form, address, |by, barrier| barrier.expect(by, bytes));
}

/// `mbarrier.complete_tx`, likewise.
pub(crate) fn complete_bytes_at_peer(site: Site, form: &'static str, address: u32, bytes: u32) {
    let bytes = bytes * executing(current_lane()).len() as u32;
    count_bytes_at_peer(site, form, address, |by, barrier| {
        barrier.history.note_bytes(by.location, bytes.into());
        barrier.receive(bytes)
    });
}

/// Bytes are expected, or come, at a barrier of the block of the cluster that the address names.
/// Nobody is told of what was done before; but the phase is not over without them, so its end tells
/// that this has happened: as of a copy that lands.
fn count_bytes_at_peer(
    site: Site,
    form: &'static str,
    address: u32,
    count: impl FnOnce(Access, &mut Barrier) -> Result<(), BarrierMisuse>,
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
                    barrier.tell_asynchronously(Proxy::Async, site.location),
                );
            }
            count(by, barrier)
        })
    });
    counted.unwrap_or_else(|misuse| fail(site, misuse));
}

/// Whether a phase is over. If it is, those who execute this know what those did who arrived in it.
fn look(site: Site, form: &'static str, wait: PhaseWait, scope: Scope) -> bool {
    at_barrier(site, wait.address, form, |block, by, barrier| {
        let over = barrier.is_over(wait.phase)?;
        if over {
            let number = match wait.phase {
                Phase::Number(number) => number,
                Phase::Parity(_) | Phase::Of(_) => barrier.phase.wrapping_sub(1),
            };
            barrier.history.note_wait(by, number);
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

/// At warp scope: asks for a phase that is waited for later, which must not be too late, or too
/// early. What others did, nobody knows by that.
pub(crate) fn look_ahead(site: Site, form: &'static str, address: u32, phase: Phase) {
    at_barrier(site, address, form, |_, _, barrier| barrier.is_over(phase).map(drop));
}

/// At warp scope: waits for a phase.
pub(crate) fn wait(
    warp: WarpOfBlock<'_>,
    site: Site,
    form: &'static str,
    address: u32,
    phase: Phase,
    scope: Scope,
) {
    let wait = PhaseWait { address, phase, location: site.location, gives_up: false };
    while !std::thread::panicking() && !look(site, form, wait, scope) {
        warp.suspend(Waiting::Phases(vec![wait]));
    }
}

/// Looks whether a phase is over. If it is not, that is so many `more` tests in vain; what happened
/// to a barrier since, counts.
fn look_in_vain(site: Site, form: &'static str, wait: PhaseWait, scope: Scope, more: u64) -> bool {
    let vain = with_block(|block| block.barriers.borrow().vain_tests);
    let over = look(site, form, wait, scope);
    if !over {
        with_block(|block| block.barriers.borrow_mut().vain_tests = vain + more);
    }
    over
}

/// In a lane closure: waits for a phase, but not for ever, and returns whether it is over
/// (`mbarrier.try_wait`).
///
/// How long, PTX leaves open. Here some give up at once, drawn by the run's seed, so that who takes
/// the phase for over whatever is returned is found; and the others when nobody can go on, so that
/// who does something else then, for which others wait, is not taken for one that waits for ever.
pub(crate) fn wait_in_lane(
    site: Site,
    form: &'static str,
    address: u32,
    phase: Phase,
    scope: Scope,
) -> bool {
    let wait = PhaseWait { address, phase, location: site.location, gives_up: true };
    if std::thread::panicking() || look_in_vain(site, form, wait, scope, 0) {
        return true;
    }
    if with_block(|block| block.barriers.borrow_mut().random.bool()) {
        return false;
    }
    pause(site, form, Pause::Phase(wait));
    std::thread::panicking() || look_in_vain(site, form, wait, scope, 1)
}

/// In a lane closure: whether a phase is over (`mbarrier.test_wait`). Where it is not, others go on
/// before this lane does.
pub(crate) fn test_in_lane(
    site: Site,
    form: &'static str,
    address: u32,
    phase: Phase,
    scope: Scope,
) -> bool {
    if std::thread::panicking() {
        return true;
    }
    let wait = PhaseWait { address, phase, location: site.location, gives_up: true };
    let over = look_in_vain(site, form, wait, scope, 1);
    if !over {
        if with_block(|block| block.barriers.borrow().vain_tests) > VAIN_TESTS {
            fail(site, with_block(|block| polling(block, address)));
        }
        pause(site, form, Pause::Test(address));
    }
    over
}

/// A phase of a barrier is asked for without end.
fn polling(block: &BlockState, address: u32) -> Misuse {
    let barriers = block.barriers.borrow();
    let barrier = &barriers.live[&address];
    Misuse::PollingBarrier {
        awaited: barrier.awaited(address),
        barrier: Box::new(barrier_state(block, address, barrier)),
    }
}

/// A copy of so many bytes that is to tell a barrier starts. Returns the barrier's phase.
pub(crate) fn phase_for_copy(
    block: &BlockState,
    by: Access,
    address: u32,
    proxy: Proxy,
    bytes: usize,
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
    barrier.history.note_copy(by, bytes as i64, is_of_peer, &block.order);
    Ok(barrier.phase)
}

/// A copy that was started there has brought bytes: `land` puts them to memory, by this access.
pub(crate) fn receive_copy(
    block: &BlockState,
    address: u32,
    bytes: u32,
    proxy: Proxy,
    started: &'static Location<'static>,
    land: impl FnOnce(Access),
) -> Result<(), Misuse> {
    let mut barriers = block.barriers.borrow_mut();
    barriers.vain_tests = 0;
    let misuse = |misuse| Misuse::Barrier { address, misuse };
    let barrier = barriers.live.get_mut(&address).ok_or(misuse(BarrierMisuse::Uninitialised))?;
    land(barrier.tell_asynchronously(proxy, started));
    barrier.history.note_landed(bytes.into());
    barrier.receive(bytes).map_err(misuse)
}

/// `cp.async.mbarrier.arrive`: the barrier is to be arrived at when copies have landed. If the
/// arrival is not one of those that the phase needs, it needs one more.
pub(crate) fn arrive_later(
    block: &BlockState,
    by: Access,
    address: u32,
    is_counted: bool,
) -> Result<(), Misuse> {
    use_barrier(block, by, address, |barrier| {
        barrier.history.note_arrival(by, barrier.phase);
        if is_counted {
            return Ok(());
        }
        barrier.pending += 1;
        if barrier.pending > MOST {
            Err(BarrierMisuse::Count { count: barrier.pending })
        } else {
            Ok(())
        }
    })
}

/// These copies have landed: `land` puts them to memory, by this access, which is returned. The
/// phase tells of the `earlier` ones too, which have landed before.
pub(crate) fn receive_arrival(
    block: &BlockState,
    address: u32,
    started: &'static Location<'static>,
    earlier: &[Access],
    land: impl FnOnce(Access),
) -> Result<Access, Misuse> {
    let mut barriers = block.barriers.borrow_mut();
    barriers.vain_tests = 0;
    let misuse = |misuse| Misuse::Barrier { address, misuse };
    let barrier = barriers.live.get_mut(&address).ok_or(misuse(BarrierMisuse::Uninitialised))?;
    let by = barrier.tell_asynchronously(Proxy::Generic, started);
    earlier
        .iter()
        .for_each(|earlier| barrier.told.pass_asynchronously(earlier.agent, earlier.tick));
    land(by);
    barrier.arrive(1).map_err(misuse)?;
    Ok(by)
}

/// `fence.mbarrier_init`: what the executing lanes initialised before, or know of, is there for
/// what comes asynchronously. Of what another thread has initialised it tells nothing.
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

/// `fence.proxy.async`, of these kinds of memory.
pub(crate) fn fence_proxy(site: Site, form: &'static str, of: &[Space]) {
    if !std::thread::panicking() {
        note_lane(site, form);
        with_block(|block| block.order.fence(block.agent(), executing(current_lane()), of));
    }
}
