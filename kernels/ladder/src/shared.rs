//! Step 1, tiling: the operands of a block are loaded into shared memory, once.
//!
//! Data flow, for each k-tile: `global A, B -> registers -> shared tiles -> registers ->
//! multiply-add`.
//!
//! Each element of A is read from global memory by one thread of the block instead of 64. Each
//! thread computes 4 x 4 elements of D from registers (a thread tile). The arithmetic uses the CUDA
//! cores; the tensor cores are idle.

use core::array::from_fn;
use ptx_matrix::mma::Rounded;
use ptx_matrix::prelude::*;

/// The tile of a block, M x N x K. K is that of one k-tile.
pub const TILE: (usize, usize, usize) = (64, 64, 16);
const SIDE: usize = TILE.0;
const DEPTH: usize = TILE.2;
/// Rows and columns of a thread tile.
const OWN: usize = 4;

/// D = A x B: `m` x `n` in tiles of [`TILE`]; the grid is n / 64 x m / 64.
#[kernel(threads = 256)]
pub fn shared_bf16(
    block: &Block,
    #[shared] tile_a: SharedTile<bf16, SIDE, DEPTH>,
    #[shared] tile_b: SharedTile<bf16, DEPTH, SIDE>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<bf16>,
    n: usize,
    k: usize,
) {
    let warp = block.warp();
    let (top, left) = (block.index().y as usize * SIDE, block.index().x as usize * SIDE);
    let first = warp.index() * LANES;
    let place = |lane: Lane<'_>| ((first + lane.id()) / 16 * OWN, (first + lane.id()) % 16 * OWN);

    let mut acc = PerLane::splat([[0.0f32; OWN]; OWN]);
    for step in (0..k).step_by(DEPTH) {
        tile_a.fill(block, |row, i| a.get((top + row) * k + step + i));
        tile_b.fill(block, |i, col| b.get((step + i) * n + left + col));
        block.sync();
        warp.update(&mut acc, |lane, acc| {
            let (down, right) = place(lane);
            for i in 0..DEPTH {
                let a: [f32; OWN] = from_fn(|row| tile_a.get(lane, (down + row, i)).widen());
                let b: [f32; OWN] = from_fn(|col| tile_b.get(lane, (i, right + col)).widen());
                *acc = from_fn(|row| from_fn(|col| acc[row][col] + a[row] * b[col]));
            }
        });
        block.sync();
    }

    warp.each(|lane| {
        let (down, right) = place(lane);
        for (row, acc_row) in lane.get(&acc).iter().enumerate() {
            for (col, &sum) in acc_row.iter().enumerate() {
                d.set((top + down + row) * n + left + right + col, bf16::from_f32(sum));
            }
        }
    });
}
