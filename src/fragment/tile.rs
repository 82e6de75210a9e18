//! The size and the swizzle of a tile, as numbers.

/// The size of a matrix, of a tile, or of a part of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileSize {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
}

/// The address bits that a swizzle XORs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwizzleBits {
    /// The number of bits; 0 without a swizzle.
    pub bits: u32,
    /// The lowest of them.
    pub base: u32,
}
