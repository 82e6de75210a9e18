use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn multiply(block: &Block) {
    let a = FragmentA::<M16N8K16, bf16>::zero();
    let b = FragmentB::<M16N8K16, bf16>::zero();
    let mut acc = Accumulator::<M16N8K16, bf16>::zero();
    Mma::<M16N8K16, bf16, bf16, bf16>::accumulate(block.warp(), &mut acc, &a, &b);
    //~^ ERROR there is no form `
    //~| exists for f16 x f16 into f32 or f16 and bf16 x bf16 into f32 (`M16N8K8`, `M16N8K16`)
}

fn main() {}
