//! Operands of `wgmma` in shared memory: matrix descriptors, which tiles make (PTX ISA 9.7.15.5.1).

use crate::element::{Bits16, Element, F8E4M3, F8E5M2, b1, bf16, f16, tf32};
use crate::fragment::{ColMajor, RowMajor};
use crate::lane::{Sealed, Site};
use crate::memory::{
    Coordinate, SharedLayout, SharedRing, SharedTile, Swizzle, Swizzle32, Swizzle64, Swizzle128,
    TensorSwizzle, Window, check_known,
};
use crate::mma::{NoTrans, Trans};
use core::marker::PhantomData;

/// A descriptor of the A operand of a [`Wgmma`](crate::mma::Wgmma): a 64 x K matrix in shared
/// memory.
///
/// [`SharedTile::matrix_a`] makes it. `T` is the element type. `X` is [`NoTrans`] if A is K-major,
/// and [`Trans`] if it is M-major.
pub struct MatrixA<T, X> {
    descriptor: u64,
    _type: PhantomData<fn() -> (T, X)>,
}

/// A descriptor of the B operand of a [`Wgmma`](crate::mma::Wgmma): a K x `N` matrix in shared
/// memory.
///
/// [`SharedTile::matrix_b`] makes it. `T` is the element type. `X` is [`NoTrans`] if B is K-major,
/// and [`Trans`] if it is N-major. With `F` = [`SparseA`], it is the operand of a
/// [`WgmmaSparse`](crate::mma::WgmmaSparse).
pub struct MatrixB<const N: usize, T, X, F = DenseA> {
    descriptor: u64,
    _type: PhantomData<fn() -> (T, X)>,
    _sparsity: PhantomData<F>,
}

/// Whether A is dense or sparse: this determines the extent of B along K.
pub trait SparsityA: Sealed {
    /// Bytes of B along K for each instruction.
    const STEP: usize;
}

/// A dense A.
#[derive(Debug, Clone, Copy)]
pub struct DenseA;
impl Sealed for DenseA {}
impl SparsityA for DenseA {
    const STEP: usize = STEP;
}

/// A structured sparse A: half of its elements are kept, and B is twice as long along K.
#[derive(Debug, Clone, Copy)]
pub struct SparseA;
impl Sealed for SparseA {}
impl SparsityA for SparseA {
    const STEP: usize = 2 * STEP;
}

impl<T, X> Clone for MatrixA<T, X> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, X> Copy for MatrixA<T, X> {}
impl<const N: usize, T, X, F> Clone for MatrixB<N, T, X, F> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<const N: usize, T, X, F> Copy for MatrixB<N, T, X, F> {}

impl<T, X> MatrixA<T, X> {
    /// The descriptor, in the form that the raw functions take.
    #[inline]
    pub const fn descriptor(self) -> u64 {
        self.descriptor
    }

    #[inline]
    const fn new(descriptor: u64) -> Self {
        MatrixA { descriptor, _type: PhantomData }
    }
}

impl<const N: usize, T, X, F> MatrixB<N, T, X, F> {
    /// The descriptor, in the form that the raw functions take.
    #[inline]
    pub const fn descriptor(self) -> u64 {
        self.descriptor
    }

    #[inline]
    const fn new(descriptor: u64) -> Self {
        MatrixB { descriptor, _type: PhantomData, _sparsity: PhantomData }
    }
}

/// A tile's element type that `wgmma` can multiply: an f32 counts as [`tf32`], a `u32` as 32
/// [`b1`].
#[diagnostic::on_unimplemented(message = "`wgmma` multiplies no tiles of `{Self}`")]
pub trait Multiplicand: Element {
    /// The element type of the instruction.
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

/// A swizzle that `wgmma` supports: [`Swizzle32`], [`Swizzle64`] or [`Swizzle128`].
///
/// The tile's contiguous side has as many bytes as the swizzle.
#[diagnostic::on_unimplemented(
    message = "`wgmma` takes no tiles with the swizzle `{Self}`",
    note = "it takes `Swizzle32`, `Swizzle64` and `Swizzle128`, of lines of as many bytes"
)]
pub trait PatternSwizzle: TensorSwizzle {}
impl PatternSwizzle for Swizzle32 {}
impl PatternSwizzle for Swizzle64 {}
impl PatternSwizzle for Swizzle128 {}

/// An element type whose operands `wgmma` also takes MN-major: A column-major, B row-major.
#[diagnostic::on_unimplemented(
    message = "`wgmma` takes operands of `{Self}` K-major only",
    label = "MN-major operands have elements of 16 bits",
    note = "let A be `RowMajor` and B `ColMajor`"
)]
pub trait Transposable: Multiplicand<Width = Bits16> {}
impl Transposable for f16 {}
impl Transposable for bf16 {}

