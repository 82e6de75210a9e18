use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn look_up(block: &Block, a: Global<f32>, d: GlobalMut<f32>) {
    let id = block.warp().each(|lane| lane.id());
    d.set(0, a.get(id));
    //~^ ERROR mismatched types
    //~| expected `usize`, found `PerLane<usize>`
}

fn main() {}
