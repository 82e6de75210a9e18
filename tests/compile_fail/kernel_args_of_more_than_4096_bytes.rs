use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
//~^ ERROR evaluation panicked: the kernel's parameters have more than 4096 bytes: let it read some
//~> from a `Global`
fn two(_: &Block, _a: [u32; 1024], _b: u8) {}

#[kernel(threads = 32)]
fn one(_: &Block, _a: [u32; 1025]) {}
//~? ERROR evaluation panicked: a kernel parameter has more than 4096 bytes: let the kernel read it
//~> from a `Global`

fn main() {}
