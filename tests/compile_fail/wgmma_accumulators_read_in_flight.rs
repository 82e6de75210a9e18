//! Accumulators in flight cannot be read.

use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;

type TileA = SharedTile<bf16, 64, 64, Swizzle128>;
type TileB = SharedTile<bf16, 64, 32, Swizzle128, ColMajor>;

#[kernel(threads = 128, target = "sm_90a")]
fn multiply(block: &Block, #[shared] a: TileA, #[shared] b: TileB, d: GlobalMut<f32>) {
    let group = block.warp_group();
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    Wgmma::<32, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
        issue.accumulate(a.matrix_a((0, 0)), b.matrix_b((0, 0)));
    });
    acc.part(0).for_each(group.warp(), |row, col, value| d.set(row * 32 + col, value));
    //~^ ERROR no method named `part` found for struct `InFlight<
    acc.finish(group);
}

fn main() {}
