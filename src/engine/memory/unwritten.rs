//! Global memory that counts as unwritten, like freshly allocated memory of a GPU.
//!
//! Such a buffer is filled with a pattern. Its expected bytes are recorded: the pattern, or the
//! values that kernels wrote since. If a launch finds other bytes, the host has written there, or
//! other memory now has the same addresses.

use bytemuck::Pod;
use rangemap::RangeSet;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::vec::Vec;

/// The marked buffers, by their start address. They do not overlap.
static MARKED: RwLock<BTreeMap<usize, Marked>> = RwLock::new(BTreeMap::new());

/// Whether there are any. Most programs have none, and only pay for this check.
static ANY: AtomicBool = AtomicBool::new(false);

struct Marked {
    /// Its expected bytes, if the host wrote none.
    bytes: Vec<u8>,
    /// The addresses of its unwritten bytes.
    unwritten: RangeSet<usize>,
}

impl Marked {
    /// Records new values of some bytes.
    fn set(&mut self, start: usize, addresses: Range<usize>, to: &[u8]) {
        if addresses.is_empty() {
            return;
        }
        self.bytes[addresses.start - start..addresses.end - start].copy_from_slice(to);
        self.unwritten.remove(addresses);
    }

    /// The record of a part of its bytes.
    fn part(&self, start: usize, addresses: Range<usize>) -> Self {
        let unwritten = self.unwritten.overlapping(&addresses);
        let within =
            |range: &Range<usize>| range.start.max(addresses.start)..range.end.min(addresses.end);
        Marked {
            bytes: self.bytes[addresses.start - start..addresses.end - start].to_vec(),
            unwritten: unwritten.map(within).collect(),
        }
    }
}

fn marked() -> RwLockReadGuard<'static, BTreeMap<usize, Marked>> {
    MARKED.read().unwrap_or_else(PoisonError::into_inner)
}

fn marked_mut() -> RwLockWriteGuard<'static, BTreeMap<usize, Marked>> {
    MARKED.write().unwrap_or_else(PoisonError::into_inner)
}

/// Marks a buffer as unwritten, like freshly allocated memory of a GPU.
///
/// The buffer gets arbitrary contents. The simulator reports a kernel that reads an element which
/// neither a kernel nor the host has written before. Reads by the host are not reported:
/// [`unwritten`] returns the elements that are still unwritten.
///
/// The host's writes are recognised by their bytes. So up to seven unwritten bytes between written
/// ones count as written. So do unwritten elements of less than four bytes next to written ones.
///
/// ```
/// use ptx_matrix::{prelude::*, sim};
///
/// /// Adds up what the blocks have left; it forgets that there were fewer blocks than sums.
/// #[kernel(threads = 32)]
/// fn total(block: &Block, partial: Global<u32>, d: GlobalMut<u32>) {
///     block.warp().each(|lane| {
///         if lane.id() == 0 {
///             d.set(0, (0..partial.len()).map(|i| partial.get(i)).fold(0, u32::wrapping_add));
///         }
///     });
/// }
///
/// let mut partial = [0; 8];
/// sim::mark_unwritten(&mut partial);
/// partial[..3].copy_from_slice(&[1, 2, 3]);
/// let error = total::simulate(1, &partial, &mut [0]).unwrap_err();
/// assert!(error.to_string().starts_with(
///     "error: read of global memory that nothing wrote: element 3 of `partial`"
/// ));
/// ```
pub fn mark_unwritten<T: Pod>(buffer: &mut [T]) {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(buffer);
    let addresses = addresses(bytes);
    for (address, byte) in addresses.clone().zip(&mut *bytes) {
        *byte = pattern(address);
    }
    if bytes.is_empty() {
        return;
    }
    let mut marked = marked_mut();
    let before: Vec<usize> = overlapping(&mut marked, &addresses).map(|(start, _)| start).collect();
    for start in before {
        let around = marked.remove(&start).expect("a buffer that was marked");
        // The parts on both sides of `addresses` belong to the same buffer. Otherwise the old
        // buffer is gone.
        if start <= addresses.start && addresses.end <= start + around.bytes.len() {
            for side in [start..addresses.start, addresses.end..start + around.bytes.len()] {
                if !side.is_empty() {
                    marked.insert(side.start, around.part(start, side));
                }
            }
        }
    }
    let unwritten = RangeSet::from_iter([addresses.clone()]);
    marked.insert(addresses.start, Marked { bytes: bytes.to_vec(), unwritten });
    ANY.store(true, Ordering::Release);
}

