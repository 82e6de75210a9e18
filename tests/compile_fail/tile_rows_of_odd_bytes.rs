use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn touch(_: &Block, #[shared] _tile: SharedTile<bf16, 16, 12>) {}
//~? ERROR the contiguous side of a shared tile must be a multiple of 16 bytes
//~| tile_rows_of_odd_bytes.rs:3

fn main() {
    touch::simulate(1).unwrap();
}
