use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn look_up(block: &Block, d: GlobalMut<f32>) {
    let id = block.warp().each(|lane| lane.id() % 4);
    let table = [1.0, 2.0, 4.0, 8.0];
    d.set(0, table[id]);
    //~^ ERROR cannot be indexed by `PerLane<usize>`
}

fn main() {}
