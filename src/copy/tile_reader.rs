//! Loads of consecutive tiles of a 16-byte aligned matrix into shared memory, by `cp.async`.
//!
//! Comments speak of row-major matrices; for column-major ones, swap rows and columns.

use crate::element::Element;
use crate::lane::{Capturable, Lane, PerLane, Site, array};
use crate::machine::{self, check};
use crate::memory::{GlobalMatrix, Order, SharedTile, Swizzle, TileSize};
use crate::scope::Threads;
use crate::target::{AtLeast, BuiltFor};
use core::marker::PhantomData;

/// The bytes of one copy.
const CHUNK: usize = 16;

/// Stands for the source of a copy whose row is outside the matrix.
const BEYOND: u32 = u32::MAX;

/// The direction in which a [`TileReader`] advances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    /// To the tile of the next rows.
    Rows,
    /// To the tile of the next columns.
    Cols,
}

/// Copies consecutive tiles of a matrix in global memory into shared tiles of type `Tile`, by
/// `cp.async`: the producer of a GEMM's main loop.
///
/// It computes once which thread copies which 16 bytes. Each tile then costs its copies, and one
/// addition for each address. Each thread makes `COPIES` copies for a tile.
///
/// The matrix may end within a tile. Along the direction, elements outside the matrix become zero.
/// Across the direction, rows or columns outside the matrix have unspecified values, and the kernel
/// discards the results that it computes from them. Needs sm_80.
///
/// ```
/// use ptx_matrix::{copy::{Along, CpAsync, TileReader}, memory::GlobalMatrix, prelude::*};
///
/// type Tile = SharedTile<bf16, 16, 16, Swizzle32>;
///
/// /// Sums each row of a matrix of any width.
/// #[kernel(threads = 32, target = "sm_80")]
/// fn sum_rows(
///     block: &Block,
///     #[shared] tile: Tile,
///     a: Global<bf16>,
///     cols: u32,
///     d: GlobalMut<f32>,
/// ) {
///     let warp = block.warp();
///     let cols = cols as usize;
///     let a = GlobalMatrix::new(a, d.len(), cols, cols);
///     let mut reader = TileReader::<Tile, 1>::new(warp, a, (0, 0), Along::Cols);
///     let mut sum = PerLane::splat(0.0);
///     for _ in 0..cols.div_ceil(16) {
///         reader.copy(warp, &tile);
///         reader.advance(1);
///         CpAsync::<16>::commit(warp);
///         CpAsync::<16>::wait::<0>(warp);
///         warp.sync();
///         warp.update(&mut sum, |lane, sum| {
///             for col in 0..16 {
///                 *sum += tile.get(lane, (lane.id() % 16, col)).to_f32();
///             }
///         });
///         warp.sync();
///     }
///     warp.each(|lane| if lane.id() < d.len() { d.set(lane.id(), lane.get(&sum)) });
/// }
///
/// let a = [bf16::ONE; 10 * 40];
/// let mut d = [0.0; 10];
/// sum_rows::simulate(1, &a, 40, &mut d).unwrap();
/// assert_eq!(d, [40.0; 10]);
/// ```
pub struct TileReader<'k, Tile: ReadTile, const COPIES: usize> {
    matrix: GlobalMatrix<'k, Tile::Element, Tile::Order>,
    along: Along,
    /// The row or column at which the next tile starts along the direction, modulo 2^32.
    at: u32,
    /// The end of the matrix along the direction.
    end: u32,
    /// The element at coordinate 0 along the direction, and across it at the tiles' coordinate,
    /// clamped to the matrix. `at` alone gives the offset from here, so that address and bounds
    /// cannot disagree, however far the reader advances.
    start: Source<Tile::Element>,
    /// The source of each copy of a tile, in elements from the tile's start.
    from: PerLane<[u32; COPIES]>,
    /// The destination of the first copy, in bytes from the tile's start.
    to: PerLane<u32>,
    /// The number of threads.
    threads: usize,
    _tile: PhantomData<fn() -> Tile>,
}

/// Checks that as many threads use a reader as made it. Each then has the rank for which the reader
/// computed its addresses.
#[inline]
#[track_caller]
pub(super) fn check_threads(threads: impl Threads, made_by: usize) {
    assert!(threads.count() == made_by, "the threads that use a reader are those that made it");
}

/// A shared tile that a [`TileReader`] can fill.
pub trait ReadTile: crate::lane::Sealed + crate::lane::LaneCapture + Copy {
    /// The tile's elements.
    type Element: Element;
    /// The tile's order, which is that of the matrix.
    type Order: Order;
    /// The tile's rows and columns.
    const SIZE: TileSize;
    /// The rows after which the tile's swizzle repeats.
    #[doc(hidden)]
    const REPEATS: usize;

