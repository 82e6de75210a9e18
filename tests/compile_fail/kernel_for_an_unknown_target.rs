use ptx_matrix::prelude::*;

#[kernel(threads = 32, target = "sm90")]
//~^ ERROR `sm90` is no target; there are: sm_75, sm_80
fn never_built(_: &Block) {}

fn main() {}
