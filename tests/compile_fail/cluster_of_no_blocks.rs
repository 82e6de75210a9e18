use ptx_matrix::prelude::*;

#[kernel(threads = 32, cluster = 0)]
//~^ ERROR expected 1 to 8 blocks, found 0
fn nothing(_: &Block) {}

fn main() {}
