//! An accumulator must be initialised, with zeros or with C.

use ptx_matrix::prelude::*;

#[kernel(threads = 32, target = "sm_80")]
fn kernel(block: &Block) {
    let warp = block.warp();
    let a = FragmentA::<M16N8K16, bf16>::zero();
    let b = FragmentB::<M16N8K16, bf16>::zero();
    let mut acc: Accumulator<M16N8K16, f32>;
    Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &a, &b);
    //~^ ERROR used binding `acc` isn't initialized
}

fn main() {}
