use ptx_matrix::prelude::*;

#[kernel(threads = 32, cluster = (4, 4))]
//~^ ERROR a cluster has at most 8 blocks, not 16
fn nothing(_: &Block) {}

fn main() {}