/// Bytes of A along K for each instruction, for all element types.
const STEP: usize = 32;

/// Bytes of a line of the swizzle pattern.
pub(crate) const fn width<S: Swizzle>() -> usize {
    16 << S::BITS
}

/// Checks that the tile's contiguous side, of `elements`, is a line of the swizzle pattern.
const fn check_line<T, S: Swizzle>(elements: usize) {
    assert!(
        elements * size_of::<T>() == width::<S>(),
        "the contiguous side of a tile that `wgmma` takes has as many bytes as the swizzle: 32, 64 \
         or 128"
    );
}

/// Checks that the tile has along K the bytes of B that an instruction takes.
const fn check_step<S: Swizzle, F: SparsityA>() {
    assert!(
        F::STEP <= width::<S>(),
        "with a sparse A, 64 bytes of B are taken along K: its swizzle is one of 64 or 128 bytes"
    );
}

/// The descriptor of a matrix at `address + offset`.
///
/// A swizzle pattern has eight lines. Patterns follow each other at a stride of eight lines.
/// Patterns that are adjacent along a line are `leading` bytes apart.
#[inline]
pub(crate) const fn descriptor<S: Swizzle>(address: u32, offset: u32, leading: usize) -> u64 {
    let pattern = ((8 * width::<S>() as u64) >> 4) << 32 | (4 - S::BITS as u64) << 62;
    // The low 18 bits of an address are the offset in the block's shared memory. Above them is the
    // block's rank in the cluster. The sum of offsets again fits 18 bits. So the constant part is
    // one 32-bit addition.
    let place = (address & 0x3_ffff) >> 4;
    pattern | ((place | ((leading as u32) >> 4) << 16) + (offset >> 4)) as u64
}

/// The window of a K-major operand: `TAKEN` lines from a multiple of eight on, in `TILES` tiles of
/// `LINES` lines each. Along K it has the bytes of one instruction with `F`.
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
    F: SparsityA,
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

/// The window of an MN-major operand: the lines of one instruction with `F`, from a multiple of
/// eight on, each from its start.
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
    F: SparsityA,
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

/// The byte offset of an element in a tile, before the swizzle.
///
/// The swizzle leaves the first line of a pattern unchanged.
#[inline]
const fn place<T, S: Swizzle>(line: usize, along: usize) -> u32 {
    (line * width::<S>() + along * size_of::<T>()) as u32
}

impl<T: Multiplicand, const ROWS: usize, const COLS: usize, S: Swizzle>
    SharedTile<T, ROWS, COLS, S, RowMajor>
{
    /// The A operand of a [`Wgmma`](crate::mma::Wgmma), K-major: 64 rows from (row, k) on, with 32
    /// bytes of each.
    ///
    /// | elements | K |
    /// | --- | --- |
    /// | 16 bits | 16 |
    /// | 8 bits | 32 |
    /// | 32 bits (or words of bits) | 8 (or 256 bits) |
    ///
    /// `row` is a multiple of 8, and `k` a multiple of K. A row of the tile has as many bytes as
    /// its swizzle. For a [`WgmmaSparse`](crate::mma::WgmmaSparse), these are the kept elements of
    /// twice the K.
    #[inline]
    #[track_caller]
    pub fn matrix_a<C: Coordinate>(self, at: C) -> MatrixA<T::As, NoTrans>
    where
        S: PatternSwizzle,
    {
        const { check_line::<T, S>(COLS) };
        const { check_known::<C, AlongK<T, DenseA, 1, ROWS, COLS, 64, true>>() };
        let (row, k) =
            at.resolve::<AlongK<T, DenseA, 1, ROWS, COLS, 64, true>>(self.address(), Site::here());
        MatrixA::new(descriptor::<S>(self.address(), place::<T, S>(row, k), 16))
    }

    /// The B operand of a [`Wgmma`](crate::mma::Wgmma), N-major: 16 rows from (k, 0) on, with `N`
    /// columns of each.
    ///
    /// For a [`WgmmaSparse`](crate::mma::WgmmaSparse) it has 32 rows. Elements have 16 bits, and
    /// `k` is a multiple of 8. A row of the tile has as many bytes as its swizzle. If that is less
    /// than `N` columns, use [`SharedRing::matrix_b`].
    #[inline]
    #[track_caller]
    pub fn matrix_b<const N: usize, F: SparsityA, C: Coordinate>(
        self,
        at: C,
    ) -> MatrixB<N, T::As, Trans, F>
    where
        T: Transposable,
        S: PatternSwizzle,
    {
        const { check_line::<T, S>(COLS) };
        const { check_known::<C, AcrossK<T, F, ROWS, COLS, N, true>>() };
        let (k, _) = at.resolve::<AcrossK<T, F, ROWS, COLS, N, true>>(self.address(), Site::here());
        MatrixB::new(descriptor::<S>(self.address(), place::<T, S>(k, 0), 16))
    }
}

