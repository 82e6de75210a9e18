use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn sum(_: &Block, _a: Global<f32>) -> f32 {
    //~^ ERROR a kernel returns nothing: let it write its results to a `GlobalMut`
    0.0
}

fn main() {}
