use ptx_matrix::fragment::{FragmentSparseA, Kept};
use ptx_matrix::mma::{Metadata, MmaSparse, Ordered, Plain};
use ptx_matrix::prelude::*;
use ptx_matrix::target::Sm75;

type Multiply = MmaSparse<M16N8K16, f16, f16, f32, Plain, Ordered, Sm75>;

#[kernel(threads = 32)]
fn multiply(block: &Block) {
    let warp = block.warp();
    let a = FragmentSparseA::<M16N8K16, f16>::zero();
    let b = FragmentB::<M16N8K16, f16>::zero();
    let metadata = Metadata::from_fn(warp, |_, _| Kept::half(0));
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    Multiply::accumulate::<0>(warp, &mut acc, &a, &b, &metadata);
    //~^ ERROR this instruction needs a GPU that is `AtLeast<80>`; this build is for `Sm75`
}

fn main() {}
