//! Who accessed a piece of memory last, and whether an access races with that.
//!
//! Two accesses race if different agents make them, one of them writes, and nothing orders them. Within a block the agents are
//! warps, and a barrier orders what is before it with what is behind; between blocks nothing does.

use core::panic::Location;

/// An access: by which agent, after how many barriers, at which line.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) agent: usize,
    pub(super) epoch: u32,
    pub(super) location: &'static Location<'static>,
}

impl Access {
    /// Whether the two accesses happen in this order (or at once, by one agent) whatever the schedule is.
    fn is_before(&self, later: &Access) -> bool {
        self.agent == later.agent || self.epoch < later.epoch
    }
}

/// What is known of the accesses to one byte or element.
#[derive(Clone, Copy, Default)]
pub(super) struct History {
    /// The last write.
    write: Option<Access>,
    /// Reads by two different agents: of any agent that writes, one is another's. More would show no more races.
    reads: [Option<Access>; 2],
}

impl History {
    pub(super) fn is_written(&self) -> bool {
        self.write.is_some()
    }

    pub(super) fn last_write(&self) -> Option<Access> {
        self.write
    }

    pub(super) fn reads(&self) -> impl Iterator<Item = Access> {
        self.reads.into_iter().flatten()
    }

    /// Notes a write; returns an earlier access that it races with, and whether that was a write.
    pub(super) fn write(&mut self, access: Access) -> Option<(Access, bool)> {
        let raced_write = self.write.replace(access).filter(|earlier| !earlier.is_before(&access));
        let raced_read = self.reads.iter().flatten().find(|earlier| !earlier.is_before(&access)).copied();
        raced_write.map(|earlier| (earlier, true)).or(raced_read.map(|earlier| (earlier, false)))
    }

    /// Notes a read; returns an earlier write that it races with.
    pub(super) fn read(&mut self, access: Access) -> Option<Access> {
        let [first, second] = &mut self.reads;
        match (&first, &second) {
            (Some(known), _) if !known.is_before(&access) => {
                if second.is_none_or(|known| known.is_before(&access)) {
                    *second = Some(access);
                }
            }
            _ => *first = Some(access),
        }
        self.write.filter(|earlier| !earlier.is_before(&access))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(agent: usize, epoch: u32) -> Access {
        Access { agent, epoch, location: Location::caller() }
    }

    #[test]
    fn writes_of_different_agents_race_unless_a_barrier_is_between() {
        let mut history = History::default();
        assert!(history.write(access(0, 0)).is_none());
        assert!(history.write(access(0, 0)).is_none(), "an agent does not race with itself");
        assert!(history.write(access(1, 1)).is_none(), "ordered by the barrier");
        assert!(history.write(access(0, 1)).is_some_and(|(_, write)| write));
    }

    #[test]
    fn a_read_races_with_a_write_before_and_behind_it() {
        let mut history = History::default();
        history.write(access(0, 0));
        assert!(history.read(access(1, 0)).is_some());
        assert!(history.read(access(1, 1)).is_none());
        assert!(history.write(access(1, 1)).is_none());
        assert!(history.write(access(0, 1)).is_some());
    }

    #[test]
    fn the_reader_that_does_not_write_is_remembered_whatever_the_order() {
        for readers in [[0, 1, 2], [2, 1, 0], [1, 0, 1], [0, 0, 1], [1, 0, 0]] {
            let mut history = History::default();
            history.read(access(3, 0));
            for agent in readers {
                history.read(access(agent, 1));
            }
            for writer in 0..2 {
                assert!(history.clone().write(access(writer, 1)).is_some_and(|(_, write)| !write), "{readers:?}");
            }
        }
    }

    #[test]
    fn reads_alone_do_not_race() {
        let mut history = History::default();
        assert!(history.read(access(0, 0)).is_none());
        assert!(history.read(access(1, 0)).is_none());
        assert!(history.write(access(0, 1)).is_none());
    }
}
