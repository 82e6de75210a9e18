//! mbarriers: what has arrived at each, and who waits for which phase.

use crate::sim::findings::{BarrierMisuse, Memory, Misuse};
pub(crate) use crate::sim::memory::order::Space;
use crate::sim::memory::order::{Known, WARP_GROUPS, asynchronous, executing};
use crate::sim::memory::race::Access;
use crate::sim::record::note_lane;
use crate::sim::warps::block::{BlockState, Waiting, WarpOfBlock};
use crate::sim::warps::context::{current_lane, fail, with_block};
use crate::sim::warps::lanes::{Pause, pause};
use crate::sim::warps::polling::note_access;
use crate::site::Site;
use core::panic::Location;
use std::collections::BTreeMap;
use std::vec;

/// Bytes of an mbarrier, and its alignment.
pub(in crate::sim) const BYTES: usize = 8;

/// The most arrivals, and the most bytes, that a phase can have.
const MOST: u32 = (1 << 20) - 1;

/// Tests that may find nothing new, one behind the other: nobody makes so many but in a loop that waits for what does not happen.
const VAIN_TESTS: u64 = 1 << 16;

/// The mbarriers of a block, by address.
#[derive(Default)]
pub(in crate::sim) struct Barriers {
    live: BTreeMap<u32, Barrier>,
    /// How many there have been.
    made: usize,
    /// Tests since something has happened to a barrier.
    vain_tests: u64,
}

/// An mbarrier.
pub(in crate::sim) struct Barrier {
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
    /// Whether a fence of its own is behind its initialisation.
    is_fenced: bool,
    /// What comes asynchronously counts as done by this agent.
    agent: usize,
}

/// A phase that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The phase of this number; before the first is `u32::MAX`.
    Number(u32),
    /// The last phase of this parity.
    Parity(u32),
}

/// A warp, or a lane, waits for a phase to be over.
#[derive(Debug, Clone, Copy)]
pub(in crate::sim) struct PhaseWait {
    pub(in crate::sim) address: u32,
    pub(in crate::sim) phase: Phase,
    pub(in crate::sim) location: &'static Location<'static>,
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
}

impl Arrival {
    /// A plain one.
    pub(crate) const ONE: Self = Arrival { count: 1, expect: 0, drop: false };
}

impl Barrier {
    /// Whether a phase is over; the waiter is told if it comes too late to be sure.
    fn is_over(&self, phase: Phase) -> Result<bool, BarrierMisuse> {
        match phase {
            Phase::Parity(parity) => Ok(self.phase % 2 != parity % 2),
            Phase::Number(number) => match self.phase.wrapping_sub(number) {
                1 => Ok(true),
                behind @ 2..=0x7fff_ffff => Err(BarrierMisuse::PhaseMissed { behind: behind - 1 }),
                _ => Ok(false),
            },
        }
    }

    fn expect(&mut self, bytes: u32) -> Result<(), BarrierMisuse> {
        self.bytes += i64::from(bytes);
        if self.bytes > i64::from(MOST) { Err(BarrierMisuse::TooManyBytes { bytes: self.bytes }) } else { Ok(()) }
    }

    /// Bytes have come.
    fn receive(&mut self, bytes: u32) -> Result<(), BarrierMisuse> {
        self.bytes -= i64::from(bytes);
        if self.bytes < -i64::from(MOST) {
            return Err(BarrierMisuse::TooManyBytes { bytes: self.bytes });
        }
        self.end_phase()
    }

    fn arrive(&mut self, count: u32) -> Result<(), BarrierMisuse> {
        if count == 0 {
            return Err(BarrierMisuse::Count { count });
        }
        let of = self.count;
        self.pending = self.pending.checked_sub(count).ok_or(BarrierMisuse::TooManyArrivals { of })?;
        self.end_phase()
    }

    /// Ends the phase, if nothing is missing.
    fn end_phase(&mut self) -> Result<(), BarrierMisuse> {
        if self.pending > 0 {
            return Ok(());
        }
        if self.bytes < 0 {
            return Err(BarrierMisuse::UnexpectedBytes { bytes: -self.bytes });
        }
        if self.bytes == 0 {
            self.phase = self.phase.wrapping_add(1);
            self.pending = self.count;
            self.over.join(&std::mem::take(&mut self.told));
        }
        Ok(())
    }

