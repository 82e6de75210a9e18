use ptx_matrix::copy::CpAsync;
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn copy(block: &Block) {
    CpAsync::<5>::commit(block.warp());
    //~^ ERROR `cp.async` copies 4, 8 or 16 bytes: there is no `
}

fn main() {}
