//! `ldmatrix` only reads the shared memory of its own block.
use ptx_matrix::prelude::*;

#[kernel(threads = 32, cluster = 2)]
fn load(block: &ClusterBlock<2>, #[shared] tile: SharedTile<bf16, 16, 16>) {
    let other = tile.of(block.cluster().peer(1));
    FragmentA::<M16N8K16, bf16>::load(block.warp(), &other, At::<0, 0>);
    //~^ ERROR mismatched types
}

fn main() {}