impl<T: Multiplicand, const ROWS: usize, const COLS: usize, S: Swizzle>
    SharedTile<T, ROWS, COLS, S, ColMajor>
{
    /// The A operand of a [`Wgmma`](crate::mma::Wgmma), M-major: 64 rows of the 16 columns from (0,
    /// k) on.
    ///
    /// Elements have 16 bits. `k` is a multiple of 8. A column of the tile has as many bytes as its
    /// swizzle, so the swizzle is [`Swizzle128`]. For other swizzles, [`SharedRing::matrix_a`]
    /// takes several tiles.
    #[inline]
    #[track_caller]
    pub fn matrix_a<C: Coordinate>(self, at: C) -> MatrixA<T::As, Trans>
    where
        T: Transposable,
        S: PatternSwizzle,
    {
        const { check_line::<T, S>(ROWS) };
        const { check_known::<C, AcrossK<T, DenseA, COLS, ROWS, 64, false>>() };
        let (_, k) =
            at.resolve::<AcrossK<T, DenseA, COLS, ROWS, 64, false>>(self.address(), Site::here());
        MatrixA::new(descriptor::<S>(self.address(), place::<T, S>(k, 0), 16))
    }

    /// The B operand of a [`Wgmma`](crate::mma::Wgmma), K-major: `N` columns from (k, col) on, with
    /// 32 bytes of each.
    ///
    /// | elements | K |
    /// | --- | --- |
    /// | 16 bits | 16 |
    /// | 8 bits | 32 |
    /// | 32 bits (or words of bits) | 8 (or 256 bits) |
    ///
    /// `col` is a multiple of 8, and `k` a multiple of K. A column of the tile has as many bytes as
    /// its swizzle. For a [`WgmmaSparse`](crate::mma::WgmmaSparse), each column has 64 bytes and K
    /// is twice as large.
    #[inline]
    #[track_caller]
    pub fn matrix_b<const N: usize, F: SparsityA, C: Coordinate>(
        self,
        at: C,
    ) -> MatrixB<N, T::As, NoTrans, F>
    where
        S: PatternSwizzle,
    {
        const { check_line::<T, S>(ROWS) };
        const { check_step::<S, F>() };
        const { check_known::<C, AlongK<T, F, 1, COLS, ROWS, N, false>>() };
        let (k, col) =
            at.resolve::<AlongK<T, F, 1, COLS, ROWS, N, false>>(self.address(), Site::here());
        MatrixB::new(descriptor::<S>(self.address(), place::<T, S>(col, k), 16))
    }
}

/// Checks that the tiles of a ring have whole swizzle patterns. The lines of one tile then continue
/// those of the tile before.
const fn check_patterns(lines: usize) {
    assert!(
        lines.is_multiple_of(8),
        "tiles whose lines `wgmma` takes together have a multiple of 8 of them"
    );
}

/// Tiles adjacent along M: a K-major A with more rows than a tile.
impl<T: Multiplicand, const ROWS: usize, const COLS: usize, S: PatternSwizzle, const TILES: usize>
    SharedRing<SharedTile<T, ROWS, COLS, S, RowMajor>, TILES>
{
    /// The A operand, K-major, like [`SharedTile::matrix_a`]. The rows of each tile follow those of
    /// the tile before.
    #[inline]
    #[track_caller]
    pub fn matrix_a<C: Coordinate>(self, at: C) -> MatrixA<T::As, NoTrans> {
        const { check_line::<T, S>(COLS) };
        const { check_patterns(ROWS) };
        const { check_known::<C, AlongK<T, DenseA, TILES, ROWS, COLS, 64, true>>() };
        let (row, k) = at.resolve::<AlongK<T, DenseA, TILES, ROWS, COLS, 64, true>>(
            self.address(),
            Site::here(),
        );
        MatrixA::new(descriptor::<S>(self.address(), place::<T, S>(row, k), 16))
    }
}

