//! Matrices in shared memory, as `wgmma` takes them: descriptors, which tiles make (PTX ISA
//! 9.7.15.5.1).

use crate::element::{Bits16, Element, F8E4M3, F8E5M2, b1, bf16, f16, tf32};
use crate::fragment::{ColMajor, RowMajor};
use crate::lane::{Sealed, Site};
use crate::memory::{
    Coordinate, SharedLayout, SharedRing, SharedTile, Swizzle, Swizzle32, Swizzle64, Swizzle128,
    TensorSwizzle, Window, check_known,
};
use crate::mma::{NoTrans, Trans};
use core::marker::PhantomData;

/// A matrix of 64 x K in shared memory, of elements `T`: the left factor of a
/// [`Wgmma`](crate::mma::Wgmma). `X` is [`NoTrans`] if elements along K are neighbours, and else
/// [`Trans`].
///
/// A tile makes it: [`SharedTile::matrix_a`].
pub struct MatrixA<T, X> {
    descriptor: u64,
    _type: PhantomData<fn() -> (T, X)>,
}

/// A matrix of K x `N` in shared memory, of elements `T`: the right factor of a
/// [`Wgmma`](crate::mma::Wgmma), or, where `F` is [`SparseA`], of a
/// [`WgmmaSparse`](crate::mma::WgmmaSparse). `X` is [`NoTrans`] if elements along K are neighbours,
/// and else [`Trans`].
///
/// A tile makes it: [`SharedTile::matrix_b`].
pub struct MatrixB<const N: usize, T, X, F = DenseA> {
    descriptor: u64,
    _type: PhantomData<fn() -> (T, X)>,
    _factor: PhantomData<F>,
}

/// What A is, by which B goes so far along K.
pub trait FactorA: Sealed {
    /// Bytes of B along K that an instruction takes.
    const STEP: usize;
}

/// All elements of A are there.
#[derive(Debug, Clone, Copy)]
pub struct DenseA;
impl Sealed for DenseA {}
impl FactorA for DenseA {
    const STEP: usize = STEP;
}

/// Half of the elements of A are kept: B goes twice as far along K.
#[derive(Debug, Clone, Copy)]
pub struct SparseA;
impl Sealed for SparseA {}
impl FactorA for SparseA {
    const STEP: usize = 2 * STEP;
}

impl<T, X> Clone for MatrixA<T, X> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, X> Copy for MatrixA<T, X> {}
impl<const N: usize, T, X, F> Clone for MatrixB<N, T, X, F> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<const N: usize, T, X, F> Copy for MatrixB<N, T, X, F> {}

impl<T, X> MatrixA<T, X> {
    /// The descriptor, as the raw functions take it.
    #[inline(always)]
    pub const fn descriptor(self) -> u64 {
        self.descriptor
    }

    #[inline(always)]
    const fn new(descriptor: u64) -> Self {
        MatrixA { descriptor, _type: PhantomData }
    }
}

impl<const N: usize, T, X, F> MatrixB<N, T, X, F> {
    /// The descriptor, as the raw functions take it.
    #[inline(always)]
    pub const fn descriptor(self) -> u64 {
        self.descriptor
    }

    #[inline(always)]
    const fn new(descriptor: u64) -> Self {
        MatrixB { descriptor, _type: PhantomData, _factor: PhantomData }
    }
}

/// An element of a tile that `wgmma` multiplies, as what: itself, an f32 as [`tf32`], the bits of a
/// `u32` as [`b1`].
#[diagnostic::on_unimplemented(message = "`wgmma` multiplies no tiles of `{Self}`")]
pub trait Multiplicand: Element {
    /// What it is multiplied as.
    type As: Element;
}

macro_rules! multiplicands {
    ($($stored:ident as $multiplied:ident;)*) => {$(
        impl Multiplicand for $stored {
            type As = $multiplied;
        }
    )*};
}
multiplicands! {
    f16 as f16;
    bf16 as bf16;
    tf32 as tf32;
    f32 as tf32;
    F8E4M3 as F8E4M3;
    F8E5M2 as F8E5M2;
    i8 as i8;
    u8 as u8;
    u32 as b1;
}

