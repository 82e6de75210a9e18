use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn load(block: &Block, #[shared] tile: SharedTile<f32, 8, 16>) {
    block.warp().each(|lane| tile.get_vector::<4, _>(lane, At::<0, 2>));
    //~? ERROR a vector starts at a multiple of its size
    //~| vector_misaligned.rs:5
}

fn main() {
    load::simulate(1).unwrap();
}
