use ptx_matrix::element::Bits16;
use ptx_matrix::fragment::{FragmentSparseA, Kept};
use ptx_matrix::mma::{Metadata, MmaSparse};
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn multiply(block: &Block) {
    let a = FragmentSparseA::<M16N8K32, i8>::zero();
    let b = FragmentB::<M16N8K32, i8>::zero();
    let metadata = Metadata::<Bits16>::from_fn(block.warp(), |_, _| Kept::half(0));
    let mut acc = Accumulator::<M16N8K32, i32>::zero();
    MmaSparse::<M16N8K32, i8, i8, i32>::accumulate::<0>(block.warp(), &mut acc, &a, &b, &metadata);
    //~^ ERROR mismatched types
    //~| expected `&Metadata<Bits8>`, found `&Metadata<Bits16>`
}

fn main() {}
