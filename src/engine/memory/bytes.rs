//! The records of each byte of a block's shared memory.
//!
//! Bytes that were always accessed together share one record. It is stored once and checked once
//! for all of them.

use crate::engine::memory::order::{Order, Space};
use crate::engine::memory::race::{Access, History};
use crate::engine::memory::reduction::{ByClass, Class};
use core::panic::Location;
use std::boxed::Box;
use std::ops::Range;
use std::vec;
use std::vec::Vec;

/// The record of some bytes. `repr(C)`: each access reads the first fields, which are in one line
/// of the cache.
#[derive(Clone, Default)]
#[repr(C)]
pub(crate) struct ByteRecord {
    /// Their part in an mbarrier, until an ordinary write after its end.
    pub(crate) barrier: BarrierBytes,
    /// Only few bytes have reductions.
    reductions: Option<Box<Reductions>>,
    /// The start of the copy to them that is in flight.
    pub(crate) copying: Option<Access>,
    pub(crate) history: History,
}

/// Whether bytes belong to an mbarrier. Only mbarrier instructions may access such bytes.
#[derive(Clone, Copy, Default)]
pub(crate) enum BarrierBytes {
    #[default]
    No,
    /// To a live one, initialised at this line.
    Live(&'static Location<'static>),
    /// To one that has ended. PTX leaves their contents open.
    Ended,
}

/// The reductions of some bytes.
#[derive(Clone, Default)]
struct Reductions {
    /// The starts of the reductions in flight.
    in_flight: Vec<(Class, Access)>,
    /// Reductions that have landed since the last write.
    landed: ByClass,
    /// Operations that started after all these reductions: the starting thread, and the start or
    /// the end. An access after one of them is ordered after the reductions, too.
    after: Vec<(usize, Access)>,
}

impl ByteRecord {
    /// Whether the bytes contain a written value.
    pub(crate) fn is_written(&self) -> bool {
        self.history.is_written() && !matches!(self.barrier, BarrierBytes::Ended)
    }

    /// The line that initialised the live mbarrier of these bytes.
    pub(crate) fn live_barrier(&self) -> Option<&'static Location<'static>> {
        match self.barrier {
            BarrierBytes::Live(location) => Some(location),
            BarrierBytes::No | BarrierBytes::Ended => None,
        }
    }

    /// The start of a reduction in flight that is not of this class.
    pub(crate) fn reducing(&self, class: Option<Class>) -> Option<Access> {
        let in_flight = &self.reductions.as_ref()?.in_flight;
        in_flight.iter().find(|(of, _)| Some(*of) != class).map(|(_, started)| *started)
    }

    /// Records the start of a reduction.
    pub(crate) fn start_reduction(&mut self, class: Class, started: Access) {
        self.reductions.get_or_insert_default().in_flight.push((class, started));
    }

    /// Records that the reduction `started` has landed, by this asynchronous agent.
    pub(crate) fn land_reduction(
        &mut self,
        class: Class,
        started: &Access,
        by: Access,
        order: &Order,
    ) {
        let in_flight = &mut self.reductions.get_or_insert_default().in_flight;
        let is_it = |(_, of): &(Class, Access)| {
            (of.agent, of.by, of.tick) == (started.agent, started.by, started.tick)
        };
        if let Some(index) = in_flight.iter().position(is_it) {
            in_flight.swap_remove(index);
        }
        self.reduce(class, by, order);
        self.history.finish_operation(started, by);
    }

    /// Records a reduction.
    pub(crate) fn reduce(&mut self, class: Class, by: Access, order: &Order) {
        let Reductions { landed, after, .. } = &mut **self.reductions.get_or_insert_default();
        landed.of(class).read(by, order);
        after.clear();
    }

    /// Records the start of an asynchronous operation.
    pub(crate) fn start_operation(&mut self, start: &Access, order: &Order) {
        self.history.start_operation(start, order);
        if self.unseen_reduction(start, None, order).is_none() {
            self.put_after_reductions(start.agent, *start);
        }
    }

