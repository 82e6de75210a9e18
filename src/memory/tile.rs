use super::swizzle::swizzled_in_line;
use super::{
    Coordinate, MAX_SHARED_BYTES, Order, RowAddr, RowMajor, Swizzle, SwizzleBits, Unswizzled,
    Window, check_known,
};
use crate::element::{Element, Moved, Width};
use crate::lane::{Lane, LaneCapture, Site, array, mapped};
use crate::machine::{check_swizzle, load_shared_pair, note_row, note_written, opaque};
use crate::scope::Threads;
use core::marker::PhantomData;

/// A `ROWS` x `COLS` matrix in shared memory, swizzled by `S`.
///
/// | order | offset of (row, col) before the swizzle |
/// | --- | --- |
/// | `RowMajor` | `(row * COLS + col) * size_of::<T>()` |
/// | `ColMajor` | `(col * ROWS + row) * size_of::<T>()` |
///
/// The contiguous dimension (a row if `RowMajor`) has a multiple of 16 bytes; another tile does not
/// compile.
///
/// A tile is a handle of four bytes: a copy of it copies no elements. In safe code only a kernel's
/// `#[shared]` parameter makes one. So it is in the block's shared memory, with the alignment of
/// its swizzle. An access out of bounds stops the kernel: on the host with the source line, on the
/// device with a trap.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Transposes a 32x32 matrix.
/// #[kernel(threads = 128)]
/// fn transpose(
///     block: &Block,
///     #[shared] tile: SharedTile<u16, 32, 32, Swizzle64>,
///     a: Global<u16>,
///     d: GlobalMut<u16>,
/// ) {
///     tile.fill(block, |row, col| a.get(row * 32 + col));
///     block.sync();
///     tile.for_each(block, |row, col, value| d.set(col * 32 + row, value));
/// }
///
/// let a: Vec<u16> = (0..1024).collect();
/// let mut d = vec![0; 1024];
/// transpose::simulate(1, &a, &mut d).unwrap();
/// assert_eq!(d[5 * 32 + 9], a[9 * 32 + 5]);
/// ```
pub struct SharedTile<T, const ROWS: usize, const COLS: usize, S = Unswizzled, O = RowMajor> {
    address: u32,
    _type: Elements<T, S, O>,
}

/// The types of a tile; any lane may have its handle.
type Elements<T, S, O> = PhantomData<fn() -> (T, S, O)>;

impl<T, const ROWS: usize, const COLS: usize, S, O> Clone for SharedTile<T, ROWS, COLS, S, O> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const ROWS: usize, const COLS: usize, S, O> Copy for SharedTile<T, ROWS, COLS, S, O> {}

