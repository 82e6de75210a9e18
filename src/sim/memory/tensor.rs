//! Copies of boxes of tensors: which element of the tensor is which of the box, and where that lies in shared memory.

use crate::sim::findings::Misuse;
pub(crate) use crate::sim::memory::bulk::Blocks;
use crate::sim::memory::bulk::{self, Kind, Reduction};
pub(crate) use crate::sim::memory::reduction::Operation;
use crate::sim::memory::slices;
use crate::sim::record::note_lane;
use crate::sim::warps::context::fail;
use crate::site::Site;
use crate::{TensorEncoding, TensorMapWords};
use std::iter::zip;
use std::vec;
use std::vec::Vec;

/// A box of a tensor.
struct TensorBox {
    map: TensorEncoding,
    at: [i64; 5],
    /// Elements along each dimension.
    sizes: [usize; 5],
}

/// The part of a line of a box that is in the tensor.
struct Line {
    /// Where it starts in the box, in bytes, its lines lying behind each other.
    offset: usize,
    from: *const u8,
    bytes: usize,
}

/// What a pointer to a map points to.
///
/// # Safety
/// There are 128 bytes.
unsafe fn map_at(site: Site, map: *const u8) -> TensorEncoding {
    // SAFETY: the caller's.
    let words = unsafe { map.cast::<TensorMapWords>().read_unaligned() };
    TensorEncoding::of_simulated(words).unwrap_or_else(|| fail(site, Misuse::NoTensorMap))
}

impl TensorBox {
    /// # Safety
    /// As `map_at`.
    unsafe fn new(site: Site, map: *const u8, at: &[i32]) -> Self {
        // SAFETY: the caller's.
        let map = unsafe { map_at(site, map) };
        if map.rank != at.len() {
            fail(site, Misuse::TensorRank { map: map.rank, instruction: at.len() });
        }
        let at = core::array::from_fn(|dimension| at.get(dimension).map_or(0, |&coordinate| i64::from(coordinate)));
        let first = at[0] * map.element_bytes as i64;
        if first % 16 != 0 {
            fail(site, Misuse::BoxStart { bytes: first });
        }
        TensorBox { map, at, sizes: map.copied() }
    }

    fn bytes(&self) -> usize {
        self.sizes.iter().product::<usize>() * self.map.element_bytes
    }

    /// The bytes that the start of the box in shared memory is a multiple of.
    fn alignment(&self) -> usize {
        128 << self.map.swizzle
    }

    /// Where a byte of the box, its lines lying behind each other, lies in shared memory, from the box's start on, which is aligned.
    fn swizzled(&self, offset: usize) -> usize {
        offset ^ (offset >> 7 & ((1 << self.map.swizzle) - 1)) << 4
    }

    /// The coordinate in the tensor of element `index` of the box, if it is in the tensor.
    fn coordinate(&self, dimension: usize, index: usize) -> Option<u64> {
        let steps = if dimension < self.map.rank { self.map.steps[dimension] } else { 1 };
        let coordinate = u64::try_from(self.at[dimension] + index as i64 * i64::from(steps)).ok()?;
        let size = if dimension < self.map.rank { self.map.sizes[dimension] } else { 1 };
        (coordinate < size).then_some(coordinate)
    }

    /// What of the box's lines is in the tensor.
    fn lines(&self) -> impl Iterator<Item = Line> {
        let [inner, a, b, c, d] = self.sizes;
        let inside: Vec<usize> = (0..inner).filter(|&index| self.coordinate(0, index).is_some()).collect();
        let run = inside.first().map(|&first| (first, inside.len()));
        let bytes = self.map.element_bytes;
        (0..a * b * c * d).filter_map(move |line| {
            let indices = [line % a, line / a % b, line / (a * b) % c, line / (a * b * c)];
            let (first, count) = run?;
            let mut place = self.map.address.wrapping_add(self.coordinate(0, first)? * bytes as u64);
            for (dimension, index) in (1..).zip(indices) {
                place = place.wrapping_add(self.coordinate(dimension, index)? * self.map.strides[dimension]);
            }
            let from = std::ptr::with_exposed_provenance(place as usize);
            Some(Line { offset: (line * inner + first) * bytes, from, bytes: count * bytes })
        })
    }