    /// Records the end of a copy's read.
    pub(crate) fn finish_read(&mut self, started: &Access, end: Access, order: &Order) {
        self.history.finish_read(started, end, order);
        let is_start = |(_, start): &(usize, Access)| start.is_by_author_of(started);
        if self.reductions.as_ref().is_some_and(|of| of.after.iter().any(is_start)) {
            self.put_after_reductions(started.agent, end);
        }
    }

    /// The start of a copy or reduction in flight to the bytes.
    pub(crate) fn in_flight(&self) -> Option<Access> {
        self.copying.or_else(|| self.reducing(None))
    }

    /// Records an access of an operation that this thread has started after all landed reductions.
    /// A thread that knows a later access of the same author knows the first one.
    fn put_after_reductions(&mut self, starter: usize, operation: Access) {
        if let Some(Reductions { after, .. }) = self.reductions.as_deref_mut()
            && !after.iter().any(|(_, other)| other.is_by_author_of(&operation))
        {
            after.push((starter, operation));
        }
    }

    /// The reductions that have landed since the last write.
    fn landed_reductions(&self) -> impl Iterator<Item = Access> + '_ {
        self.reductions.iter().flat_map(|of| of.landed.all()).map(|(_, by)| by)
    }

    /// A landed reduction, not of this class, that is not ordered before this access.
    pub(crate) fn unseen_reduction(
        &self,
        by: &Access,
        class: Option<Class>,
        order: &Order,
    ) -> Option<Access> {
        let is_after = |(starter, operation): &(usize, Access)| {
            order.are_of_one_block(*starter, by.agent) && operation.is_before(by, order)
        };
        let reductions = self.reductions.as_ref()?;
        let landed = reductions.landed.without(class).flat_map(History::reads);
        let unseen = by.worst_race(landed.filter(|landed| !landed.is_seen_by(by, order)), order);
        unseen.filter(|_| !reductions.after.iter().any(is_after))
    }

    /// A write or reduction that is ordered before this access of the async proxy, without a proxy
    /// fence for shared memory of this rank in between.
    pub(crate) fn unfenced(&self, by: &Access, rank: usize, order: &Order) -> Option<Access> {
        self.history.last_write().into_iter().chain(self.landed_reductions()).find(|earlier| {
            earlier.is_seen_by(by, order) && !order.is_fenced(Space::Shared(rank), by, earlier)
        })
    }

    /// Forgets the landed reductions, because the bytes are overwritten.
    pub(crate) fn forget_reductions(&mut self) {
        if let Some(reductions) = &mut self.reductions {
            reductions.landed = ByClass::default();
            reductions.after.clear();
            self.reductions.take_if(|reductions| reductions.in_flight.is_empty());
        }
    }
}

/// The unwritten bytes of a read.
#[derive(Clone, Copy)]
pub(crate) struct UnwrittenBytes {
    /// The first one.
    pub(crate) first: usize,
    /// Their number.
    pub(crate) bytes: usize,
}

pub(crate) struct ByteRecords {
    /// The index into `records` for each byte. All zeros at first, which use no memory.
    of_byte: Vec<u32>,
    /// Each record, with the number of its bytes.
    records: Vec<(ByteRecord, usize)>,
}

impl ByteRecords {
    pub(crate) fn new(size: usize) -> Self {
        // Most records have 16 bytes or more. Memory that is reserved and not used costs nothing.
        let mut records = Vec::with_capacity(1 + size / 16);
        records.push((ByteRecord::default(), size));
        ByteRecords { of_byte: vec![0; size], records }
    }

    /// The records of these bytes, in order: for each run of equal records, its first byte and the
    /// record.
    pub(crate) fn of(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &ByteRecord)> {
        let mut bytes = range.start;
        self.of_byte[range].chunk_by(|one, other| one == other).map(move |row| {
            let first = bytes;
            bytes += row.len();
            (first, &self.records[row[0] as usize].0)
        })
    }

