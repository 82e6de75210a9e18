//! `st.async` stores 4, 8 or 16 bytes.
use ptx_matrix::prelude::*;

#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn send(
    block: &ClusterBlock<2>,
    #[shared] row: SharedTile<f16, 1, 32>,
    #[shared] full: BarrierMemory,
) {
    let full = full.init(block, 1);
    let other = block.cluster().peer(1);
    let (row, full) = (row.of(other), full.of(other));
    block.warp().each(|lane| row.send(lane, (0, lane.id()), [f16::ONE], full));
    //~? ERROR evaluation panicked: 4, 8 or 16 bytes are sent at once
}

fn main() {
    send::simulate(2).unwrap();
}
