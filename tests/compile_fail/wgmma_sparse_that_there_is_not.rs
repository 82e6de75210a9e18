use ptx_matrix::fragment::Kept;
use ptx_matrix::mma::{GroupAccumulator, Metadata, WgmmaSparse};
use ptx_matrix::prelude::*;

type TileA = SharedTile<bf16, 64, 16, Swizzle32>;
type TileB = SharedTile<bf16, 32, 32, Swizzle64, ColMajor>;

#[kernel(threads = 128, target = "sm_90a")]
fn multiply(block: &Block, #[shared] a: TileA, #[shared] b: TileB) {
    let group = block.warp_group();
    let metadata = Metadata::from_fn(group.warp(), |_, _| Kept::half(0));
    let mut acc = GroupAccumulator::<32, f16>::zero().begin(group);
    WgmmaSparse::<32, bf16, bf16, f16>::issue(group, &mut acc, |issue| {
        //~^ ERROR there is no form `
        //~| `WgmmaSparse<N, A, B, D>` exists for f16 into f32 or f16, bf16 and tf32 into f32
        issue.accumulate::<0>(a.matrix_a((0, 0)), b.matrix_b((0, 0)), &metadata);
    });
    acc.finish(group);
}

fn main() {}
