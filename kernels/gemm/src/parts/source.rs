//! Loaders of operand tiles by the threads of a block: `cp.async`, or through registers.

use ptx_matrix::copy::{
    Along, AsyncPiece, CpAsync, Fetched, Piece, ReadTile, TileReader, UnalignedReader,
};
use ptx_matrix::fragment::Order;
use ptx_matrix::memory::GlobalMatrix;
use ptx_matrix::prelude::*;

/// Loads consecutive tiles of a matrix into shared memory.
pub trait Source<'k, Tile: ReadTile>: Sized {
    /// The matrix.
    type Matrix: Copy;
    /// The elements that a thread holds while a tile is in flight.
    type InRegisters;
    /// The copy groups, to wait for.
    type CopyGroups: CopyGroups;
    /// The alignment of the matrix's rows or columns, in bytes.
    const ALIGNMENT: usize;
    /// The matrix's order where it must be the tiles' order; none where it is a runtime argument.
    const ROW_MAJOR: Option<bool>;
    /// The parts of a tile in [`fill`](Self::fill).
    const FILL_PARTS: usize;

    /// Makes the matrix of `rows` x `cols` at the start of a k-split, with leading dimension
    /// `stride`.
    #[track_caller]
    fn matrix(
        row_major: bool,
        elements: Global<'k, Tile::Element>,
        rows: usize,
        cols: usize,
        stride: usize,
    ) -> Self::Matrix;

    /// Makes the loader of the tiles from (row, column) `at` on.
    fn new(block: &Block, matrix: Self::Matrix, at: (usize, usize), along: Along) -> Self;

    /// Advances by a number of tiles, or goes back.
    fn advance(&mut self, tiles: isize);

    /// Starts to load a part of the next tile. The tile may be the matrix's last, and partial. The
    /// default is for a source whose [`fetch`](Self::fetch) also takes partial tiles.
    #[inline]
    fn fill(&self, block: &Block, tile: &Tile, part: usize) -> Self::InRegisters {
        self.fetch(block, tile, part, Self::FILL_PARTS)
    }

    /// Starts to load part `part` of `parts` of the next tile, which must be whole along K.
    fn fetch(&self, block: &Block, tile: &Tile, part: usize, parts: usize) -> Self::InRegisters;

    /// Stores the held elements of that part.
    fn put(&self, block: &Block, tile: &Tile, held: &Self::InRegisters, part: usize, parts: usize);
}

/// The parts in which a tile is loaded with `pieces` loads for each thread. At most 32 are in
/// flight together.
const fn fill_parts(pieces: usize) -> usize {
    pieces.div_ceil(32)
}

