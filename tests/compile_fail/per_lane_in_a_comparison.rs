use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn branch(block: &Block) {
    let id = block.warp().each(|lane| lane.id() as u32);
    if id < 16 {
        //~^ ERROR binary operation `<` cannot be applied to type `PerLane<u32>`
        block.sync();
    }
}

fn main() {}
