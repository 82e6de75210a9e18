use ptx_matrix::copy::reduction;
use ptx_matrix::prelude::*;

#[kernel(threads = 32, target = "sm_90")]
fn reduce(block: &Block, #[shared] tile: SharedTile<f32, 8, 32>, d: GlobalMut<f32>) {
    block.warp().elect(|lane| tile.reduce_tma(lane, reduction::Max, d.bulk(0)));
    //~^ ERROR a bulk copy cannot reduce `f32` by `Max`
    //~| the table of `ptx_matrix::copy::reduction::Reduction` says which elements have which
    //~> reductions
}

fn main() {}
