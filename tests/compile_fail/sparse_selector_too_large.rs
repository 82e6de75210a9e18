use ptx_matrix::fragment::{FragmentSparseA, Kept};
use ptx_matrix::mma::{Metadata, MmaSparse};
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn multiply(block: &Block) {
    let warp = block.warp();
    let a = FragmentSparseA::<M16N8K32, f16>::zero();
    let b = FragmentB::<M16N8K32, f16>::zero();
    let metadata = Metadata::from_fn(warp, |_, _| Kept::half(0));
    let mut acc = Accumulator::<M16N8K32, f32>::zero();
    // ptxas accepts this instruction, but an H200 faults.
    MmaSparse::<M16N8K32, f16, f16, f32>::accumulate::<2>(warp, &mut acc, &a, &b, &metadata);
    //~^ ERROR this form has no `Selector<2>`: it has SelectorsBelow<2>
    //~| with 8 there are 0 and 1
}

fn main() {}
