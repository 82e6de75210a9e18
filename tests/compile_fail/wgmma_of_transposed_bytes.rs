use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;

type TileA = SharedTile<F8E4M3, 64, 128, Swizzle128>;
type TileB = SharedTile<F8E4M3, 32, 128, Swizzle128>;

#[kernel(threads = 128, target = "sm_90a")]
fn multiply(block: &Block, #[shared] a: TileA, #[shared] b: TileB) {
    let group = block.warp_group();
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    Wgmma::<32, F8E4M3, F8E4M3, f32>::issue(group, &mut acc, |issue| {
        issue.accumulate(a.matrix_a((0, 0)), b.matrix_b((0, 0)));
        //~^ ERROR `wgmma` takes operands of `ptx_matrix::element::F8E4M3` K-major only
        //~| let A be `RowMajor` and B `ColMajor`
    });
    acc.finish(group);
}

fn main() {}
