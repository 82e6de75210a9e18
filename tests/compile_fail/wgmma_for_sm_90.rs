//! Only the target sm_90a has `wgmma`.

use ptx_matrix::mma::{GroupAccumulator, Plain, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::target;

type TileA = SharedTile<bf16, 64, 64, Swizzle128>;
type TileB = SharedTile<bf16, 64, 32, Swizzle128, ColMajor>;

#[kernel(threads = 128)]
fn multiply(block: &Block, #[shared] a: TileA, #[shared] b: TileB) {
    let group = block.warp_group();
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    Wgmma::<32, bf16, bf16, f32, Plain, target::Sm90>::issue(group, &mut acc, |issue| {
        //~^ ERROR this instruction needs a GPU that is `OnlyArch<90>`; this build is for `Sm90`
        issue.accumulate(a.matrix_a((0, 0)), b.matrix_b((0, 0)));
    });
    acc.finish(group);
}

fn main() {}
