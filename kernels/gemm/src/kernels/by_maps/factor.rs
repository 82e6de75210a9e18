//! The tiles of A and B in one stage, by the order of the matrix: how a lane has them filled, and how they are multiplied: by `wgmma`, which
//! is told of them, or by `mma.sync`, for which a warp loads fragments.
//!
//! Lines of the matrix that go along K are lines of tiles too. Of a matrix whose lines go across K, tiles lie beside each other, each as
//! long as a line of the swizzle. What of a tile is beyond the matrix, is zero.

use crate::kernels::product::Product;
use ptx_matrix::*;

/// Bytes of a line of a tile's pattern.
const LINE_BYTES: usize = 128;

/// Bytes along K that a `wgmma` takes.
const SLICE: usize = 32;

/// Rows of A that it takes.
const BLOCK: usize = 64;

/// What the elements of a factor are multiplied as.
pub type Multiplied<T> = <T as Multiplicand>::As;

/// What a block brings of the tiles that all `N` of its cluster need: each `N`th, to all of them.
#[derive(Clone, Copy)]
pub struct Share<const N: usize> {
    /// Which of the blocks it is.
    pub rank: usize,
    /// All of them.
    pub blocks: Blocks,
}

/// How a stage's tiles are filled.
pub struct Fill<'k, Box, const N: usize> {
    /// Who starts it.
    pub lane: Lane<'k>,
    /// All matrices.
    pub map: TensorMap<'k, Box, 3>,
    /// Where in a matrix the first of the tiles starts: its row and column.
    pub at: (u32, u32),
    /// Which of the matrices.
    pub batch: u32,
    /// How many rows of A, or columns of B, are wanted: boxes that have none of them are left out, as `copied` says.
    pub wanted: u32,
    /// What is told when they have come.
    pub barrier: Barrier,
    /// Which of them this block brings, to all blocks of its cluster; or all of them, to itself.
    pub share: Option<Share<N>>,
}

/// The tiles of A in one stage.
pub trait Left: SharedLayout + Copy + LaneCapture {
    /// Its elements.
    type Element: Element;
    /// What one copy fills.
    type Box: BoxTile<Element = Self::Element>;
    /// Whether rows of the matrix are lines.
    const ROW_MAJOR: bool;
    /// Rows that a copy brings.
    const ROWS_OF_BOX: usize;
    /// Bytes that are copied where so many rows are wanted.
    fn copied(wanted: u32) -> u32;

    /// Starts to fill the tiles, from (row, k) on.
    fn load<const N: usize>(self, fill: Fill<'_, Self::Box, N>);

    /// What a warp multiplies by `mma.sync`: fragments below each other, from (row, k) on; all of them are in one tile, or each is.
    fn fragments<P: Product<Input = Self::Element>, const I: usize>(
        self,
        warp: Warp<'_>,
        row: usize,
        k: usize,
    ) -> [P::A; I];
}

/// What `wgmma` multiplies of A's tiles.
pub trait Rows: Left<Element: Multiplicand> {
    /// What it is to be told.
    type Trans: Transposition;

    /// Where so many'th of several times 64 rows begin: in which of the tiles, and with which row of it.
    fn first(index: usize, rows: usize) -> (usize, usize);

