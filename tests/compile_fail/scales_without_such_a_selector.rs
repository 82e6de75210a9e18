//! Byte 0 or 2 selects two scales.
use ptx_matrix::element::{e2m1, ue8m0};
use ptx_matrix::fragment::{M16N8K64, Mxf4, ScaleA, ScaleB};
use ptx_matrix::mma::{MmaScaled, Select};
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn multiply(block: &Block) {
    let warp = block.warp();
    let (a, b) = (FragmentA::<M16N8K64, e2m1>::zero(), FragmentB::<M16N8K64, e2m1>::zero());
    let scales_a = ScaleA::<Mxf4>::from_fn(warp, |_, _, _| ue8m0::ONE);
    let scales_b = ScaleB::<Mxf4>::from_fn(warp, |_, _, _| ue8m0::ONE);
    let (a, b) = ((&a, &scales_a), (&b, &scales_b));
    let mut acc = Accumulator::<M16N8K64, f32>::zero();
    MmaScaled::<M16N8K64, e2m1, e2m1, Mxf4, Select<1, 0>>::accumulate(warp, &mut acc, a, b);
    //~^ ERROR selects no scales of type
    //~| `BYTE` is 0 to 3 if there is one scale, 0 or 2 if there are two
}

fn main() {}
