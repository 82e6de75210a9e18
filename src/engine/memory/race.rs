//! The last accesses to a piece of memory, and races with them.
//!
//! Two accesses race if different threads make them, one of them is a write, and no synchronisation
//! orders them. Synchronisation is:
//!
//! - within a block, `block.sync`;
//! - within a warp, `warp.sync`;
//! - for some warps of a block, a named barrier, such as that of `WarpGroup::sync`;
//! - mbarriers, and waits for copies and `wgmma`s, as recorded in [`Order`];
//! - between the blocks of a cluster, only the orders recorded in [`Order`];
//! - between other blocks, none.

use crate::engine::memory::order::{Order, is_asynchronous};
use crate::lane::AccessKind;
use core::panic::Location;
use std::boxed::Box;
use std::vec::Vec;

/// An access: its author, its position relative to barriers, and its source line.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    /// The warp's number within the cluster. (If clusters are compared: the cluster's number
    /// within the launch.)
    pub(crate) agent: usize,
    pub(crate) by: Lanes,
    /// The lane-closure section that the warp runs, as the lowest bits of its number, or
    /// [`NO_CLOSURE`].
    pub(crate) closure: u8,
    /// The lane's earlier accesses in this section; at most 255.
    pub(crate) before: u8,
    /// Number of `sync`s that the block has passed.
    pub(crate) epoch: u32,
    /// Number of synchronisations of the warp alone.
    pub(crate) warp_epoch: u32,
    /// The warp's tick: see [`Order`].
    pub(crate) tick: u32,
    pub(crate) location: &'static Location<'static>,
}

/// Equals no section: the access is outside of lane closures, or a write that does not change the
/// value, so that the order of lanes is invisible.
pub(crate) const NO_CLOSURE: u8 = 0;

/// The lanes that make an access. Small, because each byte of shared memory has four accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// One lane, in a lane closure.
    One(u8),
    /// Each lane by itself, and all lanes alike, at warp scope.
    Each,
    /// The warp as a whole: data moves between lanes. The operand belongs to this lane.
    Together(u8),
}

impl Lanes {
    pub(crate) fn one(lane: usize) -> Self {
        Lanes::One(lane as u8)
    }

    pub(crate) fn together(lane: usize) -> Self {
        Lanes::Together(lane as u8)
    }
}

impl Access {
    /// The lane that makes the access, if it is a single one.
    pub(crate) fn lane(&self) -> Option<usize> {
        match self.by {
            Lanes::One(lane) | Lanes::Together(lane) => Some(lane.into()),
            Lanes::Each => None,
        }
    }

    /// Whether the same thread, warp or asynchronous agent makes the two accesses.
    pub(crate) fn is_by_author_of(&self, other: &Access) -> bool {
        (self.agent, self.by) == (other.agent, other.by)
    }

    /// Whether two lanes of a warp make the two accesses in the same section of one lane closure.
    fn is_in_closure_of(&self, other: &Access) -> bool {
        let lanes =
            matches!((self.by, other.by), (Lanes::One(lane), Lanes::One(other)) if lane != other);
        lanes
            && self.agent == other.agent
            && self.closure == other.closure
            && self.closure != NO_CLOSURE
    }

    /// Whether the value that is read depends on the simulator's order of lanes within a closure.
    ///
    /// It always does if a read follows another lane's write. It also does if a read precedes the
    /// write (`other_is_write` is false) but is the later step of the closure: lanes in lockstep
    /// would read the written value.
    pub(crate) fn shows_order(
        &self,
        other: &Access,
        (is_write, other_is_write): (bool, bool),
        order: &Order,
    ) -> bool {
        let is_in_closure =
            other.is_in_closure_of(self) && order.has_numbers_of_now(other.agent, other.tick);
        match (is_write, other_is_write) {
            (false, true) => is_in_closure,
            (true, false) => is_in_closure && other.before > self.before,
            _ => false,
        }
    }

    /// The worst of the races of this access with earlier reads or reductions. Races within a warp
    /// may be only warnings, which must not hide errors.
    pub(crate) fn worst_race(
        &self,
        earlier: impl Iterator<Item = Access>,
        order: &Order,
    ) -> Option<Access> {
        let is_mild = |earlier: &Access| {
            earlier.agent == self.agent && !self.shows_order(earlier, (true, false), order)
        };
        earlier.min_by_key(is_mild)
    }

