use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;

type TileA = SharedTile<bf16, 64, 64>;
type TileB = SharedTile<bf16, 64, 32, Swizzle128, ColMajor>;

#[kernel(threads = 128, target = "sm_90a")]
fn multiply(block: &Block, #[shared] a: TileA, #[shared] b: TileB) {
    let group = block.warp_group();
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    Wgmma::<32, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
        issue.accumulate(a.matrix_a((0, 0)), b.matrix_b((0, 0)));
        //~^ ERROR `wgmma` takes no tiles with the swizzle `Unswizzled`
        //~| it takes `Swizzle32`, `Swizzle64` and `Swizzle128`, of lines of as many bytes
    });
    acc.finish(group);
}

fn main() {}
