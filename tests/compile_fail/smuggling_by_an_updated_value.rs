//! The argument of `update`'s closure is no capture, but it could carry a value out as well.

use ptx_matrix::prelude::*;
use std::cell::Cell;

#[kernel(threads = 32)]
fn by_a_cell(block: &Block) {
    let cell = Cell::new(0);
    let mut cells = PerLane::splat(&cell);
    block.warp().update(&mut cells, |lane, cell| cell.set(lane.id()));
    //~^ ERROR a lane closure must not capture a `Cell`, a raw pointer, a warp
}

#[kernel(threads = 32)]
fn by_the_warp(block: &Block) {
    let warp = block.warp();
    let mut warps = PerLane::splat(warp);
    warp.update(&mut warps, |_, warp| warp.sync());
    //~^ ERROR a lane closure must not capture a `Cell`, a raw pointer, a warp
}

fn main() {}
