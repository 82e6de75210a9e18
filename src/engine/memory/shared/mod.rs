//! The shared memory of a block, and the accesses to each of its bytes.

mod swizzle;

use crate::engine::findings::{BarrierPhase, Cause, Findings, Memory, Misuse};
use crate::engine::memory::bytes::{BarrierBytes, ByteRecord, ByteRecords, UnwrittenBytes};
use crate::engine::memory::copies;
use crate::engine::memory::global;
use crate::engine::memory::order::{Order, Space, is_asynchronous};
use crate::engine::memory::race::Access;
use crate::engine::memory::reduction::{Class, Reduction};
use crate::engine::record::Traffic;
use crate::engine::record::note_element;
use crate::engine::warps::context::{fail, with_block};
use crate::engine::warps::handover::{self, Conflict};
use crate::engine::warps::mbarrier;
use crate::engine::warps::polling::{note_access, note_read};
use crate::engine::wgmma;
use crate::lane::{AccessKind, Site};
use core::panic::Location;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;
use swizzle::Swizzles;
pub(crate) use swizzle::{InTile, check_swizzle, note_row, note_written};

/// Refuses an access at an address that is not a multiple of `unit` bytes.
pub(crate) fn check_aligned(access: AccessKind, site: Site, address: u32, unit: usize) {
    if !(address as usize).is_multiple_of(unit) && !std::thread::panicking() {
        fail(site, Misuse::SharedMisaligned { access, address, bytes: unit });
    }
}

/// The first address of a block's shared memory in the `.shared` window.
///
/// On a GPU the first KiB belongs to the system, so address 0 is never valid. The strictest
/// alignment of a tile is 1024.
pub const SHARED_BASE: u32 = 1024;

/// Bytes of a row of `ldmatrix`, and of a chunk that the swizzles keep together.
pub(crate) const CHUNK_BYTES: usize = 16;

/// The source of a bulk copy in flight.
struct Source {
    bytes: Range<usize>,
    started: Access,
    /// Whether the copy signals an mbarrier. Otherwise it belongs to a bulk group.
    is_sent: bool,
}

pub(crate) struct SharedMemory {
    bytes: RefCell<Vec<u8>>,
    records: RefCell<ByteRecords>,
    /// Source ranges that bulk copies in flight still read.
    sources: RefCell<Vec<Source>>,
    swizzles: Swizzles,
    /// The lines of waits that have landed a `cp.async`.
    landings: RefCell<BTreeSet<&'static Location<'static>>>,
    /// The rank of the block.
    rank: usize,
    findings: Rc<Findings>,
    order: Rc<Order>,
}

impl SharedMemory {
    pub(crate) fn new(size: usize, rank: usize, findings: Rc<Findings>, order: Rc<Order>) -> Self {
        // Unwritten memory is not zero on a GPU either.
        SharedMemory {
            bytes: RefCell::new(vec![0xa5; size]),
            records: RefCell::new(ByteRecords::new(size)),
            sources: RefCell::default(),
            swizzles: Swizzles::default(),
            landings: RefCell::default(),
            rank,
            findings,
            order,
        }
    }

    /// The range of `bytes` bytes at `address`, if the block has them.
    fn range(
        &self,
        access: AccessKind,
        address: u32,
        bytes: usize,
    ) -> Result<Range<usize>, Misuse> {
        let size = self.bytes.borrow().len();
        let start = address.checked_sub(SHARED_BASE).map(|start| start as usize);
        let range = start.filter(|start| start + bytes <= size).map(|start| start..start + bytes);
        range.ok_or(Misuse::SharedOutOfBounds { access, address, bytes, size })
    }

    /// Checks that an access is in bounds.
    pub(crate) fn check(
        &self,
        access: AccessKind,
        address: u32,
        bytes: usize,
    ) -> Result<(), Misuse> {
        self.range(access, address, bytes).map(drop)
    }

