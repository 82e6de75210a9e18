//! `#[test]` removes the function from other builds, and the kernel would call what else has its
//! name.
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
#[test]
//~^ ERROR a kernel is no test
fn kernel(_: &Block) {}

fn main() {}
