use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
//~^ ERROR the kernel's shared memory is more than any GPU has for a block: 227 KiB
fn too_much(_: &Block, #[shared] _tiles: [SharedTile<u8, 1024, 64>; 4]) {}

fn main() {
    assert_eq!(too_much::INFO.threads, 32);
}
