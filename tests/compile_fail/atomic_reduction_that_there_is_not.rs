//! Floating-point numbers have no atomic minimum.
use ptx_matrix::copy::reduction::Min;
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn least(block: &Block, d: GlobalMut<f32>) {
    block.warp().each(|lane| d.reduce(lane, Min, 0, 1.0));
    //~^ ERROR an atomic reduction of `f32` by `Min` does not exist
    //~| the table of `ptx_matrix::copy::reduction::AtomicReduction` says which elements have which
    //~> reductions
}

fn main() {}
