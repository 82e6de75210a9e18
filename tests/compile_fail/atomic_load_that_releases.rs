//! A load cannot release, and a store cannot acquire.

use ptx_matrix::prelude::*;
use ptx_matrix::sync::{Acquire, Release};

#[kernel(threads = 32)]
fn wrong(block: &Block, flag: GlobalAtomic<u32>) {
    block.warp().each(|lane| {
        flag.load(lane, 0, Release);
        //~^ ERROR an atomic load cannot have the order `ptx_matrix::sync::Release`
        //~| `Relaxed` and `Acquire` are the orders of loads
        flag.store(lane, 0, 1, Acquire);
        //~^ ERROR an atomic store cannot have the order `ptx_matrix::sync::Acquire`
        //~| `Relaxed` and `Release` are the orders of stores
    });
}

fn main() {}