    /// The unwritten bytes of these.
    pub(crate) fn unwritten(&self, range: Range<usize>) -> Option<UnwrittenBytes> {
        let (mut first, mut found) = (range.start, None);
        for row in self.of_byte[range].chunk_by(|one, other| one == other) {
            if !self.records[row[0] as usize].0.is_written() {
                found.get_or_insert(UnwrittenBytes { first, bytes: 0 }).bytes += row.len();
            }
            first += row.len();
        }
        found
    }

    /// Changes the records of these bytes. Adjacent bytes with one record that are `alike` change
    /// together.
    pub(crate) fn change(
        &mut self,
        range: Range<usize>,
        alike: impl Fn(usize, usize) -> bool,
        mut change: impl FnMut(usize, &mut ByteRecord),
    ) {
        let mut first = range.start;
        while first < range.end {
            let goes_on =
                |&byte: &usize| self.of_byte[byte] == self.of_byte[first] && alike(first, byte);
            let end = first + (first..range.end).take_while(goes_on).count();
            change(first, self.own(first..end));
            first = end;
        }
    }

    /// Changes the records of all these bytes alike.
    pub(crate) fn change_all(
        &mut self,
        range: Range<usize>,
        mut change: impl FnMut(&mut ByteRecord),
    ) {
        self.change(range, |_, _| true, |_, record| change(record));
    }

    /// The common record of these bytes, which from now on no other bytes share.
    fn own(&mut self, bytes: Range<usize>) -> &mut ByteRecord {
        let mut index = self.of_byte[bytes.start] as usize;
        let (record, having) = &mut self.records[index];
        if *having > bytes.len() {
            *having -= bytes.len();
            let own = (record.clone(), bytes.len());
            index = self.records.len();
            self.records.push(own);
            self.of_byte[bytes].fill(index as u32);
        }
        &mut self.records[index].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::race::Lanes;

    fn read(
        records: &mut ByteRecords,
        agent: usize,
        range: Range<usize>,
        alike: impl Fn(usize, usize) -> bool,
    ) {
        let location = Location::caller();
        let access = Access {
            agent,
            by: Lanes::Each,
            closure: 0,
            before: 0,
            epoch: 0,
            warp_epoch: 0,
            tick: 0,
            location,
        };
        records.change(range, alike, |_, record| {
            record.history.read(access, &Order::default());
        });
    }

    /// The agents that have read each byte.
    fn readers(records: &ByteRecords) -> Vec<Vec<usize>> {
        let of = |byte| {
            let (_, record) = records.of(byte..byte + 1).next().unwrap();
            record.history.reads().map(|read| read.agent).collect()
        };
        (0..records.of_byte.len()).map(of).collect()
    }

    #[test]
    fn each_byte_is_known_by_itself() {
        let mut records = ByteRecords::new(8);
        read(&mut records, 1, 2..6, |_, _| true);
        read(&mut records, 2, 4..8, |_, _| true);
        assert_eq!(
            readers(&records),
            [vec![], vec![], vec![1], vec![1], vec![1, 2], vec![1, 2], vec![2], vec![2]]
        );
    }

    #[test]
    fn bytes_that_are_accessed_together_are_one() {
        let mut records = ByteRecords::new(64);
        for agent in 0..3 {
            (0..64)
                .step_by(16)
                .for_each(|first| read(&mut records, agent, first..first + 16, |_, _| true));
        }
        assert_eq!(records.of(0..64).map(|(first, _)| first).collect::<Vec<_>>(), [0, 16, 32, 48]);
        assert_eq!(records.records.len(), 4);
    }

    #[test]
    fn bytes_that_are_not_alike_are_not_one() {
        let mut records = ByteRecords::new(4);
        read(&mut records, 1, 0..4, |one, other| one / 3 == other / 3);
        assert_eq!(records.of(0..4).map(|(first, _)| first).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(readers(&records), [[1], [1], [1], [1]]);
    }
}
