use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn load(block: &Block, #[shared] tile: SharedTile<bf16, 16, 24>) {
    let warp = block.warp();
    FragmentA::<M16N8K16, bf16>::load(warp, &tile, At::<1, 0>);
    //~? ERROR out of range: the last row lies beyond the tile's rows
    //~| fragment_out_of_range.rs:6
}

fn main() {
    load::simulate(1).unwrap();
}