    /// The offset of the element (row, col), in bytes.
    #[doc(hidden)]
    fn offset_of(row: usize, col: usize) -> u32;
    /// The tile's address.
    #[doc(hidden)]
    fn start(self) -> u32;
    /// # Safety
    /// As for `crate::copy::CpAsync::start`.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn start_copy(
        self,
        at: (usize, usize),
        from: crate::memory::Global<Self::Element>,
        index: usize,
        count: usize,
        site: Site,
    );
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order> crate::lane::Sealed
    for SharedTile<T, ROWS, COLS, S, O>
{
}
impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order> ReadTile
    for SharedTile<T, ROWS, COLS, S, O>
{
    type Element = T;
    type Order = O;
    const SIZE: TileSize = TileSize { rows: ROWS, cols: COLS };
    const REPEATS: usize = Self::PERIOD;

    #[inline]
    fn offset_of(row: usize, col: usize) -> u32 {
        Self::offset(row, col)
    }

    #[inline]
    fn start(self) -> u32 {
        self.address()
    }

    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn start_copy(
        self,
        (row, col): (usize, usize),
        from: crate::memory::Global<T>,
        index: usize,
        count: usize,
        site: Site,
    ) {
        // SAFETY: the caller upholds the conditions.
        unsafe { crate::copy::CpAsync::<CHUNK>::start(self, row, col, from, index, count, site) }
    }
}

/// The address of a tile's first element.
pub(crate) struct Source<T>(pub(crate) *const T);

impl<T> Clone for Source<T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Source<T> {}

// SAFETY: the address is the same in all lanes, and only copies use it.
unsafe impl<T> Capturable for Source<T> {}

impl<T> Source<T> {
    /// The address `count` times `pitch` elements after this one. It is computed at each use. The
    /// compiler would otherwise keep it in two registers, and its increment in two more.
    #[inline]
    fn further(self, count: u32, pitch: u32) -> Self {
        Source(machine::further(self.0, count, pitch))
    }

    /// The address of the element `index` elements after this one.
    #[inline]
    pub(crate) fn element(self, index: u32) -> *const T {
        machine::element(self.0, index)
    }
}

impl<'k, Tile: ReadTile, const COPIES: usize> TileReader<'k, Tile, COPIES> {
    const PER_CHUNK: usize = CHUNK / size_of::<Tile::Element>();
    /// The tile's rows; its columns if column-major.
    const LINES: usize = if Tile::Order::ROW_MAJOR { Tile::SIZE.rows } else { Tile::SIZE.cols };
    /// Chunks of a line.
    const PER_LINE: usize =
        if Tile::Order::ROW_MAJOR { Tile::SIZE.cols } else { Tile::SIZE.rows } / Self::PER_CHUNK;

    /// Whether rows outside the matrix are not read, but become zero. Otherwise a copy reads
    /// another row in the place of each, which needs fewer instructions. Of a tile of few rows most
    /// may be outside, and all blocks would read the same few rows from the cache.
    const LEAVES_OUT: bool = Self::LINES <= 16;

