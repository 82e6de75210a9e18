//! A tile's copy to a matrix in global memory, by threads.

use super::{Order, RowAddr, SharedTile, Swizzle};
use crate::element::{Element, Moved, Width};
use crate::lane::{Site, mapped};
use crate::memory::GlobalMatrixMut;
use crate::scope::Threads;
use bytemuck::{Pod, Zeroable};

/// 16 bytes, as a lane loads and stores them.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
struct Chunk([u32; 4]);

/// Pieces that a thread has on their way together, where they are small.
const TOGETHER: usize = 4;

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// Copies the tile to `at` of a matrix in global memory: in pieces of 16 bytes where they lie
    /// so there, else of elements, or, if these have 16 bits, of two; the threads (a warp's or
    /// the block's) share the work. What of the tile is beyond the matrix is left out.
    #[inline(always)]
    #[track_caller]
    pub fn copy_to(self, threads: impl Threads, matrix: GlobalMatrixMut<T, O>, at: (usize, usize)) {
        let site = Site::here();
        let (chunk, pair) =
            (RowAddr::BYTES as usize / T::Width::BYTES, T::Width::PER_REGISTER == 2);
        let each_has_pieces =
            |elements: usize| (ROWS * COLS).is_multiple_of(elements * TOGETHER * threads.count());
        let (top, left) = at;
        if !matrix.has(at, (ROWS, COLS)) || !each_has_pieces(1) && !matrix.has_pieces(at, chunk) {
            Self::share_out(threads, |lane, row, col| {
                // Where it can be beyond all numbers, it is beyond the matrix.
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
                        // SAFETY: a chunk of the tile, and one of the matrix.
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
                // SAFETY: two elements of a line of the tile, and of the matrix, aligned.
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
    /// (row, col) starts 16 bytes of the tile.
    #[inline(always)]
    unsafe fn load_chunk(self, row: usize, col: usize, site: Site) -> Chunk {
        let address = self.element(row, col);
        // SAFETY: in bounds, by the caller; chunks of 16 bytes lie whole under a swizzle.
        Chunk(unsafe { Moved::load_shared(site, address) })
    }
}
