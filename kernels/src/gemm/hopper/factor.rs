//! The tiles of A and B in one stage, by the order of the matrix: how a lane has them filled, and how `wgmma` is told of them.

use ptx_matrix::*;

/// Elements of 16 bits of a line of a tile's pattern: of a matrix whose lines go across K, a tile has as many.
const LINE: usize = 64;

/// Bytes along K that a `wgmma` takes.
const SLICE: usize = 32;

/// The tiles of a factor in one stage. What of them is beyond the matrix, is zero.
pub trait Factor: SharedLayout + Copy + LaneCapture {
    /// Its elements.
    type Element: Multiplicand;
    /// What one copy fills.
    type Box: BoxTile<Element = Self::Element>;
    /// What is to be told `wgmma`.
    type Trans: Transposition;
    /// Whether rows of the matrix are lines.
    const ROW_MAJOR: bool;
    /// Bytes of the tiles.
    const COPIED: u32;

    /// Starts to fill the tiles from (row, column) of a matrix of the batch on.
    fn load(self, lane: Lane<'_>, map: TensorMap<'_, Self::Box, 3>, at: (u32, u32), batch: u32, barrier: Barrier);
}

/// What `wgmma` multiplies of A's tiles: 64 rows from `row` on, and so many'th 32 bytes along K.
pub trait Left: Factor {
    /// That.
    fn matrix(self, row: usize, slice: usize) -> MatrixA<Multiplied<Self>, Self::Trans>;
}

/// What `wgmma` multiplies of B's tiles: `N` columns from `col` on, and so many'th 32 bytes along K.
pub trait Right<const N: usize>: Factor {
    /// That.
    fn matrix(self, col: usize, slice: usize) -> MatrixB<N, Multiplied<Self>, Self::Trans>;
}

/// What the elements of a factor are multiplied as.
pub type Multiplied<F> = <<F as Factor>::Element as Multiplicand>::As;

/// Tiles whose lines go along K are one; tiles whose lines go across it lie beside each other, as long as a line of the swizzle each.
macro_rules! factors {
    ($along:ident across $across:ident, rows $row_major:literal) => {
        impl<T: Multiplicand, const ROWS: usize, const COLS: usize> Factor
            for SharedTile<T, ROWS, COLS, Swizzle128, $along>
        {
            type Element = T;
            type Box = Self;
            type Trans = NoTrans;
            const ROW_MAJOR: bool = $row_major;
            const COPIED: u32 = Self::BOX_BYTES;

            #[inline(always)]
            fn load(self, lane: Lane<'_>, map: TensorMap<'_, Self, 3>, at: (u32, u32), batch: u32, barrier: Barrier) {
                let (inner, line) = if $row_major { (at.1, at.0) } else { at };
                self.load_box(lane, map, [inner as i32, line as i32, batch as i32], barrier);
            }
        }

        impl<T: Multiplicand<Width = Bits16>, const ROWS: usize, const COLS: usize, const TILES: usize> Factor
            for SharedRing<SharedTile<T, ROWS, COLS, Swizzle128, $across>, TILES>
        {
            type Element = T;
            type Box = SharedTile<T, ROWS, COLS, Swizzle128, $across>;
            type Trans = Trans;
            const ROW_MAJOR: bool = !$row_major;
            const COPIED: u32 = TILES as u32 * Self::Box::BOX_BYTES;

            #[inline(always)]
            fn load(
                self,
                lane: Lane<'_>,
                map: TensorMap<'_, Self::Box, 3>,
                at: (u32, u32),
                batch: u32,
                barrier: Barrier,
            ) {
                let (inner, line) = if $row_major { at } else { (at.1, at.0) };
                for tile in 0..TILES {
                    let at = [(inner + (tile * LINE) as u32) as i32, line as i32, batch as i32];
                    self.part(tile).load_box(lane, map, at, barrier);
                }
            }
        }
    };
}

/// A's tiles.
mod left {
    use super::*;

    factors!(RowMajor across ColMajor, rows true);

    impl<T: Multiplicand, const M: usize, const K: usize> Left for SharedTile<T, M, K, Swizzle128> {
        #[inline(always)]
        fn matrix(self, row: usize, slice: usize) -> MatrixA<T::As, NoTrans> {
            self.matrix_a((row, slice * (SLICE / size_of::<T>())))
        }
    }

    impl<T: Multiplicand<Width = Bits16>, const K: usize, const TILES: usize> Left
        for SharedRing<SharedTile<T, LINE, K, Swizzle128, ColMajor>, TILES>
    {
        #[inline(always)]
        fn matrix(self, row: usize, slice: usize) -> MatrixA<T::As, Trans> {
            self.part(row / LINE).matrix_a((0, slice * (SLICE / size_of::<T>())))
        }
    }
}

/// B's tiles.
mod right {
    use super::*;

    factors!(ColMajor across RowMajor, rows false);

    impl<T: Multiplicand, const N: usize, const K: usize, const COLS: usize> Right<N>
        for SharedTile<T, K, COLS, Swizzle128, ColMajor>
    {
        #[inline(always)]
        fn matrix(self, col: usize, slice: usize) -> MatrixB<N, T::As, NoTrans> {
            self.matrix_b((slice * (SLICE / size_of::<T>()), col))
        }
    }

    impl<T: Multiplicand<Width = Bits16>, const N: usize, const K: usize, const TILES: usize> Right<N>
        for SharedRing<SharedTile<T, K, LINE, Swizzle128, RowMajor>, TILES>
    {
        #[inline(always)]
        fn matrix(self, col: usize, slice: usize) -> MatrixB<N, T::As, Trans> {
            assert!(col == 0, "tiles beside each other are multiplied together");
            self.matrix_b((slice * (SLICE / size_of::<T>()), 0))
        }
    }
}
