use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn branch(block: &Block) {
    let low = block.warp().each(|lane| lane.id() < 16);
    if low {
        //~^ ERROR mismatched types
        //~| expected `bool`, found `PerLane<bool>`
        block.sync();
    }
}

fn main() {}
