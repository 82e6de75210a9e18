//! The slices of global memory whose pointers a kernel has. Instructions that take a pointer may
//! access them.

use crate::engine::findings::Misuse;
use crate::engine::memory::global::{ElementOf, read_by_copy, read_constant};
use crate::engine::warps::context::{fail, try_with_block};
use crate::lane::{AccessKind, Site};
use std::vec::Vec;

/// A slice whose pointer the kernel has requested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    /// The kernel's parameter.
    pub(crate) name: &'static str,
    pub(crate) address: usize,
    pub(crate) len: usize,
    /// Bytes of an element.
    pub(crate) element: usize,
    /// Whether threads of the kernel write it.
    pub(crate) is_mut: bool,
    /// Whether only atomic operations access it.
    pub(crate) is_atomic: bool,
}

/// The slices of a block.
pub(crate) type Slices = Vec<Slice>;

/// Records that the kernel requests a slice's pointer. (The host does this too at a launch, without
/// effect.)
pub(crate) fn note_slice(slice: Slice) {
    try_with_block(|block| {
        let mut slices = block.slices.borrow_mut();
        if !slices.contains(&slice) {
            slices.push(slice);
        }
    });
}

/// The slice of which a copy or reduction (`access`) reads or writes `len` bytes at `from`, and the
/// first element. The address must be a multiple of `unit`.
pub(crate) fn find(
    site: Site,
    access: AccessKind,
    from: *const u8,
    unit: usize,
    len: usize,
    writes: bool,
) -> (Slice, usize) {
    let address = from.addr();
    let found = try_with_block(|block| {
        let slices = block.slices.borrow();
        // If slices touch, the access belongs to the one in which it starts.
        let holds = |slice: &&Slice| {
            let is_right = slice.is_mut || !writes;
            is_right
                && (slice.address..slice.address + slice.len * slice.element).contains(&address)
        };
        slices.iter().find(holds).copied()
    });
    let Some(slice @ Slice { name, address: start, len: elements, element, .. }) = found.flatten()
    else {
        fail(site, Misuse::OutsideOfSlices { access, bytes: len });
    };
    let offset = address - start;
    let (index, end) = (offset / element, offset + len);
    if end > elements * element {
        let index = (end - 1) / element;
        fail(site, Misuse::GlobalOutOfBounds { access, name, index, len: elements });
    }
    // A buffer on a GPU starts at a multiple of 256. The alignment of the host's memory does not
    // matter.
    if !offset.is_multiple_of(unit) {
        fail(site, Misuse::GlobalMisaligned { access, name, index, bytes: unit });
    }
    (slice, index)
}

/// Reads the source of a copy of `bytes` bytes at `from`: as many bytes as fit into `into`. It is a
/// bulk copy or a `cp.async`.
///
/// # Safety
/// If `from` points into a slice of the kernel, the bytes there are readable.
pub(crate) unsafe fn read_for_copy(
    site: Site,
    from: *const u8,
    bytes: usize,
    into: &mut [u8],
    is_bulk: bool,
) {
    let (Slice { name, address: start, element, is_mut, .. }, index) =
        find(site, AccessKind::Copy, from, bytes, into.len(), false);
    let offset = from.addr() - start;
    let end = offset + into.len();
    // Reads whole elements, as other accesses do: a copy may begin or end within one.
    for index in index..end.div_ceil(element) {
        let (first, address) = (index * element, start + index * element);
        let part = offset.max(first)..end.min(first + element);
        let mut bytes = [0; size_of::<u64>()];
        let bytes = &mut bytes[..element];
        // SAFETY: it lies in the slice, which no thread writes before the block has ended.
        unsafe {
            from.wrapping_add(first)
                .wrapping_sub(offset)
                .copy_to_nonoverlapping(bytes.as_mut_ptr(), element)
        };
        let of = ElementOf { name, index };
        if is_mut {
            read_by_copy(site, address, of, bytes, is_bulk);
        } else {
            read_constant(site, start + part.start..start + part.end, of, element);
        }
        into[part.start - offset..part.end - offset]
            .copy_from_slice(&bytes[part.start - first..part.end - first]);
    }
}
