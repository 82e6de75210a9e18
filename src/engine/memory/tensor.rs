//! TMA copies of boxes and of im2col pixels: the mapping from elements of the tensor to the tile in
//! shared memory.

pub(crate) use crate::engine::memory::bulk::Blocks;
pub(crate) use crate::engine::memory::reduction::Operation;
use crate::engine::{
    findings::Misuse,
    memory::{
        bulk::{self, Kind, Reduction},
        im2col::{check_in_bounds, check_offsets, pixels},
        peer,
        shared::check_aligned,
        slices,
    },
    record::note_lane,
    warps::context::{fail, with_block, with_cluster},
};
use crate::isa::{TensorAccess, TensorEncoding, TensorMapWords};
use crate::lane::{AccessKind, Site};
use std::iter::zip;
use std::ops::Range;
use std::vec;
use std::vec::Vec;

/// Bytes that a swizzle moves as a unit.
const CHUNK: usize = 16;

/// Required alignment of a tile in shared memory, in bytes, with or without a swizzle.
const ALIGNMENT: usize = 128;

/// The position of a copy in a tensor.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    coordinates: &'a [i32],
    /// In im2col mode, the offsets of the pixels along each dimension of an image, if there are
    /// any.
    offsets: Option<&'a [u16]>,
}

impl<'a> At<'a> {
    pub(crate) fn tiled(coordinates: &'a [i32]) -> Self {
        At { coordinates, offsets: None }
    }

    pub(crate) fn im2col(coordinates: &'a [i32], offsets: &'a [u16]) -> Self {
        At { coordinates, offsets: Some(offsets) }
    }
}

/// Rows of a tensor along dimension 0: the source or the destination of a tile.
struct Lines {
    map: TensorEncoding,
    /// Their first coordinate along dimension 0.
    start: i64,
    /// Elements of a row.
    inner: usize,
    /// The coordinates of each row along the other dimensions.
    places: Vec<[i64; 4]>,
}

/// The part of a row inside the tensor.
struct Line {
    /// Its start in the unswizzled tile, in bytes.
    offset: usize,
    from: *const u8,
    bytes: usize,
}

/// The tensor map behind a pointer.
///
/// # Safety
/// 128 bytes are readable there.
unsafe fn map_at(site: Site, map: *const u8) -> TensorEncoding {
    // SAFETY: guaranteed by the caller.
    let words = unsafe { map.cast::<TensorMapWords>().read_unaligned() };
    TensorEncoding::of_simulated(words).unwrap_or_else(|| fail(site, Misuse::NoTensorMap))
}

impl Lines {
    /// # Safety
    /// As `map_at`.
    unsafe fn new(site: Site, map: *const u8, at: At<'_>) -> Self {
        // SAFETY: guaranteed by the caller.
        let map = unsafe { map_at(site, map) };
        let At { coordinates, offsets } = at;
        if map.rank != coordinates.len() {
            fail(site, Misuse::TensorRank { map: map.rank, instruction: coordinates.len() });
        }
        let at = core::array::from_fn(|dimension| {
            coordinates.get(dimension).map_or(0, |&coordinate| i64::from(coordinate))
        });
        let places = match (map.access, offsets) {
            (TensorAccess::Tiled { .. }, None) => of_box(&map, at),
            (TensorAccess::Im2col { .. }, Some(offsets)) => {
                let checked = check_offsets(&map, offsets).and_then(|()| check_in_bounds(&map, at));
                checked.unwrap_or_else(|misuse| fail(site, misuse));
                pixels(&map, at, offsets)
            }
            (_, offsets) => fail(site, Misuse::TensorMode { im2col: offsets.is_some() }),
        };
        let first = at[0] * map.element_bytes as i64;
        if first % 16 != 0 {
            fail(site, Misuse::BoxStart { bytes: first });
        }
        Lines { map, start: at[0], inner: map.copied().inner, places }
    }

    /// Records the box for the warnings after all blocks have run.
    fn note(&self, site: Site, at: At<'_>, loads: bool) {
        with_cluster(|cluster, block| {
            cluster.boxes.borrow_mut().note(
                block,
                block.access(site),
                &self.map,
                at.coordinates,
                loads,
            );
        });
    }

