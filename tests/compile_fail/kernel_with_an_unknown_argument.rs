use ptx_matrix::prelude::*;

#[kernel(threads = 32, warps = 4)]
//~^ ERROR expected `threads`, `min_blocks`, `max_registers`, `cluster`, `dependent`, `target`,
//~> `instances` or `crate`
fn nothing(_: &Block) {}

fn main() {}
