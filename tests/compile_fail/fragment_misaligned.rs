use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn load(block: &Block, #[shared] tile: SharedTile<bf16, 16, 24>) {
    let warp = block.warp();
    FragmentA::<M16N8K16, bf16>::load(warp, &tile, At::<0, 4>);
    //~? ERROR misaligned: in a row-major tile, a matrix starts at a multiple of 16 bytes of a row
    //~| fragment_misaligned.rs:6
}

fn main() {
    load::simulate(1).unwrap();
}
