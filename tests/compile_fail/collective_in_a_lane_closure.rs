//! Only some lanes would reach the load.
use ptx_matrix::mma::{B16, LdMatrix, NoTrans, X1};
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn load(block: &Block, #[shared] tile: SharedTile<u16, 8, 8>) {
    let warp = block.warp();
    let rows = warp.each(|lane| tile.row((lane.id() % 8, 0)));
    warp.each(|lane| {
        //~^ ERROR a lane closure must not capture a `Cell`, a raw pointer, a warp
        //~| this lane closure captures one of them
        //~| collectives (`sync`, `load`, `accumulate`, ...) belong outside of it
        if lane.id() < 16 {
            LdMatrix::<X1, NoTrans, B16>::load(warp, rows);
        }
    });
}

fn main() {}
