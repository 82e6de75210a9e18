//! A value of one lane would look uniform.
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn smuggle(block: &Block) {
    let mut found = 0;
    block.warp().each(|lane| found = lane.id());
    //~^ ERROR cannot assign to `found`, as it is a captured variable in a `Fn` closure
    if found == 3 {
        block.sync();
    }
}

fn main() {}
