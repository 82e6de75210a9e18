//! Named barriers: `bar.sync` and `bar.arrive` with a number and a count of threads.
//!
//! A barrier counts threads, whichever they are. So a warp that comes to a barrier again, or after
//! other warps have completed it, must be ordered after them in every schedule. On a GPU it may
//! otherwise come first, and complete the barrier in place of one of them.

use crate::engine::findings::Misuse;
use crate::engine::memory::order::Clock;
use crate::engine::memory::race::Access;
use crate::engine::warps::block::BlockState;
use crate::lane::LANES;
use std::vec::Vec;

/// The number of named barriers that a block has, with that of `sync`, which is number 0.
const BARRIERS: usize = 16;

/// The named barriers of a block.
#[derive(Default)]
pub(crate) struct NamedBarriers([NamedBarrier; BARRIERS]);

#[derive(Default)]
struct NamedBarrier {
    /// The threads that complete the current phase; 0 before its first warp.
    threads: u32,
    /// The warps that have come in the current phase.
    warps: Vec<Participant>,
    /// The knowledge that the warps with `bar.arrive` have released in it.
    released: Clock,
    /// The warps of the last phase that is complete.
    last: Vec<Participant>,
    /// Number of complete phases.
    phases: u32,
}

/// A warp that has come to a barrier.
struct Participant {
    by: Access,
    /// Whether it waits there: `bar.sync`.
    waits: bool,
}

impl NamedBarriers {
    /// The barrier of this number, if a warp may come to it for `threads` threads.
    fn of(&mut self, number: u32, threads: u32) -> Result<&mut NamedBarrier, Misuse> {
        let misuse = |others| Misuse::NamedBarrier { barrier: number, threads, others };
        let barrier = self.0.get_mut(number as usize).filter(|_| number > 0);
        let barrier = barrier.ok_or(misuse(None))?;
        if threads == 0 || !threads.is_multiple_of(LANES as u32) {
            return Err(misuse(None));
        }
        if barrier.threads != 0 && barrier.threads != threads {
            return Err(misuse(Some(barrier.threads)));
        }
        barrier.threads = threads;
        Ok(barrier)
    }

    /// Whether this phase of a barrier is complete.
    pub(crate) fn is_complete(&self, number: u32, phase: u32) -> bool {
        self.0[number as usize].phases > phase
    }

    /// The threads that have come to a barrier in its current phase.
    pub(crate) fn threads(&self, number: u32) -> u32 {
        (self.0[number as usize].warps.len() * LANES) as u32
    }
}

impl NamedBarrier {
    /// A misuse of the warp that comes, because nothing orders it after others.
    fn unordered(&self, block: &BlockState, by: Access, number: u32) -> Option<Misuse> {
        let is_its = |other: &&Participant| other.by.agent == by.agent;
        if let Some(earlier) = self.warps.iter().find(is_its) {
            let place = earlier.by.location.into();
            return Some(Misuse::NamedBarrierTwice { barrier: number, place });
        }
        // A warp that waited in the last phase knows that it is complete.
        if self.last.iter().find(is_its).is_some_and(|own| own.waits) {
            return None;
        }
        let is_unknown = |other: &&Participant| {
            other.by.agent != by.agent && !block.order.has_come(&by, &other.by)
        };
        let other = self.last.iter().find(is_unknown)?;
        let warps = self.last.iter().filter(|other| other.by.agent != by.agent);
        let warps = warps.map(|other| block.findings.warp(other.by.agent).0).collect();
        let place = other.by.location.into();
        Some(Misuse::NamedBarrierShared { barrier: number, warps, place })
    }

    /// Completes the current phase: the waiting warps know what all warps have released.
    fn complete(&mut self, block: &BlockState) {
        self.threads = 0;
        self.phases += 1;
        self.last = std::mem::take(&mut self.warps);
        self.last.sort_unstable_by_key(|warp| warp.by.agent);
        let released = std::mem::take(&mut self.released);
        let waiting = self.last.iter().filter(|warp| warp.waits);
        let waiting: Vec<usize> = waiting.map(|warp| warp.by.agent).collect();
        waiting.iter().for_each(|&warp| block.order.acquire(warp, 0..LANES, &released));
        block.order.sync_warps(&waiting);
        block.pass_warp_syncs(waiting);
    }
}

/// The running warp comes to a named barrier for this many threads. Returns the phase for which it
/// waits, if it `waits`.
pub(crate) fn come(
    block: &BlockState,
    by: Access,
    number: u32,
    threads: u32,
    waits: bool,
) -> Result<u32, Misuse> {
    let mut barriers = block.named.borrow_mut();
    let barrier = barriers.of(number, threads)?;
    block.order.start_clocks();
    if let Some(misuse) = barrier.unordered(block, by, number) {
        block.findings.note(by, misuse);
    }
    if !waits {
        barrier.released.join(&block.order.release(by.agent, 0..LANES));
    }
    barrier.warps.push(Participant { by, waits });
    let phase = barrier.phases;
    if barrier.warps.len() * LANES == threads as usize {
        barrier.complete(block);
    }
    Ok(phase)
}