    pub(crate) fn store(&self, by: Access, address: u32, from: &[u8]) -> Result<(), Misuse> {
        let range = self.range(AccessKind::Write, address, from.len())?;
        let free = self.check_in_flight(AccessKind::Write, by, address, range.clone());
        self.note_write(by, address, range.clone(), free, |offset, before| from[offset] != before);
        self.bytes.borrow_mut()[range].copy_from_slice(from);
        Ok(())
    }

    /// Records a finding for an access to this block's memory.
    fn note(&self, by: Access, misuse: Misuse, cause: Option<Cause>) {
        let actor = self.findings.rank(by);
        self.findings.note_caused(by, misuse.in_memory_of(self.rank, actor), cause);
    }

    /// Records a write of bytes, and, with `report`, its races. `changes(offset, before)` says
    /// which bytes change.
    fn note_write(
        &self,
        by: Access,
        address: u32,
        range: Range<usize>,
        report: bool,
        changes: impl Fn(usize, u8) -> bool,
    ) {
        self.note_write_or_copy(by, address, range, report, changes, |_, _| None);
    }

    /// The same, with a cause: `cause(address, read)` is the mistake that explains a race with a
    /// read.
    fn note_write_or_copy(
        &self,
        by: Access,
        address: u32,
        range: Range<usize>,
        report: bool,
        changes: impl Fn(usize, u8) -> bool,
        cause: impl Fn(u32, Access) -> Option<Cause>,
    ) {
        self.check_sources(by, address, &range);
        let (bytes, start) = (self.bytes.borrow(), range.start);
        let changes = |byte: usize| changes(byte - start, bytes[byte]);
        let alike = |one, other| changes(one) == changes(other);
        self.records.borrow_mut().change(range, alike, |byte, record| {
            // `check_free` has reported the write to a live mbarrier.
            if record.live_barrier().is_some() {
                return;
            }
            let reduced = record.unseen_reduction(&by, None, &self.order);
            if let Some(earlier) = reduced.filter(|_| report) {
                let address = address + (byte - start) as u32;
                self.note(
                    by,
                    self.race(AccessKind::Write, address, AccessKind::Reduction, by, earlier),
                    None,
                );
            }
            record.forget_reductions();
            if matches!(record.barrier, BarrierBytes::Ended) {
                record.barrier = BarrierBytes::No;
            }
            let raced = record.history.write(by, changes(byte), &self.order);
            if let Some((earlier, other)) = raced.filter(|_| report) {
                let address = address + (byte - start) as u32;
                let is_read = other == AccessKind::Read;
                let cause = is_read.then(|| cause(address, earlier)).flatten();
                self.note(by, self.race(AccessKind::Write, address, other, by, earlier), cause);
            }
        });
    }

    /// Reports a write or a reduction of bytes that a bulk copy still reads.
    fn check_sources(&self, by: Access, address: u32, range: &Range<usize>) {
        let overlaps =
            |Source { bytes, .. }: &&Source| bytes.start < range.end && range.start < bytes.end;
        if let Some(source) = self.sources.borrow().iter().find(overlaps) {
            let &Source { bytes: ref source, started, is_sent } = source;
            let address = address + source.start.saturating_sub(range.start) as u32;
            let (place, (warp, block)) =
                (started.location.into(), self.findings.warp(started.agent));
            let misuse = Misuse::CopySourceInFlight { address, place, warp, block, is_sent };
            self.note(by, misuse, None);
        }
    }

    /// Whether the bytes are free: no live mbarrier, no copy to them and no reduction of them in
    /// flight. If not, that is the finding, and a race with the copy is not reported again.
    fn check_in_flight(
        &self,
        access: AccessKind,
        by: Access,
        address: u32,
        range: Range<usize>,
    ) -> bool {
        self.check_free(access, by, address, range, None, ByteRecord::in_flight)
    }

