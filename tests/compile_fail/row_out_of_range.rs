use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn address(block: &Block, #[shared] tile: SharedTile<u16, 8, 16>) {
    block.warp().each(|_| tile.row(At::<0, 16>));
    //~? ERROR out of range: the last column lies beyond the tile's columns
    //~| row_out_of_range.rs:5
}

fn main() {
    address::simulate(1).unwrap();
}
