//! Matrices in global memory.

use crate::element::Element;
use crate::lane::{Capturable, Lane, Site};
use crate::machine::check;
use crate::memory::{Global, GlobalMut, Order, RowMajor, TileSize};
use bytemuck::Pod;
use core::marker::PhantomData;

/// A matrix in global memory that no thread writes while the kernel runs.
///
/// It is a [`Global`] slice, seen as `rows` x `cols` elements with a leading dimension of `stride`
/// elements:
///
/// | order | index of (row, col) in the slice |
/// | --- | --- |
/// | `RowMajor` | `row * stride + col` |
/// | `ColMajor` | `col * stride + row` |
///
/// [`new`](Self::new) checks once that the matrix fits the slice.
/// [`TileReader`](crate::copy::TileReader) loads tiles of it into shared memory.
///
/// ```
/// use ptx_matrix::{memory::GlobalMatrix, prelude::*};
///
/// /// Compares the first row of a matrix with the first column of its transpose: the same
/// /// elements.
/// #[kernel(threads = 32)]
/// fn traces(block: &Block, a: Global<f32>, n: u32, stride: u32, d: GlobalMut<f32>) {
///     let (n, stride) = (n as usize, stride as usize);
///     let by_row = GlobalMatrix::<f32, RowMajor>::new(a, n, n, stride);
///     let by_col = GlobalMatrix::<f32, ColMajor>::new(a, n, n, stride);
///     let (mut corner, mut transposed) = (0.0, 0.0);
///     for i in 0..n {
///         corner += by_row.get(0, i);
///         transposed += by_col.get(i, 0);
///     }
///     block.warp().each(|lane| if lane.id() == 0 { d.set(0, corner - transposed) });
/// }
///
/// let mut d = [1.0];
/// traces::simulate(1, &[1.0, 2.0, 9.0, 3.0, 4.0], 2, 3, &mut d).unwrap();
/// assert_eq!(d, [0.0]);
/// ```
pub struct GlobalMatrix<'k, T, O = RowMajor> {
    elements: Global<'k, T>,
    extent: Extent<O>,
}

/// A matrix in global memory that threads write: as [`GlobalMatrix`], in a [`GlobalMut`] slice.
pub struct GlobalMatrixMut<'k, T, O = RowMajor> {
    elements: GlobalMut<'k, T>,
    extent: Extent<O>,
}

/// The size and the leading dimension of a matrix.
struct Extent<O> {
    rows: u32,
    cols: u32,
    stride: usize,
    _order: PhantomData<fn() -> O>,
}

impl<O> Clone for Extent<O> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<O> Copy for Extent<O> {}

impl<O: Order> Extent<O> {
    /// The rows and the elements of each; if column-major, the columns and the elements of each.
    #[inline]
    const fn lines(self) -> (usize, usize) {
        let (rows, cols) = (self.rows as usize, self.cols as usize);
        if O::ROW_MAJOR { (rows, cols) } else { (cols, rows) }
    }

    #[inline]
    fn fits(self, len: usize) -> bool {
        let (lines, length) = self.lines();
        lines == 0
            || length == 0
            || length <= self.stride
                && (lines - 1).saturating_mul(self.stride).saturating_add(length) <= len
    }

    /// The index of an element, which is in bounds.
    #[inline]
    const fn index(self, row: usize, col: usize) -> usize {
        if O::ROW_MAJOR { row * self.stride + col } else { col * self.stride + row }
    }
}

macro_rules! matrix {
    ($($matrix:ident $slice:ident;)*) => {$(
        impl<T, O> Clone for $matrix<'_, T, O> {
            #[inline]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T, O> Copy for $matrix<'_, T, O> {}

        // SAFETY: the slice is `LaneCapture`, and the rest is three numbers.
        unsafe impl<T: Element, O> Capturable for $matrix<'_, T, O> {}

        impl<'k, T: Element, O: Order> $matrix<'k, T, O> {
            /// Makes the matrix of `rows` x `cols` elements at the start of a slice, with a leading
            /// dimension of `stride` elements.
            ///
            /// If it does not fit the slice, the kernel stops.
            #[inline]
            #[track_caller]
            pub fn new(elements: $slice<'k, T>, rows: usize, cols: usize, stride: usize) -> Self {
                let extent = Extent {
                    rows: rows as u32, cols: cols as u32, stride, _order: PhantomData
                };
                check!(
                    rows <= u32::MAX as usize
                        && cols <= u32::MAX as usize
                        && extent.fits(elements.len()),
                    Site::here(),
                    MatrixOutOfBounds {
                        name: elements.name(),
                        size: TileSize { rows, cols },
                        stride,
                        len: elements.len()
                    }
                );
                $matrix { elements, extent }
            }

            /// The number of rows.
            #[inline]
            pub const fn rows(self) -> usize {
                self.extent.rows as usize
            }

            /// The number of columns.
            #[inline]
            pub const fn cols(self) -> usize {
                self.extent.cols as usize
            }

            /// The leading dimension: elements from one row to the next (column if `ColMajor`).
            #[inline]
            pub const fn stride(self) -> usize {
                self.extent.stride
            }

            /// Whether the rows (columns if `ColMajor`) start at addresses that are multiples of
            /// `bytes`.
            #[inline]
            pub fn lines_start_at_multiples_of(self, bytes: usize) -> bool {
                self.elements.alignment().is_multiple_of(bytes)
                    && (self.stride() * size_of::<T>()).is_multiple_of(bytes)
            }

            /// The slice that contains the matrix.
            #[inline]
            pub const fn elements(self) -> $slice<'k, T> {
                self.elements
            }

            /// The index of (row, col) in the slice. Outside the matrix, the kernel stops.
            #[inline]
            #[track_caller]
            pub(crate) fn index(self, row: usize, col: usize) -> usize {
                let inside = row < self.rows() && col < self.cols();
                check!(
                    inside,
                    Site::here(),
                    TileOutOfBounds {
                        memory: crate::engine::Memory::Global {
                            name: self.elements.name(),
                            index: 0
                        },
                        at: (row, col),
                        size: TileSize { rows: 1, cols: 1 },
                        tile: TileSize { rows: self.rows(), cols: self.cols() }
                    }
                );
                self.extent.index(row, col)
            }
        }
    )*};
}
matrix! {
    GlobalMatrix Global;
    GlobalMatrixMut GlobalMut;
}