    /// The same for one kind of copies: `in_flight` returns the start of one. `signals` is the
    /// mbarrier that the access signals, if it is a copy.
    fn check_free(
        &self,
        access: AccessKind,
        by: Access,
        address: u32,
        range: Range<usize>,
        signals: Option<BarrierPhase>,
        in_flight: impl Fn(&ByteRecord) -> Option<Access>,
    ) -> bool {
        let start = range.start;
        for (byte, record) in self.records.borrow().of(range) {
            let address = address + (byte - start) as u32;
            if let Some(initialised) = record.live_barrier() {
                self.note(
                    by,
                    Misuse::BarrierMemory { access, address, place: initialised.into() },
                    None,
                );
                return false;
            }
            if let Some(copy) = in_flight(record) {
                let (place, (warp, block)) = (copy.location.into(), self.findings.warp(copy.agent));
                let conflict = Conflict { rank: self.rank, address, read: by, copy, signals };
                let cause = match access {
                    AccessKind::Read => {
                        let by_group =
                            record.history.reads().any(|read| self.findings.is_group(read));
                        let reads = record.history.reads().filter(|read| read.agent == by.agent);
                        conflict.cause_of_early_read(reads.map(|read| read.tick).max(), by_group)
                    }
                    AccessKind::Copy if copy.agent == by.agent => {
                        Conflict { read: copy, copy: by, ..conflict }.cause_of_second_copy()
                    }
                    _ => None,
                };
                let group = copies::group_of(self.rank, address);
                let misuse = Misuse::CopyInFlight { access, address, place, warp, block, group };
                self.note(by, misuse, cause);
                return false;
            }
        }
        true
    }

    /// Sets or clears the copy in flight to these bytes.
    fn set_copying(&self, range: Range<usize>, by: Option<Access>) {
        self.records.borrow_mut().change_all(range, |record| record.copying = by);
    }

    /// Starts a copy, which writes its bytes later. `signals` is the mbarrier that it signals, with
    /// its phase.
    pub(crate) fn start_copy(
        &self,
        by: Access,
        address: u32,
        bytes: usize,
        signals: Option<BarrierPhase>,
    ) -> Result<(), Misuse> {
        let range = self.range(AccessKind::Copy, address, bytes)?;
        let free = self.check_free(
            AccessKind::Copy,
            by,
            address,
            range.clone(),
            signals,
            ByteRecord::in_flight,
        );
        self.set_copying(range.clone(), Some(by));
        let cause = |address, read| {
            Conflict { rank: self.rank, address, read, copy: by, signals }.cause_of_early_copy()
        };
        self.note_write_or_copy(by, address, range, free, |_, _| true, cause);
        Ok(())
    }

    /// Lands a copy, by the wait of the warp that started it.
    pub(crate) fn land(&self, by: Access, address: u32, from: &[u8]) {
        self.landings.borrow_mut().insert(by.location);
        self.land_bytes(by, address, from, true);
    }

    /// Checks bytes that the async proxy is about to write. Reports ordinary stores to them without
    /// a proxy fence.
    pub(crate) fn check_fenced_at(
        &self,
        access: AccessKind,
        by: Access,
        address: u32,
        bytes: usize,
    ) -> Result<(), Misuse> {
        let range = self.range(access, address, bytes)?;
        self.check_fenced(by, address, range);
        Ok(())
    }

    /// Lands a copy that signals an mbarrier.
    pub(crate) fn land_signaling(&self, by: Access, address: u32, from: &[u8]) {
        // Accesses that are not ordered with its start were found then. Later ones were reported as
        // accesses to memory with a copy in flight.
        self.land_bytes(by, address, from, false);
    }

    /// Lands a copy, and, with `report`, reports its races.
    fn land_bytes(&self, by: Access, address: u32, from: &[u8], report: bool) {
        let range = self
            .range(AccessKind::Copy, address, from.len())
            .expect("the start of the copy was in bounds");
        self.set_copying(range.clone(), None);
        self.note_write(by, address, range.clone(), report, |_, _| true);
        self.bytes.borrow_mut()[range].copy_from_slice(from);
    }

