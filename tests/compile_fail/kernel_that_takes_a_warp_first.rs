use ptx_matrix::*;

#[kernel(threads = 32)]
//~^ ERROR mismatched types
//~| expected `&Warp<'_>`, found `&Block<'_>`
fn nothing(_: &Warp) {}

fn main() {}
