//! Step 3: while one step is multiplied, the next three are on their way.
//!
//! The tiles go round a ring of four stages. A step waits for the oldest copies only, and starts
//! those that fill the stage which the step before it has left.

use super::TILE;
use super::warp_tile::{Sums, TileA, TileB};
use ptx_matrix::copy::CpAsync;
use ptx_matrix::memory::{RingIndex, Swizzle};
use ptx_matrix::prelude::*;

/// Stages of the ring.
const STAGES: usize = 4;
/// Copies that may be in flight while a step is multiplied.
const IN_FLIGHT: u32 = STAGES as u32 - 2;

/// D = A x B: `m` x `n` by blocks of [`TILE`], n / 128 x m / 128 of them.
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
    product(block, stages, a, b, d, n, k);
}

/// The product, with tiles of any swizzle.
#[inline(always)]
pub(super) fn product<SA: Swizzle, SB: Swizzle>(
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
        // Behind the last step the groups are empty, and the waits stay the same.
        CpAsync::<16>::commit(warp);
    };

    let mut stage = RingIndex::FIRST;
    for step in 0..STAGES - 1 {
        start(step, stage);
        stage = stage.next();
    }
    let mut sums = Sums::zero();
    stage = RingIndex::FIRST;
    for step in 0..steps {
        CpAsync::<16>::wait::<IN_FLIGHT>(warp);
        // What the others copied has landed too, and all have multiplied the step before, whose
        // stage is filled next.
        block.sync();
        start(step + STAGES - 1, stage.before());
        let (tile_a, tile_b) = stages.stage(stage);
        sums.multiply(warp, tile_a, tile_b);
        stage = stage.next();
    }
    sums.store(warp, d, n, (top, left));
}
