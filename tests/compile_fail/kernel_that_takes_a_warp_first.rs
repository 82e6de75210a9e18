use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn nothing(_: &Warp) {}
//~^ ERROR a kernel's first parameter is its block: `block: &Block`

fn main() {}
