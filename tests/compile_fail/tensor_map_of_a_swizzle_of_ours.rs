use ptx_matrix::prelude::*;

#[kernel(threads = 32, target = "sm_90")]
fn nothing(_: &Block, map: TensorMap<SharedTile<u16, 8, 64>, 2>) {
    //~^^ ERROR tensor copies do not know the swizzle `Unswizzled`
    //~| they know `Unswizzled128`, `Swizzle32`, `Swizzle64` and `Swizzle128`
    //~^^^ ERROR tensor copies do not know the swizzle `Unswizzled`
    let _ = map;
}

fn main() {}