    /// So many'th 64 rows from (tile, row) `first` on, and so many'th 32 bytes along K.
    fn matrix(
        self,
        first: (usize, usize),
        block: usize,
        slice: usize,
    ) -> MatrixA<Multiplied<Self::Element>, Self::Trans>;
}

/// A tile for each block of the cluster: together they are as one.
impl<T: Element, const ROWS: usize, const K: usize, const TILES: usize> Left
    for SharedRing<SharedTile<T, ROWS, K, Swizzle128>, TILES>
{
    type Element = T;
    type Box = SharedTile<T, ROWS, K, Swizzle128>;
    const ROW_MAJOR: bool = true;
    const ROWS_OF_BOX: usize = ROWS;

    #[inline(always)]
    fn copied(wanted: u32) -> u32 {
        boxes(wanted, ROWS, TILES) * Self::Box::BOX_BYTES
    }

    #[inline(always)]
    fn load<const N: usize>(self, fill: Fill<'_, Self::Box, N>) {
        load(self, fill, ROWS, |(row, k), tile| (row + tile * ROWS as u32, k));
    }

    #[inline(always)]
    fn fragments<P: Product<Input = T>, const I: usize>(self, warp: Warp<'_>, row: usize, k: usize) -> [P::A; I] {
        P::load_a(warp, &self.part(row / ROWS), (row % ROWS, k))
    }
}

impl<T: Multiplicand, const ROWS: usize, const K: usize, const TILES: usize> Rows
    for SharedRing<SharedTile<T, ROWS, K, Swizzle128>, TILES>
{
    type Trans = NoTrans;

    #[inline(always)]
    fn first(index: usize, rows: usize) -> (usize, usize) {
        if rows.is_multiple_of(ROWS) { (index * (rows / ROWS), 0) } else { (0, index * rows) }
    }

    #[inline(always)]
    fn matrix(self, (tile, row): (usize, usize), block: usize, slice: usize) -> MatrixA<T::As, NoTrans> {
        let (further, k) = (block * BLOCK, slice * (SLICE / size_of::<T>()));
        // Of one tile, with which the descriptor's constants begin, even where it is not known which.
        if const { ROWS.is_multiple_of(BLOCK) } {
            self.part(tile + further / ROWS).matrix_a((row + further % ROWS, k))
        } else {
            self.matrix_a((tile * ROWS + row + further, k))
        }
    }
}

impl<T: Element, const LINE: usize, const K: usize, const TILES: usize> Left
    for SharedRing<SharedTile<T, LINE, K, Swizzle128, ColMajor>, TILES>
{
    type Element = T;
    type Box = SharedTile<T, LINE, K, Swizzle128, ColMajor>;
    const ROW_MAJOR: bool = false;
    const ROWS_OF_BOX: usize = LINE;

    #[inline(always)]
    fn copied(wanted: u32) -> u32 {
        boxes(wanted, LINE, TILES) * Self::Box::BOX_BYTES
    }

    #[inline(always)]
    fn load<const N: usize>(self, fill: Fill<'_, Self::Box, N>) {
        load(self, fill, LINE, |(row, k), tile| (row + tile * LINE as u32, k));
    }

    #[inline(always)]
    fn fragments<P: Product<Input = T>, const I: usize>(self, warp: Warp<'_>, row: usize, k: usize) -> [P::A; I] {
        const { assert!(LINE * size_of::<T>() == LINE_BYTES, "lines of a tile are those of its pattern") }
        if const { LINE.is_multiple_of(I * P::Shape::M) } {
            return P::load_a(warp, &self.part(row / LINE), (row % LINE, k));
        }
        core::array::from_fn(
            #[inline(always)]
            |i| {
                let row = row + i * P::Shape::M;
                let [a] = P::load_a(warp, &self.part(row / LINE), (row % LINE, k));
                a
            },
        )
    }
}

impl<T: Multiplicand<Width = Bits16>, const LINE: usize, const K: usize, const TILES: usize> Rows
    for SharedRing<SharedTile<T, LINE, K, Swizzle128, ColMajor>, TILES>
{
    type Trans = Trans;

    #[inline(always)]
    fn first(index: usize, rows: usize) -> (usize, usize) {
        (index * (rows / LINE), 0)
    }

    #[inline(always)]
    fn matrix(self, (tile, _): (usize, usize), block: usize, slice: usize) -> MatrixA<T::As, Trans> {
        self.part(tile + block).matrix_a((0, slice * (SLICE / size_of::<T>())))
    }
}

/// The tiles of B in one stage.
pub trait Right: SharedLayout + Copy + LaneCapture {
    /// Its elements.
    type Element: Element;
    /// What one copy fills.
    type Box: BoxTile<Element = Self::Element>;
    /// Whether rows of the matrix are lines.
    const ROW_MAJOR: bool;
    /// Columns that a copy brings.
    const COLS_OF_BOX: usize;
    /// Bytes that are copied where so many columns are wanted.
    fn copied(wanted: u32) -> u32;

    /// Starts to fill the tiles, from (k, column) on.
    fn load<const N: usize>(self, fill: Fill<'_, Self::Box, N>);

    /// What a warp multiplies by `mma.sync`: pairs of fragments beside each other, from (k, column) on; all of them are in one
    /// tile, or each is.
    fn fragments<P: Product<Input = Self::Element>, const J: usize>(
        self,
        warp: Warp<'_>,
        k: usize,
        col: usize,
    ) -> [[P::B; 2]; J];
}

/// What `wgmma` multiplies of B's tiles: `N` columns, and so many'th 32 bytes along K.
pub trait Columns<const N: usize>: Right<Element: Multiplicand> {
    /// What is to be told `wgmma`.
    type Trans: Transposition;

