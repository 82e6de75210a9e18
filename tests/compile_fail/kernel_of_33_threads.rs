use ptx_matrix::prelude::*;

#[kernel(threads = 33)]
//~^ ERROR a block has whole warps: a multiple of 32 threads from 32 to 1024, not 33
fn nothing(_: &Block) {}

fn main() {}