    /// Makes the reader of the tiles from (row, col) of the matrix on.
    ///
    /// All `threads` share the work: `COPIES` copies each. The rows of the matrix (columns if
    /// column-major) start at multiples of 16 bytes, and so does the tile within them.
    #[inline]
    #[track_caller]
    pub fn new(
        threads: impl Threads,
        matrix: GlobalMatrix<'k, Tile::Element, Tile::Order>,
        at: (usize, usize),
        along: Along,
    ) -> Self
    where
        Self: BuiltFor<AtLeast<80>>,
    {
        const { assert!(COPIES <= Self::LINES * Self::PER_LINE, "a tile has fewer copies") };
        let site = Site::here();
        assert!(
            threads.count() * COPIES == Self::LINES * Self::PER_LINE,
            "the threads' copies, 16 bytes each, make one tile"
        );
        assert!(
            COPIES == 1
                || threads.count().is_multiple_of(Self::PER_LINE)
                    && (threads.count() / Self::PER_LINE).is_multiple_of(Tile::REPEATS),
            "the threads copy so many lines at a time that the tile's swizzle repeats"
        );
        let (lines, length) = matrix.lines();
        let (first_line, first) = if Tile::Order::ROW_MAJOR { at } else { (at.1, at.0) };
        let start = matrix.elements().start();
        let aligned =
            matrix.lines_start_at_multiples_of(CHUNK) && first.is_multiple_of(Self::PER_CHUNK);
        check!(
            aligned,
            site,
            GlobalMisaligned {
                access: crate::lane::AccessKind::Copy,
                name: matrix.elements().name(),
                index: first_line.saturating_mul(matrix.stride()).saturating_add(first),
                bytes: CHUNK
            }
        );
        // The last row is read to the end of its last 16 bytes.
        let padded = length.next_multiple_of(Self::PER_CHUNK);
        check!(
            lines == 0
                || length == 0
                || (lines - 1) * matrix.stride() + padded <= matrix.elements().len(),
            site,
            MatrixOutOfBounds {
                name: matrix.elements().name(),
                size: if Tile::Order::ROW_MAJOR {
                    TileSize { rows: lines, cols: padded }
                } else {
                    TileSize { rows: padded, cols: lines }
                },
                stride: matrix.stride(),
                len: matrix.elements().len()
            }
        );
        // Distances within a tile, in elements, and the bytes of a row are 32-bit.
        let limit = u32::MAX as usize / (2 * Self::LINES).max(size_of::<Tile::Element>());
        check!(
            matrix.stride() <= limit,
            site,
            StrideTooLarge { name: matrix.elements().name(), stride: matrix.stride(), limit }
        );
        // Across the direction, a copy outside the matrix reads another row of the tile, or the
        // last chunk of its own row.
        let across = (along == Along::Cols) == Tile::Order::ROW_MAJOR;
        let last_line = if across { lines.saturating_sub(1) } else { usize::MAX };
        let last = if across {
            usize::MAX
        } else {
            length.saturating_sub(1) / Self::PER_CHUNK * Self::PER_CHUNK
        };
        let (first_line, first) = (first_line.min(last_line), first.min(last));
        let start =
            Source(start.wrapping_add(if across { first_line * matrix.stride() } else { first }));
        let count = threads.count();
        // The tile's rows that are in the matrix. In place of the others the copies read its first
        // 2^n rows, in turn. If they all read the last row, all blocks would wait for that row at
        // the cache.
        let there = (last_line - first_line).min(Self::LINES - 1) as u32 + 1;
        let again = (1 << there.ilog2()) - 1;
        let from = threads.each_thread(|_, rank| {
            array(|copy| {
                let (line, along) = Self::chunk(count, rank, copy);
                let beyond = line as u32 >= there;
                if Self::LEAVES_OUT && beyond {
                    return BEYOND;
                }
                let (line, along) =
                    (if beyond { line & again } else { line }, along.min(last - first));
                line as u32 * matrix.stride() as u32 + along as u32
            })
        });
        let to = threads.each_thread(|_, rank| {
            let (line, along) = Self::chunk(count, rank, 0);
            if Tile::Order::ROW_MAJOR {
                Tile::offset_of(line, along)
            } else {
                Tile::offset_of(along, line)
            }
        });
        let (at, end) =
            if along == Along::Rows { (at.0, matrix.rows()) } else { (at.1, matrix.cols()) };
        // A matrix without rows has no other row to read.
        let end = if lines == 0 || length == 0 { 0 } else { end as u32 };
        // A matrix has less than 2^32 rows: a larger coordinate is outside it, and stays aligned.
        let at = at.min(u32::MAX as usize / Self::PER_CHUNK * Self::PER_CHUNK) as u32;
        TileReader { matrix, along, at, end, start, from, to, threads: count, _tile: PhantomData }
    }

    /// The row and the column of a thread's copy, in the tile.
    #[inline]
    fn chunk(threads: usize, rank: usize, copy: usize) -> (usize, usize) {
        (
            rank / Self::PER_LINE + copy * (threads / Self::PER_LINE),
            rank % Self::PER_LINE * Self::PER_CHUNK,
        )
    }

    /// Advances by `tiles` tiles; a negative number goes back.
    #[inline]
    pub fn advance(&mut self, tiles: isize) {
        self.at = self.at.wrapping_add((tiles as u32).wrapping_mul(self.size()));
    }

    /// The size of a tile along the direction.
    #[inline]
    fn size(&self) -> u32 {
        (if self.along == Along::Rows { Tile::SIZE.rows } else { Tile::SIZE.cols }) as u32
    }

    /// The address of the next tile.
    #[inline]
    fn next(&self) -> Source<Tile::Element> {
        let across_lines = (self.along == Along::Rows) == Tile::Order::ROW_MAJOR;
        self.start.further(self.at, if across_lines { self.matrix.stride() as u32 } else { 1 })
    }

