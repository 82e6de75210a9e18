//! A lane that outlives its closure could read `PerLane`s at warp scope.
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn smuggle(block: &Block) {
    let _: PerLane<Lane> = block.warp().each(|lane| lane);
    //~^ ERROR lifetime may not live long enough
}

fn main() {}
