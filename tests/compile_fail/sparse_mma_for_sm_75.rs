use ptx_matrix::target::Sm75;
use ptx_matrix::fragment::{FragmentSparseA, Kept};
use ptx_matrix::mma::{Metadata, MmaSparse, Ordered, Plain};
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn multiply(block: &Block) {
    let a = FragmentSparseA::<M16N8K16, f16>::zero();
    let b = FragmentB::<M16N8K16, f16>::zero();
    let metadata = Metadata::from_fn(block.warp(), |_, _| Kept::half(0));
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    MmaSparse::<M16N8K16, f16, f16, f32, Plain, Ordered, Sm75>::accumulate::<0>(block.warp(), &mut acc, &a, &b, &metadata);
    //~^ ERROR this instruction needs a GPU that is `AtLeast<80>`; this build is for `Sm75`
}

fn main() {}