    fn bytes(&self) -> usize {
        self.inner * self.places.len() * self.map.element_bytes
    }

    /// The swizzled place of a byte of the tile at this address: its offset from the tile's start.
    /// `offset` is the place without a swizzle. The pattern goes by the bits of the address.
    fn swizzled(&self, tile: u32, offset: usize) -> usize {
        offset ^ ((tile as usize + offset) >> 7 & ((1 << self.map.swizzle) - 1)) << 4
    }

    /// The parts of the rows inside the tensor.
    fn inside(&self) -> impl Iterator<Item = Line> {
        let bytes = self.map.element_bytes;
        let size = |dimension: usize| {
            if dimension < self.map.rank { self.map.sizes[dimension] as i64 } else { 1 }
        };
        let (first, end) = (self.start.max(0), (self.start + self.inner as i64).min(size(0)));
        let count = usize::try_from(end - first).unwrap_or(0);
        let inside = move |place: &[i64; 4]| {
            zip(1.., place).all(|(d, coordinate)| (0..size(d)).contains(coordinate))
        };
        self.places.iter().enumerate().filter(move |(_, place)| count > 0 && inside(place)).map(
            move |(line, place)| {
                let offsets = zip(&self.map.strides[1..], place)
                    .map(|(stride, &coordinate)| stride.wrapping_mul(coordinate as u64));
                let address = self.map.address.wrapping_add(first as u64 * bytes as u64);
                let address = offsets.fold(address, u64::wrapping_add);
                let from = std::ptr::with_exposed_provenance(address as usize);
                let offset = line * self.inner + (first - self.start) as usize;
                Line { offset: offset * bytes, from, bytes: count * bytes }
            },
        )
    }

    /// The places of these rows in shared memory, relative to the tile's start. Adjacent parts are
    /// merged.
    fn parts(&self, tile: u32, lines: &[Line]) -> Vec<Range<usize>> {
        let of_line = |line: &Line| {
            let end = line.offset + line.bytes;
            (line.offset..end).step_by(CHUNK).map(move |first| first..end.min(first + CHUNK))
        };
        let mut parts: Vec<Range<usize>> = lines.iter().flat_map(of_line).collect();
        parts.iter_mut().for_each(|part| {
            let start = self.swizzled(tile, part.start);
            *part = start..start + part.len();
        });
        parts.sort_unstable_by_key(|part| part.start);
        parts.dedup_by(|next, part| {
            let goes_on = part.end == next.start;
            part.end = if goes_on { next.end } else { part.end };
            goes_on
        });
        parts
    }
}

/// The coordinates of the rows of a box.
fn of_box(map: &TensorEncoding, at: [i64; 5]) -> Vec<[i64; 4]> {
    let mut places = vec![core::array::from_fn(|d| at[d + 1])];
    // Each dimension repeats the rows so far.
    for dimension in 1..map.rank {
        let before = places.len();
        for index in 1..map.of_box(dimension) {
            let further = index as i64 * i64::from(map.steps[dimension]);
            for place in 0..before {
                let mut place: [i64; 4] = places[place];
                place[dimension - 1] += further;
                places.push(place);
            }
        }
    }
    places
}

/// `cp.async.bulk.tensor` from global to shared memory.
///
/// # Safety
/// `map` points to 128 readable bytes. If they are a map, its tensor is valid memory.
pub(crate) unsafe fn load(
    site: Site,
    form: &'static str,
    to: u32,
    map: *const u8,
    at: At<'_>,
    barrier: u32,
    blocks: Blocks,
) {
    if std::thread::panicking() {
        return;
    }
    // SAFETY: guaranteed by the caller.
    let source = unsafe { Lines::new(site, map, at) };
    check_aligned(AccessKind::Copy, site, to, ALIGNMENT);
    source.note(site, at, true);
    let (mut lines, mut sources) = (vec![0; source.bytes()], Vec::new());
    for Line { offset, from, bytes } in source.inside() {
        // SAFETY: guaranteed by the caller.
        let read = unsafe { bulk::read_global(site, from, 1, &mut lines[offset..offset + bytes]) };
        sources.extend(read);
    }
    let mut data = vec![0; lines.len()];
    (lines.iter().enumerate()).for_each(|(offset, &byte)| data[source.swizzled(to, offset)] = byte);
    with_cluster(|cluster, block| {
        let Ok((target, address)) = peer::resolve(cluster, block, to) else { return };
        let mask = match blocks {
            Blocks::One => 1 << target.rank,
            Blocks::Mask(mask) => u32::from(mask),
        };
        for block in cluster.blocks.iter().filter(|block| mask & 1 << block.rank != 0) {
            block.shared.note_swizzle(address, data.len(), source.map.swizzle, site.location);
        }
    });
    if bulk::starts(site, form, to, data.len()) {
        bulk::start_load(site, form, to, (data, sources), barrier, blocks);
    }
}

