use ptx_matrix::mma::{B16, NoTrans, StMatrix, X1};
use ptx_matrix::prelude::*;
use ptx_matrix::target;

#[kernel(threads = 32)]
fn store(block: &Block, #[shared] tile: SharedTile<u16, 8, 8>) {
    let warp = block.warp();
    let rows = warp.each(|lane| tile.row((lane.id() % 8, 0)));
    StMatrix::<X1, NoTrans, B16, target::Sm80>::store(warp, rows, PerLane::splat([0]));
    //~^ ERROR this instruction needs a GPU that is `AtLeast<90>`; this build is for `Sm80`
    //~| not available on `Sm80`
    //~| give the kernel `#[kernel(.., target = "sm_..")]`, which leaves it out of builds for older
    //~> GPUs
}

fn main() {}
