use ptx_matrix::prelude::*;

#[kernel(threads = 32, target = "sm90")]
//~^ ERROR unknown target `sm90`; known targets: sm_75, sm_80
fn never_built(_: &Block) {}

fn main() {}
