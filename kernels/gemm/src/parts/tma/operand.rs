//! Operand tiles: the tiles of A and B in one pipeline stage.
//!
//! | operand | major | tiles |
//! | --- | --- | --- |
//! | A, M x K | K | `SharedRing<SharedTile<T, ROWS, K, Swizzle128>, TILES>` |
//! | A, M x K | MN | `SharedRing<SharedTile<T, WIDTH, K, Swizzle128, ColMajor>, TILES>` |
//! | B, K x N | K | `SharedRing<SharedTile<T, K, COLS, Swizzle128, ColMajor>, TILES>` |
//! | B, K x N | MN | `SharedRing<SharedTile<T, K, WIDTH, Swizzle128>, TILES>` |
//!
//! Each `SharedTile` is one TMA box. K-major tiles are contiguous, like one longer tile. MN-major
//! tiles are as wide as a row of the swizzle pattern: `WIDTH` elements are 128 bytes. Elements out
//! of the matrix's bounds are zero.

use super::WGMMA_M;
use crate::parts::mma::MmaOp;
use crate::parts::scheduler::MatrixCoord;
use ptx_matrix::copy::BoxTile;
use ptx_matrix::fragment::{Order, Shape};
use ptx_matrix::mma::{
    MatrixA, MatrixB, Multiplicand, NoTrans, Trans, Transposable, Transposition,
};
use ptx_matrix::prelude::*;
use ptx_matrix::scope::ClusterMask;

/// Bytes of a row of the swizzle pattern.
const SWIZZLE_BYTES: usize = 128;

/// Bytes along K of one `wgmma`: one k-slice.
const K_SLICE_BYTES: usize = 32;

/// The element type that the tensor cores take: tf32 for `f32`.
pub type Multiplied<T> = <T as Multiplicand>::As;

/// The multicast of an operand within a cluster: each block loads every `CLUSTER`th tile, for all
/// blocks.
#[derive(Clone, Copy)]
pub struct Multicast<const CLUSTER: usize> {
    /// The rank of this block.
    pub rank: usize,
    /// All blocks of the cluster.
    pub blocks: ClusterMask,
}

/// A TMA load of operand tiles.
pub struct TmaLoad<'k, Box, const CLUSTER: usize> {
    /// The lane that issues it.
    pub lane: Lane<'k>,
    /// The tensor map. Its dimensions: contiguous, strided, batch.
    pub map: TensorMap<'k, Box, 3>,
    /// The first element of the first tile in the matrix.
    pub at: MatrixCoord,
    /// The matrix of the batch.
    pub batch: u32,
    /// The rows of A (columns of B) in bounds, counted from `at`. Boxes after them are not loaded.
    pub in_bounds: u32,
    /// The barrier that counts the bytes.
    pub barrier: Barrier,
    /// The multicast; none if this block loads all tiles for itself.
    pub multicast: Option<Multicast<CLUSTER>>,
}

/// The tiles of A in one stage.
pub trait OperandA: SharedLayout + Copy + LaneCapture + 'static {
    /// The element type.
    type Element: Element;
    /// The tile that one TMA box fills.
    type Box: BoxTile<Element = Self::Element>;
    /// Whether the matrix is row-major.
    const ROW_MAJOR: bool;
    /// Rows of a box.
    const BOX_ROWS: usize;
    /// Bytes of a load of which `in_bounds` rows are in bounds.
    fn load_bytes(in_bounds: u32) -> u32;

    /// Starts to load the tiles, from (row, k) on.
    fn load<const CLUSTER: usize>(self, load: TmaLoad<'_, Self::Box, CLUSTER>);

    /// Loads a warp's `mma` fragments, adjacent along M, from (row, k) on. They are all in one
    /// tile, or each is in one.
    fn fragments<P: MmaOp<Input = Self::Element>, const I: usize>(
        self,
        warp: Warp<'_>,
        row: usize,
        k: usize,
    ) -> [P::A; I];
}

/// A row of A in a stage.
#[derive(Clone, Copy)]
pub struct TileRow {
    /// The tile.
    pub tile: usize,
    /// The row of this tile.
    pub row: usize,
}

/// `wgmma` descriptors of A's tiles.
pub trait WgmmaA: OperandA<Element: Multiplicand> {
    /// Whether the instruction transposes A.
    type Trans: Transposition;

