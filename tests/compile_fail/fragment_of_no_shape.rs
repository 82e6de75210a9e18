use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn make(_: &Block) {
    let _ = FragmentA::<M16N8K16, f32>::zero();
    //~^ ERROR M16N8K16` has no fragments of role `RoleA` with elements of width `Bits32`
    //~^^ ERROR its trait bounds were not satisfied
}

fn main() {}
