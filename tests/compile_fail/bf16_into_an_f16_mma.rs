use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn multiply(block: &Block, #[shared] tile: SharedTile<bf16, 16, 16>) {
    let warp = block.warp();
    let a = FragmentA::<M16N8K16, bf16>::load(warp, &tile, (0, 0));
    let b = FragmentB::<M16N8K16, f16>::zero();
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    Mma::<M16N8K16, f16, f16, f32>::accumulate(warp, &mut acc, &a, &b);
    //~^ ERROR mismatched types
    //~| expected `&Fragment<RoleA, M16N8K16, f16>`, found `&Fragment<RoleA, M16N8K16, bf16>`
}

fn main() {}
