use ptx_matrix::prelude::*;

#[kernel]
//~^ ERROR say how many threads a block has: `#[kernel(threads = 128)]`
fn nothing(_: &Block) {}

fn main() {}
