//! A wait takes the token of an arrival.
use ptx_matrix::prelude::*;

#[kernel(threads = 32, cluster = 2)]
fn wait(block: &ClusterBlock<2>) {
    let cluster = block.cluster();
    cluster.wait();
    //~^ ERROR this method takes 1 argument but 0 arguments were supplied
}

fn main() {}