    /// What the current phase still needs: its number, arrivals, bytes.
    pub(in crate::sim) fn missing(&self) -> (u32, u32, i64) {
        (self.phase, self.pending, self.bytes)
    }
}

impl Barriers {
    pub(in crate::sim) fn get(&self, address: u32) -> Option<&Barrier> {
        self.live.get(&address)
    }

    /// Whether the wait has an end: by the phase, or by a misuse.
    pub(in crate::sim) fn is_settled(&self, wait: &PhaseWait) -> bool {
        self.live.get(&wait.address).is_none_or(|barrier| barrier.is_over(wait.phase) != Ok(false))
    }
}

/// The running lane, or each of the warp, does something to a barrier.
fn at_barrier<R: Default>(
    site: Site,
    address: u32,
    form: &'static str,
    work: impl FnOnce(&BlockState, &mut Barrier) -> Result<R, BarrierMisuse>,
) -> R {
    // A destructor, while a run that failed is unwound.
    if std::thread::panicking() {
        return R::default();
    }
    note_access(site);
    note_lane(site, form);
    let done = with_block(|block| {
        block.shared.use_barrier(block.access(site), address)?;
        let mut barriers = block.barriers.borrow_mut();
        barriers.vain_tests = 0;
        let barrier = barriers.live.get_mut(&address).ok_or(BarrierMisuse::Uninitialised);
        barrier.and_then(|barrier| work(block, barrier)).map_err(|misuse| Misuse::Barrier { address, misuse })
    });
    done.unwrap_or_else(|misuse| fail(site, misuse))
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
        block.shared.make_barrier(block.access(site), address)?;
        let mut barriers = block.barriers.borrow_mut();
        let misuse = |misuse| Err(Misuse::Barrier { address, misuse });
        if !(1..=MOST).contains(&count) {
            return misuse(BarrierMisuse::Count { count });
        }
        if barriers.live.contains_key(&address) {
            return misuse(BarrierMisuse::InitialisedAgain);
        }
        let agent = asynchronous(WARP_GROUPS + barriers.made);
        barriers.made += 1;
        let (told, over) = (Known::default(), Known::default());
        let barrier = Barrier { count, pending: count, bytes: 0, phase: 0, told, over, is_fenced: false, agent };
        barriers.live.insert(address, barrier);
        Ok(())
    });
    made.unwrap_or_else(|misuse| fail(site, misuse));
}

/// `mbarrier.inval`.
pub(crate) fn invalidate(site: Site, form: &'static str, address: u32) {
    at_barrier(site, address, form, |_, _| Ok(()));
    if !std::thread::panicking() {
        let done = with_block(|block| {
            block.barriers.borrow_mut().live.remove(&address);
            block.shared.make_barrier(block.access(site), address)
        });
        done.unwrap_or_else(|misuse| fail(site, misuse));
    }
}

/// `mbarrier.arrive` and its like. Returns the state before: the phase, and in the upper half the arrivals that it still needed.
pub(crate) fn arrive(site: Site, form: &'static str, address: u32, arrival: Arrival) -> u64 {
    let Arrival { count, expect, drop } = arrival;
    at_barrier(site, address, form, |block, barrier| {
        let lanes = executing(current_lane());
        let arrivals = count * lanes.len() as u32;
        let state = u64::from(barrier.phase) | u64::from(barrier.pending) << 32;
        barrier.told.join(&block.order.release(block.running(), lanes.clone()));
        barrier.expect(expect * lanes.len() as u32)?;
        if drop {
            let of = barrier.count;
            barrier.count = of.checked_sub(arrivals).ok_or(BarrierMisuse::TooManyArrivals { of })?;
        }
        barrier.arrive(arrivals)?;
        Ok(state)
    })
}

/// `mbarrier.expect_tx`.
pub(crate) fn expect_bytes(site: Site, form: &'static str, address: u32, bytes: u32) {
    at_barrier(site, address, form, |_, barrier| barrier.expect(bytes * executing(current_lane()).len() as u32));
}

/// `mbarrier.complete_tx`.
pub(crate) fn complete_bytes(site: Site, form: &'static str, address: u32, bytes: u32) {
    at_barrier(site, address, form, |_, barrier| barrier.receive(bytes * executing(current_lane()).len() as u32));
}

