//! The thread's index differs from lane to lane: where lanes are together, nothing safe returns it.
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
