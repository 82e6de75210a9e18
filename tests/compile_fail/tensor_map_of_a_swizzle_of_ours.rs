use ptx_matrix::prelude::*;

#[kernel(threads = 32, target = "sm_90")]
fn nothing(_: &Block, map: TensorMap<SharedTile<u16, 8, 64>, 2>) {
    //~^^ ERROR TMA does not have the swizzle `Unswizzled`
    //~| TMA has `Unswizzled128`, `Swizzle32`, `Swizzle64` and `Swizzle128`
    //~^^^ ERROR TMA does not have the swizzle `Unswizzled`
    let _ = map;
}

fn main() {}
