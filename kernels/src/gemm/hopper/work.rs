//! What there is to do: tiles of D, of each product of a batch, in parts of K; and which block does what.

use crate::gemm::block_product::raster;

/// Tiles of D that blocks go down before they go right.
const GROUP: u32 = 8;

/// The tiles of all products.
#[derive(Clone, Copy)]
pub struct Work {
    /// Rows, columns, and K.
    pub sides: (u32, u32, u32),
    /// The K of each part but the last.
    pub k_part: u32,
    /// Products.
    pub batches: u32,
}

/// A tile of D to compute, or a part of its sums.
#[derive(Clone, Copy)]
pub struct Unit {
    /// The product.
    pub batch: u32,
    /// The matrix of sums: the product, behind those of earlier parts of K.
    pub matrix: u32,
    /// Its first row, column, and element of K.
    pub start: (u32, u32, u32),
    /// The elements of K.
    pub inner: u32,
}

impl Work {
    /// What the block of this rank does of unit `index`: of `BLOCKS` tiles of `M` x `N` below each other. Those of a part of a product are
    /// behind each other.
    #[inline(always)]
    pub fn unit<const M: usize, const N: usize, const BLOCKS: usize>(self, index: u32, rank: u32) -> Unit {
        let (rows, cols, inner) = self.sides;
        let (down, right) = (rows.div_ceil((BLOCKS * M) as u32), cols.div_ceil(N as u32));
        let matrix = index / (down * right);
        let (row, col) = raster(index % (down * right), GROUP / BLOCKS as u32, down, right);
        let (part, batch) = (matrix / self.batches, matrix % self.batches);
        let first = part * self.k_part;
        let start = ((row * BLOCKS as u32 + rank) * M as u32, col * N as u32, first);
        Unit { batch, matrix, start, inner: (inner - first).min(self.k_part) }
    }

    /// How many units there are.
    #[inline(always)]
    pub fn units<const M: usize, const N: usize, const BLOCKS: usize>(self) -> u32 {
        let (rows, cols, inner) = self.sides;
        rows.div_ceil((BLOCKS * M) as u32) * cols.div_ceil(N as u32) * self.batches * inner.div_ceil(self.k_part)
    }
}