/// Returns the elements of a marked buffer that neither a kernel nor the host has written since
/// [`mark_unwritten`]. A test of a kernel's output asks for them, because the simulator reports
/// only reads by kernels.
///
/// ```
/// use ptx_matrix::{prelude::*, sim};
///
/// /// Copies 32 elements for each block.
/// #[kernel(threads = 32)]
/// fn copy(block: &Block, a: Global<u32>, d: GlobalMut<u32>) {
///     let first = block.index().x as usize * 32;
///     block.warp().each(|lane| d.set(first + lane.id(), a.get(first + lane.id())));
/// }
///
/// let a = [7; 96];
/// let mut d = [0; 96];
/// sim::mark_unwritten(&mut d);
/// copy::simulate(2, &a, &mut d).check(); // One block is missing.
/// assert_eq!(sim::unwritten(&d), Vec::from_iter(64..96));
/// copy::simulate(3, &a, &mut d).check();
/// assert!(sim::unwritten(&d).is_empty());
/// ```
pub fn unwritten<T: Pod>(buffer: &[T]) -> Vec<usize> {
    launched_with(buffer);
    let address = |index: usize| (&raw const buffer[index]).addr();
    (0..buffer.len())
        .filter(|&index| contains(address(index)..address(index) + size_of::<T>()))
        .collect()
}

