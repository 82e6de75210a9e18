use ptx_matrix::fragment::Kept;
use ptx_matrix::mma::{Metadata, MmaSparse};
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn multiply(block: &Block) {
    let warp = block.warp();
    let a = FragmentA::<M16N8K16, f16>::zero();
    let b = FragmentB::<M16N8K16, f16>::zero();
    let metadata = Metadata::from_fn(warp, |_, _| Kept::half(0));
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    MmaSparse::<M16N8K16, f16, f16, f32>::accumulate::<0>(warp, &mut acc, &a, &b, &metadata);
    //~^ ERROR mismatched types
    //~| expected `&Fragment<RoleSparseA, M16N8K16, f16>`, found `&Fragment<RoleA, M16N8K16, f16>`
}

fn main() {}
