//! An element of 16 bits has atomic reductions only.

use ptx_matrix::prelude::*;
use ptx_matrix::sync::Relaxed;

#[kernel(threads = 32)]
fn wrong(block: &Block, flags: GlobalAtomic<f16>) {
    block.warp().each(|lane| {
        flags.exchange(lane, 0, f16::ONE, Relaxed);
        //~^ ERROR `ptx_matrix::element::f16` has no atomic loads, stores and exchanges
    });
}

fn main() {}
