use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn address(block: &Block, #[shared] tile: SharedTile<u16, 8, 16>) {
    block.warp().each(|_| tile.row(At::<0, 4>));
    //~? ERROR misaligned: in a row-major tile, a matrix starts at a multiple of 16 bytes of a row
    //~| row_misaligned.rs:5
}

fn main() {
    address::simulate(1).unwrap();
}