/// Whether a phase is over. If it is, those who execute this know what those did who arrived in it.
fn look(site: Site, form: &'static str, wait: PhaseWait) -> bool {
    at_barrier(site, wait.address, form, |block, barrier| {
        let over = barrier.is_over(wait.phase)?;
        if over {
            block.order.acquire(block.running(), executing(current_lane()), &barrier.over);
        }
        Ok(over)
    })
}

/// At warp scope: waits for a phase.
pub(crate) fn wait(warp: WarpOfBlock<'_>, site: Site, form: &'static str, address: u32, phase: Phase) {
    let wait = PhaseWait { address, phase, location: site.location };
    while !std::thread::panicking() && !look(site, form, wait) {
        warp.suspend(Waiting::Phases(vec![wait]));
    }
}

/// In a lane closure: waits for a phase (`mbarrier.try_wait`, which here takes its time).
pub(crate) fn wait_in_lane(site: Site, form: &'static str, address: u32, phase: Phase) -> bool {
    let wait = PhaseWait { address, phase, location: site.location };
    while !std::thread::panicking() && !look(site, form, wait) {
        pause(site, form, Pause::Phase(wait));
    }
    true
}

/// In a lane closure: whether a phase is over (`mbarrier.test_wait`). Where it is not, others go on before this lane does.
pub(crate) fn test_in_lane(site: Site, form: &'static str, address: u32, phase: Phase) -> bool {
    if std::thread::panicking() {
        return true;
    }
    let vain = with_block(|block| block.barriers.borrow().vain_tests);
    let over = look(site, form, PhaseWait { address, phase, location: site.location });
    if !over {
        if vain >= VAIN_TESTS {
            fail(site, Misuse::Polling { memory: Memory::Shared { address } });
        }
        with_block(|block| block.barriers.borrow_mut().vain_tests = vain + 1);
        pause(site, form, Pause::Test(address));
    }
    over
}

/// A bulk copy that is to tell a barrier starts. Returns the barrier's phase.
pub(in crate::sim) fn phase_for_copy(block: &BlockState, by: Access, address: u32) -> Result<u32, Misuse> {
    block.shared.use_barrier(by, address)?;
    let barriers = block.barriers.borrow();
    let barrier = barriers.live.get(&address);
    let barrier = barrier.ok_or(Misuse::Barrier { address, misuse: BarrierMisuse::Uninitialised })?;
    if !barrier.is_fenced && !block.shared.is_barrier_fenced(by, address) {
        return Err(Misuse::Barrier { address, misuse: BarrierMisuse::Unfenced });
    }
    Ok(barrier.phase)
}

/// A bulk copy has brought bytes: `land(agent, tick)` puts them to memory, as done by this agent. Returns whether that ended the phase.
pub(in crate::sim) fn receive_copy(
    block: &BlockState,
    address: u32,
    bytes: u32,
    land: impl FnOnce(usize, u32),
) -> Result<bool, Misuse> {
    let mut barriers = block.barriers.borrow_mut();
    barriers.vain_tests = 0;
    let misuse = |misuse| Misuse::Barrier { address, misuse };
    let barrier = barriers.live.get_mut(&address).ok_or(misuse(BarrierMisuse::Uninitialised))?;
    let (agent, phase) = (barrier.agent, barrier.phase);
    let tick = phase.wrapping_add(1);
    land(agent, tick);
    barrier.told.pass_asynchronously(agent, tick);
    barrier.receive(bytes).map_err(misuse)?;
    Ok(barrier.phase != phase)
}

/// `fence.mbarrier_init`.
pub(crate) fn fence_init(site: Site, form: &'static str) {
    if !std::thread::panicking() {
        note_lane(site, form);
        with_block(|block| block.barriers.borrow_mut().live.values_mut().for_each(|barrier| barrier.is_fenced = true));
    }
}

/// `fence.proxy.async`, of these kinds of memory.
pub(crate) fn fence_proxy(site: Site, form: &'static str, of: &[Space]) {
    if !std::thread::panicking() {
        note_lane(site, form);
        with_block(|block| block.order.fence(block.running(), executing(current_lane()), of));
    }
}
