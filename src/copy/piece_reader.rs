//! Loads of consecutive tiles of an unaligned matrix into shared memory, in pieces of an element to
//! 16 bytes.
//!
//! Comments speak of row-major matrices; for column-major ones, swap rows and columns.

use super::tile_reader::{Along, ReadTile, Source, check_threads};
use crate::element::{Element, Moved};
use crate::lane::{LaneCapture, PerLane, Site};
use crate::machine::{self, check, fixed};
use crate::memory::{GlobalMatrix, Order};
use crate::scope::Threads;
use crate::target::{AtLeast, BuiltFor};
use bytemuck::Pod;
use core::marker::PhantomData;

/// The unit that a [`UnalignedReader`] moves: the bytes of a `u8`, `u16`, `u32`, `u64` or `u128`.
pub trait Piece: crate::lane::Sealed + Moved + LaneCapture {
    /// Makes a piece from its bits.
    #[doc(hidden)]
    fn from_bits(bits: u128) -> Self;
}

/// A piece of a size that `cp.async` copies: `u32` and `u64`.
pub trait AsyncPiece: Piece {
    /// # Safety
    /// As for `machine`'s function of this size.
    #[doc(hidden)]
    unsafe fn start_copy(site: Site, to: u32, from: *const u8, some: u32);
}

// `u8` to `u64` are elements, and sealed as such.
impl crate::lane::Sealed for u128 {}

macro_rules! pieces {
    ($($piece:ident)*) => {$(
        impl Piece for $piece {
            #[inline]
            fn from_bits(bits: u128) -> Self {
                bits as $piece
            }
        }
    )*};
}
pieces!(u8 u16 u32 u64 u128);

macro_rules! async_pieces {
    ($($piece:ident $copy:ident;)*) => {$(
        impl AsyncPiece for $piece {
            #[inline]
            unsafe fn start_copy(site: Site, to: u32, from: *const u8, some: u32) {
                // SAFETY: the caller upholds the conditions.
                unsafe { machine::$copy(site, to, from, Some(some)) }
            }
        }
    )*};
}
async_pieces! {
    u32 copy_4;
    u64 copy_8;
}

/// Loads consecutive tiles of an unaligned matrix into shared tiles of type `Tile`.
///
/// It serves GEMM operands that [`TileReader`](crate::copy::TileReader) refuses, because their rows
/// or columns do not start at multiples of 16 bytes. A piece is as large as the matrix's alignment
/// allows: its rows (columns if column-major) start at multiples of a piece. Neighbouring threads
/// move neighbouring pieces, `COPIES` of them for each tile. The matrix may have another order than
/// the tile; then a piece is one element.
///
/// Pieces go through registers, on any GPU. [`fetch`](Self::fetch) loads them and
/// [`put`](Self::put) stores them, and the kernel may compute between the two. Pieces of 4 and 8
/// bytes may instead use `cp.async` (sm_80): [`copy`](Self::copy).
///
/// The elements of a tile that are outside the matrix become zero.
///
/// ```
/// use ptx_matrix::{copy::{Along, UnalignedReader}, memory::GlobalMatrix, prelude::*};
///
/// type Tile = SharedTile<i8, 8, 16>;
///
/// /// Sums a matrix of 8 rows and any width.
/// #[kernel(threads = 32)]
/// fn sum(block: &Block, #[shared] tile: Tile, a: Global<i8>, cols: usize, d: GlobalMut<i32>) {
///     let warp = block.warp();
///     let a = GlobalMatrix::new(a, 8, cols, cols);
///     let mut reader = UnalignedReader::<Tile, u8, 4>::new(warp, a, (0, 0), Along::Cols);
///     let mut sum = PerLane::splat(0);
///     for _ in 0..cols.div_ceil(16) {
///         let fetched = reader.fetch(warp, 0, 1);
///         reader.put(warp, &tile, &fetched, 0, 1);
///         reader.advance(1);
///         warp.sync();
///         warp.update(&mut sum, |lane, sum| {
///             for col in 0..4 {
///                 *sum += i32::from(tile.get(lane, (lane.id() / 4, lane.id() % 4 * 4 + col)));
///             }
///         });
///         warp.sync();
///     }
///     warp.each(|lane| d.set(lane.id(), lane.get(&sum)));
/// }
///
/// let mut d = [0; 32];
/// sum::simulate(1, &[3; 8 * 21], 21, &mut d).unwrap();
/// assert_eq!(d.iter().sum::<i32>(), 3 * 8 * 21);
/// ```
pub struct UnalignedReader<
    'k,
    Tile: ReadTile,
    P: Piece,
    const COPIES: usize,
    O: Order = <Tile as ReadTile>::Order,
