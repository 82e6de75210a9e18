use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;

type TileA = SharedTile<bf16, 64, 64, Swizzle128>;
type TileB = SharedTile<bf16, 64, 32, Swizzle128, ColMajor>;

#[kernel(threads = 128, target = "sm_90a")]
fn multiply(block: &Block, #[shared] a: TileA, #[shared] b: TileB) {
    let group = block.warp_group();
    let mut acc = GroupAccumulator::<32, f16>::zero().begin(group);
    Wgmma::<32, bf16, bf16, f16>::issue(group, &mut acc, |issue| {
        //~^ ERROR there is no form `
        //~| exists for f16 into f32 or f16, bf16 and tf32 into f32
        //~| only those for sm_90a have it
        issue.accumulate(a.matrix_a((0, 0)), b.matrix_b((0, 0)));
    });
    acc.finish(group);
}

fn main() {}
