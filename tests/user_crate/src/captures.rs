//! Lane closures with captures that only a build for a GPU can refuse, or names.
use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
pub fn atomic(block: &Block) {
    let found = AtomicUsize::new(0);
    block.warp().each(|lane| found.store(lane.id(), Ordering::Relaxed));
    if found.load(Ordering::Relaxed) == 3 {
        block.sync();
    }
}

#[kernel(threads = 32)]
pub fn cell(block: &Block) {
    let found = Cell::new(0);
    block.warp().each(|lane| found.set(lane.id()));
}

#[kernel(threads = 32)]
pub fn scope(block: &Block) {
    let warp = block.warp();
    warp.each(|_| warp.sync());
}
