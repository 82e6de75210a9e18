use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
//~? ERROR a shared tile is larger than the shared memory of any GPU's block: 227 KiB
fn too_large(_: &Block, #[shared] _tile: SharedTile<u64, 65536, 8192>) {}

fn main() {
    assert_eq!(too_large::INFO.threads, 32);
}