> {
    matrix: GlobalMatrix<'k, Tile::Element, O>,
    along: Along,
    /// The start of the next tile.
    at: Start,
    /// The address of that element, modulo 2^64.
    start: Source<Tile::Element>,
    /// The distance of a thread's first piece from there, in elements.
    from: PerLane<u32>,
    /// The number of threads.
    threads: usize,
    _piece: PhantomData<fn() -> (Tile, P)>,
}

/// The place in the matrix at which a tile starts, modulo 2^64.
#[derive(Clone, Copy)]
struct Start {
    /// The row; the column if column-major.
    line: usize,
    /// The element of the line.
    element: usize,
}

/// The pieces of a thread that [`UnalignedReader::fetch`] has loaded.
pub type Fetched<P, const COPIES: usize> = PerLane<[P; COPIES]>;

impl<'k, Tile: ReadTile, P: Piece, const COPIES: usize, O: Order>
    UnalignedReader<'k, Tile, P, COPIES, O>
{
    /// The elements of a piece.
    const EACH: usize = {
        let elements = size_of::<P>() / size_of::<Tile::Element>();
        assert!(elements > 0, "an element has more bytes than a piece");
        assert!(
            elements == 1 || O::ROW_MAJOR == Tile::Order::ROW_MAJOR,
            "neighbours in the matrix are not neighbours in the tile"
        );
        elements
    };
    /// The rows of the matrix that a tile has; the columns if column-major.
    const LINES: usize = if O::ROW_MAJOR { Tile::SIZE.rows } else { Tile::SIZE.cols };
    /// Pieces of a line.
    const PER_LINE: usize = {
        let length = if O::ROW_MAJOR { Tile::SIZE.cols } else { Tile::SIZE.rows };
        assert!(length.is_multiple_of(Self::EACH), "pieces do not make whole lines of the tile");
        length / Self::EACH
    };

    /// Makes the reader of the tiles from (row, col) of the matrix on.
    ///
    /// All `threads` share the work: `COPIES` pieces each.
    #[inline]
    #[track_caller]
    pub fn new(
        threads: impl Threads,
        matrix: GlobalMatrix<'k, Tile::Element, O>,
        at: (usize, usize),
        along: Along,
    ) -> Self {
        const { assert!(COPIES <= Self::LINES * Self::PER_LINE, "a tile has fewer pieces") };
        let site = Site::here();
        let count = threads.count();
        assert!(
            count * COPIES == Self::LINES * Self::PER_LINE,
            "the threads' pieces make one tile"
        );
        assert!(count.is_multiple_of(Self::PER_LINE), "the threads move whole lines at a time");
        let (line, element) = if O::ROW_MAJOR { at } else { (at.1, at.0) };
        let start = matrix.elements().start();
        check!(
            matrix.lines_start_at_multiples_of(size_of::<P>())
                && element.is_multiple_of(Self::EACH),
            site,
            GlobalMisaligned {
                access: crate::lane::AccessKind::Copy,
                name: matrix.elements().name(),
                index: line.saturating_mul(matrix.stride()).saturating_add(element),
                bytes: size_of::<P>()
            }
        );
        // Distances within a tile are 32-bit.
        let limit = u32::MAX as usize / (2 * Self::LINES);
        check!(
            matrix.stride() <= limit,
            site,
            StrideTooLarge { name: matrix.elements().name(), stride: matrix.stride(), limit }
        );
        let start =
            Source(start.wrapping_add(line.wrapping_mul(matrix.stride()).wrapping_add(element)));
        let from = threads.each_thread(|_, rank| {
            let (line, along) = Self::place(count, rank, 0);
            line as u32 * matrix.stride() as u32 + along as u32
        });
        let at = Start { line, element };
        UnalignedReader { matrix, along, at, start, from, threads: count, _piece: PhantomData }
    }

    /// The row of the tile, and the column, of a thread's piece.
    #[inline]
    fn place(threads: usize, rank: usize, copy: usize) -> (usize, usize) {
        (
            rank / Self::PER_LINE + copy * (threads / Self::PER_LINE),
            rank % Self::PER_LINE * Self::EACH,
        )
    }

    /// Advances by `tiles` tiles; a negative number goes back.
    #[inline]
    pub fn advance(&mut self, tiles: isize) {
        let along_rows = self.along == Along::Rows;
        let size = if along_rows { Tile::SIZE.rows } else { Tile::SIZE.cols };
        let elements = tiles.wrapping_mul(size as isize);
        if along_rows == O::ROW_MAJOR {
            self.at.line = self.at.line.wrapping_add_signed(elements);
            self.start = Source(
                self.start.0.wrapping_offset(elements.wrapping_mul(self.matrix.stride() as isize)),
            );
        } else {
            self.at.element = self.at.element.wrapping_add_signed(elements);
            self.start = Source(self.start.0.wrapping_offset(elements));
        }
    }

    /// Checks the threads and the part, which the caller gives again. With the threads that made
    /// the reader, every piece of a part is in the tile.
    #[inline]
    #[track_caller]
    fn check(&self, threads: impl Threads, part: usize, parts: usize) {
        check_threads(threads, self.threads);
        assert!(part < parts, "the parts of a tile count from 0 to `parts` - 1");
    }

    /// Calls `visit(result, index, place, distance, some)` for each piece of part `part` of the
    /// next tile:
    ///
    /// - `index`: the piece's number in the part;
    /// - `place`: its row and column in the tile;
    /// - `distance`: its distance in the matrix from the tile's start, in elements;
    /// - `some`: how many of its elements are in the matrix.
    #[inline]
    #[track_caller]
    fn share_out<T>(
        &self,
        threads: impl Threads,
        (part, parts): (usize, usize),
        initial: impl Fn() -> T + LaneCapture,
        visit: impl Fn(&mut T, usize, (usize, usize), u32, usize) + LaneCapture,
    ) -> PerLane<T> {
        self.check(threads, part, parts);
        let count = threads.count();
        let (lines, length) = self.matrix.lines();
        let there = (lines.saturating_sub(self.at.line), length.saturating_sub(self.at.element));
        let (from, stride) = (&self.from, self.matrix.stride() as u32);
        let each = COPIES.div_ceil(parts);
        // Without this, the compiler peels passes off a loop over the parts.
        let parts_are_equal = COPIES.is_multiple_of(parts);
        threads.each_thread(|lane, rank| {
            let mut result = initial();
            // `fixed` stops the compiler from hoisting every piece's address out of the main loop,
            // which would need too many registers.
            let rank = fixed(rank as u32) as usize;
            let pass = fixed((count / Self::PER_LINE) as u32 * stride);
            for index in 0..COPIES {
                let copy = part * each + index;
                if index < each && (parts_are_equal || copy < COPIES) {
                    let (line, along) = Self::place(count, rank, copy);
                    let some = if line < there.0 {
                        there.1.saturating_sub(along).min(Self::EACH)
                    } else {
                        0
                    };
                    visit(
                        &mut result,
                        index,
                        (line, along),
                        lane.get(from) + copy as u32 * pass,
                        some,
                    );
                }
            }
            result
        })
    }

    /// Loads the pieces of the next tile that are in part `part` of `parts`, from 0 on. `threads`
    /// are those that [`new`](Self::new) got.
    #[inline]
    #[track_caller]
    pub fn fetch(&self, threads: impl Threads, part: usize, parts: usize) -> Fetched<P, COPIES> {
        let (site, start) = (Site::here(), self.start);
        let matrix = self.matrix;
        self.share_out(
            threads,
            (part, parts),
            || [P::zeroed(); COPIES],
            |fetched, index, _, distance, some| {
                let from = start.element(distance);
                if some == Self::EACH {
                    // SAFETY: elements of the matrix, and aligned, as checked when the reader was
                    // made.
                    fetched[index] = unsafe { load(from, some, site, matrix) };
                } else if some > 0 {
                    let mut piece = 0;
                    for element in 0..Self::EACH {
                        if element < some {
                            // SAFETY: an element of the matrix.
                            let value: Tile::Element =
                                unsafe { load(from.wrapping_add(element), 1, site, matrix) };
                            piece |= bits(value) << (element * size_of::<Tile::Element>() * 8);
                        }
                    }
                    fetched[index] = P::from_bits(piece);
                }
            },
        )
    }

    /// Stores the pieces that [`fetch`](Self::fetch) has loaded, of the same part of the same tile.
    /// `threads` are those that [`new`](Self::new) got.
    #[inline]
    #[track_caller]
    pub fn put(
        &self,
        threads: impl Threads,
        to: &Tile,
        fetched: &Fetched<P, COPIES>,
        part: usize,
        parts: usize,
    ) {
        self.check(threads, part, parts);
        let (site, count, tile) = (Site::here(), threads.count(), *to);
        let each = COPIES.div_ceil(parts);
        let parts_are_equal = COPIES.is_multiple_of(parts);
        threads.each_thread(|lane, rank| {
            let rank = fixed(rank as u32) as usize;
            for (index, &piece) in fetched.lane_ref(lane).iter().enumerate() {
                let copy = part * each + index;
                if index < each && (parts_are_equal || copy < COPIES) {
                    let to = tile.start() + offset::<Tile, O>(Self::place(count, rank, copy));
                    // SAFETY: the piece is in the tile, by `check`.
                    unsafe { piece.store_shared(site, to) };
                }
            }
        });
    }
}