    /// Whether this access happens before `later` in every schedule: by the program order of one
    /// thread, a `sync`, or [`Order`]. The later one is made now.
    pub(crate) fn is_before(&self, later: &Access, order: &Order) -> bool {
        if self.agent != later.agent {
            let synced = self.epoch < later.epoch
                && !is_asynchronous(later.agent)
                && order.shares_syncs(self.agent, later.agent);
            return synced || order.knows(later, self);
        }
        self.is_before_in_warp(later) || order.knows(later, self)
    }

    /// The same for two accesses of one warp, by its `sync`s alone, whenever the later one was
    /// made.
    pub(crate) fn is_before_in_warp(&self, later: &Access) -> bool {
        let synced = self.epoch < later.epoch || self.warp_epoch < later.warp_epoch;
        let same_thread = match (self.by, later.by) {
            (Lanes::One(lane), Lanes::One(other)) => lane == other,
            (Lanes::Each, Lanes::Each) => true,
            _ => false,
        };
        synced || same_thread
    }

    /// Whether this read is over before the later access, in every schedule.
    fn is_over_before(&self, later: &Access, order: &Order) -> bool {
        self.is_before(later, order) || order.knows_over(later, self)
    }

    /// Whether this write is ordered before a later read. It is, too, if the reading lane has made
    /// the write itself.
    pub(crate) fn is_seen_by(&self, read: &Access, order: &Order) -> bool {
        let own =
            self.agent == read.agent && matches!((self.by, read.by), (Lanes::Each, Lanes::One(_)));
        own || self.is_before(read, order)
    }

    /// Whether a later write replaces this one. A write by each lane is the last one of each.
    fn is_overwritten_by(&self, write: &Access, order: &Order) -> bool {
        let last = self.agent == write.agent
            && matches!((self.by, write.by), (Lanes::One(_), Lanes::Each));
        last || self.is_before(write, order)
    }
}

/// The accesses to one byte or element.
#[derive(Clone, Default)]
pub(crate) struct History {
    /// The last write.
    write: Option<Access>,
    /// Reads: the last of some warp, one by another lane of that warp, and one by another warp.
    ///
    /// For each thread that writes, one of these reads belongs to another thread. If only `sync`s
    /// order warps, more reads would reveal no more races.
    reads: [Option<Access>; 3],
    /// Behind a pointer: a block has thousands of histories, and many have nothing further.
    further: Option<Box<Further>>,
}

/// What a history needs only if other operations than `sync`s order warps.
#[derive(Clone, Default)]
struct Further {
    /// Further reads. A write may be ordered after the reads of one warp and not of another.
    reads: Vec<Access>,
    /// The starts and ends of asynchronous operations on the written value, the first of each
    /// author. The write is ordered before these starts. So an access after one of the ends is
    /// ordered after the write, too.
    operations: Vec<Access>,
}

impl History {
    /// A history of this write alone.
    pub(crate) fn of_write(write: Access) -> Self {
        History { write: Some(write), ..History::default() }
    }

    /// The last write, if there are no reads.
    pub(crate) fn only_write(&self) -> Option<Access> {
        self.write.filter(|_| self.reads().next().is_none())
    }

    pub(crate) fn is_written(&self) -> bool {
        self.write.is_some()
    }

    pub(crate) fn last_write(&self) -> Option<Access> {
        self.write
    }

