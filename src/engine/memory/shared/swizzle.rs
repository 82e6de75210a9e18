//! The swizzles of tiles and of tensor copies in shared memory, and accesses for which they differ.

use super::{CHUNK_BYTES, SHARED_BASE, SharedMemory};
use crate::engine::findings::Misuse;
use crate::engine::memory::race::Access;
use crate::engine::warps::context::{try_with_block, with_block};
use crate::fragment::SwizzleBits;
use crate::lane::{AccessKind, Site};
use core::panic::Location;
use std::cell::RefCell;
use std::ops::Range;
use std::vec::Vec;

/// A tile's element in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InTile {
    /// Its address.
    pub(crate) address: u32,
    /// Its address in the same tile without a swizzle.
    pub(crate) plain: u32,
    pub(crate) swizzle: SwizzleBits,
}

/// The tile element at which a row of `ldmatrix` or `stmatrix` starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Unknown,
    Of(InTile),
    /// Tiles of different swizzles have rows there.
    Several,
}

/// A tensor copy that has written shared memory.
struct SwizzledCopy {
    /// Its destination.
    to: Range<usize>,
    /// Its swizzle: 0 for none, 1, 2 and 3 for 32, 64 and 128 bytes.
    swizzle: u32,
    location: &'static Location<'static>,
}

/// The swizzled accesses to a block's shared memory so far.
#[derive(Default)]
pub(super) struct Swizzles {
    /// The tensor copies that have written it.
    copies: RefCell<Vec<SwizzledCopy>>,
    /// The tile elements whose rows `ldmatrix` or `stmatrix` accesses, for each chunk of 16 bytes.
    rows: RefCell<Vec<Row>>,
    /// The tile element that was written last, and the line of the store, for each chunk.
    written: RefCell<Vec<Option<(InTile, &'static Location<'static>)>>>,
}

/// The place to which a tensor copy with this swizzle moves a place. Both are offsets in shared
/// memory, which starts at a whole pattern.
fn swizzled(place: usize, swizzle: u32) -> usize {
    place ^ (place >> 7 & ((1 << swizzle) - 1)) << 4
}

impl SharedMemory {
    /// Records that a tensor copy writes these bytes with this swizzle (`CUtensorMapSwizzle`).
    pub(crate) fn note_swizzle(
        &self,
        address: u32,
        bytes: usize,
        swizzle: u32,
        location: &'static Location<'static>,
    ) {
        if let Ok(range) = self.range(AccessKind::Copy, address, bytes) {
            let mut swizzled = self.swizzles.copies.borrow_mut();
            swizzled.retain(|copy| copy.to.end <= range.start || range.end <= copy.to.start);
            swizzled.push(SwizzledCopy { to: range, swizzle, location });
        }
    }

    /// Whether some tensor copy had another swizzle.
    pub(crate) fn has_other_swizzle(&self, swizzle: u32) -> bool {
        self.swizzles.copies.borrow().iter().any(|copy| copy.swizzle != swizzle)
    }

    /// The swizzle of the tensor copy that wrote a byte, and the line of the copy. `None` after a
    /// later write.
    pub(crate) fn swizzle_of(&self, address: u32) -> Option<(u32, &'static Location<'static>)> {
        let byte = self.range(AccessKind::Read, address, 1).ok()?;
        let swizzled = self.swizzles.copies.borrow();
        let copy = swizzled.iter().find(|copy| copy.to.contains(&byte.start))?;
        let records = self.records.borrow();
        let written = records.of(byte).next().and_then(|(_, record)| record.history.last_write());
        written
            .filter(|write| write.location == copy.location)
            .map(|_| (copy.swizzle, copy.location))
    }

    /// Reports a tile's element that a tensor copy has written with another swizzle.
    ///
    /// The copy must have put another element there than the tile says: where both swizzles agree,
    /// there is nothing to report.
    pub(crate) fn check_swizzle(&self, by: impl FnOnce() -> Access, at: InTile) {
        if self.swizzles.copies.borrow().is_empty() {
            return;
        }
        let InTile { address, plain, swizzle: read } = at;
        let (Ok(of), Ok(is)) =
            (self.range(AccessKind::Read, plain, 1), self.range(AccessKind::Read, address, 1))
        else {
            return;
        };
        let is_wrong = |SwizzledCopy { to, swizzle, .. }: &SwizzledCopy| {
            let swizzled = swizzled(of.start, *swizzle);
            to.contains(&of.start) && to.contains(&is.start) && swizzled != is.start
        };
        if !self.swizzles.copies.borrow().iter().any(is_wrong) {
            return;
        }
        if let Some((written, location)) = self.swizzle_of(address) {
            let place = location.into();
            self.note(by(), Misuse::WrongTileSwizzle { address, read, written, place }, None);
        }
    }

