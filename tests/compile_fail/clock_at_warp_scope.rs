//! Lanes may read the clock at different times: where they are together, nothing safe returns it.
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