    /// Those from `col` of a tile on, and of the tiles behind it.
    fn matrix(self, tile: usize, col: usize, slice: usize) -> MatrixB<N, Multiplied<Self::Element>, Self::Trans>;
}

/// A tile for each block of the cluster: together they are as one.
impl<T: Element, const K: usize, const COLS: usize, const TILES: usize> Right
    for SharedRing<SharedTile<T, K, COLS, Swizzle128, ColMajor>, TILES>
{
    type Element = T;
    type Box = SharedTile<T, K, COLS, Swizzle128, ColMajor>;
    const ROW_MAJOR: bool = false;
    const COLS_OF_BOX: usize = COLS;

    #[inline(always)]
    fn copied(wanted: u32) -> u32 {
        boxes(wanted, COLS, TILES) * Self::Box::BOX_BYTES
    }

    #[inline(always)]
    fn load<const N: usize>(self, fill: Fill<'_, Self::Box, N>) {
        load(self, fill, COLS, |(k, col), tile| (k, col + tile * COLS as u32));
    }

    #[inline(always)]
    fn fragments<P: Product<Input = T>, const J: usize>(self, warp: Warp<'_>, k: usize, col: usize) -> [[P::B; 2]; J] {
        P::load_b(warp, &self.part(col / COLS), (k, col % COLS))
    }
}

impl<T: Multiplicand, const N: usize, const K: usize, const COLS: usize, const TILES: usize> Columns<N>
    for SharedRing<SharedTile<T, K, COLS, Swizzle128, ColMajor>, TILES>
{
    type Trans = NoTrans;

    #[inline(always)]
    fn matrix(self, tile: usize, col: usize, slice: usize) -> MatrixB<N, T::As, NoTrans> {
        let k = slice * (SLICE / size_of::<T>());
        // As for A.
        if const { N <= COLS } {
            self.part(tile + col / COLS).matrix_b((k, col % COLS))
        } else {
            self.matrix_b((k, tile * COLS + col))
        }
    }
}

impl<T: Element, const K: usize, const LINE: usize, const TILES: usize> Right
    for SharedRing<SharedTile<T, K, LINE, Swizzle128>, TILES>
{
    type Element = T;
    type Box = SharedTile<T, K, LINE, Swizzle128>;
    const ROW_MAJOR: bool = true;
    const COLS_OF_BOX: usize = LINE;

    #[inline(always)]
    fn copied(wanted: u32) -> u32 {
        boxes(wanted, LINE, TILES) * Self::Box::BOX_BYTES
    }

    #[inline(always)]
    fn load<const N: usize>(self, fill: Fill<'_, Self::Box, N>) {
        load(self, fill, LINE, |(k, col), tile| (k, col + tile * LINE as u32));
    }

    #[inline(always)]
    fn fragments<P: Product<Input = T>, const J: usize>(self, warp: Warp<'_>, k: usize, col: usize) -> [[P::B; 2]; J] {
        const { assert!(LINE * size_of::<T>() == LINE_BYTES, "lines of a tile are those of its pattern") }
        if const { LINE.is_multiple_of(J * 2 * P::Shape::N) } {
            return P::load_b(warp, &self.part(col / LINE), (k, col % LINE));
        }
        core::array::from_fn(
            #[inline(always)]
            |j| {
                let col = col + j * 2 * P::Shape::N;
                let [pair] = P::load_b(warp, &self.part(col / LINE), (k, col % LINE));
                pair
            },
        )
    }
}

impl<T: Multiplicand<Width = Bits16>, const N: usize, const K: usize, const LINE: usize, const TILES: usize> Columns<N>
    for SharedRing<SharedTile<T, K, LINE, Swizzle128>, TILES>
{
    type Trans = Trans;

    #[inline(always)]
    fn matrix(self, tile: usize, col: usize, slice: usize) -> MatrixB<N, T::As, Trans> {
        assert!(tile == 0 && col == 0, "tiles beside each other are multiplied together");
        self.matrix_b((slice * (SLICE / size_of::<T>()), 0))
    }
}

/// How many of `tiles` have some of the wanted lines across K, of which each has so many.
#[inline(always)]
fn boxes(wanted: u32, lines: usize, tiles: usize) -> u32 {
    wanted.div_ceil(lines as u32).min(tiles as u32)
}

/// Starts to fill tiles with some of the wanted lines, of which each has so many, each from the place that `at` makes of the first one's.
#[inline(always)]
fn load<T: Element, O: Order, const ROWS: usize, const COLS: usize, const TILES: usize, const N: usize>(
    tiles: SharedRing<SharedTile<T, ROWS, COLS, Swizzle128, O>, TILES>,
    fill: Fill<'_, SharedTile<T, ROWS, COLS, Swizzle128, O>, N>,
    lines: usize,
    at: impl Fn((u32, u32), u32) -> (u32, u32),
) {
    let Fill { lane, map, barrier, share, wanted, .. } = fill;
    let count = boxes(wanted, lines, TILES) as usize;
    let at = |tile: usize| {
        let (row, col) = at(fill.at, tile as u32);
        let (along, across) = if O::ROW_MAJOR { (col, row) } else { (row, col) };
        [along as i32, across as i32, fill.batch as i32]
    };
    match share {
        Some(share) if N > 1 => {
            for first in (0..TILES).step_by(N) {
                let tile = first + share.rank;
                if tile < count {
                    tiles.part(tile).load_box_to(lane, share.blocks, map, at(tile), barrier);
                }
            }
        }
        _ => {
            for tile in 0..TILES {
                if tile < count {
                    tiles.part(tile).load_box(lane, map, at(tile), barrier);
                }
            }
        }
    }
}