    /// Starts a bulk copy that reduces these bytes. Other reductions of the class may be in flight.
    pub(crate) fn start_reduction(
        &self,
        by: Access,
        address: u32,
        bytes: usize,
        class: Class,
    ) -> Result<(), Misuse> {
        self.note_reduction(by, address, bytes, class, |record| {
            record.start_operation(&by, &self.order);
            record.start_reduction(class, by);
        })
    }

    /// Reduces an element by a lane's value. Returns whether that changes it.
    pub(crate) fn reduce(
        &self,
        by: Access,
        address: u32,
        reduction: Reduction,
        value: &[u8],
        before: Option<&mut [u8]>,
    ) -> Result<bool, Misuse> {
        let range = self.range(AccessKind::Reduction, address, value.len())?;
        let class = reduction.class();
        self.note_reduction(by, address, value.len(), class, |record| {
            record.reduce(class, by, &self.order);
        })?;
        let element = &mut self.bytes.borrow_mut()[range];
        if let Some(before) = before {
            before.copy_from_slice(element);
        }
        let old = element.to_vec();
        reduction.apply(element, value);
        Ok(*element != old[..])
    }

    /// Reports the accesses with which a reduction of these bytes conflicts, and records it by
    /// `record`.
    fn note_reduction(
        &self,
        by: Access,
        address: u32,
        bytes: usize,
        class: Class,
        note: impl Fn(&mut ByteRecord),
    ) -> Result<(), Misuse> {
        let range = self.range(AccessKind::Reduction, address, bytes)?;
        self.check_sources(by, address, &range);
        let free =
            self.check_free(AccessKind::Reduction, by, address, range.clone(), None, |record| {
                record.copying.or_else(|| record.reducing(Some(class)))
            });
        let (mut unwritten, start) = (false, range.start);
        self.records.borrow_mut().change(
            range,
            |_, _| true,
            |byte, record| {
                if record.live_barrier().is_some() {
                    return;
                }
                unwritten |= !record.is_written();
                let beside = record.history.beside(&by, &self.order);
                let reduction = || {
                    let earlier = record.unseen_reduction(&by, Some(class), &self.order)?;
                    Some((earlier, AccessKind::Reduction))
                };
                if let Some((earlier, other)) = beside.or_else(reduction).filter(|_| free) {
                    let address = address + (byte - start) as u32;
                    self.note(
                        by,
                        self.race(AccessKind::Reduction, address, other, by, earlier),
                        None,
                    );
                }
                note(record);
            },
        );
        if unwritten {
            self.note_unwritten(by, self.records.borrow().unwritten(start..start + bytes));
        }
        Ok(())
    }

    /// Lands the bulk copy `started`: reduces these bytes by the values, element by element.
    pub(crate) fn land_reduction(
        &self,
        by: Access,
        started: &Access,
        address: u32,
        reduction: Reduction,
        values: &[u8],
    ) {
        let range = self
            .range(AccessKind::Reduction, address, values.len())
            .expect("the start of the copy was in bounds");
        self.records.borrow_mut().change_all(range.clone(), |record| {
            record.land_reduction(reduction.class(), started, by, &self.order)
        });
        let (mut bytes, size) = (self.bytes.borrow_mut(), reduction.kind.bytes());
        for (memory, value) in bytes[range].chunks_mut(size).zip(values.chunks(size)) {
            reduction.apply(memory, value);
        }
    }

    /// Starts a bulk copy from these bytes, which reads the `parts` of them. `is_sent`: it signals
    /// an mbarrier.
    pub(crate) fn start_bulk_read(
        &self,
        by: Access,
        address: u32,
        parts: &[Range<usize>],
        into: &mut [u8],
        is_sent: bool,
    ) -> Result<(), Misuse> {
        let whole = self.range(AccessKind::Copy, address, into.len())?;
        let mut unwritten: Option<UnwrittenBytes> = None;
        for part in parts {
            let range = whole.start + part.start..whole.start + part.end;
            let address = address + part.start as u32;
            self.check_fenced(by, address, range.clone());
            self.records
                .borrow_mut()
                .change_all(range.clone(), |record| record.start_operation(&by, &self.order));
            if let Some(of_part) = self.note_read(by, by, address, range.clone()) {
                let first = UnwrittenBytes { bytes: 0, ..of_part };
                unwritten.get_or_insert(first).bytes += of_part.bytes;
            }
            self.sources.borrow_mut().push(Source { bytes: range, started: by, is_sent });
        }
        self.note_unwritten_source(by, unwritten);
        into.copy_from_slice(&self.bytes.borrow()[whole]);
        Ok(())
    }

