use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn double(_a: Global<f32>) {}
//~^ ERROR a kernel's first parameter is its block: `block: &Block`

fn main() {}
