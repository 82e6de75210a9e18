//! Shared memory by element and by vector, and more of it than the static limit.

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

/// The number of elements that `mirror_vectors` mirrors.
pub const NUMBERS: usize = 256;
/// The elements of its vectors.
pub const SIZES: [usize; 4] = [1, 2, 4, 8];

/// Mirrors the order of the vectors of each size, through a swizzled tile.
#[kernel(threads = 32)]
pub fn mirror_vectors(
    block: &Block,
    #[shared] tile: SharedTile<u16, 4, 64, Swizzle128>,
    source: Global<u16>,
    out: GlobalMut<u16>,
) {
    mirror::<1>(block, tile, source, out);
    mirror::<2>(block, tile, source, out.skip(NUMBERS));
    mirror::<4>(block, tile, source, out.skip(2 * NUMBERS));
    mirror::<8>(block, tile, source, out.skip(3 * NUMBERS));
}

fn mirror<const N: usize>(
    block: &Block,
    tile: SharedTile<u16, 4, 64, Swizzle128>,
    source: Global<u16>,
    out: GlobalMut<u16>,
) {
    let warp = block.warp();
    let starts = |lane: Lane| (lane.id() * 8..lane.id() * 8 + 8).step_by(N);
    block.sync();
    warp.each(|lane| {
        for at in starts(lane) {
            tile.set_vector((at / 64, at % 64), source.get_vector::<N>(at));
        }
    });
    block.sync();
    warp.each(|lane| {
        for at in starts(lane) {
            let from = NUMBERS - N - at;
            out.set_vector::<N>(at, tile.get_vector(lane, (from / 64, from % 64)));
        }
    });
}