impl<Tile: ReadTile, P: AsyncPiece, const COPIES: usize, O: Order>
    UnalignedReader<'_, Tile, P, COPIES, O>
{
    /// Starts to copy the pieces of the next tile that are in part `part` of `parts`, from 0 on
    /// (`cp.async`). `threads` are those that [`new`](UnalignedReader::new) got.
    ///
    /// See [`CpAsync`](crate::copy::CpAsync) for when they may be read. Needs sm_80.
    #[inline]
    #[track_caller]
    pub fn copy(&self, threads: impl Threads, to: &Tile, part: usize, parts: usize)
    where
        Self: BuiltFor<AtLeast<80>>,
    {
        let (site, tile, start, matrix) = (Site::here(), *to, self.start, self.matrix);
        self.share_out(
            threads,
            (part, parts),
            || (),
            |(), _, place, distance, some| {
                let to = tile.start() + offset::<Tile, O>(place);
                // A copy of no elements names the start of the matrix, a valid address.
                let from =
                    if some == 0 { matrix.elements().start() } else { start.element(distance) };
                let bytes = some * size_of::<Tile::Element>();
                matrix.elements().raw().note_read_at(site, from, some);
                // SAFETY: a piece of the tile, and elements of the matrix; aligned, as checked when
                // the reader was made.
                unsafe { P::start_copy(site, to, from.cast(), bytes as u32) };
            },
        );
    }
}

/// The offset in the tile of the element at this row and column of the matrix.
#[inline]
fn offset<Tile: ReadTile, O: Order>((line, along): (usize, usize)) -> u32 {
    if O::ROW_MAJOR { Tile::offset_of(line, along) } else { Tile::offset_of(along, line) }
}

/// An element's bits.
#[inline]
fn bits<T: Element>(element: T) -> u128 {
    let mut bits = 0;
    bytemuck::bytes_of_mut(&mut bits)[..size_of::<T>()]
        .copy_from_slice(bytemuck::bytes_of(&element));
    bits
}

/// Reads a value that spans `count` elements of a matrix.
///
/// # Safety
/// They are elements of the matrix, and the address is a multiple of the value's size.
#[inline]
unsafe fn load<V: Pod, T: Element, O: Order>(
    from: *const T,
    count: usize,
    site: Site,
    matrix: GlobalMatrix<T, O>,
) -> V {
    // SAFETY: the caller upholds the conditions.
    unsafe { matrix.elements().raw().load_piece(from, count, site) }
}
