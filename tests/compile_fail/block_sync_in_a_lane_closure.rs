//! Only some lanes would reach the barrier.
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn wait(block: &Block) {
    block.warp().each(|lane| {
        //~^ ERROR a lane closure must not capture a `Cell`, a raw pointer, a warp
        //~| collectives (`sync`, `load`, `accumulate`, ...) belong outside of it
        if lane.id() < 16 {
            block.sync();
        }
    });
}

fn main() {}
