//! Lanes may read the clock at different times, so no safe function returns it at warp scope.
use ptx_matrix::prelude::*;
use ptx_matrix::raw;

#[kernel(threads = 32)]
fn by_clock(block: &Block) {
    if raw::index::clock() % 2 == 0 {
        //~^ ERROR is unsafe and requires unsafe block
        block.sync();
    }
}

fn main() {}