/// A swizzle that `wgmma` knows, of tiles whose lines are as long as it: [`Swizzle32`],
/// [`Swizzle64`], [`Swizzle128`].
#[diagnostic::on_unimplemented(
    message = "`wgmma` takes no tiles with the swizzle `{Self}`",
    note = "it takes `Swizzle32`, `Swizzle64` and `Swizzle128`, of lines of as many bytes"
)]
pub trait PatternSwizzle: TensorSwizzle {}
impl PatternSwizzle for Swizzle32 {}
impl PatternSwizzle for Swizzle64 {}
impl PatternSwizzle for Swizzle128 {}

/// Bytes of A along K that an instruction takes, of whatever elements.
const STEP: usize = 32;

/// Bytes of the lines of a pattern.
pub(crate) const fn width<S: Swizzle>() -> usize {
    16 << S::BITS
}

/// Lines of so many elements are the pattern's.
const fn check_line<T, S: Swizzle>(elements: usize) {
    assert!(
        elements * size_of::<T>() == width::<S>(),
        "the contiguous side of a tile that `wgmma` takes has as many bytes as the swizzle: 32, 64 or 128"
    );
}

/// Along K there are as many bytes as an instruction takes of B.
const fn check_step<S: Swizzle, F: FactorA>() {
    assert!(
        F::STEP <= width::<S>(),
        "with a sparse A, 64 bytes of B are taken along K: its swizzle is one of 64 or 128 bytes"
    );
}

/// The descriptor of a matrix `offset` bytes behind `address`, whose patterns of eight lines lie
/// behind each other, and those beside each other along a line `leading` bytes apart.
#[inline(always)]
pub(crate) const fn descriptor<S: Swizzle>(address: u32, offset: u32, leading: usize) -> u64 {
    let pattern = ((8 * width::<S>() as u64) >> 4) << 32 | (4 - S::BITS as u64) << 62;
    // Above the 18 bits of a place in shared memory, an address has the block's rank in its
    // cluster. The sum of places is one of 18 bits again: what is constant of it is an
    // addition, of 32 bits.
    let place = (address & 0x3_ffff) >> 4;
    pattern | ((place | ((leading as u32) >> 4) << 16) + (offset >> 4)) as u64
}

/// Where lines go along K: so many lines from a multiple of eight on, of `TILES` tiles, and of them
/// what is taken of `F`, or with it.
struct AlongK<
    T,
    F,
    const TILES: usize,
    const LINES: usize,
    const LINE: usize,
    const TAKEN: usize,
    const ROW_MAJOR: bool,
>(PhantomData<(T, F)>);

impl<
    T,
    F: FactorA,
    const TILES: usize,
    const LINES: usize,
    const LINE: usize,
    const TAKEN: usize,
    const ROW_MAJOR: bool,
> Window for AlongK<T, F, TILES, LINES, LINE, TAKEN, ROW_MAJOR>
{
    const TILE_ROWS: usize = if ROW_MAJOR { TILES * LINES } else { LINE };
    const TILE_COLS: usize = if ROW_MAJOR { LINE } else { TILES * LINES };
    const ROWS: usize = if ROW_MAJOR { TAKEN } else { F::STEP / size_of::<T>() };
    const COLS: usize = if ROW_MAJOR { F::STEP / size_of::<T>() } else { TAKEN };
    const ROW_STEP: usize = if ROW_MAJOR { 8 } else { F::STEP / size_of::<T>() };
    const COL_STEP: usize = if ROW_MAJOR { F::STEP / size_of::<T>() } else { 8 };
}

/// Where lines go across K: as many as are taken of `F`, or with it, from a multiple of eight on,
/// each from its start.
struct AcrossK<
    T,
    F,
    const LINES: usize,
    const LINE: usize,
    const TAKEN: usize,
    const ROW_MAJOR: bool,
>(PhantomData<(T, F)>);

impl<
    T,
    F: FactorA,
    const LINES: usize,
    const LINE: usize,
    const TAKEN: usize,
    const ROW_MAJOR: bool,
