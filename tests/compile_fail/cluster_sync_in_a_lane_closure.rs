//! Only some lanes would reach the barrier.
use ptx_matrix::prelude::*;

#[kernel(threads = 32, cluster = 2)]
fn wait(block: &ClusterBlock<2>) {
    let cluster = block.cluster();
    block.warp().each(|lane| {
        //~^ ERROR a lane closure must not capture a `Cell`, a raw pointer, a warp
        //~| collectives (`sync`, `load`, `accumulate`, ...) belong outside of it
        if lane.id() < 16 {
            cluster.sync();
        }
    });
}

fn main() {}