    /// The first row of A of consumer `index`, whose tile has `rows` rows.
    fn consumer_tile(index: usize, rows: usize) -> TileRow;

    /// The `m64` sub-tile and k-slice as a `wgmma` A descriptor. Sub-tiles count from `first`.
    fn descriptor(
        self,
        first: TileRow,
        m64: usize,
        k_slice: usize,
    ) -> MatrixA<Multiplied<Self::Element>, Self::Trans>;
}

/// K-major A.
impl<T: Element, const ROWS: usize, const K: usize, const TILES: usize> OperandA
    for SharedRing<SharedTile<T, ROWS, K, Swizzle128>, TILES>
{
    type Element = T;
    type Box = SharedTile<T, ROWS, K, Swizzle128>;
    const ROW_MAJOR: bool = true;
    const BOX_ROWS: usize = ROWS;

    #[inline]
    fn load_bytes(in_bounds: u32) -> u32 {
        boxes(in_bounds, ROWS, TILES) * Self::Box::BOX_BYTES
    }

    #[inline]
    fn load<const CLUSTER: usize>(self, load: TmaLoad<'_, Self::Box, CLUSTER>) {
        load_boxes(self, load, ROWS, |first, tile| first.offset(tile * ROWS as u32, 0));
    }

    #[inline]
    fn fragments<P: MmaOp<Input = T>, const I: usize>(
        self,
        warp: Warp<'_>,
        row: usize,
        k: usize,
    ) -> [P::A; I] {
        P::load_a(warp, &self.part(row / ROWS), (row % ROWS, k))
    }
}

impl<T: Multiplicand, const ROWS: usize, const K: usize, const TILES: usize> WgmmaA
    for SharedRing<SharedTile<T, ROWS, K, Swizzle128>, TILES>
{
    type Trans = NoTrans;

    #[inline]
    fn consumer_tile(index: usize, rows: usize) -> TileRow {
        if rows.is_multiple_of(ROWS) {
            TileRow { tile: index * (rows / ROWS), row: 0 }
        } else {
            TileRow { tile: 0, row: index * rows }
        }
    }

    #[inline]
    fn descriptor(
        self,
        TileRow { tile, row }: TileRow,
        m64: usize,
        k_slice: usize,
    ) -> MatrixA<T::As, NoTrans> {
        let (further, k) = (m64 * WGMMA_M, k_slice * (K_SLICE_BYTES / size_of::<T>()));
        // Within one tile, so that the descriptor's constants fold even if the tile index is
        // dynamic.
        if const { ROWS.is_multiple_of(WGMMA_M) } {
            self.part(tile + further / ROWS).matrix_a((row + further % ROWS, k))
        } else {
            self.matrix_a((tile * ROWS + row + further, k))
        }
    }
}

/// MN-major A.
impl<T: Element, const WIDTH: usize, const K: usize, const TILES: usize> OperandA
    for SharedRing<SharedTile<T, WIDTH, K, Swizzle128, ColMajor>, TILES>
{
    type Element = T;
    type Box = SharedTile<T, WIDTH, K, Swizzle128, ColMajor>;
    const ROW_MAJOR: bool = false;
    const BOX_ROWS: usize = WIDTH;

    #[inline]
    fn load_bytes(in_bounds: u32) -> u32 {
        boxes(in_bounds, WIDTH, TILES) * Self::Box::BOX_BYTES
    }

    #[inline]
    fn load<const CLUSTER: usize>(self, load: TmaLoad<'_, Self::Box, CLUSTER>) {
        load_boxes(self, load, WIDTH, |first, tile| first.offset(tile * WIDTH as u32, 0));
    }

    #[inline]
    fn fragments<P: MmaOp<Input = T>, const I: usize>(
        self,
        warp: Warp<'_>,
        row: usize,
        k: usize,
    ) -> [P::A; I] {
        const { assert!(WIDTH * size_of::<T>() == SWIZZLE_BYTES, "a tile has the swizzle's width") }
        if const { WIDTH.is_multiple_of(I * P::Shape::M) } {
            return P::load_a(warp, &self.part(row / WIDTH), (row % WIDTH, k));
        }
        core::array::from_fn(
            #[inline]
            |i| {
                let row = row + i * P::Shape::M;
                let [a] = P::load_a(warp, &self.part(row / WIDTH), (row % WIDTH, k));
                a
            },
        )
    }
}

