use ptx_matrix::copy::CpAsync;
use ptx_matrix::prelude::*;
use ptx_matrix::target;

#[kernel(threads = 32)]
fn copy(block: &Block) {
    CpAsync::<16, target::Sm75>::commit(block.warp());
    //~^ ERROR this instruction needs a GPU that is `AtLeast<80>`; this build is for `Sm75`
}

fn main() {}
