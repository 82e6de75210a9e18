use ptx_matrix::prelude::*;

#[kernel]
//~^ ERROR the block size is missing: write `#[kernel(threads = 128)]`
fn nothing(_: &Block) {}

fn main() {}
