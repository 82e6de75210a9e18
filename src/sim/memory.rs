//! A block's shared memory, and which of its bytes were written.

use super::context::{fail, with_block};
use super::error::Misuse;
use crate::site::Site;
use std::cell::RefCell;
use std::ops::Range;
use std::vec;
use std::vec::Vec;

/// Where a block's shared memory starts in the `.shared` window. On a GPU the first KiB belongs to the system,
/// and an address of 0 is never right; the strictest alignment of a tile is 1024.
pub const SHARED_BASE: u32 = 1024;

pub(super) struct SharedMemory {
    bytes: RefCell<Vec<u8>>,
    written: RefCell<Vec<bool>>,
}

impl SharedMemory {
    pub(super) fn new(size: usize) -> Self {
        // What was never written is not zero on a GPU either.
        SharedMemory { bytes: RefCell::new(vec![0xa5; size]), written: RefCell::new(vec![false; size]) }
    }

    /// Where `bytes` bytes at `address` lie, if they are part of the block's memory.
    fn range(&self, access: &'static str, address: u32, bytes: usize) -> Result<Range<usize>, Misuse> {
        let size = self.bytes.borrow().len();
        let start = address.checked_sub(SHARED_BASE).map(|start| start as usize);
        let range = start.filter(|start| start + bytes <= size).map(|start| start..start + bytes);
        range.ok_or(Misuse::SharedOutOfBounds { access, address, bytes, size })
    }

    /// Whether an access would be in bounds.
    pub(super) fn check(&self, access: &'static str, address: u32, bytes: usize) -> Result<(), Misuse> {
        self.range(access, address, bytes).map(drop)
    }

    pub(super) fn store(&self, address: u32, from: &[u8]) -> Result<(), Misuse> {
        let range = self.range("write", address, from.len())?;
        self.bytes.borrow_mut()[range.clone()].copy_from_slice(from);
        self.written.borrow_mut()[range].fill(true);
        Ok(())
    }

    pub(super) fn load(&self, address: u32, into: &mut [u8]) -> Result<(), Misuse> {
        let range = self.range("read", address, into.len())?;
        if !self.written.borrow()[range.clone()].iter().all(|&written| written) {
            return Err(Misuse::SharedUnwritten { address, bytes: into.len() });
        }
        into.copy_from_slice(&self.bytes.borrow()[range]);
        Ok(())
    }
}

/// One lane's store.
pub(crate) fn store_shared(site: Site, address: u32, from: &[u8]) {
    let stored = with_block(|block| block.shared.store(address, from));
    stored.unwrap_or_else(|misuse| fail(site, misuse));
}

/// One lane's load.
pub(crate) fn load_shared(site: Site, address: u32, into: &mut [u8]) {
    let loaded = with_block(|block| block.shared.load(address, into));
    loaded.unwrap_or_else(|misuse| fail(site, misuse));
}