    /// Records that the bulk copy `started` has read these bytes.
    pub(crate) fn finish_bulk_read(&self, by: Access, started: &Access, addresses: Range<u32>) {
        let bytes = addresses.len();
        let range = self
            .range(AccessKind::Copy, addresses.start, bytes)
            .expect("the start of the copy was in bounds");
        let mut sources = self.sources.borrow_mut();
        let is_it = |Source { bytes, started: by, .. }: &Source| {
            *bytes == range && (by.agent, by.tick) == (started.agent, started.tick)
        };
        if let Some(index) = sources.iter().position(is_it) {
            sources.swap_remove(index);
        }
        self.records
            .borrow_mut()
            .change_all(range, |record| record.finish_read(started, by, &self.order));
    }

    /// Starts a read of these bytes, chunks of 16, by a `wgmma` of the warp. It is over when
    /// `reading` is.
    pub(crate) fn start_group_read(
        &self,
        by: Access,
        reading: Access,
        address: u32,
        bytes: usize,
    ) -> Result<(), Misuse> {
        // Without a finding, the chunks are one.
        if let Ok(range) = self.range(AccessKind::Read, address, bytes)
            && self.is_readable(&by, range.clone())
        {
            self.records.borrow_mut().change_all(range, |record| {
                record.history.read(reading, &self.order);
            });
            return Ok(());
        }
        for chunk in (address..).step_by(CHUNK_BYTES).take(bytes / CHUNK_BYTES) {
            let range = self.range(AccessKind::Read, chunk, CHUNK_BYTES)?;
            self.check_fenced(by, chunk, range.clone());
            // The warp that starts it must know the writes. But the later operations of that warp
            // do not end the read.
            let unwritten = self.note_read(by, reading, chunk, range);
            self.note_unwritten(by, unwritten);
        }
        Ok(())
    }

    /// Whether a read of these bytes through the async proxy has no finding.
    fn is_readable(&self, by: &Access, range: Range<usize>) -> bool {
        self.records.borrow().of(range).all(|(_, record)| {
            record.is_written()
                && record.live_barrier().is_none()
                && record.copying.is_none()
                && record.reducing(None).is_none()
                && record.unseen_reduction(by, None, &self.order).is_none()
                && record.history.unseen_write(by, &self.order).is_none()
                && record.unfenced(by, self.rank, &self.order).is_none()
        })
    }

    /// The current word at an address that is known to be in bounds.
    pub(crate) fn peek(&self, address: u32) -> u32 {
        let start = (address - SHARED_BASE) as usize;
        u32::from_le_bytes(self.bytes.borrow()[start..start + 4].try_into().expect("four bytes"))
    }

    /// Reports bytes that an ordinary store or a `red.async` wrote without a proxy fence. A
    /// destination of a copy in flight is a finding of its own.
    fn check_fenced(&self, by: Access, address: u32, range: Range<usize>) {
        let start = range.start;
        for (byte, record) in
            self.records.borrow().of(range).filter(|(_, record)| record.copying.is_none())
        {
            // If the two accesses are not ordered, the race is the finding.
            if let Some(write) = record.unfenced(&by, self.rank, &self.order) {
                let memory = Memory::Shared { address: address + (byte - start) as u32 };
                let place = write.location.into();
                let after_wait = is_asynchronous(write.agent)
                    || self.landings.borrow().contains(write.location)
                    || self.findings.rank(write) != self.rank;
                self.note(by, Misuse::ProxyFence { memory, place, after_wait }, None);
                return;
            }
        }
    }

