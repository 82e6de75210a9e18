use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn multiply(block: &Block, #[shared] tile: SharedTile<bf16, 16, 16>) {
    let warp = block.warp();
    let b = FragmentB::<M16N8K16, bf16>::load(warp, &tile, (0, 0));
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &b, &b);
    //~^ ERROR mismatched types
    //~| expected `&Fragment<RoleA, M16N8K16, bf16>`, found `&Fragment<RoleB, M16N8K16, bf16>`
}

fn main() {}
