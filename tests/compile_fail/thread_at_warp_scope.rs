//! The thread index differs between lanes, so no safe function returns it at warp scope.
use ptx_matrix::prelude::*;
use ptx_matrix::raw;

#[kernel(threads = 32)]
fn half(block: &Block) {
    if raw::index::thread() % 32 < 16 {
        //~^ ERROR is unsafe and requires unsafe block
        block.sync();
    }
}

fn main() {}
