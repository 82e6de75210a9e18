//! Turns of a launch's warps that end before atomic operations, and the end of their waits.
//!
//! A lane that waits for a value repeats an atomic operation. It waits in vain if no lane of the
//! launch does anything but repeat itself.

use core::hash::{Hash, Hasher};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

/// Turns in vain that count as endless: for each warp, and at least for all.
const VAIN_TURNS: u64 = 1 << 9;
const LEAST_VAIN_TURNS: u64 = 1 << 16;

/// How many times as many count, while atomic elements still change.
const IF_CHANGING: u64 = 32;

/// Turns for each warp after which further clusters begin: without a change of an atomic element,
/// and in any case.
const IDLE_TURNS: u64 = 16;
const BUSY_TURNS: u64 = 128;

/// The turns of a launch's warps that ended before an atomic operation.
#[derive(Default)]
pub(crate) struct AtomicTurns {
    /// Number of warps that have begun.
    warps: u64,
    /// Turns since something new happened.
    vain: u64,
    /// Turns since an atomic element changed.
    idle: u64,
    /// Turns since a warp ended.
    since_end: u64,
    /// Turns since warps began.
    since_begin: u64,
    /// The atomic elements that have changed, by address.
    changed: FxHashSet<usize>,
    /// Hashes of all that lanes do in the second quarter of the turns that count as endless. In
    /// the second half, anything else is new.
    repeated: FxHashSet<u64>,
    /// The changes of each cluster's mbarriers so far.
    events: FxHashMap<usize, u64>,
}

impl AtomicTurns {
    /// Further warps have begun.
    pub(crate) fn begin_warps(&mut self, warps: usize) {
        self.warps += warps as u64;
        self.since_begin = 0;
    }

    /// Counts a turn of a warp of a cluster, whose mbarriers have changed `events` times. It ended
    /// before an atomic operation, with the warp's end, or with anything else.
    pub(crate) fn end(
        &mut self,
        cluster: usize,
        events: u64,
        (before_atomic, has_ended): (bool, bool),
    ) {
        if before_atomic {
            self.vain += 1;
            self.idle += 1;
            self.since_end += 1;
            self.since_begin += 1;
        }
        if has_ended {
            self.since_end = 0;
        }
        if self.events.insert(cluster, events) != Some(events) || has_ended {
            self.something_happened();
        }
    }

    fn something_happened(&mut self) {
        self.vain = 0;
        self.repeated.clear();
    }

    /// The turns in vain that count as endless.
    fn endless(&self) -> u64 {
        LEAST_VAIN_TURNS.max(VAIN_TURNS * self.warps)
    }

    /// A lane does something: an atomic operation with its value after, a read of an address, or a
    /// write of a value. If it is new, the turns are not in vain.
    pub(crate) fn note(&mut self, what: impl Hash) {
        let endless = self.endless();
        if self.vain < endless / 4 {
            return;
        }
        let mut hasher = FxHasher::default();
        what.hash(&mut hasher);
        if self.vain < endless / 2 {
            self.repeated.insert(hasher.finish());
        } else if !self.repeated.contains(&hasher.finish()) {
            self.something_happened();
        }
    }

    /// The atomic element at this address has changed.
    pub(crate) fn note_change(&mut self, address: usize) {
        self.changed.insert(address);
        self.idle = 0;
    }

    /// Whether further clusters have to begin, because these may wait for them.
    pub(crate) fn need_others(&self) -> bool {
        self.idle > IDLE_TURNS * self.warps || self.since_begin > BUSY_TURNS * self.warps
    }

    /// How the launch goes on without end, if it does, as a lane is to report that waits for the
    /// atomic element at this address.
    ///
    /// A changed element comes first, because the others may wait for the lane that waits for it.
    pub(crate) fn without_end(&self, address: usize, patience: u64) -> Option<WithoutEnd> {
        let endless = self.endless();
        let most = if self.changed.contains(&address) { endless } else { 2 * endless };
        if self.vain > most && self.idle > most {
            Some(WithoutEnd::Unchanged)
        } else if self.vain > IF_CHANGING * most || self.since_end > patience {
            Some(WithoutEnd::Operations(self.since_end))
        } else {
            None
        }
    }
}

/// How a launch goes on without end.
pub(crate) enum WithoutEnd {
    /// Its lanes repeat atomic operations that change nothing.
    Unchanged,
    /// This many operations, and no warp ends.
    Operations(u64),
}