> Window for AcrossK<T, F, LINES, LINE, TAKEN, ROW_MAJOR>
{
    const TILE_ROWS: usize = if ROW_MAJOR { LINES } else { LINE };
    const TILE_COLS: usize = if ROW_MAJOR { LINE } else { LINES };
    const ROWS: usize = if ROW_MAJOR { F::STEP / size_of::<T>() } else { TAKEN };
    const COLS: usize = if ROW_MAJOR { TAKEN } else { F::STEP / size_of::<T>() };
    const ROW_STEP: usize = if ROW_MAJOR { 8 } else { LINE };
    const COL_STEP: usize = if ROW_MAJOR { LINE } else { 8 };
}

/// Where (row, col) is in a tile, in bytes, with its place in a line as if nothing were swizzled;
/// at the start of a pattern nothing is.
#[inline(always)]
const fn place<T, S: Swizzle>(line: usize, along: usize) -> u32 {
    (line * width::<S>() + along * size_of::<T>()) as u32
}

impl<T: Multiplicand, const ROWS: usize, const COLS: usize, S: PatternSwizzle>
    SharedTile<T, ROWS, COLS, S, RowMajor>
{
    /// The 64 rows, and 32 bytes of each, from (row, k) on, as the left factor of a
    /// [`Wgmma`](crate::mma::Wgmma): K is 16 elements of 16 bits, 32 of 8 bits, 8 of 32 bits
    /// (or words of bits); or as what is kept of that of a
    /// [`WgmmaSparse`](crate::mma::WgmmaSparse), of twice the K. The row is a multiple of 8, k
    /// one of what is taken; a row of the tile has as many bytes as its swizzle.
    #[inline(always)]
    #[track_caller]
    pub fn matrix_a<C: Coordinate>(self, at: C) -> MatrixA<T::As, NoTrans> {
        const { check_line::<T, S>(COLS) };
        const { check_known::<C, AlongK<T, DenseA, 1, ROWS, COLS, 64, true>>() };
        let (row, k) = at.resolve::<AlongK<T, DenseA, 1, ROWS, COLS, 64, true>>(Site::here());
        MatrixA::new(descriptor::<S>(self.address(), place::<T, S>(row, k), 16))
    }

    /// The 16 rows, and `N` columns of each, from (k, 0) on, as the right factor of a
    /// [`Wgmma`](crate::mma::Wgmma), or 32 of a [`WgmmaSparse`](crate::mma::WgmmaSparse):
    /// elements of 16 bits. k is a multiple of 8; a row of the tile has as many bytes as its
    /// swizzle. Where that is not enough for `N`: [`SharedRing::matrix_b`].
    #[inline(always)]
    #[track_caller]
    pub fn matrix_b<const N: usize, F: FactorA, C: Coordinate>(
        self,
        at: C,
    ) -> MatrixB<N, T::As, Trans, F>
    where
        T: Element<Width = Bits16>,
    {
        const { check_line::<T, S>(COLS) };
        const { check_known::<C, AcrossK<T, F, ROWS, COLS, N, true>>() };
        let (k, _) = at.resolve::<AcrossK<T, F, ROWS, COLS, N, true>>(Site::here());
        MatrixB::new(descriptor::<S>(self.address(), place::<T, S>(k, 0), 16))
    }
}