    /// Starts to copy the next tile. `threads` are those that [`new`](Self::new) got. See
    /// [`CpAsync`](crate::copy::CpAsync) for when it may be read.
    #[inline]
    #[track_caller]
    pub fn copy(&self, threads: impl Threads, to: &Tile)
    where
        Self: BuiltFor<AtLeast<80>>,
    {
        check_threads(threads, self.threads);
        let (site, count) = (Site::here(), threads.count());
        // Elements of the tile along the direction that are in the matrix.
        let there = self.end.saturating_sub(self.at) as usize;
        let (reader, tile, next) = (self, *to, self.next());
        threads.each_thread(|lane, rank| {
            for copy in 0..COPIES {
                let (line, along) = Self::chunk(count, rank, copy);
                let some = if (self.along == Along::Rows) == Tile::Order::ROW_MAJOR {
                    if line < there { Self::PER_CHUNK } else { 0 }
                } else {
                    there.saturating_sub(along).min(Self::PER_CHUNK)
                };
                // SAFETY: these elements are in the matrix.
                unsafe { reader.start(lane, tile, next, (rank, copy, count), Some(some), site) };
            }
        });
    }

    /// Starts the copies of part `part` of `parts` of the next tile, from 0 on, if the whole tile
    /// is in the matrix along the direction. `threads` are those that [`new`](Self::new) got.
    ///
    /// Kernels use it to interleave the copies with the computation.
    #[inline]
    #[track_caller]
    pub fn copy_part(&self, threads: impl Threads, to: &Tile, part: usize, parts: usize)
    where
        Self: BuiltFor<AtLeast<80>>,
    {
        check_threads(threads, self.threads);
        let (site, count) = (Site::here(), threads.count());
        if self.end < self.size() || self.at > self.end - self.size() {
            return;
        }
        let (reader, tile, next) = (self, *to, self.next());
        threads.each_thread(|lane, rank| {
            for copy in 0..COPIES {
                if copy * parts / COPIES == part {
                    // SAFETY: the tile is in the matrix along the direction. Across it, the address
                    // was clamped to the matrix.
                    unsafe { reader.start(lane, tile, next, (rank, copy, count), None, site) };
                }
            }
        });
    }

    /// Starts one copy, of the first `some` elements of its 16 bytes, or of all of them. `None`
    /// avoids the test for a whole copy at run time.
    ///
    /// # Safety
    /// These elements are in the matrix.
    #[inline]
    unsafe fn start(
        &self,
        lane: Lane<'_>,
        tile: Tile,
        next: Source<Tile::Element>,
        (rank, copy, threads): (usize, usize, usize),
        some: Option<usize>,
        site: Site,
    ) {
        let index = self.from.lane_ref(lane)[copy];
        let (index, some) = match (Self::LEAVES_OUT, index) {
            (false, _) => (index, some),
            (true, BEYOND) => (0, Some(0)),
            (true, _) => (index, Some(some.unwrap_or(Self::PER_CHUNK))),
        };
        let from = next.element(index);
        // The rows of consecutive copies are whole periods of the swizzle apart.
        let lines = copy * (threads / Self::PER_LINE);
        let pass = if Tile::Order::ROW_MAJOR {
            Tile::offset_of(lines, 0)
        } else {
            Tile::offset_of(0, lines)
        };
        let to = tile.start() + lane.get(&self.to) + pass;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: a chunk of the tile, since `threads` made the reader; elements of the matrix, as
        // the caller guarantees; aligned, as checked when the reader was made.
        unsafe {
            let _ = (rank, site);
            match some {
                None => crate::raw::cp_async_cg_shared_global_16(to, from.cast()),
                Some(some) => {
                    let bytes = (some * size_of::<Tile::Element>()) as u32;
                    crate::raw::cp_async_cg_shared_global_16_src(to, from.cast(), bytes);
                }
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let (line, along) = Self::chunk(threads, rank, copy);
            let at = if Tile::Order::ROW_MAJOR { (line, along) } else { (along, line) };
            assert_eq!(
                to,
                tile.start() + Tile::offset_of(at.0, at.1),
                "the swizzle repeats from copy to copy"
            );
            let first = self.matrix.elements().as_ptr().addr();
            let index = from.addr().wrapping_sub(first) / size_of::<Tile::Element>();
            // SAFETY: a chunk of the tile; the rest is checked.
            unsafe {
                tile.start_copy(
                    at,
                    self.matrix.elements(),
                    index,
                    some.unwrap_or(Self::PER_CHUNK),
                    site,
                )
            };
        }
    }
}
