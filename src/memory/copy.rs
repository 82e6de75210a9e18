//! Copies of a tile to a matrix in global memory, by threads.

use super::vector::Chunk;
use super::{Order, RowAddr, SharedTile, Swizzle, TileSize};
use crate::element::{Element, Moved, Width};
use crate::lane::{Site, mapped};
use crate::memory::GlobalMatrixMut;
use crate::scope::Threads;

/// The loads that a thread has in flight at once, if its stores have less than 16 bytes.
const TOGETHER: usize = 4;

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// Copies the tile to `at`, a (row, column) of a matrix in global memory. The `threads` share
    /// the work: those of a warp, a warpgroup or the block.
    ///
    /// A store has 16 bytes if the destination's alignment allows it. Otherwise it has one element,
    /// or two if they have 16 bits and are aligned. Elements outside the matrix are not stored.
    #[inline]
    #[track_caller]
    pub fn copy_to(self, threads: impl Threads, matrix: GlobalMatrixMut<T, O>, at: (usize, usize)) {
        let site = Site::here();
        let (chunk, pair) =
            (RowAddr::BYTES as usize / T::Width::BYTES, T::Width::PER_REGISTER == 2);
        let each_has_pieces =
            |elements: usize| (ROWS * COLS).is_multiple_of(elements * TOGETHER * threads.count());
        let (top, left) = at;
        let size = TileSize { rows: ROWS, cols: COLS };
        if !matrix.has(at, size) || !each_has_pieces(1) && !matrix.has_pieces(at, chunk) {
            Self::share_out(threads, |lane, row, col| {
                // A coordinate that overflows is outside the matrix.
                let inside = |first: usize, further: usize, side| {
                    first.checked_add(further).is_some_and(|at| at < side)
                };
                if inside(top, row, matrix.rows()) && inside(left, col, matrix.cols()) {
                    // SAFETY: an element of the tile.
                    matrix.set_at(
                        top + row,
                        left + col,
                        unsafe { self.load(lane, row, col, site) },
                        site,
                    );
                }
            });
        } else if matrix.has_pieces(at, chunk) {
            let (line, count) = (Self::PITCH / chunk, threads.count());
            threads.each_thread(|_, rank| {
                for first in (0..ROWS * COLS / chunk).step_by(count) {
                    let index = first + rank;
                    if index < ROWS * COLS / chunk {
                        let (major, minor) = (index / line, index % line * chunk);
                        let (row, col) = if O::ROW_MAJOR { (major, minor) } else { (minor, major) };
                        // SAFETY: a chunk of the tile, and a chunk of the matrix.
                        unsafe {
                            matrix.store_piece(
                                top + row,
                                left + col,
                                self.load_chunk(row, col, site),
                                site,
                            )
                        };
                    }
                }
            });
        } else if pair && each_has_pieces(2) && matrix.has_pieces(at, 2) {
            Self::share_out_together::<TOGETHER>(threads, 2, |lane, places| {
                // SAFETY: two adjacent elements of the tile, and of the matrix, aligned.
                unsafe {
                    let pairs =
                        mapped(places, |(row, col)| self.load_register(lane, row, col, site));
                    for i in 0..TOGETHER {
                        matrix.store_piece(top + places[i].0, left + places[i].1, pairs[i], site);
                    }
                }
            });
        } else {
            Self::share_out_together::<TOGETHER>(threads, 1, |lane, places| {
                // SAFETY: elements of the tile, and of the matrix.
                unsafe {
                    let elements = mapped(places, |(row, col)| self.load(lane, row, col, site));
                    for i in 0..TOGETHER {
                        matrix.store_piece(
                            top + places[i].0,
                            left + places[i].1,
                            elements[i],
                            site,
                        );
                    }
                }
            });
        }
    }

    /// # Safety
    /// (row, col) is the start of 16 bytes of the tile.
    #[inline]
    unsafe fn load_chunk(self, row: usize, col: usize, site: Site) -> Chunk {
        let address = self.element(row, col);
        // SAFETY: in bounds, as the caller guarantees; a swizzle moves chunks of 16 bytes whole.
        Chunk(unsafe { Moved::load_shared(site, address) })
    }
}
