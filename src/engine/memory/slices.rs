//! The slices of global memory that a kernel has pointers to: what an instruction that takes a
//! pointer may read.

use crate::engine::findings::Misuse;
use crate::engine::memory::global::{ElementOf, read_by_copy, read_constant};
use crate::engine::warps::context::{fail, try_with_block};
use crate::lane::Site;
use std::vec::Vec;

/// A slice whose pointer the kernel asked for.
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
}

/// The slices of a block.
pub(crate) type Slices = Vec<Slice>;

/// The kernel asks for a slice's pointer. (So does the host, when it launches; that is no matter.)
pub(crate) fn note_slice(slice: Slice) {
    try_with_block(|block| {
        let mut slices = block.slices.borrow_mut();
        if !slices.contains(&slice) {
            slices.push(slice);
        }
    });
}

/// The slice that a copy reads `len` bytes of, from `from` on, or writes, and the first element.
/// The address is a multiple of `unit`.
pub(crate) fn find_for_copy(
    site: Site,
    from: *const u8,
    unit: usize,
    len: usize,
    writes: bool,
) -> (Slice, usize) {
    let address = from.addr();
    let found = try_with_block(|block| {
        let slices = block.slices.borrow();
        // Of slices that touch, the one that it starts in.
        let holds = |slice: &&Slice| {
            let is_right = slice.is_mut || !writes;
            is_right
                && (slice.address..slice.address + slice.len * slice.element).contains(&address)
        };
        slices.iter().find(holds).copied()
    });
    let Some(slice @ Slice { name, address: start, len: elements, element, .. }) = found.flatten()
    else {
        fail(site, Misuse::CopyFromNowhere { bytes: len });
    };
    let offset = address - start;
    let (index, end) = (offset / element, offset + len);
    if end > elements * element {
        let index = (end - 1) / element;
        fail(site, Misuse::GlobalOutOfBounds { access: "copy", name, index, len: elements });
    }
    // A buffer on a GPU starts at a multiple of 256, wherever the host has it.
    if !offset.is_multiple_of(unit) {
        fail(site, Misuse::CopyMisaligned { name, index, bytes: unit });
    }
    (slice, index)
}

/// Reads what a copy of `bytes` takes from `from`: as many of them as `into` has room for.
///
/// # Safety
/// They are there, if `from` points into a slice of the kernel's.
pub(crate) unsafe fn read_for_copy(site: Site, from: *const u8, bytes: usize, into: &mut [u8]) {
    let (Slice { name, address: start, element, is_mut, .. }, index) =
        find_for_copy(site, from, bytes, into.len(), false);
    let offset = from.addr() - start;
    let end = offset + into.len();
    // Element by element, whole ones, as others access them: a copy may begin or end within one.
    for index in index..end.div_ceil(element) {
        let (first, address) = (index * element, start + index * element);
        let part = offset.max(first)..end.min(first + element);
        let mut bytes = [0; size_of::<u64>()];
        let bytes = &mut bytes[..element];
        // SAFETY: it lies in the slice, which nobody writes before the block has ended.
        unsafe {
            from.wrapping_add(first)
                .wrapping_sub(offset)
                .copy_to_nonoverlapping(bytes.as_mut_ptr(), element)
        };
        let of = ElementOf { name, index };
        if is_mut {
            read_by_copy(site, address, of, bytes);
        } else {
            read_constant(site, start + part.start..start + part.end, of);
        }
        into[part.start - offset..part.end - offset]
            .copy_from_slice(&bytes[part.start - first..part.end - first]);
    }
}