/// Tiles adjacent along N: a K-major B with more columns than a tile.
impl<T: Multiplicand, const ROWS: usize, const COLS: usize, S: PatternSwizzle, const TILES: usize>
    SharedRing<SharedTile<T, ROWS, COLS, S, ColMajor>, TILES>
{
    /// The B operand, K-major, like [`SharedTile::matrix_b`]. The columns of each tile follow those
    /// of the tile before, for example if several TMA loads fill them.
    ///
    /// ```
    /// use ptx_matrix::{mma::{GroupAccumulator, Wgmma}, prelude::*};
    ///
    /// /// D = A x B: 64 x 32, bf16 into f32, K = 64, with B in two tiles.
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
    ///     let mut accumulators = GroupAccumulator::<32, f32>::zero().begin(group);
    ///     Wgmma::<32, bf16, bf16, f32>::issue(group, &mut accumulators, |issue| {
    ///         for k in (0..64).step_by(16) {
    ///             issue.accumulate(tile_a.matrix_a((0, k)), tiles_b.matrix_b((k, 0)));
    ///         }
    ///     });
    ///     accumulators.finish(group).for_each(group, |row, col, sum| d.set(row * 32 + col, sum));
    /// }
    ///
    /// let mut d = [0.0; 64 * 32];
    /// multiply::simulate(1, &mut d).check();
    /// assert_eq!((d[3 * 32 + 15], d[3 * 32 + 16]), (192.0, 384.0));
    /// ```
    #[inline]
    #[track_caller]
    pub fn matrix_b<const N: usize, F: SparsityA, C: Coordinate>(
        self,
        at: C,
    ) -> MatrixB<N, T::As, NoTrans, F> {
        const { check_line::<T, S>(ROWS) };
        const { check_step::<S, F>() };
        const { check_patterns(COLS) };
        const { check_known::<C, AlongK<T, F, TILES, COLS, ROWS, N, false>>() };
        let (k, col) =
            at.resolve::<AlongK<T, F, TILES, COLS, ROWS, N, false>>(self.address(), Site::here());
        MatrixB::new(descriptor::<S>(self.address(), place::<T, S>(col, k), 16))
    }
}

/// Tiles adjacent along N: an N-major B whose rows are longer than a swizzle.
impl<
    T: Multiplicand<Width = Bits16>,
    const ROWS: usize,
    const COLS: usize,
    S: PatternSwizzle,
    const TILES: usize,
> SharedRing<SharedTile<T, ROWS, COLS, S, RowMajor>, TILES>
{
    /// The B operand, N-major, like [`SharedTile::matrix_b`]. The columns of each tile follow those
    /// of the tile before.
    #[inline]
    #[track_caller]
    pub fn matrix_b<const N: usize, F: SparsityA, C: Coordinate>(
        self,
        at: C,
    ) -> MatrixB<N, T::As, Trans, F> {
        const { check_line::<T, S>(COLS) };
        const { check_patterns(ROWS) };
        const {
            assert!(
                N <= TILES * COLS,
                "out of range: the last column lies beyond the tiles' columns"
            )
        };
        const { check_known::<C, AcrossK<T, F, ROWS, COLS, COLS, true>>() };
        let (k, _) =
            at.resolve::<AcrossK<T, F, ROWS, COLS, COLS, true>>(self.address(), Site::here());
        let leading = SharedTile::<T, ROWS, COLS, S, RowMajor>::BYTES;
        MatrixB::new(descriptor::<S>(self.address(), place::<T, S>(k, 0), leading))
    }
}

/// Tiles adjacent along M: an M-major A whose columns are longer than a swizzle.
impl<
    T: Multiplicand<Width = Bits16>,
    const ROWS: usize,
    const COLS: usize,
    S: PatternSwizzle,
    const TILES: usize,
> SharedRing<SharedTile<T, ROWS, COLS, S, ColMajor>, TILES>
{
    /// The A operand, M-major, like [`SharedTile::matrix_a`]. The rows of each tile follow those of
    /// the tile before.
    #[inline]
    #[track_caller]
    pub fn matrix_a<C: Coordinate>(self, at: C) -> MatrixA<T::As, Trans> {
        const { check_line::<T, S>(ROWS) };
        const { check_patterns(COLS) };
        const {
            // A has 64 rows.
            assert!(64 <= TILES * ROWS, "out of range: the last row lies beyond the tiles' rows")
        };
        const { check_known::<C, AcrossK<T, DenseA, COLS, ROWS, ROWS, false>>() };
        let (_, k) =
            at.resolve::<AcrossK<T, DenseA, COLS, ROWS, ROWS, false>>(self.address(), Site::here());
        let leading = SharedTile::<T, ROWS, COLS, S, ColMajor>::BYTES;
        MatrixA::new(descriptor::<S>(self.address(), place::<T, S>(k, 0), leading))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a GPU, the addresses of block 1 of a cluster have a bit set above those of block 0.
    #[test]
    fn descriptor_ignores_rank_in_cluster() {
        let of_block = |rank: u32| descriptor::<Swizzle128>(rank << 24 | 0x1_8400, 0x80, 0x2000);
        assert_eq!(of_block(0), of_block(1));
        assert_eq!(of_block(0), 1 << 62 | 64 << 32 | 0x200 << 16 | 0x1_8480 >> 4);
    }
}