/// Groups of loads in flight: those of `cp.async`, or none.
pub trait CopyGroups {
    /// Commits the loads since the last commit as a group.
    fn commit(warp: Warp<'_>);

    /// Waits until at most the `N` newest groups are in flight.
    fn wait<const N: u32>(warp: Warp<'_>);
}

/// No groups: loads in flight are in registers, and nothing waits for them.
pub struct NoCopyGroups;

impl CopyGroups for NoCopyGroups {
    #[inline]
    fn commit(_: Warp<'_>) {}

    #[inline]
    fn wait<const N: u32>(_: Warp<'_>) {}
}

/// Through registers, on any GPU.
impl<'k, Tile: ReadTile, P: Piece, const COPIES: usize> Source<'k, Tile>
    for UnalignedReader<'k, Tile, P, COPIES>
{
    type Matrix = GlobalMatrix<'k, Tile::Element, Tile::Order>;
    type InRegisters = Fetched<P, COPIES>;
    type CopyGroups = NoCopyGroups;
    const ALIGNMENT: usize = size_of::<P>();
    const ROW_MAJOR: Option<bool> = Some(Tile::Order::ROW_MAJOR);
    const FILL_PARTS: usize = fill_parts(COPIES);

    #[inline]
    fn matrix(
        _: bool,
        elements: Global<'k, Tile::Element>,
        rows: usize,
        cols: usize,
        stride: usize,
    ) -> Self::Matrix {
        GlobalMatrix::new(elements, rows, cols, stride)
    }

    #[inline]
    fn new(block: &Block, matrix: Self::Matrix, at: (usize, usize), along: Along) -> Self {
        UnalignedReader::new(block, matrix, at, along)
    }

    #[inline]
    fn advance(&mut self, tiles: isize) {
        UnalignedReader::advance(self, tiles);
    }

    #[inline]
    fn fetch(&self, block: &Block, _: &Tile, part: usize, parts: usize) -> Self::InRegisters {
        UnalignedReader::fetch(self, block, part, parts)
    }

    #[inline]
    fn put(&self, block: &Block, tile: &Tile, held: &Self::InRegisters, part: usize, parts: usize) {
        UnalignedReader::put(self, block, tile, held, part, parts);
    }
}

/// By `cp.async`, from sm_80 on.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod asynchronous {
    use super::*;

    /// Loads in flight are `cp.async` groups.
    pub struct CpAsyncGroups;

    impl CopyGroups for CpAsyncGroups {
        #[inline]
        fn commit(warp: Warp<'_>) {
            CpAsync::<16>::commit(warp);
        }

        #[inline]
        fn wait<const N: u32>(warp: Warp<'_>) {
            CpAsync::<16>::wait::<N>(warp);
        }
    }

    /// Rows or columns that start at multiples of 16 bytes.
    impl<'k, Tile: ReadTile, const COUNT: usize> Source<'k, Tile> for TileReader<'k, Tile, COUNT> {
        type Matrix = GlobalMatrix<'k, Tile::Element, Tile::Order>;
        type InRegisters = ();
        type CopyGroups = CpAsyncGroups;
        const ALIGNMENT: usize = 16;
        const ROW_MAJOR: Option<bool> = Some(Tile::Order::ROW_MAJOR);
        const FILL_PARTS: usize = 1;

        #[inline]
        fn matrix(
            _: bool,
            elements: Global<'k, Tile::Element>,
            rows: usize,
            cols: usize,
            stride: usize,
        ) -> Self::Matrix {
            GlobalMatrix::new(elements, rows, cols, stride)
        }

        #[inline]
        fn new(block: &Block, matrix: Self::Matrix, at: (usize, usize), along: Along) -> Self {
            TileReader::new(block, matrix, at, along)
        }

        #[inline]
        fn advance(&mut self, tiles: isize) {
            TileReader::advance(self, tiles);
        }

        #[inline]
        fn fill(&self, block: &Block, tile: &Tile, _: usize) {
            self.copy(block, tile);
        }

        #[inline]
        fn fetch(&self, block: &Block, tile: &Tile, part: usize, parts: usize) {
            self.copy_part(block, tile, part, parts);
        }

        #[inline]
        fn put(&self, _: &Block, _: &Tile, (): &(), _: usize, _: usize) {}
    }

    /// A matrix whose order is known at run time only. Its tiles have one fixed order.
    #[derive(Clone, Copy)]
    pub enum InAnyOrder<'k, T: Element> {
        /// Row-major.
        Rows(GlobalMatrix<'k, T, RowMajor>),
        /// Column-major.
        Cols(GlobalMatrix<'k, T, ColMajor>),
    }

    impl<'k, T: Element> InAnyOrder<'k, T> {
        /// Makes the matrix of `rows` x `cols` at the start of a k-split, with leading dimension
        /// `stride`.
        #[inline]
        #[track_caller]
        fn new(
            row_major: bool,
            elements: Global<'k, T>,
            rows: usize,
            cols: usize,
            stride: usize,
        ) -> Self {
            if row_major {
                Self::Rows(GlobalMatrix::new(elements, rows, cols, stride))
            } else {
                Self::Cols(GlobalMatrix::new(elements, rows, cols, stride))
            }
        }
    }

    /// Unaligned rows or columns, of elements that `cp.async` copies as `P`: 4 or 8 bytes.
    pub enum Words<'k, Tile: ReadTile, P: AsyncPiece, const COPIES: usize> {
        /// Of a row-major matrix.
        Rows(UnalignedReader<'k, Tile, P, COPIES, RowMajor>),
        /// Of a column-major matrix.
        Cols(UnalignedReader<'k, Tile, P, COPIES, ColMajor>),
    }

    impl<'k, Tile: ReadTile, P: AsyncPiece, const COPIES: usize> Source<'k, Tile>
        for Words<'k, Tile, P, COPIES>
    {
        type Matrix = InAnyOrder<'k, Tile::Element>;
        type InRegisters = ();
        type CopyGroups = CpAsyncGroups;
        const ALIGNMENT: usize = size_of::<Tile::Element>();
        const ROW_MAJOR: Option<bool> = None;
        const FILL_PARTS: usize = fill_parts(COPIES);

        #[inline]
        fn matrix(
            row_major: bool,
            elements: Global<'k, Tile::Element>,
            rows: usize,
            cols: usize,
            stride: usize,
        ) -> Self::Matrix {
            InAnyOrder::new(row_major, elements, rows, cols, stride)
        }

        #[inline]
        fn new(block: &Block, matrix: Self::Matrix, at: (usize, usize), along: Along) -> Self {
            match matrix {
                InAnyOrder::Rows(matrix) => {
                    Self::Rows(UnalignedReader::new(block, matrix, at, along))
                }
                InAnyOrder::Cols(matrix) => {
                    Self::Cols(UnalignedReader::new(block, matrix, at, along))
                }
            }
        }

        #[inline]
        fn advance(&mut self, tiles: isize) {
            match self {
                Self::Rows(reader) => reader.advance(tiles),
                Self::Cols(reader) => reader.advance(tiles),
            }
        }

        #[inline]
        fn fetch(&self, block: &Block, tile: &Tile, part: usize, parts: usize) {
            match self {
                Self::Rows(reader) => reader.copy(block, tile, part, parts),
                Self::Cols(reader) => reader.copy(block, tile, part, parts),
            }
        }

        #[inline]
        fn put(&self, _: &Block, _: &Tile, (): &(), _: usize, _: usize) {}
    }

    /// Unaligned rows or columns, of smaller elements. If the matrix has the tile's order and its
    /// rows or columns start at multiples of 4 bytes, `cp.async` copies pieces of 4 bytes.
    /// Otherwise single elements go through registers, as `P`.
    pub enum Elements<'k, Tile: ReadTile, P: Piece, const WORDS: usize, const COPIES: usize> {
        /// In pieces of 4 bytes.
        Words(UnalignedReader<'k, Tile, u32, WORDS>),
        /// By element, of a row-major matrix.
        Rows(UnalignedReader<'k, Tile, P, COPIES, RowMajor>),
        /// By element, of a column-major matrix.
        Cols(UnalignedReader<'k, Tile, P, COPIES, ColMajor>),
    }

    impl<'k, Tile, P, const WORDS: usize, const COPIES: usize> Source<'k, Tile>
        for Elements<'k, Tile, P, WORDS, COPIES>
    where
        Tile: ReadTile<Order: Select>,
        P: Piece,
    {
        type Matrix = InAnyOrder<'k, Tile::Element>;
        type InRegisters = Fetched<P, COPIES>;
        type CopyGroups = CpAsyncGroups;
        const ALIGNMENT: usize = size_of::<Tile::Element>();
        const ROW_MAJOR: Option<bool> = None;
        const FILL_PARTS: usize = fill_parts(COPIES);

        #[inline]
        fn matrix(
            row_major: bool,
            elements: Global<'k, Tile::Element>,
            rows: usize,
            cols: usize,
            stride: usize,
        ) -> Self::Matrix {
            InAnyOrder::new(row_major, elements, rows, cols, stride)
        }

        #[inline]
        fn new(block: &Block, matrix: Self::Matrix, at: (usize, usize), along: Along) -> Self {
            if let Some(matrix) = Tile::Order::select(matrix)
                && matrix.lines_start_at_multiples_of(size_of::<u32>())
            {
                return Self::Words(UnalignedReader::new(block, matrix, at, along));
            }
            match matrix {
                InAnyOrder::Rows(matrix) => {
                    Self::Rows(UnalignedReader::new(block, matrix, at, along))
                }
                InAnyOrder::Cols(matrix) => {
                    Self::Cols(UnalignedReader::new(block, matrix, at, along))
                }
            }
        }

        #[inline]
        fn advance(&mut self, tiles: isize) {
            match self {
                Self::Words(reader) => reader.advance(tiles),
                Self::Rows(reader) => reader.advance(tiles),
                Self::Cols(reader) => reader.advance(tiles),
            }
        }

        #[inline]
        fn fetch(
            &self,
            block: &Block,
            tile: &Tile,
            part: usize,
            parts: usize,
        ) -> Self::InRegisters {
            match self {
                Self::Words(reader) => {
                    reader.copy(block, tile, part, parts);
                    Zeroable::zeroed()
                }
                Self::Rows(reader) => reader.fetch(block, part, parts),
                Self::Cols(reader) => reader.fetch(block, part, parts),
            }
        }

        #[inline]
        fn put(
            &self,
            block: &Block,
            tile: &Tile,
            held: &Self::InRegisters,
            part: usize,
            parts: usize,
        ) {
            match self {
                Self::Words(_) => {}
                Self::Rows(reader) => reader.put(block, tile, held, part, parts),
                Self::Cols(reader) => reader.put(block, tile, held, part, parts),
            }
        }
    }

    /// An order as a type, to match against a matrix of any order.
    pub trait Select: Order {
        /// Returns the matrix if it has this order.
        fn select<T: Element>(matrix: InAnyOrder<'_, T>) -> Option<GlobalMatrix<'_, T, Self>>;
    }
    impl Select for RowMajor {
        #[inline]
        fn select<T: Element>(matrix: InAnyOrder<'_, T>) -> Option<GlobalMatrix<'_, T, Self>> {
            if let InAnyOrder::Rows(matrix) = matrix { Some(matrix) } else { None }
        }
    }
    impl Select for ColMajor {
        #[inline]
        fn select<T: Element>(matrix: InAnyOrder<'_, T>) -> Option<GlobalMatrix<'_, T, Self>> {
            if let InAnyOrder::Cols(matrix) = matrix { Some(matrix) } else { None }
        }
    }
}
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use asynchronous::{Elements, Words};