    /// Whether a proxy fence follows the initialisation of an mbarrier.
    pub(crate) fn is_barrier_fenced(&self, by: Access, address: u32) -> bool {
        let Ok(range) = self.barrier(address) else { return true };
        let is_fenced = |made: Access| self.order.is_fenced(Space::Shared(self.rank), &by, &made);
        self.records
            .borrow()
            .of(range)
            .all(|(_, record)| record.history.last_write().is_none_or(is_fenced))
    }

    /// Whether the access `by` is ordered after the initialisation of an mbarrier.
    pub(crate) fn is_barrier_made_before(&self, by: Access, address: u32) -> bool {
        let Ok(range) = self.barrier(address) else { return true };
        let is_known = |made: Access| made.is_seen_by(&by, &self.order);
        self.records
            .borrow()
            .of(range)
            .all(|(_, record)| record.history.last_write().is_none_or(is_known))
    }

    /// Initialises an mbarrier at a place without a live one. For others this writes its eight
    /// bytes. From now on only mbarrier instructions may access them.
    pub(crate) fn make_barrier(&self, by: Access, address: u32) -> Result<(), Misuse> {
        self.change_barrier(AccessKind::BarrierInit, by, address, BarrierBytes::Live(by.location))
    }

    /// Ends an mbarrier. This writes its eight bytes with unknown values.
    pub(crate) fn end_barrier(&self, by: Access, address: u32) -> Result<(), Misuse> {
        self.change_barrier(AccessKind::BarrierInvalidate, by, address, BarrierBytes::Ended)
    }

    fn change_barrier(
        &self,
        access: AccessKind,
        by: Access,
        address: u32,
        to: BarrierBytes,
    ) -> Result<(), Misuse> {
        let range = self.barrier(address)?;
        let set =
            |to| self.records.borrow_mut().change_all(range.clone(), |record| record.barrier = to);
        set(BarrierBytes::No);
        let free = self.check_in_flight(access, by, address, range.clone());
        self.note_write(by, address, range.clone(), free, |_, _| true);
        set(to);
        Ok(())
    }

    /// Checks a use of an mbarrier: it must be ordered after the initialisation.
    pub(crate) fn use_barrier(&self, by: Access, address: u32) -> Result<(), Misuse> {
        let range = self.barrier(address)?;
        let start = range.start;
        for (byte, record) in self.records.borrow().of(range) {
            let is_known = |made: &Access| {
                made.is_seen_by(&by, &self.order)
                    || self.order.is_fenced(Space::Barriers, &by, made)
            };
            if let Some(earlier) = record.history.last_write().filter(|made| !is_known(made)) {
                let address = address + (byte - start) as u32;
                self.note(
                    by,
                    self.race(AccessKind::Read, address, AccessKind::Write, by, earlier),
                    None,
                );
            }
        }
        Ok(())
    }

    fn barrier(&self, address: u32) -> Result<Range<usize>, Misuse> {
        if !(address as usize).is_multiple_of(mbarrier::BYTES) {
            return Err(Misuse::SharedMisaligned {
                access: AccessKind::Barrier,
                address,
                bytes: mbarrier::BYTES,
            });
        }
        self.range(AccessKind::Barrier, address, mbarrier::BYTES)
    }

    pub(crate) fn load(&self, by: Access, address: u32, into: &mut [u8]) -> Result<(), Misuse> {
        let range = self.range(AccessKind::Read, address, into.len())?;
        let unwritten = self.note_read(by, by, address, range.clone());
        self.note_unwritten_source(by, unwritten);
        into.copy_from_slice(&self.bytes.borrow()[range]);
        Ok(())
    }

