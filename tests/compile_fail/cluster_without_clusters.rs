//! A block is one of a cluster only where its kernel has clusters.
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn meet(block: &ClusterBlock<2>) {
    //~^ ERROR without clusters a kernel has no block of one: say `#[kernel(.., cluster = 2)]`
    block.cluster().sync();
}

fn main() {}