    /// Records a tile's element at which a row of `ldmatrix` or `stmatrix` may start.
    pub(crate) fn note_row(&self, at: InTile) {
        let Ok(range) = self.range(AccessKind::Read, at.address, 1) else { return };
        let mut rows = self.swizzles.rows.borrow_mut();
        if rows.is_empty() {
            rows.resize(self.bytes.borrow().len().div_ceil(CHUNK_BYTES), Row::Unknown);
        }
        let row = &mut rows[range.start / CHUNK_BYTES];
        *row = match *row {
            Row::Unknown => Row::Of(at),
            Row::Of(other) if other == at => Row::Of(at),
            Row::Of(_) | Row::Several => Row::Several,
        };
    }

    /// Reports a row of `ldmatrix` that a tensor copy has written with another swizzle.
    pub(crate) fn check_row(&self, by: impl FnOnce() -> Access, address: u32) {
        let Ok(range) = self.range(AccessKind::Read, address, 1) else { return };
        let row = self.swizzles.rows.borrow().get(range.start / CHUNK_BYTES).copied();
        if let Some(Row::Of(at)) = row {
            self.check_swizzle(by, at);
        }
    }

    /// Records that a store in this line writes a tile's element.
    pub(crate) fn note_written(&self, at: InTile, location: &'static Location<'static>) {
        let Ok(range) = self.range(AccessKind::Write, at.address, 1) else { return };
        let mut written = self.swizzles.written.borrow_mut();
        if written.is_empty() {
            written.resize(self.bytes.borrow().len().div_ceil(CHUNK_BYTES), None);
        }
        written[range.start / CHUNK_BYTES] = Some((at, location));
    }

    /// The same for a row of `stmatrix`, if only one tile has a row there.
    pub(crate) fn note_written_row(&self, address: u32, location: &'static Location<'static>) {
        let Ok(range) = self.range(AccessKind::Write, address, 1) else { return };
        let row = self.swizzles.rows.borrow().get(range.start / CHUNK_BYTES).copied();
        if let Some(Row::Of(at)) = row {
            self.note_written(at, location);
        }
    }

    /// A tensor copy reads these bytes with the swizzle `read` (`CUtensorMapSwizzle`). Reports the
    /// first element that was written by a tile of another swizzle.
    pub(crate) fn check_stored_swizzle(&self, by: Access, address: u32, bytes: usize, read: u32) {
        let written = self.swizzles.written.borrow();
        let Ok(range) = self.range(AccessKind::Read, address, bytes) else { return };
        if written.is_empty() {
            return;
        }
        let records = self.records.borrow();
        let chunks = range.start / CHUNK_BYTES..range.end.div_ceil(CHUNK_BYTES);
        let wrong = written[chunks].iter().flatten().find(|(at, location)| {
            let [byte, plain] = [at.address, at.plain].map(|at| (at - SHARED_BASE) as usize);
            let last =
                records.of(byte..byte + 1).find_map(|(_, record)| record.history.last_write());
            swizzled(plain, read) != byte && last.is_some_and(|write| write.location == *location)
        });
        if let Some(&(InTile { address, swizzle: written, .. }, location)) = wrong {
            let place = location.into();
            self.note(by, Misuse::WrongStoredSwizzle { address, written, read, place }, None);
        }
    }
}

/// A lane is about to read this element of a tile.
pub(crate) fn check_swizzle(site: Site, at: InTile) {
    if !std::thread::panicking() {
        with_block(|block| block.shared.check_swizzle(|| block.access(site), at));
    }
}

/// A lane is about to write this element of a tile.
pub(crate) fn note_written(site: Site, at: InTile) {
    if !std::thread::panicking() {
        with_block(|block| block.shared.note_written(at, site.location));
    }
}

/// A lane computes the address of a row, for `ldmatrix` or `stmatrix`, of this element of a tile.
pub(crate) fn note_row(at: InTile) {
    if !std::thread::panicking() {
        try_with_block(|block| block.shared.note_row(at));
    }
}