impl<T: Multiplicand, const ROWS: usize, const COLS: usize, S: PatternSwizzle>
    SharedTile<T, ROWS, COLS, S, ColMajor>
{
    /// The 64 rows of 16 columns from (0, k) on, as the left factor of a
    /// [`Wgmma`](crate::mma::Wgmma): elements of 16 bits. k is a multiple of 8; a column of the
    /// tile has as many bytes as its swizzle, which is [`Swizzle128`]; else
    /// [`SharedRing::matrix_a`] takes several tiles.
    #[inline(always)]
    #[track_caller]
    pub fn matrix_a<C: Coordinate>(self, at: C) -> MatrixA<T::As, Trans>
    where
        T: Element<Width = Bits16>,
    {
        const { check_line::<T, S>(ROWS) };
        const { check_known::<C, AcrossK<T, DenseA, COLS, ROWS, 64, false>>() };
        let (_, k) = at.resolve::<AcrossK<T, DenseA, COLS, ROWS, 64, false>>(Site::here());
        MatrixA::new(descriptor::<S>(self.address(), place::<T, S>(k, 0), 16))
    }

    /// The `N` columns, and 32 bytes of each, from (k, col) on, as the right factor of a
    /// [`Wgmma`](crate::mma::Wgmma): K is 16 elements of 16 bits, 32 of 8 bits, 8 of 32 bits
    /// (or words of bits). As that of a [`WgmmaSparse`](crate::mma::WgmmaSparse) it is 64 bytes,
    /// and K twice as many elements. The column is a multiple of 8, k one of K; a column of the
    /// tile has as many bytes as its swizzle.
    #[inline(always)]
    #[track_caller]
    pub fn matrix_b<const N: usize, F: FactorA, C: Coordinate>(
        self,
        at: C,
    ) -> MatrixB<N, T::As, NoTrans, F> {
        const { check_line::<T, S>(ROWS) };
        const { check_step::<S, F>() };
        const { check_known::<C, AlongK<T, F, 1, COLS, ROWS, N, false>>() };
        let (k, col) = at.resolve::<AlongK<T, F, 1, COLS, ROWS, N, false>>(Site::here());
        MatrixB::new(descriptor::<S>(self.address(), place::<T, S>(col, k), 16))
    }
}

/// Lines that the tiles of a ring have: whole patterns, so that those of one tile lie behind those
/// of the one before.
const fn check_patterns(lines: usize) {
    assert!(
        lines.is_multiple_of(8),
        "tiles whose lines `wgmma` takes together have a multiple of 8 of them"
    );
}

/// Tiles below each other: a matrix with more rows than a tile, whose lines go along K.
impl<T: Multiplicand, const ROWS: usize, const COLS: usize, S: PatternSwizzle, const TILES: usize>
    SharedRing<SharedTile<T, ROWS, COLS, S, RowMajor>, TILES>
{
    /// As [`SharedTile::matrix_a`] of a row-major tile, the rows of each tile behind those of the
    /// one before.
    #[inline(always)]
    #[track_caller]
    pub fn matrix_a<C: Coordinate>(self, at: C) -> MatrixA<T::As, NoTrans> {
        const { check_line::<T, S>(COLS) };
        const { check_patterns(ROWS) };
        const { check_known::<C, AlongK<T, DenseA, TILES, ROWS, COLS, 64, true>>() };
        let (row, k) = at.resolve::<AlongK<T, DenseA, TILES, ROWS, COLS, 64, true>>(Site::here());
        MatrixA::new(descriptor::<S>(self.address(), place::<T, S>(row, k), 16))
    }
}

/// Tiles beside each other: a matrix with more columns than a tile, whose lines go along K.
impl<T: Multiplicand, const ROWS: usize, const COLS: usize, S: PatternSwizzle, const TILES: usize>
    SharedRing<SharedTile<T, ROWS, COLS, S, ColMajor>, TILES>
{
    /// As [`SharedTile::matrix_b`] of a column-major tile, the columns of each tile behind those of
    /// the one before: tiles that several copies bring, say.
    ///
    /// ```
    /// use ptx_matrix::{mma::{GroupAccumulator, Wgmma}, prelude::*};
    ///
    /// /// D = A x B: 64 x 32, of bf16 into f32, with K of 64, B in two tiles.
    /// #[kernel(threads = 128, target = "sm_90a")]
    /// fn multiply(
    ///     block: &Block,
    ///     #[shared] tile_a: SharedTile<bf16, 64, 64, Swizzle128>,
    ///     #[shared] tiles_b: SharedRing<SharedTile<bf16, 64, 16, Swizzle128, ColMajor>, 2>,
    ///     d: GlobalMut<f32>,
    /// ) {
    ///     let group = block.warp_group();
    ///     tile_a.fill(group, |row, _| bf16::from_f32(row as f32));
    ///     tiles_b.part(0).fill(group, |_, _| bf16::from_f32(1.0));
    ///     tiles_b.part(1).fill(group, |_, _| bf16::from_f32(2.0));
    ///     group.warp().fence_for_bulk();
    ///     group.sync();
    ///     let mut sums = GroupAccumulator::<32, f32>::zero().begin(group);
    ///     Wgmma::<32, bf16, bf16, f32>::issue(group, &mut sums, |issue| {
    ///         for k in (0..64).step_by(16) {
    ///             issue.accumulate(tile_a.matrix_a((0, k)), tiles_b.matrix_b((k, 0)));
    ///         }
    ///     });
    ///     sums.finish(group).for_each(group, |row, col, sum| d.set(row * 32 + col, sum));
    /// }
    ///
    /// let mut d = [0.0; 64 * 32];
    /// multiply::simulate(1, &mut d).check();
    /// assert_eq!((d[3 * 32 + 15], d[3 * 32 + 16]), (192.0, 384.0));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn matrix_b<const N: usize, F: FactorA, C: Coordinate>(
        self,
        at: C,
    ) -> MatrixB<N, T::As, NoTrans, F> {
        const { check_line::<T, S>(ROWS) };
        const { check_step::<S, F>() };
        const { check_patterns(COLS) };
        const { check_known::<C, AlongK<T, F, TILES, COLS, ROWS, N, false>>() };
        let (k, col) = at.resolve::<AlongK<T, F, TILES, COLS, ROWS, N, false>>(Site::here());
        MatrixB::new(descriptor::<S>(self.address(), place::<T, S>(col, k), 16))
    }
}

