//! What there is to do: tiles of D, of each product of a batch, in parts of K.

use crate::kernels::block_product::raster;
use crate::kernels::groups::Group;

/// The tiles of all products.
#[derive(Clone, Copy)]
pub struct Work {
    /// Rows, columns, and K.
    pub sides: (u32, u32, u32),
    /// The K of each part but the last.
    pub k_part: u32,
    /// Products.
    pub batches: u32,
    /// Whether the blocks of a cluster compute tiles beside each other, and not below.
    pub across: bool,
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
    /// How many rows, and columns, there are from its first on: those to bring, that is, whatever becomes of them.
    pub inside: (u32, u32),
    /// The elements of K.
    pub inner: u32,
    /// The group of rows that it is of; none, if it is of a product of a batch.
    pub group: Option<Group>,
}

impl Unit {
    /// Which of the matrices B it takes: its group's, or its product's.
    #[inline(always)]
    pub fn of_b(&self) -> u32 {
        self.group.map_or(self.batch, |group| group.index)
    }

    /// What is left behind so many elements of K.
    #[inline(always)]
    pub fn behind(self, inner: u32) -> Option<Self> {
        let (row, col, first) = self.start;
        (self.inner > inner).then(|| Unit { start: (row, col, first + inner), inner: self.inner - inner, ..self })
    }
}

impl Work {
    /// Tiles of D that blocks go down before they go right.
    pub const TILES_DOWN: u32 = 8;

    /// What the block of this rank does of unit `index`: of `BLOCKS` tiles of `M` x `N`. Those of a part of a product are behind each other.
    #[inline(always)]
    pub fn unit<const M: usize, const N: usize, const BLOCKS: usize>(self, index: u32, rank: u32) -> Unit {
        let (down, right) = self.counts::<M, N, BLOCKS>();
        let matrix = index / (down * right);
        let group = if self.across { Self::TILES_DOWN } else { Self::TILES_DOWN / BLOCKS as u32 };
        let (row, col) = raster(index % (down * right), group, down, right);
        let (row, col) =
            if self.across { (row, col * BLOCKS as u32 + rank) } else { (row * BLOCKS as u32 + rank, col) };
        let (part, batch) = (matrix / self.batches, matrix % self.batches);
        let first = part * self.k_part;
        let (row, col) = (row * M as u32, col * N as u32);
        let inside = (self.sides.0.saturating_sub(row), self.sides.1.saturating_sub(col));
        let inner = (self.sides.2 - first).min(self.k_part);
        Unit { batch, matrix, start: (row, col, first), inside, inner, group: None }
    }

    /// How many units there are.
    #[inline(always)]
    pub fn units<const M: usize, const N: usize, const BLOCKS: usize>(self) -> u32 {
        let (down, right) = self.counts::<M, N, BLOCKS>();
        down * right * self.batches * self.sides.2.div_ceil(self.k_part)
    }

    /// The units of a product: below each other, and beside each other.
    #[inline(always)]
    fn counts<const M: usize, const N: usize, const BLOCKS: usize>(self) -> (u32, u32) {
        let (rows, cols, _) = self.sides;
        let (m, n) = if self.across { (M, BLOCKS * N) } else { (BLOCKS * M, N) };
        (rows.div_ceil(m as u32), cols.div_ceil(n as u32))
    }
}
