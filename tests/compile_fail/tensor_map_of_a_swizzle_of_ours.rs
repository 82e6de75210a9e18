use ptx_matrix::*;

#[kernel(threads = 32, target = "sm_90")]
fn prefetch(block: &Block, map: TensorMap<SharedTile<u16, 8, 64>, 2>) {
    //~^ ERROR tensor copies do not know the swizzle `Unswizzled`
    block.warp().elect(|lane| map.prefetch(lane));
}

fn main() {}
