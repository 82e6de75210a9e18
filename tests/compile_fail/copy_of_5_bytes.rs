use ptx_matrix::*;

#[kernel(threads = 32)]
fn copy(block: &Block) {
    CpAsync::<5>::commit(block.warp());
    //~^ ERROR `cp.async` copies 4, 8 or 16 bytes: there is no `
}

fn main() {}
