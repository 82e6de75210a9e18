//! The slices of global memory that a kernel has pointers to: what an instruction that takes a pointer may read.

use super::context::{fail, try_with_block};
use super::error::Misuse;
use super::global::note_racing_read;
use crate::site::Site;
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
pub(super) type Slices = Vec<Slice>;

/// The kernel asks for a slice's pointer. (So does the host, when it launches; that is no matter.)
pub(crate) fn note_slice(slice: Slice) {
    try_with_block(|block| {
        let mut slices = block.slices.borrow_mut();
        if !slices.contains(&slice) {
            slices.push(slice);
        }
    });
}

/// Checks that a copy of `bytes` may read the first `some` of them from `address`.
pub(super) fn check_copy(site: Site, address: usize, bytes: usize, some: usize) {
    let found = try_with_block(|block| {
        let slices = block.slices.borrow();
        // Of slices that touch, the one that it starts in.
        slices
            .iter()
            .find(|slice| (slice.address..slice.address + slice.len * slice.element).contains(&address))
            .copied()
    });
    let Some(Slice { name, address: start, len, element, is_mut }) = found.flatten() else {
        fail(site, Misuse::CopyFromNowhere { bytes: some });
    };
    let offset = address - start;
    let index = offset / element;
    if offset + some > len * element {
        fail(site, Misuse::GlobalOutOfBounds { access: "copy", name, index: (offset + some - 1) / element, len });
    }
    // A buffer on a GPU starts at a multiple of 256, wherever the host has it.
    if !offset.is_multiple_of(bytes) {
        fail(site, Misuse::CopyMisaligned { name, index, bytes });
    }
    if is_mut {
        for index in index..(offset + some).div_ceil(element) {
            note_racing_read(site, start + index * element, name, index);
        }
    }
}