/// A window of one element.
pub(crate) struct Single<Tile>(PhantomData<Tile>);
/// A window of one row of eight 16-bit elements.
struct MatrixRow<Tile>(PhantomData<Tile>);

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order> Window
    for Single<SharedTile<T, ROWS, COLS, S, O>>
{
    const TILE_ROWS: usize = ROWS;
    const TILE_COLS: usize = COLS;
    const ROWS: usize = 1;
    const COLS: usize = 1;
    const ROW_STEP: usize = 1;
    const COL_STEP: usize = 1;
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order> Window
    for MatrixRow<SharedTile<T, ROWS, COLS, S, O>>
{
    const TILE_ROWS: usize = ROWS;
    const TILE_COLS: usize = COLS;
    const ROWS: usize = if O::ROW_MAJOR { 1 } else { Self::CHUNK };
    const COLS: usize = if O::ROW_MAJOR { Self::CHUNK } else { 1 };
    const ROW_STEP: usize = Self::ROWS;
    const COL_STEP: usize = Self::COLS;
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    MatrixRow<SharedTile<T, ROWS, COLS, S, O>>
{
    const CHUNK: usize = RowAddr::BYTES as usize / T::Width::BYTES;
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// Elements from one row to the next (column if `ColMajor`).
    pub(super) const PITCH: usize = if O::ROW_MAJOR { COLS } else { ROWS };

    /// The bytes of the tile.
    pub(super) const TILE_BYTES: usize = {
        assert!(ROWS > 0 && COLS > 0, "a shared tile needs at least one row and one column");
        assert!(
            ROWS.saturating_mul(COLS).saturating_mul(T::Width::BYTES) <= MAX_SHARED_BYTES,
            "a shared tile is larger than the shared memory of any GPU's block: 227 KiB"
        );
        assert!(
            (Self::PITCH * T::Width::BYTES).is_multiple_of(RowAddr::BYTES as usize),
            "the contiguous side of a shared tile must be a multiple of 16 bytes"
        );
        (ROWS * COLS * T::Width::BYTES).next_multiple_of(S::SPAN)
    };

    const SWIZZLE_BITS: SwizzleBits = SwizzleBits { bits: S::BITS, base: S::BASE };

    /// The rows (columns if `ColMajor`) after which the swizzle repeats: elements this far apart
    /// have a constant distance in bytes.
    pub(crate) const PERIOD: usize = {
        let pitch = Self::PITCH * T::Width::BYTES;
        let (pattern, whole_lines) = (1 << S::BITS, pitch.is_multiple_of(128));
        let mut lines = if whole_lines { pattern } else { 1 };
        while !whole_lines && !(lines * pitch).is_multiple_of(128 * pattern) {
            lines *= 2;
        }
        lines
    };

    /// The tile's rows.
    pub const ROWS: usize = ROWS;
    /// The tile's columns.
    pub const COLS: usize = COLS;

    /// Makes a tile at an address in the `.shared` window that the caller chooses.
    ///
    /// # Safety
    /// As for [`SharedLayout::at`](super::SharedLayout::at).
    #[inline]
    pub const unsafe fn from_address(address: u32) -> Self {
        SharedTile { address, _type: PhantomData }
    }

    /// The tile's address in the `.shared` window.
    #[inline]
    pub const fn address(self) -> u32 {
        self.address
    }

    /// The offset of element (row, col) from the tile's start, in bytes, after the swizzle.
    #[inline]
    pub const fn offset(row: usize, col: usize) -> u32 {
        let (line, along) =
            if O::ROW_MAJOR { (row as u32, col as u32) } else { (col as u32, row as u32) };
        swizzled_in_line::<S>(
            line,
            along * T::Width::BYTES as u32,
            (Self::PITCH * T::Width::BYTES) as u32,
        )
    }

    /// The address of element (row, col) in the same tile without a swizzle.
    #[inline]
    const fn plain(self, row: usize, col: usize) -> u32 {
        let (line, along) = if O::ROW_MAJOR { (row, col) } else { (col, row) };
        self.address + ((line * Self::PITCH + along) * T::Width::BYTES) as u32
    }

    #[inline]
    pub(crate) const fn element(self, row: usize, col: usize) -> u32 {
        self.address + Self::offset(row, col)
    }

    /// The address of the 16 bytes from (row, col) on, along the contiguous dimension: a matrix row
    /// of `ldmatrix`.
    ///
    /// The coordinate along the contiguous dimension is a multiple of 16 bytes (8 elements of 16
    /// bits). A misaligned coordinate, or one out of bounds, stops the kernel.
    #[inline]
    #[track_caller]
    pub fn row<C: Coordinate>(self, at: C) -> RowAddr {
        const { check_known::<C, MatrixRow<Self>>() };
        let (row, col) = at.resolve::<MatrixRow<Self>>(self.address(), Site::here());
        // SAFETY: in bounds and aligned, as resolved.
        unsafe { self.row_unchecked(row, col) }
    }

    /// The address of the 16 bytes from (row, col) on.
    ///
    /// # Safety
    /// They are in the tile, and the coordinate along the contiguous dimension is a multiple of 16
    /// bytes.
    #[inline]
    pub(crate) unsafe fn row_unchecked(self, row: usize, col: usize) -> RowAddr {
        let address = self.element(row, col);
        note_row(address, self.plain(row, col), Self::SWIZZLE_BITS);
        // SAFETY: in bounds and aligned, as the caller guarantees; a swizzle moves chunks of 16
        // bytes whole.
        unsafe { RowAddr::from_address(address) }
    }

    /// Writes one element.
    #[inline]
    #[track_caller]
    pub fn set<C: Coordinate>(self, at: C, value: T) {
        const { check_known::<C, Single<Self>>() };
        let site = Site::here();
        let (row, col) = at.resolve::<Single<Self>>(self.address(), site);
        // SAFETY: in bounds, as resolved.
        unsafe { self.store(row, col, value, site) }
    }

    /// Reads one element.
    ///
    /// Other lanes may write shared memory at the same time, so that it is read in a lane closure.
    #[inline]
    #[track_caller]
    pub fn get<C: Coordinate>(self, lane: Lane<'_>, at: C) -> T {
        const { check_known::<C, Single<Self>>() };
        let site = Site::here();
        let (row, col) = at.resolve::<Single<Self>>(self.address(), site);
        // SAFETY: in bounds, as resolved.
        unsafe { self.load(lane, row, col, site) }
    }

    /// The address of element (row, col), which a lane is about to write.
    #[inline]
    pub(super) fn to_write(self, row: usize, col: usize, site: Site) -> u32 {
        let address = self.element(row, col);
        note_written(site, address, self.plain(row, col), Self::SWIZZLE_BITS);
        address
    }

    /// The address of element (row, col), which a lane is about to read.
    #[inline]
    pub(super) fn to_read(self, row: usize, col: usize, site: Site) -> u32 {
        let address = self.element(row, col);
        check_swizzle(site, address, self.plain(row, col), Self::SWIZZLE_BITS);
        address
    }

    /// # Safety
    /// (row, col) is an element of the tile.
    #[inline]
    pub(crate) unsafe fn store(self, row: usize, col: usize, value: T, site: Site) {
        // SAFETY: in bounds, as the caller guarantees; aligned, as the tile is.
        unsafe { value.to_bits().store_shared(site, self.to_write(row, col, site)) }
    }

    /// Writes a fragment's register to the elements from (row, col) on, along the contiguous
    /// dimension.
    ///
    /// # Safety
    /// Its elements are in the tile, and the coordinate along the contiguous dimension is a
    /// multiple of the register's size.
    #[inline]
    pub(crate) unsafe fn store_register(
        self,
        row: usize,
        col: usize,
        register: <T::Width as Width>::Register,
        site: Site,
    ) {
        // SAFETY: in bounds and aligned, as the caller guarantees.
        unsafe { register.store_shared(site, self.to_write(row, col, site)) }
    }

    /// Reads a fragment's register from the elements from (row, col) on, along the contiguous
    /// dimension.
    ///
    /// # Safety
    /// As for `store_register`.
    #[inline]
    pub(crate) unsafe fn load_register(
        self,
        _: Lane<'_>,
        row: usize,
        col: usize,
        site: Site,
    ) -> <T::Width as Width>::Register {
        // SAFETY: in bounds and aligned, as the caller guarantees.
        unsafe { Moved::load_shared(site, self.to_read(row, col, site)) }
    }

    /// # Safety
    /// (row, col) is an element of the tile.
    #[inline]
    pub(crate) unsafe fn load(self, _: Lane<'_>, row: usize, col: usize, site: Site) -> T {
        // SAFETY: in bounds, as the caller guarantees; aligned, as the tile is.
        T::from_bits(unsafe { Moved::load_shared(site, self.to_read(row, col, site)) })
    }

    /// Reads two adjacent elements of 8 bytes.
    ///
    /// # Safety
    /// The 16 bytes are two such elements of the tile.
    #[inline]
    pub(crate) unsafe fn load_pair(self, _: Lane<'_>, pair: RowAddr, site: Site) -> [T; 2] {
        // SAFETY: as the caller guarantees; aligned, as `RowAddr` is.
        unsafe { load_shared_pair(site, pair.address()) }
    }

    /// Calls `visit(lane, row, col)` once for every element, each in one of the threads.
    /// Neighbouring threads get neighbouring elements.
    #[inline]
    pub(super) fn share_out(
        threads: impl Threads,
        visit: impl Fn(Lane<'_>, usize, usize) + LaneCapture,
    ) {
        let count = threads.count();
        threads.each_thread(|lane, rank| {
            // 32-bit indices take half the registers of a `usize`.
            let (mut index, elements) = (opaque(rank) as u32, (ROWS * COLS) as u32);
            while index < elements {
                let (major, minor) =
                    ((index / Self::PITCH as u32) as usize, (index % Self::PITCH as u32) as usize);
                let (row, col) = if O::ROW_MAJOR { (major, minor) } else { (minor, major) };
                visit(lane, row, col);
                index += count as u32;
            }
        });
    }

    /// Writes `value(row, col)` to every element. The `threads` share the work: those of a warp, a
    /// warpgroup or the block.
    #[inline]
    #[track_caller]
    pub fn fill(self, threads: impl Threads, value: impl Fn(usize, usize) -> T + LaneCapture) {
        self.fill_with_lane(threads, |_, row, col| value(row, col));
    }

    /// Writes `value(lane, row, col)` to every element. The lane may read another tile, for
    /// example. The `threads` share the work.
    #[inline]
    #[track_caller]
    pub fn fill_with_lane(
        self,
        threads: impl Threads,
        value: impl Fn(Lane<'_>, usize, usize) -> T + LaneCapture,
    ) {
        let site = Site::here();
        // SAFETY: every (row, col) is an element of the tile.
        Self::share_out(threads, |lane, row, col| unsafe {
            self.store(row, col, value(lane, row, col), site)
        });
    }

    /// Calls `read(row, col, value)` for every element. The `threads` share the work: those of a
    /// warp, a warpgroup or the block.
    #[inline]
    #[track_caller]
    pub fn for_each(self, threads: impl Threads, read: impl Fn(usize, usize, T) + LaneCapture) {
        self.for_each_with_lane(threads, |_, row, col, value| read(row, col, value));
    }

    /// Calls `read(lane, row, col, value)` for every element. The `threads` share the work.
    #[inline]
    #[track_caller]
    pub fn for_each_with_lane(
        self,
        threads: impl Threads,
        read: impl Fn(Lane<'_>, usize, usize, T) + LaneCapture,
    ) {
        let site = Site::here();
        // SAFETY: every (row, col) is an element of the tile.
        Self::share_out(threads, |lane, row, col| {
            read(lane, row, col, unsafe { self.load(lane, row, col, site) })
        });
    }

    /// Like [`for_each`](Self::for_each), with `N` elements of a thread at a time:
    /// `read(places, values)`.
    ///
    /// A place is a (row, column). All `N` loads are in flight before the first value is needed.
    /// The elements of each thread must be a multiple of `N`; otherwise the kernel stops.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// #[kernel(threads = 32)]
    /// fn squares(block: &Block, #[shared] tile: SharedTile<u32, 16, 32>, d: GlobalMut<u32>) {
    ///     tile.fill(block, |row, col| (row * 32 + col) as u32);
    ///     block.sync();
    ///     tile.for_each_together::<8>(block, |places, numbers| {
    ///         for ((row, col), number) in places.into_iter().zip(numbers) {
    ///             d.set(row * 32 + col, number * number);
    ///         }
    ///     });
    /// }
    ///
    /// let mut d = [0; 512];
    /// squares::simulate(1, &mut d).check();
    /// assert_eq!(d[500], 250_000);
    /// ```
    #[inline]
    #[track_caller]
    pub fn for_each_together<const N: usize>(
        self,
        threads: impl Threads,
        read: impl Fn([(usize, usize); N], [T; N]) + LaneCapture,
    ) {
        let site = Site::here();
        assert!(
            (ROWS * COLS).is_multiple_of(N * threads.count()),
            "the tile's elements do not divide evenly: each thread takes a multiple of `N` of them"
        );
        Self::share_out_together::<N>(threads, 1, |lane, places| {
            // SAFETY: every (row, col) is an element of the tile.
            read(places, mapped(places, |(row, col)| unsafe { self.load(lane, row, col, site) }));
        });
    }

    /// Like `share_out`, with `N` places of a thread at a time, each the start of `piece` adjacent
    /// elements. The pieces of each thread must be a multiple of `N`.
    #[inline]
    pub(super) fn share_out_together<const N: usize>(
        threads: impl Threads,
        piece: usize,
        visit: impl Fn(Lane<'_>, [(usize, usize); N]) + LaneCapture,
    ) {
        let (count, line) = (threads.count(), Self::PITCH / piece);
        threads.each_thread(|lane, rank| {
            let (mut index, pieces) = (opaque(rank) as u32, (ROWS * COLS / piece) as u32);
            while index < pieces {
                let places = array(|i| {
                    // If the threads cover whole rows at once, the places of a thread differ in
                    // their row alone. The compiler does not find that out by itself.
                    let (lines, further) = if count.is_multiple_of(line) {
                        (i * (count / line), 0)
                    } else {
                        (0, i * count)
                    };
                    let index = index as usize + further;
                    let (major, minor) = (index / line + lines, index % line * piece);
                    if O::ROW_MAJOR { (major, minor) } else { (minor, major) }
                });
                visit(lane, places);
                index += (N * count) as u32;
            }
        });
    }
}