/// `cp.async.bulk.tensor` or `cp.reduce.async.bulk.tensor` from shared to global memory.
///
/// # Safety
/// As `load`.
pub(crate) unsafe fn store(
    site: Site,
    form: &'static str,
    map: *const u8,
    at: At<'_>,
    from: u32,
    operation: Option<Operation>,
) {
    if std::thread::panicking() {
        return;
    }
    // SAFETY: guaranteed by the caller.
    let target = unsafe { Lines::new(site, map, at) };
    if let Some(dimension) = at.coordinates.iter().position(|&coordinate| coordinate < 0) {
        fail(site, Misuse::BoxBefore { dimension, coordinate: at.coordinates[dimension].into() });
    }
    check_aligned(AccessKind::Copy, site, from, ALIGNMENT);
    target.note(site, at, false);
    let reduction = operation.map(|operation| Reduction {
        operation,
        kind: kind(site, target.map.data_type, operation),
    });
    let lines: Vec<Line> = target.inside().collect();
    let parts = target.parts(from, &lines);
    if !bulk::starts(site, form, from, target.bytes()) {
        return;
    }
    let swizzled = bulk::read_shared(site, form, from, target.bytes(), &parts, false);
    with_block(|block| {
        for part in &parts {
            let (by, address) = (block.access(site), from + part.start as u32);
            block.shared.check_stored_swizzle(by, address, part.len(), target.map.swizzle);
        }
    });
    let data: Vec<u8> =
        (0..swizzled.len()).map(|offset| swizzled[target.swizzled(from, offset)]).collect();
    let Some(first) = lines.first() else {
        // SAFETY: there are no elements.
        unsafe { bulk::start_store(site, from, &parts, None, std::iter::empty(), reduction) };
        return;
    };
    let (slice, _) = slices::find(site, AccessKind::Copy, first.from, 1, first.bytes, true);
    let elements = lines.iter().flat_map(|line| {
        let places =
            (0..line.bytes).step_by(slice.element).map(|byte| line.from.wrapping_add(byte));
        zip(places, data[line.offset..line.offset + line.bytes].chunks(slice.element))
    });
    // SAFETY: guaranteed by the caller: these are elements of the tensor.
    unsafe { bulk::start_store(site, from, &parts, Some(slice), elements, reduction) };
}

/// The operand type of a reduction, from the driver's data type.
fn kind(site: Site, data_type: u32, operation: Operation) -> Kind {
    if !operation.is_of_tensors(data_type) {
        fail(site, Misuse::TensorReduction);
    }
    match data_type {
        2 => Kind::u32,
        3 => Kind::s32,
        4 => Kind::u64,
        5 => Kind::s64,
        6 => Kind::f16,
        7 => Kind::f32,
        8 => Kind::f64,
        9 => Kind::bf16,
        _ => fail(site, Misuse::TensorReduction),
    }
}

/// `cp.async.bulk.prefetch.tensor`.
///
/// # Safety
/// As `load`.
pub(crate) unsafe fn prefetch(site: Site, form: &'static str, map: *const u8, at: At<'_>) {
    if !std::thread::panicking() {
        note_lane(site, form);
        // SAFETY: guaranteed by the caller.
        unsafe { Lines::new(site, map, at) };
    }
}

/// `prefetch.tensormap`.
///
/// # Safety
/// As `load`.
pub(crate) unsafe fn prefetch_map(site: Site, form: &'static str, map: *const u8) {
    if !std::thread::panicking() {
        note_lane(site, form);
        // SAFETY: guaranteed by the caller.
        unsafe { map_at(site, map) };
    }
}
