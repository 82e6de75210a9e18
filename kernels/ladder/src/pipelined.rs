//! Step 3, a multistage pipeline: the copies of the next k-tiles overlap the multiplication.
//!
//! Data flow in k-tile `i`, both at once:
//! - `global A, B -cp.async-> stage (i + 3) % 4`
//! - `stage i % 4 -ldmatrix-> fragments -mma-> accumulators`
//!
//! The tiles use a ring of four stages. Each k-tile waits for the oldest copies only. It then
//! refills the stage that the previous k-tile has released.

use super::TILE;
use super::warp_tile::{Accumulators, TileA, TileB};
use ptx_matrix::copy::CpAsync;
use ptx_matrix::memory::{RingIndex, Swizzle};
use ptx_matrix::prelude::*;

/// Stages of the ring.
const STAGES: usize = 4;
/// Groups of copies that may be in flight during a multiplication.
const IN_FLIGHT: u32 = STAGES as u32 - 2;

/// D = A x B: `m` x `n` in tiles of [`TILE`]; the grid is n / 128 x m / 128.
#[kernel(threads = 256, target = "sm_80")]
pub fn pipelined_bf16(
    block: &Block,
    #[shared] stages: SharedRing<(TileA<Unswizzled>, TileB<Unswizzled>), STAGES>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<bf16>,
    n: usize,
    k: usize,
) {
    gemm(block, stages, a, b, d, n, k);
}

/// The GEMM, for tiles of any swizzle.
#[inline]
pub(super) fn gemm<SA: Swizzle, SB: Swizzle>(
    block: &Block,
    stages: SharedRing<(TileA<SA>, TileB<SB>), STAGES>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<bf16>,
    n: usize,
    k: usize,
) {
    let warp = block.warp();
    let (top, left) = (block.index().y as usize * TILE.0, block.index().x as usize * TILE.1);
    let steps = k / TILE.2;
    let start = |step: usize, stage: RingIndex<STAGES>| {
        let (tile_a, tile_b) = stages.stage(stage);
        if step < steps {
            tile_a.copy_async(block, a, |row, i| (top + row) * k + step * TILE.2 + i);
            tile_b.copy_async(block, b, |i, col| (step * TILE.2 + i) * n + left + col);
        }
        // After the last k-tile, the groups are empty, and the waits stay the same.
        CpAsync::<16>::commit(warp);
    };

    let mut stage = RingIndex::FIRST;
    for step in 0..STAGES - 1 {
        start(step, stage);
        stage = stage.next();
    }
    let mut acc = Accumulators::zero();
    stage = RingIndex::FIRST;
    for step in 0..steps {
        CpAsync::<16>::wait::<IN_FLIGHT>(warp);
        // The copies of all threads have landed, and all warps have multiplied the previous k-tile,
        // whose stage is refilled next.
        block.sync();
        start(step + STAGES - 1, stage.before());
        let (tile_a, tile_b) = stages.stage(stage);
        acc.multiply(warp, tile_a, tile_b);
        stage = stage.next();
    }
    acc.store(warp, d, n, (top, left));
}