impl<T: Element, O: Order> GlobalMatrix<'_, T, O> {
    /// The rows and the elements of each; if column-major, the columns and the elements of each.
    #[inline]
    pub(crate) const fn lines(self) -> (usize, usize) {
        self.extent.lines()
    }

    /// Reads the element (row, col). Outside the matrix, the kernel stops.
    #[inline]
    #[track_caller]
    pub fn get(self, row: usize, col: usize) -> T {
        let index = self.index(row, col);
        // SAFETY: in the matrix, which is in the slice.
        unsafe { self.elements.get_unchecked(index) }
    }

    /// Reads the element (row, col), or returns `default` outside the matrix. It never stops the
    /// kernel, so it may read with a `wgmma` in flight.
    ///
    /// ```
    /// use ptx_matrix::memory::GlobalMatrix;
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Copies the first 8 rows of a matrix with 2 columns, and pads them to 4 columns.
    /// #[kernel(threads = 32)]
    /// fn pad(block: &Block, x: Global<u32>, d: GlobalMut<u32>) {
    ///     let x = GlobalMatrix::<u32>::new(x, 8, 2, 2);
    ///     block.warp().each(|lane| {
    ///         let (row, col) = (lane.id() / 4, lane.id() % 4);
    ///         d.set(lane.id(), x.get_or(row, col, 0));
    ///     });
    /// }
    ///
    /// let mut d = [9; 32];
    /// pad::simulate(1, &[1; 16], &mut d).check();
    /// assert_eq!(d[..8], [1, 1, 0, 0, 1, 1, 0, 0]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_or(self, row: usize, col: usize, default: T) -> T {
        if row >= self.rows() || col >= self.cols() {
            return default;
        }
        // SAFETY: in the matrix, which is in the slice.
        unsafe { self.elements.get_unchecked(self.extent.index(row, col)) }
    }
}

impl<T: Element, O: Order> GlobalMatrixMut<'_, T, O> {
    /// Whether a window is in the matrix.
    #[inline]
    pub(crate) fn has(self, at: (usize, usize), size: TileSize) -> bool {
        let inside = |at: usize, size: usize, side: usize| size <= side && at <= side - size;
        inside(at.0, size.rows, self.rows()) && inside(at.1, size.cols, self.cols())
    }

    /// Whether a window that starts there consists of aligned pieces of `piece` elements.
    #[inline]
    pub(crate) fn has_pieces(self, at: (usize, usize), piece: usize) -> bool {
        let along = if O::ROW_MAJOR { at.1 } else { at.0 };
        along.is_multiple_of(piece) && self.lines_start_at_multiples_of(piece * size_of::<T>())
    }

    /// Writes a piece to the elements from (row, col) on.
    ///
    /// # Safety
    /// They are elements of the matrix, and aligned.
    #[inline]
    pub(crate) unsafe fn store_piece<P: Pod>(self, row: usize, col: usize, piece: P, site: Site) {
        let first = self.extent.index(row, col);
        // SAFETY: in bounds and aligned, as the caller guarantees.
        unsafe { self.elements.raw().store_piece(first, piece, site) }
    }

    /// Like [`set`](Self::set), for the source line `site`.
    #[inline]
    pub(crate) fn set_at(self, row: usize, col: usize, value: T, site: Site) {
        let inside = row < self.rows() && col < self.cols();
        check!(
            inside,
            site,
            TileOutOfBounds {
                memory: crate::engine::Memory::Global { name: self.elements.name(), index: 0 },
                at: (row, col),
                size: TileSize { rows: 1, cols: 1 },
                tile: TileSize { rows: self.rows(), cols: self.cols() }
            }
        );
        self.elements.set_at(self.extent.index(row, col), value, site);
    }

    /// Reads the element (row, col). Other lanes may write it at the same time, so that it is read
    /// in a lane closure.
    #[inline]
    #[track_caller]
    pub fn get(self, lane: Lane<'_>, row: usize, col: usize) -> T {
        self.elements.get(lane, self.index(row, col))
    }

    /// Writes the element (row, col). Outside the matrix, the kernel stops.
    #[inline]
    #[track_caller]
    pub fn set(self, row: usize, col: usize, value: T) {
        let index = self.index(row, col);
        // SAFETY: in the matrix, which is in the slice.
        unsafe { self.elements.set_unchecked(index, value) }
    }
}
