//! With a sparse A, the instruction takes twice as much of B along K.

use ptx_matrix::fragment::Kept;
use ptx_matrix::mma::{GroupAccumulator, Metadata, WgmmaSparse};
use ptx_matrix::prelude::*;

type TileA = SharedTile<f16, 64, 16, Swizzle32>;
type TileB = SharedTile<f16, 16, 32, Swizzle32, ColMajor>;

#[kernel(threads = 128, target = "sm_90a")]
fn multiply(block: &Block, #[shared] a: TileA, #[shared] b: TileB) {
    let group = block.warp_group();
    let metadata = Metadata::from_fn(group.warp(), |_, _| Kept::half(0));
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    WgmmaSparse::<32, f16, f16, f32>::issue(group, &mut acc, |issue| {
        issue.accumulate::<0>(a.matrix_a((0, 0)), b.matrix_b((0, 0)), &metadata);
        //~? ERROR with a sparse A, 64 bytes of B are taken along K: its swizzle is one of 64 or 128
        //~> bytes
    });
    acc.finish(group);
}

fn main() {
    multiply::simulate(1).unwrap();
}
