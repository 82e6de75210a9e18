//! A value of one lane would look uniform.
use core::sync::atomic::{AtomicUsize, Ordering};
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn smuggle(block: &Block) {
    let found = AtomicUsize::new(0);
    block.warp().each(|lane| found.store(lane.id(), Ordering::Relaxed));
    //~^ ERROR a lane closure must not capture `UnsafeCell<
    //~| it appears within the type `Atomic<usize>`
    //~| a value leaves it only as its result, a `PerLane`
}

fn main() {}