/// The pattern byte of an unwritten address. Neighbours differ, so that no number matches by
/// chance.
fn pattern(address: usize) -> u8 {
    ((address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn addresses(bytes: &[u8]) -> Range<usize> {
    let start = bytes.as_ptr().addr();
    start..start + bytes.len()
}

/// The marked buffers that overlap these addresses, with their start addresses.
fn overlapping<'m>(
    marked: &'m mut BTreeMap<usize, Marked>,
    addresses: &Range<usize>,
) -> impl Iterator<Item = (usize, &'m mut Marked)> + use<'m> {
    let start = addresses.start;
    let before = marked.range_mut(..addresses.end).rev().map(|(start, marked)| (*start, marked));
    before.take_while(move |(other, marked)| other + marked.bytes.len() > start)
}

/// Length of a run of unchanged bytes that counts as unwritten: it does not match by chance.
/// Shorter runs between changed bytes count as written.
const TELLING: usize = 8;

/// A launch receives this buffer: its bytes that the host has written count as written.
pub(crate) fn launched_with<T: Pod>(buffer: &[T]) {
    if !is_known() || buffer.is_empty() {
        return;
    }
    let bytes: &[u8] = bytemuck::cast_slice(buffer);
    let (here, size) = (addresses(bytes), size_of::<T>());
    // A small element next to a written one may equal the pattern by chance.
    let border = if size < size_of::<u32>() { TELLING - size } else { 0 };
    for (start, marked) in overlapping(&mut marked_mut(), &here) {
        let common = start.max(here.start)..(start + marked.bytes.len()).min(here.end);
        // The part of the byte's element that is in `common`.
        let element = |address: usize| {
            let first = here.start + (address - here.start) / size * size;
            first.max(common.start)..(first + size).min(common.end)
        };
        let still = |marked: &Marked, of: Range<usize>| {
            bytes[of.start - here.start..of.end - here.start]
                == marked.bytes[of.start - start..of.end - start]
        };
        let mut at = common.start;
        while at < common.end {
            let is_still = still(marked, element(at));
            let mut end = element(at).end;
            while end < common.end && still(marked, element(end)) == is_still {
                end = element(end).end;
            }
            let mut written = |part: Range<usize>| {
                marked.set(
                    start,
                    part.clone(),
                    &bytes[part.start - here.start..part.end - here.start],
                );
            };
            if !is_still || (end - at < TELLING && (at..end) != common) {
                written(at..end);
            } else {
                if at > common.start {
                    written(at..(at + border).min(end));
                }
                if end < common.end {
                    written(end.saturating_sub(border).max(at)..end);
                }
            }
            at = end;
        }
    }
}

/// Whether any memory counts as unwritten.
pub(crate) fn is_known() -> bool {
    ANY.load(Ordering::Acquire)
}

/// Whether some of these addresses are unwritten.
pub(crate) fn contains(addresses: Range<usize>) -> bool {
    if !is_known() || addresses.is_empty() {
        return false;
    }
    let marked = marked();
    let mut here = marked
        .range(..addresses.end)
        .rev()
        .take_while(|(start, marked)| *start + marked.bytes.len() > addresses.start);
    here.any(|(_, marked)| marked.unwritten.overlaps(&addresses))
}

/// Records the bytes that kernels have written.
pub(crate) fn wrote<'b>(written: impl Iterator<Item = (usize, &'b [u8])>) {
    if is_known() {
        let mut marked = marked_mut();
        for (address, bytes) in written {
            let addresses = address..address + bytes.len();
            for (start, around) in overlapping(&mut marked, &addresses) {
                let common = start.max(address)..(start + around.bytes.len()).min(addresses.end);
                around.set(
                    start,
                    common.clone(),
                    &bytes[common.start - address..common.end - address],
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_host_writes_is_written() {
        let mut buffer = [0_u32; 100];
        assert!(unwritten(&buffer).is_empty());
        mark_unwritten(&mut buffer);
        assert_eq!(unwritten(&buffer), Vec::from_iter(0..100));
        buffer[..40].fill(7);
        buffer[70] = 9;
        assert_eq!(unwritten(&buffer), (40..70).chain(71..100).collect::<Vec<_>>());
        buffer.fill(0);
        assert!(unwritten(&buffer).is_empty());
    }

    #[test]
    fn bytes_that_have_the_pattern_by_chance_are_written() {
        let mut buffer = std::vec![0_u8; 1 << 16];
        mark_unwritten(&mut buffer);
        let mut random = fastrand::Rng::with_seed(1);
        buffer.fill_with(|| random.u8(..));
        assert!(unwritten(&buffer).is_empty());
    }

    #[test]
    fn what_kernels_write_is_written_and_tells_that_it_is_the_same_memory() {
        let mut buffer = [0_u16; 64];
        mark_unwritten(&mut buffer);
        let write = |buffer: &mut [u16; 64], index: usize, value: u16| {
            buffer[index] = value;
            wrote(std::iter::once(((&raw const buffer[index]).addr(), &value.to_ne_bytes()[..])));
        };
        for index in (0..64).filter(|&index| index != 20) {
            write(&mut buffer, index, index as u16);
        }
        assert_eq!(unwritten(&buffer), [20]);
        let there = buffer[20];
        buffer.fill(there);
        assert!(unwritten(&buffer).is_empty(), "other memory, which has the same number there");
    }

    #[test]
    fn part_may_be_marked_again() {
        let mut buffer = [0_u64; 8];
        mark_unwritten(&mut buffer);
        buffer.fill(1);
        assert!(unwritten(&buffer).is_empty());
        mark_unwritten(&mut buffer[3..5]);
        assert_eq!(unwritten(&buffer), [3, 4]);
    }

    #[test]
    fn small_part_is_told_from_what_lay_around_it() {
        let mut buffer = [0_u32; 16];
        mark_unwritten(&mut buffer);
        buffer.fill(0);
        mark_unwritten(&mut buffer[12..13]);
        assert_eq!(unwritten(&buffer), [12]);
        mark_unwritten(&mut buffer);
        mark_unwritten(&mut buffer[5..6]);
        wrote(std::iter::once((
            (&raw const buffer[4]).addr(),
            bytemuck::cast_slice(&[buffer[4], buffer[5]]),
        )));
        assert_eq!(unwritten(&buffer), (0..4).chain(6..16).collect::<Vec<_>>());
    }

    #[test]
    fn small_buffer_is_marked_whole() {
        let mut buffer = [0_u8; 3];
        mark_unwritten(&mut buffer);
        assert_eq!(unwritten(&buffer), [0, 1, 2]);
        assert_eq!(unwritten(&buffer[1..]), [0, 1]);
        buffer[0] = !buffer[0];
        assert_eq!(unwritten(&buffer), [0; 0], "two bytes would be by chance what they are");
    }
}
