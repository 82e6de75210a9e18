//! Fewer elements have reductions in shared memory than in global memory.
use ptx_matrix::copy::reduction;
use ptx_matrix::prelude::*;
type Tile = SharedTile<u64, 8, 32>;

#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn reduce(
    block: &ClusterBlock<2>,
    #[shared] (own, sums): (Tile, Tile),
    #[shared] full: BarrierMemory,
) {
    let full = full.init(block, 1);
    let other = block.cluster().peer(1);
    block.warp().elect(|lane| own.reduce_bulk_to(lane, reduction::Max, other, sums, full));
    //~^ ERROR `u64` in shared memory cannot be reduced by `Max`
    //~| the table of `ptx_matrix::copy::reduction::SharedReduction` says which elements have which
    //~> reductions there
}

fn main() {}
