//! Step 4: the same, with the tiles swizzled.
//!
//! The eight rows of a matrix that `ldmatrix` loads lie in the same banks of shared memory if they
//! are 128 bytes or more apart, and come one after the other; swizzled, they lie in different ones,
//! and come at once. The types of the tiles say so; nothing else changes.

use super::pipelined::product;
use super::warp_tile::{TileA, TileB};
use ptx_matrix::prelude::*;

/// D = A x B: `m` x `n` by blocks of [`TILE`](super::TILE), n / 128 x m / 128 of them.
#[kernel(threads = 256, target = "sm_80")]
pub fn swizzled_bf16(
    block: &Block,
    #[shared] stages: SharedRing<(TileA<Swizzle64>, TileB<Swizzle128>), 4>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<bf16>,
    n: usize,
    k: usize,
) {
    product(block, stages, a, b, d, n, k);
}