    pub(crate) fn reads(&self) -> impl Iterator<Item = Access> + '_ {
        let further = self.further.iter().flat_map(|further| further.reads.iter().copied());
        self.reads.into_iter().flatten().chain(further)
    }

    fn operations(&self) -> &[Access] {
        self.further.as_ref().map_or(&[], |further| &further.operations)
    }

    /// Forgets further reads unless this holds.
    fn retain_further(&mut self, is_kept: impl Fn(&Access) -> bool) {
        if let Some(further) = &mut self.further {
            further.reads.retain(is_kept);
        }
    }

    /// Records a write. Returns an earlier access that it races with, and its kind.
    ///
    /// `changes` says whether the value changes. Lanes of one warp that write the same value leave
    /// the result determined.
    pub(crate) fn write(
        &mut self,
        access: Access,
        changes: bool,
        order: &Order,
    ) -> Option<(Access, AccessKind)> {
        let unordered = self.write.filter(|earlier| {
            !earlier.is_overwritten_by(&access, order)
                && !self.is_after_operation(&access, order)
                && !self.is_after_copy(&access, order)
        });
        let raced_write = unordered.filter(|earlier| changes || earlier.agent != access.agent);
        let by = match (unordered, access.by) {
            // Several lanes have written it: the next access of one of them is not ordered after
            // the others' writes.
            (Some(_), Lanes::One(lane)) if raced_write.is_none() => Lanes::Together(lane),
            _ => access.by,
        };
        // A lane that writes its own value again does not undo the earlier change.
        let before =
            self.write.filter(|earlier| (earlier.agent, earlier.by) == (access.agent, access.by));
        let before = before.filter(|earlier| order.has_numbers_of_now(earlier.agent, earlier.tick));
        let unchanged = before.map_or(NO_CLOSURE, |earlier| earlier.closure);
        if let Some(further) = &mut self.further {
            further.operations.clear();
        }
        self.write = Some(Access {
            by,
            closure: if changes { access.closure } else { unchanged },
            ..access
        });
        // A read by another warp may happen before or after. The finding must not depend on the
        // schedule.
        let raced_reads = self.reads().filter(|earlier| {
            (changes || earlier.agent != access.agent) && !earlier.is_over_before(&access, order)
        });
        let raced_read = access.worst_race(raced_reads, order);
        if is_asynchronous(access.agent) {
            // Reads before the copy's start were compared with the start, and reads after it are
            // findings. A warp that knows of the copy's end need not know them.
            self.reads = [None; 3];
            self.retain_further(|_| false);
        } else {
            self.retain_further(|earlier| !earlier.is_over_before(&access, order));
        }
        let write = raced_write.map(|earlier| (earlier, AccessKind::Write));
        write.or(raced_read.map(|earlier| (earlier, AccessKind::Read)))
    }

    /// An earlier access that is not ordered before this exclusive one, and its kind.
    pub(crate) fn beside(&self, access: &Access, order: &Order) -> Option<(Access, AccessKind)> {
        let write = self.write.filter(|earlier| {
            !earlier.is_before(access, order) && !self.is_after_operation(access, order)
        });
        if let Some(write) = write.filter(|earlier| earlier.agent != access.agent) {
            return Some((write, AccessKind::Write));
        }
        let reads = self.reads().filter(|earlier| !earlier.is_over_before(access, order));
        let read = access.worst_race(reads, order);
        // The write is by the same warp, so a race with it may be only a warning.
        let is_worse = |read: &Access| write.is_none() || read.agent != access.agent;
        let read = read.filter(is_worse).map(|read| (read, AccessKind::Read));
        read.or(write.map(|write| (write, AccessKind::Write)))
    }

    /// Records a read. Returns an earlier write that it races with.
    pub(crate) fn read(&mut self, access: Access, order: &Order) -> Option<Access> {
        let [last, lane, warp] = &mut self.reads;
        let slot = match last {
            Some(known) if !known.is_before(&access, order) => {
                let other = if known.agent == access.agent { lane } else { warp };
                other.is_none_or(|known| known.is_before(&access, order)).then_some(other)
            }
            _ => Some(last),
        };
        match slot {
            Some(slot) => *slot = Some(access),
            None if order.uses_clocks() => {
                let reads = &mut self.further.get_or_insert_default().reads;
                reads.retain(|known| !known.is_before(&access, order));
                reads.push(access);
            }
            None => {}
        }
        self.unseen_write(&access, order)
    }

    /// Records the start of an asynchronous operation.
    ///
    /// A later write is ordered after its end, or is a finding. So it need not be compared with the
    /// reads before the start, nor, after the end, with the write.
    pub(crate) fn start_operation(&mut self, start: &Access, order: &Order) {
        for read in &mut self.reads {
            read.take_if(|read| read.is_over_before(start, order));
        }
        self.retain_further(|read| !read.is_over_before(start, order));
        let is_ordered = self.write.is_some_and(|write| {
            write.is_before(start, order) || self.is_after_operation(start, order)
        });
        if is_ordered && !self.has_operation_of(start) {
            self.further.get_or_insert_default().operations.push(*start);
        }
    }

    /// Records the end of an asynchronous operation.
    pub(crate) fn finish_operation(&mut self, started: &Access, end: Access) {
        if self.has_operation_of(started) && !self.has_operation_of(&end) {
            self.further.get_or_insert_default().operations.push(end);
        }
    }

    /// Whether an operation has this author. A thread that knows a later access of the same author
    /// knows that one.
    fn has_operation_of(&self, by: &Access) -> bool {
        self.operations().iter().any(|other| other.is_by_author_of(by))
    }

    /// Whether the access is ordered after an asynchronous operation on the written value. Between
    /// blocks of a cluster that does not suffice: the scope of the wait could be too narrow.
    fn is_after_operation(&self, access: &Access, order: &Order) -> bool {
        self.write.is_some_and(|write| order.are_of_one_block(write.agent, access.agent))
            && self.operations().iter().any(|operation| operation.is_before(access, order))
    }

    /// Whether a copy wrote the value, and an asynchronous operation that started after it has
    /// ended before the access. So the copy is over, whatever the scope of the waits in between: a
    /// write then comes later. (A read may need a wider scope.)
    fn is_after_copy(&self, access: &Access, order: &Order) -> bool {
        self.write.is_some_and(|write| is_asynchronous(write.agent))
            && self.operations().iter().any(|operation| operation.is_before(access, order))
    }

    /// Records the end of a copy's read, in place of its start.
    pub(crate) fn finish_read(&mut self, started: &Access, access: Access, order: &Order) {
        let is_start = |read: &Access| {
            let of = |by: &Access| (by.agent, by.by, by.tick, by.location);
            of(read) == of(started)
        };
        for read in &mut self.reads {
            read.take_if(|read| is_start(read));
        }
        self.retain_further(|read| !is_start(read));
        self.read(access, order);
        self.finish_operation(started, access);
    }

    /// The last write, if an access with this knowledge is not ordered after it.
    pub(crate) fn write_unknown_to(&self, knows: impl Fn(&Access) -> bool) -> Option<Access> {
        self.write.filter(|write| !knows(write) && !self.operations().iter().any(knows))
    }

    /// An earlier write that races with a read.
    pub(crate) fn unseen_write(&self, read: &Access, order: &Order) -> Option<Access> {
        self.write.filter(|earlier| {
            !earlier.is_seen_by(read, order) && !self.is_after_operation(read, order)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl History {
        /// Without mbarriers.
        fn written(&mut self, access: Access, changes: bool) -> Option<(Access, AccessKind)> {
            self.write(access, changes, &Order::default())
        }

        fn was_read(&mut self, access: Access) -> Option<Access> {
            self.read(access, &Order::default())
        }
    }

    #[track_caller]
    fn access(agent: usize, epoch: u32) -> Access {
        let (by, closure, location) = (Lanes::One(0), 1, Location::caller());
        Access { agent, by, closure, before: 0, epoch, warp_epoch: 0, tick: 0, location }
    }

    fn by(by: Lanes, warp_epoch: u32) -> Access {
        Access { by, warp_epoch, ..access(0, 0) }
    }

    #[test]
    fn writes_of_different_warps_race_unless_a_barrier_is_between() {
        let mut history = History::default();
        assert!(history.written(access(0, 0), true).is_none());
        assert!(
            history.written(access(0, 0), true).is_none(),
            "a thread does not race with itself"
        );
        assert!(history.written(access(1, 1), true).is_none(), "ordered by the barrier");
        assert!(
            history.written(access(0, 1), true).is_some_and(|(_, kind)| kind == AccessKind::Write)
        );
        assert!(history.written(access(1, 1), false).is_some(), "also where it is the same value");
    }

    #[test]
    fn read_races_with_write_before_and_behind_it() {
        let mut history = History::default();
        history.written(access(0, 0), true);
        assert!(history.was_read(access(1, 0)).is_some());
        assert!(history.was_read(access(1, 1)).is_none());
        assert!(history.written(access(1, 1), true).is_none());
        assert!(history.written(access(0, 1), true).is_some());
    }

    #[test]
    fn lanes_race_unless_the_warp_syncs() {
        use Lanes::{Each, One, Together};
        for (writer, reader, races) in [
            (One(3), One(3), false),
            (One(3), One(4), true),
            (One(3), Together(3), true),
            (Together(3), One(3), true),
            (Together(3), Together(3), true),
            (Each, One(3), false),
            (Each, Together(3), true),
        ] {
            let mut history = History::default();
            history.written(by(writer, 0), true);
            assert_eq!(
                history.clone().was_read(by(reader, 0)).is_some(),
                races,
                "{writer:?}, {reader:?}"
            );
            assert!(history.was_read(by(reader, 1)).is_none(), "{writer:?}, sync, {reader:?}");
        }
    }

    #[test]
    fn what_each_lane_writes_is_each_lanes_write() {
        use Lanes::{Each, One};
        let mut history = History::default();
        history.written(by(Each, 0), true);
        assert!(
            history.clone().written(by(One(3), 0), true).is_some(),
            "another lane's may come after it"
        );
        assert!(
            history.clone().written(by(Each, 0), true).is_none(),
            "the last of each lane stays"
        );
        history.written(by(One(3), 1), true);
        assert!(history.written(by(Each, 1), true).is_none(), "likewise");
        history.was_read(by(One(3), 2));
        assert!(
            history.written(by(Each, 2), true).is_some(),
            "another lane's may come before the read"
        );
    }

    #[test]
    fn lanes_of_a_warp_may_write_the_same_value() {
        let mut history = History::default();
        history.written(by(Lanes::One(0), 0), true);
        assert!(history.written(by(Lanes::One(1), 0), false).is_none());
        assert!(history.clone().written(by(Lanes::One(2), 0), true).is_some());
        assert!(
            history.written(by(Lanes::One(1), 0), true).is_some(),
            "that of lane 0 may come after it"
        );
    }

    #[test]
    fn write_of_same_value_races_with_read_of_another_warp_only() {
        let mut history = History::default();
        history.was_read(access(0, 0));
        assert!(history.clone().written(by(Lanes::One(1), 0), false).is_none());
        assert!(
            history.written(access(1, 0), false).is_some_and(|(_, kind)| kind == AccessKind::Read)
        );
    }

    #[test]
    fn reader_that_is_not_writer_is_remembered_whatever_order() {
        for readers in [[0, 1, 2], [2, 1, 0], [1, 0, 1], [0, 0, 1], [1, 0, 0]] {
            let mut history = History::default();
            history.was_read(access(3, 0));
            for agent in readers {
                history.was_read(access(agent, 1));
            }
            for writer in 0..2 {
                let raced = history.clone().written(access(writer, 1), true);
                assert!(raced.is_some_and(|(_, kind)| kind == AccessKind::Read), "{readers:?}");
            }
        }
    }

    #[test]
    fn warp_that_syncs_does_not_hide_reads_of_another() {
        let mut history = History::default();
        history.was_read(by(Lanes::One(0), 0));
        history.was_read(by(Lanes::One(1), 0));
        history.was_read(access(1, 0));
        assert!(
            history.written(by(Lanes::One(2), 1), true).is_some_and(|(read, _)| read.agent == 1)
        );
    }

    #[test]
    fn lane_that_reads_in_one_closure_what_another_wrote_in_it() {
        let write = |lane, closure| Access { closure, ..by(Lanes::One(lane), 0) };
        let raced = |history: &History, lane, closure| {
            let read = write(lane, closure);
            history
                .clone()
                .was_read(read)
                .map(|earlier| read.shows_order(&earlier, (false, true), &Order::default()))
        };
        let mut history = History::default();
        history.written(write(3, 7), true);
        assert_eq!(raced(&history, 3, 7), None, "its own");
        assert_eq!(raced(&history, 4, 7), Some(true));
        assert_eq!(raced(&history, 4, 8), Some(false), "a later closure");
        history.written(write(3, 7), false);
        assert_eq!(raced(&history, 4, 7), Some(true), "the value is lane 3's all the same");
        history.written(write(5, 7), false);
        assert_eq!(raced(&history, 4, 7), Some(false), "several lanes have written it");
        let mut history = History::default();
        history.written(write(3, 7), false);
        assert_eq!(raced(&history, 4, 7), Some(false), "nothing has changed");
    }

    #[test]
    fn lane_that_reads_before_another_writes_and_in_step_would_read_behind() {
        let at = |lane, before| Access { closure: 7, before, ..by(Lanes::One(lane), 0) };
        for (read, write, shows) in [(0, 1, false), (1, 1, false), (2, 1, true)] {
            let mut history = History::default();
            history.was_read(at(0, read));
            let write = at(4, write);
            let (earlier, kind) = history.written(write, true).unwrap();
            assert_eq!(
                (kind, write.shows_order(&earlier, (true, false), &Order::default())),
                (AccessKind::Read, shows)
            );
        }
    }

    #[test]
    fn reads_alone_do_not_race() {
        let mut history = History::default();
        assert!(history.was_read(access(0, 0)).is_none());
        assert!(history.was_read(access(1, 0)).is_none());
        assert!(history.written(access(0, 1), true).is_none());
    }
}
