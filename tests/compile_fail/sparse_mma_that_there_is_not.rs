use ptx_matrix::fragment::{FragmentSparseA, Kept};
use ptx_matrix::mma::{Metadata, MmaSparse};
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn multiply(block: &Block) {
    let warp = block.warp();
    let a = FragmentSparseA::<M16N8K32, bf16>::zero();
    let b = FragmentB::<M16N8K32, bf16>::zero();
    let metadata = Metadata::from_fn(warp, |_, _| Kept::half(0));
    let mut acc = Accumulator::<M16N8K32, f16>::zero();
    MmaSparse::<M16N8K32, bf16, bf16, f16>::accumulate::<0>(warp, &mut acc, &a, &b, &metadata);
    //~^ ERROR there is no form `
    //~| f16 x f16 into f32 or f16 and bf16 x bf16 into f32 (`M16N8K16`, `M16N8K32`)
}

fn main() {}
