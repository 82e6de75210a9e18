use ptx_matrix::prelude::*;

#[kernel(threads = 32, warps = 4)]
//~^ ERROR expected `threads`, `min_blocks`, `max_registers`, `cluster`, `early`, `target`, `instances` or `crate`
fn nothing(_: &Block) {}

fn main() {}
