//! Only a barrier's own block can wait for it.
use ptx_matrix::prelude::*;

#[kernel(threads = 32, cluster = 2)]
fn wait(block: &ClusterBlock<2>, #[shared] barrier: BarrierMemory) {
    let barrier = barrier.init(block, 1);
    barrier.of(block.cluster().peer(1)).wait(block.warp(), Phase::FIRST);
    //~^ ERROR no method named `wait` found for struct `PeerBarrier` in the current scope
}

fn main() {}
