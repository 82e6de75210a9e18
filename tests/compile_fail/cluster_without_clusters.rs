//! A `ClusterBlock` needs a kernel with clusters.
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn meet(block: &ClusterBlock<2>) {
    //~^ ERROR without clusters a kernel has no block of one: say `#[kernel(.., cluster = 2)]`
    block.cluster().sync();
}

fn main() {}
