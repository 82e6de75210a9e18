//! Shared memory by element, and more of it than the static limit.

use ptx_matrix::prelude::*;

/// The sides of the tiles: two of them are 64 KiB, the most that a block of sm_75 can have.
pub const SIDE: usize = 128;

/// Transposes a matrix through two tiles, by eight warps: each thread reads elements of others.
#[kernel(threads = 256)]
pub fn transpose(
    block: &Block,
    #[shared] tiles: [SharedTile<u16, SIDE, SIDE, Swizzle128>; 2],
    source: Global<u16>,
    out: GlobalMut<u16>,
) {
    let [first, second] = tiles;
    first.fill(block, |row, col| source.get(row * SIDE + col));
    block.sync();
    first.for_each(block, |row, col, value| second.set((col, row), value));
    block.sync();
    second.for_each(block, |row, col, value| out.set(row * SIDE + col, value));
}