impl<T: Transposable, const WIDTH: usize, const K: usize, const TILES: usize> WgmmaA
    for SharedRing<SharedTile<T, WIDTH, K, Swizzle128, ColMajor>, TILES>
{
    type Trans = Trans;

    #[inline]
    fn consumer_tile(index: usize, rows: usize) -> TileRow {
        TileRow { tile: index * (rows / WIDTH), row: 0 }
    }

    #[inline]
    fn descriptor(
        self,
        TileRow { tile, .. }: TileRow,
        m64: usize,
        k_slice: usize,
    ) -> MatrixA<T::As, Trans> {
        self.part(tile + m64).matrix_a((0, k_slice * (K_SLICE_BYTES / size_of::<T>())))
    }
}

/// The tiles of B in one stage.
pub trait OperandB: SharedLayout + Copy + LaneCapture + 'static {
    /// The element type.
    type Element: Element;
    /// The tile that one TMA box fills.
    type Box: BoxTile<Element = Self::Element>;
    /// Whether the matrix is row-major.
    const ROW_MAJOR: bool;
    /// Columns of a box.
    const BOX_COLS: usize;
    /// Bytes of a load of which `in_bounds` columns are in bounds.
    fn load_bytes(in_bounds: u32) -> u32;

    /// Starts to load the tiles, from (k, column) on.
    fn load<const CLUSTER: usize>(self, load: TmaLoad<'_, Self::Box, CLUSTER>);

    /// Loads a warp's pairs of `mma` fragments, adjacent along N, from (k, column) on. They are all
    /// in one tile, or each is in one.
    fn fragments<P: MmaOp<Input = Self::Element>, const J: usize>(
        self,
        warp: Warp<'_>,
        k: usize,
        col: usize,
    ) -> [[P::B; 2]; J];
}

/// `wgmma` descriptors of B's tiles, for `N` columns.
pub trait WgmmaB<const N: usize>: OperandB<Element: Multiplicand> {
    /// Whether the instruction transposes B.
    type Trans: Transposition;

    /// The `N` columns from `col` of a tile, and the k-slice, as a `wgmma` B descriptor. The
    /// columns continue in the next tiles.
    fn descriptor(
        self,
        tile: usize,
        col: usize,
        k_slice: usize,
    ) -> MatrixB<N, Multiplied<Self::Element>, Self::Trans>;
}

/// K-major B.
impl<T: Element, const K: usize, const COLS: usize, const TILES: usize> OperandB
    for SharedRing<SharedTile<T, K, COLS, Swizzle128, ColMajor>, TILES>
{
    type Element = T;
    type Box = SharedTile<T, K, COLS, Swizzle128, ColMajor>;
    const ROW_MAJOR: bool = false;
    const BOX_COLS: usize = COLS;

    #[inline]
    fn load_bytes(in_bounds: u32) -> u32 {
        boxes(in_bounds, COLS, TILES) * Self::Box::BOX_BYTES
    }

    #[inline]
    fn load<const CLUSTER: usize>(self, load: TmaLoad<'_, Self::Box, CLUSTER>) {
        load_boxes(self, load, COLS, |first, tile| first.offset(0, tile * COLS as u32));
    }

    #[inline]
    fn fragments<P: MmaOp<Input = T>, const J: usize>(
        self,
        warp: Warp<'_>,
        k: usize,
        col: usize,
    ) -> [[P::B; 2]; J] {
        P::load_b(warp, &self.part(col / COLS), (k, col % COLS))
    }
}

impl<T: Multiplicand, const N: usize, const K: usize, const COLS: usize, const TILES: usize>
    WgmmaB<N> for SharedRing<SharedTile<T, K, COLS, Swizzle128, ColMajor>, TILES>
{
    type Trans = NoTrans;

    #[inline]
    fn descriptor(self, tile: usize, col: usize, k_slice: usize) -> MatrixB<N, T::As, NoTrans> {
        let k = k_slice * (K_SLICE_BYTES / size_of::<T>());
        // Within one tile, as for A.
        if const { N <= COLS } {
            self.part(tile + col / COLS).matrix_b((k, col % COLS))
        } else {
            self.matrix_b((k, tile * COLS + col))
        }
    }
}

