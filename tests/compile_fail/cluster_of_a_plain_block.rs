//! A block that does not know of its cluster leads to none.
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn meet(block: &Block) {
    block.cluster().sync();
    //~^ ERROR no method named `cluster` found for reference `&ptx_matrix::prelude::Block<'_>` in the current scope
}

fn main() {}
