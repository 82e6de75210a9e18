//! A kernel with a race, the simulator's report of it, and the fix.
//!
//! ```sh
//! cargo run --example race
//! ```

use ptx_matrix::prelude::*;

/// Each of two warps writes 32 numbers, and reads those of the other one.
#[kernel(threads = 64)]
fn exchange(block: &Block, #[shared] rows: SharedTile<u32, 2, 32>, d: GlobalMut<u32>, waits: u32) {
    let warp = block.warp();
    let (own, other) = (warp.index(), 1 - warp.index());
    warp.each(|lane| rows.set((own, lane.id()), (100 * own + lane.id()) as u32));
    // Without this, one warp may read before the other one has written.
    if waits != 0 {
        block.sync();
    }
    warp.each(|lane| d.set(32 * own + lane.id(), rows.get(lane, (other, lane.id()))));
}

fn main() {
    let mut d = [0; 64];
    let error = exchange::simulate(1, &mut d, 0).expect_err("the simulator finds the race");
    println!("{error}\n");

    exchange::simulate(1, &mut d, 1).check();
    println!("with `block.sync()`: warp 0 reads {}, warp 1 reads {}", d[0], d[32]);
    assert_eq!((d[0], d[32]), (100, 0));
}
