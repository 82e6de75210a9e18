//! Loaders of operand tiles by the threads of a block: `cp.async`, or through registers.

use ptx_matrix::copy::{
    Along, AsyncPiece, CpAsync, Fetched, Piece, PieceReader, ReadTile, TileReader,
};
use ptx_matrix::fragment::Order;
use ptx_matrix::memory::GlobalMatrix;
use ptx_matrix::prelude::*;

/// Brings tiles of a matrix to shared memory, one behind the other.
pub trait Source<'k, Tile: ReadTile>: Sized {
    /// The matrix.
    type Matrix: Copy;
    /// What a thread holds of a tile that is on its way.
    type Held;
    /// How what is on its way is waited for.
    type Groups: Groups;
    /// The matrix's lines start at multiples of so many bytes.
    const ALIGNMENT: usize;
    /// Whether the matrix is row-major, where its order is the tiles'; else that is said when the
    /// kernel runs.
    const ROW_MAJOR: Option<bool>;

    /// The matrix of `rows` x `cols` at the start of a slice; its lines lie `stride` elements
    /// apart.
    #[track_caller]
    fn matrix(
        row_major: bool,
        elements: Global<'k, Tile::Element>,
        rows: usize,
        cols: usize,
        stride: usize,
    ) -> Self::Matrix;

    /// The source of the tiles from (row, col) of a matrix on.
    fn new(block: &Block, matrix: Self::Matrix, at: (usize, usize), along: Along) -> Self;

    /// Goes on by so many tiles, or back.
    fn advance(&mut self, tiles: isize);

    /// Starts to bring the next tile, which may be the matrix's last, and not whole.
    fn fill(&self, block: &Block, tile: &Tile);

    /// Starts to bring those elements of the next tile that are part `part` of `parts`, if the
    /// matrix has the whole tile along K.
    fn fetch(&self, block: &Block, tile: &Tile, part: usize, parts: usize) -> Self::Held;

    /// Stores what is held of that part.
    fn put(&self, block: &Block, tile: &Tile, held: &Self::Held, part: usize, parts: usize);
}

