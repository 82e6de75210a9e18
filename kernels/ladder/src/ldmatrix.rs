//! Step 2, tensor cores: `mma.sync` multiplies fragments that `ldmatrix` loads.
//!
//! Data flow, for each k-tile: `global A, B -cp.async-> shared tiles -ldmatrix-> fragments -mma->
//! accumulators`.
//!
//! A warp computes a 64 x 32 warp tile of D, 16 x 8 per instruction. `cp.async` copies the tiles
//! without registers in between. But the block waits for the copies, and multiplies nothing
//! meanwhile.

use super::TILE;
use super::warp_tile::{Accumulators, TileA, TileB};
use ptx_matrix::copy::CpAsync;
use ptx_matrix::prelude::*;

/// D = A x B: `m` x `n` in tiles of [`TILE`]; the grid is n / 128 x m / 128.
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
    let mut acc = Accumulators::zero();
    for step in (0..k).step_by(TILE.2) {
        tile_a.copy_async(block, a, |row, i| (top + row) * k + step + i);
        tile_b.copy_async(block, b, |i, col| (step + i) * n + left + col);
        CpAsync::<16>::commit(warp);
        CpAsync::<16>::wait::<0>(warp);
        block.sync();
        acc.multiply(warp, tile_a, tile_b);
        block.sync();
    }
    acc.store(warp, d, n, (top, left));
}
