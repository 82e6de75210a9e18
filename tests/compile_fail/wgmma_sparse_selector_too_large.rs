use ptx_matrix::fragment::Kept;
use ptx_matrix::mma::{GroupAccumulator, Metadata, WgmmaSparse};
use ptx_matrix::prelude::*;

type TileA = SharedTile<i8, 64, 32, Swizzle32>;
type TileB = SharedTile<i8, 64, 32, Swizzle64, ColMajor>;

#[kernel(threads = 128, target = "sm_90a")]
fn multiply(block: &Block, #[shared] a: TileA, #[shared] b: TileB) {
    let group = block.warp_group();
    let metadata = Metadata::from_fn(group.warp(), |_, _| Kept::half(0));
    let mut acc = GroupAccumulator::<32, i32>::zero().begin(group);
    WgmmaSparse::<32, i8, i8, i32>::issue(group, &mut acc, |issue| {
        issue.accumulate::<1>(a.matrix_a((0, 0)), b.matrix_b((0, 0)), &metadata);
        //~^ ERROR this form has no `Selector<1>`: it has SelectorsBelow<1>
        //~| with 16 there is 0
    });
    acc.finish(group);
}

fn main() {}
