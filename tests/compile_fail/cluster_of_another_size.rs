//! The size of the block's cluster must be that of the kernel.
use ptx_matrix::prelude::*;

#[kernel(threads = 32, cluster = (2, 2))]
//~^ ERROR mismatched types
//~| expected `2`, found `4`
fn meet(block: &ClusterBlock<2>) {
    block.cluster().sync();
}

fn main() {}
