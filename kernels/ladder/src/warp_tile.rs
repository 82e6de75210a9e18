//! The warp tile: the part of the block's tile that one warp computes, from `ldmatrix` on.

use super::TILE;
use core::array::from_fn;
use ptx_matrix::memory::Swizzle;
use ptx_matrix::prelude::*;

/// The block's tiles of A and B in one k-tile.
pub type TileA<S> = SharedTile<bf16, { TILE.0 }, { TILE.2 }, S>;
pub type TileB<S> = SharedTile<bf16, { TILE.2 }, { TILE.1 }, S>;

/// The warp tile, M x N. The block's eight warps are two along M, four along N.
const WARP: (usize, usize) = (64, 32);

/// A warp's accumulators: fragments of 16 x 8.
pub struct Accumulators([[Accumulator<M16N8K16, f32>; WARP.1 / 8]; WARP.0 / 16]);

/// The origin of the warp tile in the block's tile.
fn place(warp: Warp<'_>) -> (usize, usize) {
    (warp.index() / 4 * WARP.0, warp.index() % 4 * WARP.1)
}

impl Accumulators {
    #[inline]
    pub fn zero() -> Self {
        Accumulators(Zeroable::zeroed())
    }

    /// Accumulates the warp tile over one k-tile.
    #[inline]
    pub fn multiply<SA: Swizzle, SB: Swizzle>(
        &mut self,
        warp: Warp<'_>,
        tile_a: TileA<SA>,
        tile_b: TileB<SB>,
    ) {
        let (down, right) = place(warp);
        for i in (0..TILE.2).step_by(16) {
            let a: [FragmentA<M16N8K16, bf16>; 4] =
                from_fn(|row| FragmentA::load(warp, &tile_a, (down + row * 16, i)));
            let b: [FragmentB<M16N8K16, bf16>; 4] =
                from_fn(|col| FragmentB::load(warp, &tile_b, (i, right + col * 8)));
            for (acc_row, a) in self.0.iter_mut().zip(&a) {
                for (acc, b) in acc_row.iter_mut().zip(&b) {
                    Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, acc, a, b);
                }
            }
        }
    }

    /// Stores the accumulators to D, which has `n` columns; the block's tile starts at (top, left).
    #[inline]
    pub fn store(&self, warp: Warp<'_>, d: GlobalMut<bf16>, n: usize, (top, left): (usize, usize)) {
        let (down, right) = place(warp);
        for (i, acc_row) in self.0.iter().enumerate() {
            for (j, acc) in acc_row.iter().enumerate() {
                let (top, left) = (top + down + i * 16, left + right + j * 8);
                acc.for_each(warp, |row, col, value| {
                    d.set((top + row) * n + left + col, bf16::from_f32(value))
                });
            }
        }
    }
}
