//! Step 2: the tensor cores multiply, on fragments that `ldmatrix` loads.
//!
//! A warp computes 64 x 32 elements of D, 16 x 8 by an instruction. `cp.async` brings the tiles,
//! past the registers; but the block waits for them, and multiplies nothing meanwhile.

use super::TILE;
use super::warp_tile::{Sums, TileA, TileB};
use ptx_matrix::copy::CpAsync;
use ptx_matrix::prelude::*;

/// D = A x B: `m` x `n` by blocks of [`TILE`], n / 128 x m / 128 of them.
#[kernel(threads = 256, target = "sm_80")]
pub fn ldmatrix_bf16(
    block: &Block,
    #[shared] tile_a: TileA<Unswizzled>,
    #[shared] tile_b: TileB<Unswizzled>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<bf16>,
    n: usize,
    k: usize,
) {
    let warp = block.warp();
    let (top, left) = (block.index().y as usize * TILE.0, block.index().x as usize * TILE.1);
    let mut sums = Sums::zero();
    for step in (0..k).step_by(TILE.2) {
        tile_a.copy_async(block, a, |row, i| (top + row) * k + step + i);
        tile_b.copy_async(block, b, |i, col| (step + i) * n + left + col);
        CpAsync::<16>::commit(warp);
        CpAsync::<16>::wait::<0>(warp);
        block.sync();
        sums.multiply(warp, tile_a, tile_b);
        block.sync();
    }
    sums.store(warp, d, n, (top, left));
}
