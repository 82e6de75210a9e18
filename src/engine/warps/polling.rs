//! Lanes that poll memory or mbarriers, and loops without end.
//!
//! A warp runs until it waits at a barrier, comes to an atomic operation with a result, or ends. No
//! other warp of its block runs meanwhile. So a lane that only reads the same element again and
//! again waits for a value that no warp will write. A lane that reads and writes without end waits
//! for another event that does not happen.

use crate::engine::findings::{Memory, Misuse};
use crate::engine::warps::context::fail;
use crate::lane::Site;
use std::cell::Cell;

/// Default limit of a warp's accesses in one turn: about half a minute of them.
pub(crate) const PATIENCE: u64 = 1 << 28;

/// The accesses that take as long as a turn of a warp up to an atomic operation.
const ACCESSES_OF_TURN: u64 = 1 << 5;

/// Consecutive reads of the same value that count as polling: half a second of them.
const MANY: u64 = 1 << 22;

/// Consecutive turns of a warp that tests mbarriers without success that count as endless, if no
/// warp of the cluster does anything else meanwhile. Fewer warps than [`FEW_WARPS`] have as many
/// turns as these together.
const VAIN_TURNS: u64 = 1 << 12;

/// The same if other warps run, but nothing happens at a barrier of the cluster.
const VAIN_TURNS_BESIDE_OTHERS: u64 = 1 << 16;

const FEW_WARPS: usize = 16;

/// Turns of a cluster's warps that ended in tests of mbarriers.
#[derive(Clone, Copy, Default)]
pub(crate) struct VainTurns {
    /// The events at the cluster's barriers so far.
    events: u64,
    /// Turns since the last event.
    all: u64,
    /// Turns since then, and since a warp did anything else than test.
    alone: u64,
}

impl VainTurns {
    /// Whether the loops around the tests of the cluster's warps count as endless.
    pub(crate) fn are_endless(self, warps: usize) -> bool {
        let warps = warps.max(FEW_WARPS) as u64;
        self.alone > VAIN_TURNS * warps || self.all > VAIN_TURNS_BESIDE_OTHERS * warps
    }

    /// The count with one more turn. It `polls` if it ended in a test.
    pub(crate) fn and(self, polls: bool, events: u64) -> Self {
        match self {
            _ if events != self.events => VainTurns { events, ..Self::default() },
            VainTurns { all, .. } if !polls => VainTurns { events, all, alone: 0 },
            VainTurns { all, alone, .. } => VainTurns { events, all: all + 1, alone: alone + 1 },
        }
    }
}

/// Turns of a cluster's warps up to atomic operations in shared memory, in a row.
#[derive(Clone, Copy, Default)]
pub(crate) struct FetchingTurns {
    all: u64,
    /// Those since such an operation last changed an element.
    unchanged: u64,
}

impl FetchingTurns {
    /// The count with one more turn, if it ended before such an operation.
    pub(crate) fn and(self, fetches: bool) -> Self {
        let FetchingTurns { all, unchanged } = self;
        if fetches {
            FetchingTurns { all: all + 1, unchanged: unchanged + 1 }
        } else {
            Self::default()
        }
    }

    /// The count after an operation that changed an element.
    pub(crate) fn changed(self) -> Self {
        FetchingTurns { unchanged: 0, ..self }
    }

    /// Reports an operation on this address that goes on without end.
    pub(crate) fn check(self, site: Site, address: u32, warps: usize) {
        if self.unchanged > VAIN_TURNS_BESIDE_OTHERS * warps.max(FEW_WARPS) as u64 {
            fail(site, Misuse::Polling { memory: Memory::Shared { address } });
        }
        if self.all > atomic_patience() {
            fail(site, Misuse::Endless { accesses: self.all });
        }
    }
}

/// Consecutive reads of one element that returned one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reads {
    address: usize,
    value: u128,
    times: u64,
}

const NONE: Reads = Reads { address: 0, value: 0, times: 0 };

std::thread_local! {
    /// The consecutive reads of the running lane so far.
    static READS: Cell<Reads> = const { Cell::new(NONE) };
    /// The limit of accesses in this turn, and the accesses that are left.
    static TURN: Cell<(u64, u64)> = const { Cell::new((u64::MAX, u64::MAX)) };
}

impl Reads {
    /// The count with one more read.
    fn and(self, address: usize, value: u128) -> Self {
        let times = if (self.address, self.value) == (address, value) { self.times } else { 0 };
        Reads { address, value, times: times + 1 }
    }
}

/// Begins a warp's turn.
pub(crate) fn begin_turn(patience: u64) {
    TURN.set((patience, patience));
}

/// The limit of turns up to atomic operations, in a row.
pub(crate) fn atomic_patience() -> u64 {
    let (patience, _) = TURN.get();
    (patience / ACCESSES_OF_TURN).max(1)
}

/// Records that the running lane has read `value` from memory that may change.
#[inline]
pub(crate) fn note_read(site: Site, address: usize, value: &[u8], memory: impl FnOnce() -> Memory) {
    let times = consecutive(address, value);
    let (patience, _) = TURN.get();
    if times == MANY.min(patience) && !std::thread::panicking() {
        fail(site, Misuse::Polling { memory: memory() });
    }
    spend(site);
}

/// Counts this read, and the same reads just before it.
#[inline]
fn consecutive(address: usize, value: &[u8]) -> u64 {
    let mut bits = [0; size_of::<u128>()];
    bits[..value.len()].copy_from_slice(value);
    let reads = READS.get().and(address, u128::from_ne_bytes(bits));
    READS.set(reads);
    reads.times
}

/// Records another kind of access by the running lane.
pub(crate) fn note_access(site: Site) {
    forget_reads();
    spend(site);
}

/// Spends one of the warp's accesses in this turn.
pub(crate) fn spend(site: Site) {
    let (patience, left) = TURN.get();
    if left == 0 && !std::thread::panicking() {
        fail(site, Misuse::Endless { accesses: patience });
    }
    TURN.set((patience, left.saturating_sub(1)));
}

/// Ends the sequence of reads: the lane does something else, or another lane runs.
pub(crate) fn forget_reads() {
    READS.set(NONE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_another_address_or_value_start_anew() {
        let reads = NONE.and(4, 1).and(4, 1).and(4, 1);
        assert_eq!(reads.times, 3);
        assert_eq!(reads.and(5, 1).times, 1);
        assert_eq!(reads.and(4, 2).times, 1);
        assert_eq!(reads.and(4, 2).and(4, 1).times, 1);
    }

    #[test]
    fn turns_are_vain_until_something_happens() {
        let after = |polls: bool, turns: u64| {
            (0..turns).fold(VainTurns::default(), |so_far, _| so_far.and(polls, 0))
        };
        let most = VAIN_TURNS * FEW_WARPS as u64;
        assert!(!after(true, most).are_endless(1));
        let endless = after(true, most + 1);
        assert!(endless.are_endless(FEW_WARPS) && !endless.are_endless(FEW_WARPS + 1));
        assert!(!endless.and(false, 0).are_endless(1));
        assert!(!endless.and(true, 1).are_endless(1));
        assert!(!after(false, most + 1).are_endless(1));
    }

    #[test]
    fn anything_else_starts_anew() {
        assert_eq!([consecutive(4, &[1]), consecutive(4, &[1])], [1, 2]);
        forget_reads();
        assert_eq!(consecutive(4, &[1]), 1);
    }
}
