//! An arrival allows one wait.
use ptx_matrix::prelude::*;

#[kernel(threads = 32, cluster = 2)]
fn wait(block: &ClusterBlock<2>) {
    let cluster = block.cluster();
    let arrival = cluster.arrive();
    cluster.wait(arrival);
    cluster.wait(arrival);
    //~^ ERROR use of moved value: `arrival`
}

fn main() {}
