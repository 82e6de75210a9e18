use ptx_matrix::*;

#[kernel(threads = 32)]
fn copy<T: Element>(_: &Block, _a: Global<T>) {}
//~^ ERROR a kernel is one entry in the PTX and cannot be generic: call a generic function from it

fn main() {}
