//! How the tiles of A and B come to shared memory.

use ptx_matrix::*;

/// Brings tiles of a matrix to shared memory, one behind the other.
pub trait Source<'k, Tile: ReadTile>: Sized {
    /// What a thread holds of a tile that is on its way.
    type Held;

    /// The source of the tiles from (row, col) of a matrix on.
    fn new(
        block: &Block,
        matrix: GlobalMatrix<'k, Tile::Element, Tile::Order>,
        at: (usize, usize),
        along: Along,
    ) -> Self;

    /// Goes on by so many tiles, or back.
    fn advance(&mut self, tiles: isize);

    /// Starts to bring the next tile, which may be the matrix's last, and not whole.
    fn fill(&self, block: &Block, tile: &Tile);

    /// Starts to bring those elements of the next tile that are part `part` of `parts`, if the matrix has the whole tile along K.
    fn fetch(&self, block: &Block, tile: &Tile, part: usize, parts: usize) -> Self::Held;

    /// Stores what is held of that part.
    fn put(&self, block: &Block, tile: &Tile, held: &Self::Held, part: usize, parts: usize);

    /// Makes a group of what was started since the last one.
    fn commit(warp: Warp<'_>);

    /// Waits until at most the `N` newest groups are on their way.
    fn wait<const N: u32>(warp: Warp<'_>);
}

/// Through registers: on any GPU.
impl<'k, Tile: ReadTile, P: Piece, const COPIES: usize> Source<'k, Tile> for PieceReader<'k, Tile, P, COPIES> {
    type Held = Fetched<P, COPIES>;

    #[inline(always)]
    fn new(
        block: &Block,
        matrix: GlobalMatrix<'k, Tile::Element, Tile::Order>,
        at: (usize, usize),
        along: Along,
    ) -> Self {
        PieceReader::new(block, matrix, at, along)
    }

    #[inline(always)]
    fn advance(&mut self, tiles: isize) {
        PieceReader::advance(self, tiles);
    }

    #[inline(always)]
    fn fill(&self, block: &Block, tile: &Tile) {
        PieceReader::put(self, block, tile, &PieceReader::fetch(self, block, 0, 1), 0, 1);
    }

    #[inline(always)]
    fn fetch(&self, block: &Block, _: &Tile, part: usize, parts: usize) -> Self::Held {
        PieceReader::fetch(self, block, part, parts)
    }

    #[inline(always)]
    fn put(&self, block: &Block, tile: &Tile, held: &Self::Held, part: usize, parts: usize) {
        PieceReader::put(self, block, tile, held, part, parts);
    }

    #[inline(always)]
    fn commit(_: Warp<'_>) {}

    #[inline(always)]
    fn wait<const N: u32>(_: Warp<'_>) {}
}

/// By `cp.async`, from sm_80 on.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod asynchronous {
    use super::*;

    #[inline(always)]
    fn commit(warp: Warp<'_>) {
        CpAsync::<16>::commit(warp);
    }

    #[inline(always)]
    fn wait<const N: u32>(warp: Warp<'_>) {
        CpAsync::<16>::wait::<N>(warp);
    }

    /// Lines that start at multiples of 16 bytes.
    impl<'k, Tile: ReadTile, const COPIES: usize> Source<'k, Tile> for TileReader<'k, Tile, COPIES> {
        type Held = ();

        #[inline(always)]
        fn new(
            block: &Block,
            matrix: GlobalMatrix<'k, Tile::Element, Tile::Order>,
            at: (usize, usize),
            along: Along,
        ) -> Self {
            TileReader::new(block, matrix, at, along)
        }

        #[inline(always)]
        fn advance(&mut self, tiles: isize) {
            TileReader::advance(self, tiles);
        }

        #[inline(always)]
        fn fill(&self, block: &Block, tile: &Tile) {
            self.copy(block, tile);
        }

        #[inline(always)]
        fn fetch(&self, block: &Block, tile: &Tile, part: usize, parts: usize) {
            self.copy_part(block, tile, part, parts);
        }

        #[inline(always)]
        fn put(&self, _: &Block, _: &Tile, (): &(), _: usize, _: usize) {}

        #[inline(always)]
        fn commit(warp: Warp<'_>) {
            commit(warp);
        }

        #[inline(always)]
        fn wait<const N: u32>(warp: Warp<'_>) {
            wait::<N>(warp);
        }
    }
}
