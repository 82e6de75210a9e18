use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;

type TileA = SharedTile<i8, 64, 128, Swizzle128>;
type TileB = SharedTile<i8, 128, 32, Swizzle128, ColMajor>;

#[kernel(threads = 128, target = "sm_90a")]
fn multiply(block: &Block, #[shared] a: TileA, #[shared] b: TileB) {
    let group = block.warp_group();
    let mut acc = GroupAccumulator::<32, i32>::zero().begin(group);
    Wgmma::<32, i8, i8, i32>::issue(group, &mut acc, |issue| {
        issue.subtract(a.matrix_a((0, 0)), b.matrix_b((0, 0)));
        //~^ ERROR does not subtract
        //~| `wgmma` negates floating-point operands only
    });
    acc.finish(group);
}

fn main() {}
