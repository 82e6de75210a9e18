//! A `Block` has no cluster; a `ClusterBlock` has one.
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn meet(block: &Block) {
    block.cluster().sync();
    //~^ ERROR no method named `cluster` found for reference `&ptx_matrix::prelude::Block<'_>` in
    //~> the current scope
}

fn main() {}