/// Tiles beside each other: a matrix whose lines across K are longer than a swizzle.
impl<
    T: Multiplicand<Width = Bits16>,
    const ROWS: usize,
    const COLS: usize,
    S: PatternSwizzle,
    const TILES: usize,
> SharedRing<SharedTile<T, ROWS, COLS, S, RowMajor>, TILES>
{
    /// As [`SharedTile::matrix_b`] of a row-major tile, the columns of each tile behind those of
    /// the one before.
    #[inline(always)]
    #[track_caller]
    pub fn matrix_b<const N: usize, F: FactorA, C: Coordinate>(
        self,
        at: C,
    ) -> MatrixB<N, T::As, Trans, F> {
        const { check_line::<T, S>(COLS) };
        const {
            assert!(
                N <= TILES * COLS,
                "out of range: the last column lies beyond the tiles' columns"
            )
        };
        const { check_known::<C, AcrossK<T, F, ROWS, COLS, COLS, true>>() };
        let (k, _) = at.resolve::<AcrossK<T, F, ROWS, COLS, COLS, true>>(Site::here());
        let leading = SharedTile::<T, ROWS, COLS, S, RowMajor>::BYTES;
        MatrixB::new(descriptor::<S>(self.address(), place::<T, S>(k, 0), leading))
    }
}

/// Tiles below each other: a matrix whose lines across K are longer than a swizzle.
impl<
    T: Multiplicand<Width = Bits16>,
    const ROWS: usize,
    const COLS: usize,
    S: PatternSwizzle,
    const TILES: usize,
> SharedRing<SharedTile<T, ROWS, COLS, S, ColMajor>, TILES>
{
    /// As [`SharedTile::matrix_a`] of a column-major tile, the rows of each tile behind those of
    /// the one before.
    #[inline(always)]
    #[track_caller]
    pub fn matrix_a<C: Coordinate>(self, at: C) -> MatrixA<T::As, Trans> {
        const { check_line::<T, S>(ROWS) };
        const { assert!(64 <= TILES * ROWS, "out of range: the last row lies beyond the tiles' rows") };
        const { check_known::<C, AcrossK<T, DenseA, COLS, ROWS, ROWS, false>>() };
        let (_, k) = at.resolve::<AcrossK<T, DenseA, COLS, ROWS, ROWS, false>>(Site::here());
        let leading = SharedTile::<T, ROWS, COLS, S, ColMajor>::BYTES;
        MatrixA::new(descriptor::<S>(self.address(), place::<T, S>(k, 0), leading))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a GPU the addresses of a cluster's block 1 have a bit above those of block 0.
    #[test]
    fn descriptors_are_of_places_in_the_block() {
        let of_block = |rank: u32| descriptor::<Swizzle128>(rank << 24 | 0x1_8400, 0x80, 0x2000);
        assert_eq!(of_block(0), of_block(1));
        assert_eq!(of_block(0), 1 << 62 | 64 << 32 | 0x200 << 16 | 0x1_8480 >> 4);
    }
}