/// MN-major B.
impl<T: Element, const K: usize, const WIDTH: usize, const TILES: usize> OperandB
    for SharedRing<SharedTile<T, K, WIDTH, Swizzle128>, TILES>
{
    type Element = T;
    type Box = SharedTile<T, K, WIDTH, Swizzle128>;
    const ROW_MAJOR: bool = true;
    const BOX_COLS: usize = WIDTH;

    #[inline]
    fn load_bytes(in_bounds: u32) -> u32 {
        boxes(in_bounds, WIDTH, TILES) * Self::Box::BOX_BYTES
    }

    #[inline]
    fn load<const CLUSTER: usize>(self, load: TmaLoad<'_, Self::Box, CLUSTER>) {
        load_boxes(self, load, WIDTH, |first, tile| first.offset(0, tile * WIDTH as u32));
    }

    #[inline]
    fn fragments<P: MmaOp<Input = T>, const J: usize>(
        self,
        warp: Warp<'_>,
        k: usize,
        col: usize,
    ) -> [[P::B; 2]; J] {
        const { assert!(WIDTH * size_of::<T>() == SWIZZLE_BYTES, "a tile has the swizzle's width") }
        if const { WIDTH.is_multiple_of(J * 2 * P::Shape::N) } {
            return P::load_b(warp, &self.part(col / WIDTH), (k, col % WIDTH));
        }
        core::array::from_fn(
            #[inline]
            |j| {
                let col = col + j * 2 * P::Shape::N;
                let [pair] = P::load_b(warp, &self.part(col / WIDTH), (k, col % WIDTH));
                pair
            },
        )
    }
}

impl<T: Transposable, const N: usize, const K: usize, const WIDTH: usize, const TILES: usize>
    WgmmaB<N> for SharedRing<SharedTile<T, K, WIDTH, Swizzle128>, TILES>
{
    type Trans = Trans;

    #[inline]
    fn descriptor(self, tile: usize, col: usize, k_slice: usize) -> MatrixB<N, T::As, Trans> {
        assert!(tile == 0 && col == 0, "one descriptor has all columns of MN-major tiles");
        self.matrix_b((k_slice * (K_SLICE_BYTES / size_of::<T>()), 0))
    }
}

/// The number of boxes that have rows of A (columns of B) in bounds; each box has `box_len`.
#[inline]
fn boxes(in_bounds: u32, box_len: usize, tiles: usize) -> u32 {
    in_bounds.div_ceil(box_len as u32).min(tiles as u32)
}

/// Starts to load the boxes that are in bounds. `at` computes a box's place from that of the first
/// box and the index.
#[inline]
fn load_boxes<
    T: Element,
    O: Order,
    const ROWS: usize,
    const COLS: usize,
    const TILES: usize,
    const CLUSTER: usize,
>(
    tiles: SharedRing<SharedTile<T, ROWS, COLS, Swizzle128, O>, TILES>,
    load: TmaLoad<'_, SharedTile<T, ROWS, COLS, Swizzle128, O>, CLUSTER>,
    box_len: usize,
    at: impl Fn(MatrixCoord, u32) -> MatrixCoord,
) {
    let TmaLoad { lane, map, barrier, multicast, in_bounds, .. } = load;
    let count = boxes(in_bounds, box_len, TILES) as usize;
    let at = |tile: usize| {
        let MatrixCoord { row, col } = at(load.at, tile as u32);
        let (along, across) = if O::ROW_MAJOR { (col, row) } else { (row, col) };
        [along as i32, across as i32, load.batch as i32]
    };
    match multicast {
        Some(multicast) if CLUSTER > 1 => {
            for first in (0..TILES).step_by(CLUSTER) {
                let tile = first + multicast.rank;
                if tile < count {
                    tiles.part(tile).load_tma(
                        lane,
                        map.at(at(tile)).multicast(multicast.blocks),
                        barrier,
                    );
                }
            }
        }
        _ => {
            for tile in 0..TILES {
                if tile < count {
                    tiles.part(tile).load_tma(lane, map.at(at(tile)), barrier);
                }
            }
        }
    }
}
