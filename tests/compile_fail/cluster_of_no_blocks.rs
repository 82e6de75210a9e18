use ptx_matrix::prelude::*;

#[kernel(threads = 32, cluster = 0)]
//~^ ERROR from 1 to 8 blocks, not 0
fn nothing(_: &Block) {}

fn main() {}
