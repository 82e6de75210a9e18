//! A value of one lane would look uniform.
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn smuggle(block: &Block) {
    let mut found = 0;
    let pointer = &raw mut found;
    block.warp().each(|lane| unsafe { *pointer = lane.id() });
    //~^ ERROR a lane closure must not capture a `Cell`, a raw pointer, a warp
    //~| a value leaves it only as its result, a `PerLane`
}

fn main() {}