    /// Records a read that `by` starts and that is over when `reading` is. Returns its unwritten
    /// bytes.
    fn note_read(
        &self,
        by: Access,
        reading: Access,
        address: u32,
        range: Range<usize>,
    ) -> Option<UnwrittenBytes> {
        let free = self.check_in_flight(AccessKind::Read, by, address, range.clone());
        let mut unwritten = false;
        self.records.borrow_mut().change(
            range.clone(),
            |_, _| true,
            |byte, record| {
                if record.live_barrier().is_some() {
                    return;
                }
                unwritten |= !record.is_written();
                record.history.read(reading, &self.order);
                // A race with a reduction is always an error, and one with a write by the same warp
                // may be a warning.
                let reduction = record
                    .unseen_reduction(&by, None, &self.order)
                    .map(|earlier| (AccessKind::Reduction, earlier));
                let write =
                    || Some((AccessKind::Write, record.history.unseen_write(&by, &self.order)?));
                if let Some((other, earlier)) = reduction.or_else(write).filter(|_| free) {
                    let address = address + (byte - range.start) as u32;
                    let cause =
                        handover::landed(self.rank, &earlier).and_then(|(copy, signalled)| {
                            let reads = record
                                .history
                                .reads()
                                .filter(|read| read.agent == by.agent && read.tick < by.tick);
                            let (read_at, is_group) =
                                (reads.map(|read| read.tick).max(), reading.agent != by.agent);
                            let conflict = Conflict {
                                rank: self.rank,
                                address,
                                read: by,
                                copy,
                                signals: Some(signalled),
                            };
                            conflict.cause_of_early_read(read_at, is_group)
                        });
                    self.note(by, self.race(AccessKind::Read, address, other, by, earlier), cause);
                }
            },
        );
        if unwritten { self.records.borrow().unwritten(range) } else { None }
    }

    /// Reports a read of unwritten bytes.
    fn note_unwritten(&self, by: Access, unwritten: Option<UnwrittenBytes>) {
        let cause = |address| handover::cause_before_first_phase(self.rank, address, by);
        self.note_unwritten_caused(by, unwritten, cause);
    }

    /// The same for the source of a bulk copy. Threads write it, or a copy that explains it later.
    fn note_unwritten_source(&self, by: Access, unwritten: Option<UnwrittenBytes>) {
        self.note_unwritten_caused(by, unwritten, |_| None);
    }

    fn note_unwritten_caused(
        &self,
        by: Access,
        unwritten: Option<UnwrittenBytes>,
        cause: impl Fn(u32) -> Option<Cause>,
    ) {
        if let Some(UnwrittenBytes { first, bytes }) = unwritten {
            let address = SHARED_BASE + first as u32;
            let misuse = Misuse::SharedUnwritten { address, bytes };
            let misuse = misuse.in_memory_of(self.rank, self.findings.rank(by));
            self.findings.note_unwritten(by, misuse, cause(address), (self.rank, address));
        }
    }

    /// The race of an access with an earlier one by another thread.
    fn race(
        &self,
        access: AccessKind,
        address: u32,
        other_access: AccessKind,
        by: Access,
        earlier: Access,
    ) -> Misuse {
        let memory = Memory::Shared { address };
        self.findings.race((access, other_access), memory, by, earlier, &self.order)
    }
}

// A destructor that runs because the run has failed returns without a check. A second failure would
// abort the program.

/// A store of one lane.
pub(crate) fn store_shared(site: Site, address: u32, from: &[u8]) {
    if std::thread::panicking() {
        return;
    }
    note_access(site);
    note_element(site, Traffic::SharedWrite, address as usize, from.len());
    global::note_in_launch(address as usize, from);
    let stored = with_block(|block| {
        wgmma::check_stored(block, site, from);
        block.shared.store(block.access(site), address, from)
    });
    stored.unwrap_or_else(|misuse| fail(site, misuse));
}

/// A load of one lane.
pub(crate) fn load_shared(site: Site, address: u32, into: &mut [u8]) {
    if std::thread::panicking() {
        return;
    }
    note_element(site, Traffic::SharedRead, address as usize, into.len());
    let loaded = with_block(|block| block.shared.load(block.access(site), address, into));
    loaded.unwrap_or_else(|misuse| fail(site, misuse));
    note_read(site, address as usize, into, || Memory::Shared { address });
}