    fn check_aligned(&self, site: Site, address: u32) {
        if !(address as usize).is_multiple_of(self.alignment()) {
            fail(site, Misuse::SharedMisaligned { access: "copy", address, bytes: self.alignment() });
        }
    }
}

/// `cp.async.bulk.tensor` to shared memory.
///
/// # Safety
/// `map` points to 128 bytes; if they are a map, its tensor is there.
pub(crate) unsafe fn load(
    site: Site,
    form: &'static str,
    to: u32,
    map: *const u8,
    at: &[i32],
    barrier: u32,
    blocks: Blocks,
) {
    if std::thread::panicking() {
        return;
    }
    // SAFETY: the caller's.
    let source = unsafe { TensorBox::new(site, map, at) };
    source.check_aligned(site, to);
    let mut lines = vec![0; source.bytes()];
    for Line { offset, from, bytes } in source.lines() {
        // SAFETY: the caller's.
        unsafe { bulk::read_global(site, from, 1, &mut lines[offset..offset + bytes]) };
    }
    let mut data = vec![0; lines.len()];
    lines.iter().enumerate().for_each(|(offset, &byte)| data[source.swizzled(offset)] = byte);
    bulk::start_load(site, form, to, data, barrier, blocks);
}

/// `cp.async.bulk.tensor` from shared memory, or `cp.reduce.async.bulk.tensor`.
///
/// # Safety
/// As `load`.
pub(crate) unsafe fn store(
    site: Site,
    form: &'static str,
    map: *const u8,
    at: &[i32],
    from: u32,
    operation: Option<Operation>,
) {
    if std::thread::panicking() {
        return;
    }
    // SAFETY: the caller's.
    let target = unsafe { TensorBox::new(site, map, at) };
    if let Some(dimension) = target.at.iter().position(|&coordinate| coordinate < 0) {
        fail(site, Misuse::BoxBefore { dimension, coordinate: target.at[dimension] });
    }
    target.check_aligned(site, from);
    let reduction = operation.map(|operation| Reduction { operation, kind: kind(site, target.map.data_type) });
    let swizzled = bulk::read_shared(site, form, from, target.bytes());
    let data: Vec<u8> = (0..swizzled.len()).map(|offset| swizzled[target.swizzled(offset)]).collect();
    let lines: Vec<Line> = target.lines().collect();
    let Some(first) = lines.first() else {
        // SAFETY: there are no elements.
        unsafe { bulk::start_store(site, from, target.bytes(), None, std::iter::empty(), reduction) };
        return;
    };
    let (slice, _) = slices::find_for_copy(site, first.from, 1, first.bytes, true);
    let elements = lines.iter().flat_map(|line| {
        let places = (0..line.bytes).step_by(slice.element).map(|byte| line.from.wrapping_add(byte));
        zip(places, data[line.offset..line.offset + line.bytes].chunks(slice.element))
    });
    // SAFETY: the caller's: elements of the tensor.
    unsafe { bulk::start_store(site, from, target.bytes(), Some(slice), elements, reduction) };
}

/// As what the driver's type is reduced.
fn kind(site: Site, data_type: u32) -> Kind {
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
pub(crate) unsafe fn prefetch(site: Site, form: &'static str, map: *const u8, at: &[i32]) {
    if !std::thread::panicking() {
        note_lane(site, form);
        // SAFETY: the caller's.
        unsafe { TensorBox::new(site, map, at) };
    }
}

/// `prefetch.tensormap`.
///
/// # Safety
/// As `load`.
pub(crate) unsafe fn prefetch_map(site: Site, form: &'static str, map: *const u8) {
    if !std::thread::panicking() {
        note_lane(site, form);
        // SAFETY: the caller's.
        unsafe { map_at(site, map) };
    }
}
