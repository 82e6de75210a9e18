//! Of the elements of `kind::f8f6f4`, sm_100a has fp8 only.
use ptx_matrix::element::e3m2;
use ptx_matrix::mma::F8F6F4;
use ptx_matrix::prelude::*;
use ptx_matrix::target::Sm100a;

#[kernel(threads = 32)]
fn multiply(block: &Block) {
    let (a, b) = (FragmentA::<M16N8K32, e3m2>::zero(), FragmentB::<M16N8K32, e3m2>::zero());
    let mut acc = Accumulator::<M16N8K32, f32>::zero();
    Mma::<M16N8K32, e3m2, e3m2, f32, F8F6F4, Sm100a>::accumulate(block.warp(), &mut acc, &a, &b);
    //~^ ERROR this instruction needs a GPU that is `ArchSpecific<120>`; this build is for `Sm100a`
}

fn main() {}
