//! Step 4, swizzled tiles: `ldmatrix` without bank conflicts.
//!
//! The data flow is that of [`pipelined`](super::pipelined); only the places within the shared
//! tiles change.
//!
//! `ldmatrix` loads matrices of eight rows of 16 bytes. If these rows are 128 bytes or a multiple
//! apart, they are in the same banks, and are read one after the other. In a swizzled tile they are
//! in different banks, and are read at once. The swizzle is part of the tiles' types; nothing else
//! changes.

use super::pipelined::gemm;
use super::warp_tile::{TileA, TileB};
use ptx_matrix::prelude::*;

/// D = A x B: `m` x `n` in tiles of [`TILE`](super::TILE); the grid is n / 128 x m / 128.
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
    gemm(block, stages, a, b, d, n, k);
}
