//! A value of one lane would look uniform.
use core::cell::Cell;
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn smuggle(block: &Block) {
    let found = Cell::new(0);
    block.warp().each(|lane| found.set(lane.id()));
    //~^ ERROR a lane closure must not capture a `Cell`, a raw pointer, a warp
    //~| a value leaves it only as its result, a `PerLane`
    if found.get() == 3 {
        block.sync();
    }
}

fn main() {}