/// Groups of what is on its way.
pub trait Groups {
    /// Makes a group of what was started since the last one.
    fn commit(warp: Warp<'_>);

    /// Waits until at most the `N` newest groups are on their way.
    fn wait<const N: u32>(warp: Warp<'_>);
}

/// Nothing is on its way that is not held.
pub struct Held;

impl Groups for Held {
    #[inline(always)]
    fn commit(_: Warp<'_>) {}

    #[inline(always)]
    fn wait<const N: u32>(_: Warp<'_>) {}
}

/// Through registers: on any GPU.
impl<'k, Tile: ReadTile, P: Piece, const COPIES: usize> Source<'k, Tile>
    for PieceReader<'k, Tile, P, COPIES>
{
    type Matrix = GlobalMatrix<'k, Tile::Element, Tile::Order>;
    type Held = Fetched<P, COPIES>;
    type Groups = Held;
    const ALIGNMENT: usize = size_of::<P>();
    const ROW_MAJOR: Option<bool> = Some(Tile::Order::ROW_MAJOR);

    #[inline(always)]
    fn matrix(
        _: bool,
        elements: Global<'k, Tile::Element>,
        rows: usize,
        cols: usize,
        stride: usize,
    ) -> Self::Matrix {
        GlobalMatrix::new(elements, rows, cols, stride)
    }

    #[inline(always)]
    fn new(block: &Block, matrix: Self::Matrix, at: (usize, usize), along: Along) -> Self {
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
}

/// By `cp.async`, from sm_80 on.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod asynchronous {
    use super::*;

    /// What is on its way was started by `cp.async`.
    pub struct Copied;

    impl Groups for Copied {
        #[inline(always)]
        fn commit(warp: Warp<'_>) {
            CpAsync::<16>::commit(warp);
        }

        #[inline(always)]
        fn wait<const N: u32>(warp: Warp<'_>) {
            CpAsync::<16>::wait::<N>(warp);
        }
    }

    /// Lines that start at multiples of 16 bytes.
    impl<'k, Tile: ReadTile, const COPIES: usize> Source<'k, Tile> for TileReader<'k, Tile, COPIES> {
        type Matrix = GlobalMatrix<'k, Tile::Element, Tile::Order>;
        type Held = ();
        type Groups = Copied;
        const ALIGNMENT: usize = 16;
        const ROW_MAJOR: Option<bool> = Some(Tile::Order::ROW_MAJOR);

        #[inline(always)]
        fn matrix(
            _: bool,
            elements: Global<'k, Tile::Element>,
            rows: usize,
            cols: usize,
            stride: usize,
        ) -> Self::Matrix {
            GlobalMatrix::new(elements, rows, cols, stride)
        }

        #[inline(always)]
        fn new(block: &Block, matrix: Self::Matrix, at: (usize, usize), along: Along) -> Self {
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
    }

    /// A matrix whose order is known when the kernel runs. The tiles that its elements come to are
    /// of one order.
    #[derive(Clone, Copy)]
    pub enum InAnyOrder<'k, T: Element> {
        /// The elements of a row are neighbours.
        Rows(GlobalMatrix<'k, T, RowMajor>),
        /// Those of a column are.
        Cols(GlobalMatrix<'k, T, ColMajor>),
    }

    impl<'k, T: Element> InAnyOrder<'k, T> {
        /// The matrix of `rows` x `cols` at the start of a slice; its lines lie `stride` elements
        /// apart.
        #[inline(always)]
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

    /// Lines that start anywhere, of elements that `cp.async` copies, as `P`: of 4 and of 8 bytes.
    pub enum Words<'k, Tile: ReadTile, P: AsyncPiece, const COPIES: usize> {
        /// Of rows.
        Rows(PieceReader<'k, Tile, P, COPIES, RowMajor>),
        /// Of columns.
        Cols(PieceReader<'k, Tile, P, COPIES, ColMajor>),
    }

    impl<'k, Tile: ReadTile, P: AsyncPiece, const COPIES: usize> Source<'k, Tile>
        for Words<'k, Tile, P, COPIES>
    {
        type Matrix = InAnyOrder<'k, Tile::Element>;
        type Held = ();
        type Groups = Copied;
        const ALIGNMENT: usize = size_of::<Tile::Element>();
        const ROW_MAJOR: Option<bool> = None;

        #[inline(always)]
        fn matrix(
            row_major: bool,
            elements: Global<'k, Tile::Element>,
            rows: usize,
            cols: usize,
            stride: usize,
        ) -> Self::Matrix {
            InAnyOrder::new(row_major, elements, rows, cols, stride)
        }

        #[inline(always)]
        fn new(block: &Block, matrix: Self::Matrix, at: (usize, usize), along: Along) -> Self {
            match matrix {
                InAnyOrder::Rows(matrix) => Self::Rows(PieceReader::new(block, matrix, at, along)),
                InAnyOrder::Cols(matrix) => Self::Cols(PieceReader::new(block, matrix, at, along)),
            }
        }

        #[inline(always)]
        fn advance(&mut self, tiles: isize) {
            match self {
                Self::Rows(reader) => reader.advance(tiles),
                Self::Cols(reader) => reader.advance(tiles),
            }
        }

        #[inline(always)]
        fn fill(&self, block: &Block, tile: &Tile) {
            self.fetch(block, tile, 0, 1);
        }

        #[inline(always)]
        fn fetch(&self, block: &Block, tile: &Tile, part: usize, parts: usize) {
            match self {
                Self::Rows(reader) => reader.copy(block, tile, part, parts),
                Self::Cols(reader) => reader.copy(block, tile, part, parts),
            }
        }

        #[inline(always)]
        fn put(&self, _: &Block, _: &Tile, (): &(), _: usize, _: usize) {}
    }

    /// Lines that start anywhere, of smaller elements: where they are those of the tile and start
    /// at multiples of 4 bytes, in pieces of that by `cp.async`, else element by element, as
    /// `P`, through registers.
    pub enum Elements<'k, Tile: ReadTile, P: Piece, const WORDS: usize, const COPIES: usize> {
        /// In pieces.
        Words(PieceReader<'k, Tile, u32, WORDS>),
        /// Element by element, of rows.
        Rows(PieceReader<'k, Tile, P, COPIES, RowMajor>),
        /// Likewise, of columns.
        Cols(PieceReader<'k, Tile, P, COPIES, ColMajor>),
    }

    impl<'k, Tile, P, const WORDS: usize, const COPIES: usize> Source<'k, Tile>
        for Elements<'k, Tile, P, WORDS, COPIES>
    where
        Tile: ReadTile<Order: Select>,
        P: Piece,
    {
        type Matrix = InAnyOrder<'k, Tile::Element>;
        type Held = Fetched<P, COPIES>;
        type Groups = Copied;
        const ALIGNMENT: usize = size_of::<Tile::Element>();
        const ROW_MAJOR: Option<bool> = None;

        #[inline(always)]
        fn matrix(
            row_major: bool,
            elements: Global<'k, Tile::Element>,
            rows: usize,
            cols: usize,
            stride: usize,
        ) -> Self::Matrix {
            InAnyOrder::new(row_major, elements, rows, cols, stride)
        }

        #[inline(always)]
        fn new(block: &Block, matrix: Self::Matrix, at: (usize, usize), along: Along) -> Self {
            if let Some(matrix) = Tile::Order::select(matrix)
                && matrix.lines_start_at_multiples_of(size_of::<u32>())
            {
                return Self::Words(PieceReader::new(block, matrix, at, along));
            }
            match matrix {
                InAnyOrder::Rows(matrix) => Self::Rows(PieceReader::new(block, matrix, at, along)),
                InAnyOrder::Cols(matrix) => Self::Cols(PieceReader::new(block, matrix, at, along)),
            }
        }

        #[inline(always)]
        fn advance(&mut self, tiles: isize) {
            match self {
                Self::Words(reader) => reader.advance(tiles),
                Self::Rows(reader) => reader.advance(tiles),
                Self::Cols(reader) => reader.advance(tiles),
            }
        }

        #[inline(always)]
        fn fill(&self, block: &Block, tile: &Tile) {
            self.put(block, tile, &self.fetch(block, tile, 0, 1), 0, 1);
        }

        #[inline(always)]
        fn fetch(&self, block: &Block, tile: &Tile, part: usize, parts: usize) -> Self::Held {
            match self {
                Self::Words(reader) => {
                    reader.copy(block, tile, part, parts);
                    Zeroable::zeroed()
                }
                Self::Rows(reader) => reader.fetch(block, part, parts),
                Self::Cols(reader) => reader.fetch(block, part, parts),
            }
        }

        #[inline(always)]
        fn put(&self, block: &Block, tile: &Tile, held: &Self::Held, part: usize, parts: usize) {
            match self {
                Self::Words(_) => {}
                Self::Rows(reader) => reader.put(block, tile, held, part, parts),
                Self::Cols(reader) => reader.put(block, tile, held, part, parts),
            }
        }
    }

    /// An order as a type, of a matrix that may be of another.
    pub trait Select: Order {
        /// The matrix, if it is of this order.
        fn select<T: Element>(matrix: InAnyOrder<'_, T>) -> Option<GlobalMatrix<'_, T, Self>>;
    }
    impl Select for RowMajor {
        #[inline(always)]
        fn select<T: Element>(matrix: InAnyOrder<'_, T>) -> Option<GlobalMatrix<'_, T, Self>> {
            if let InAnyOrder::Rows(matrix) = matrix { Some(matrix) } else { None }
        }
    }
    impl Select for ColMajor {
        #[inline(always)]
        fn select<T: Element>(matrix: InAnyOrder<'_, T>) -> Option<GlobalMatrix<'_, T, Self>> {
            if let InAnyOrder::Cols(matrix) = matrix { Some(matrix) } else { None }
        }
    }
}
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use asynchronous::{Elements, Words};
