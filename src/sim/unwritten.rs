//! Global memory that counts as not written, as freshly allocated memory of a GPU is.
//!
//! It is filled with a pattern. Bytes count as unwritten until a kernel writes them, or a launch finds that they have not the
//! pattern any more: the host has written there since, or other memory has come to lie at the same addresses.

use bytemuck::Pod;
use rangemap::RangeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock};
use std::vec::Vec;

/// The addresses of bytes that were marked, and that no kernel has written since.
static MARKED: LazyLock<RwLock<RangeSet<usize>>> = LazyLock::new(RwLock::default);

/// Whether there are any. Most programs have none, and pay for no more than a look at this.
static ANY: AtomicBool = AtomicBool::new(false);

/// Makes a buffer one that nothing has written yet, as freshly allocated memory of a GPU is: it has arbitrary contents, and
/// a kernel that reads an element of it before a kernel, or the host, has written it, is told of by the simulator.
/// (What the host writes is known by its bytes: up to seven between others that it has written pass for written too.)
///
/// ```
/// use ptx_matrix::{sim, *};
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
/// assert!(error.to_string().starts_with("error: read of global memory that nothing wrote: element 3 of `partial`"));
/// ```
pub fn mark_unwritten<T: Pod>(buffer: &mut [T]) {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(buffer);
    let start = bytes.as_ptr().addr();
    for (address, byte) in (start..).zip(&mut *bytes) {
        *byte = pattern(address);
    }
    if !bytes.is_empty() {
        MARKED.write().unwrap_or_else(PoisonError::into_inner).insert(start..start + bytes.len());
        ANY.store(true, Ordering::Release);
    }
}

/// The byte at an address that nothing has written. Neighbours differ, so that no number fits by chance.
fn pattern(address: usize) -> u8 {
    ((address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// So many bytes in a row do not have the pattern by chance; fewer, between others that do not have it, are taken for written.
const TELLING: usize = 8;

/// A launch is given this buffer: what of it the host has written is unwritten no more.
pub(super) fn launched_with<T: Pod>(buffer: &[T]) {
    if !is_known() || buffer.is_empty() {
        return;
    }
    let bytes: &[u8] = bytemuck::cast_slice(buffer);
    let start = bytes.as_ptr().addr();
    let mut marked = MARKED.write().unwrap_or_else(PoisonError::into_inner);
    let here: Vec<Range<usize>> = marked
        .overlapping(start..start + bytes.len())
        .map(|range| range.start.max(start)..range.end.min(start + bytes.len()))
        .collect();
    for range in here {
        let still = |address: &usize| bytes[address - start] == pattern(*address);
        let mut at = range.start;
        while at < range.end {
            let is_still = still(&at);
            let end = (at..range.end).find(|address| still(address) != is_still).unwrap_or(range.end);
            let whole = at == range.start && end == range.end;
            if !is_still || (end - at < TELLING && !whole) {
                marked.remove(at..end);
            }
            at = end;
        }
    }
}

/// Whether any memory counts as unwritten.
pub(super) fn is_known() -> bool {
    ANY.load(Ordering::Acquire)
}

/// Whether some of these addresses are of bytes that nothing wrote.
pub(super) fn contains(addresses: Range<usize>) -> bool {
    is_known() && !addresses.is_empty() && MARKED.read().unwrap_or_else(PoisonError::into_inner).overlaps(&addresses)
}

/// Kernels have written these bytes.
pub(super) fn wrote(ranges: impl Iterator<Item = Range<usize>>) {
    if is_known() {
        let mut marked = MARKED.write().unwrap_or_else(PoisonError::into_inner);
        ranges.for_each(|range| marked.remove(range));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which elements of a buffer that a launch is given count as unwritten.
    fn unwritten<T: Pod>(buffer: &[T]) -> Vec<usize> {
        launched_with(buffer);
        let address = |index: usize| (&raw const buffer[index]).addr();
        (0..buffer.len()).filter(|&index| contains(address(index)..address(index) + size_of::<T>())).collect()
    }

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
    fn a_small_buffer_is_marked_whole() {
        let mut buffer = [0_u8; 3];
        mark_unwritten(&mut buffer);
        assert_eq!(unwritten(&buffer), [0, 1, 2]);
        wrote(std::iter::once((&raw const buffer[1]).addr()..(&raw const buffer[2]).addr()));
        assert_eq!(unwritten(&buffer), [0, 2]);
    }
}
