use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;

type TileA = SharedTile<bf16, 64, 128, Swizzle128>;
type TileB = SharedTile<bf16, 64, 32, Swizzle128, ColMajor>;

#[kernel(threads = 128, target = "sm_90a")]
fn multiply(block: &Block, #[shared] a: TileA, #[shared] b: TileB) {
    let group = block.warp_group();
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    Wgmma::<32, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
        issue.accumulate(a.matrix_a((0, 0)), b.matrix_b((0, 0)));
        //~? ERROR the contiguous side of a tile that `wgmma` takes has as many bytes as the
        //~> swizzle: 32, 64 or 128
    });
    acc.finish(group);
}

fn main() {
    multiply::simulate(1).unwrap();
}
