//! `cp.async`: asynchronous copies from global to shared memory (PTX ISA 9.7.9.25.3).

use crate::element::Element;
use crate::lane::{Lane, LaneCapture, Sealed, Site};
use crate::machine::{self, check, opaque};
use crate::memory::{Coordinate, Global, Order, SharedTile, Swizzle, Window, check_known};
use crate::scope::{Threads, Warp};
use crate::target::{AtLeast, BuildTarget, BuiltFor, Supports};
use core::marker::PhantomData;

/// Asynchronous copies of `BYTES` bytes from global to shared memory (`cp.async`).
///
/// The form is `cp.async.{ca,cg}.shared.global [to], [from], BYTES{, some};`. `BYTES` is 16 (`.cg`,
/// which bypasses L1), 8 or 4 (`.ca`). Needs sm_80. [`SharedTile::copy_async`] copies whole tiles.
///
/// A lane starts a copy in a lane closure. The copy is *in flight* until that lane has waited for
/// it, and nobody may touch its destination meanwhile. [`commit`](Self::commit) makes a group of
/// the copies that each lane has started since its last commit. [`wait`](Self::wait) waits until at
/// most the `N` newest groups are in flight.
///
/// The lane that copied sees the bytes after its wait. Other lanes see them after a
/// [`Block::sync`](crate::scope::Block::sync), or in the same warp a [`Warp::sync`]. The simulator
/// lets copies land as late as that allows, and reports earlier accesses.
///
/// ```
/// use ptx_matrix::{copy::CpAsync, prelude::*};
///
/// /// Sums the columns of a matrix of 8 columns. While a step adds eight rows, the next eight are
/// /// in flight.
/// #[kernel(threads = 32, target = "sm_80")]
/// fn sum(
///     block: &Block,
///     #[shared] tiles: [SharedTile<f32, 8, 8>; 2],
///     a: Global<f32>,
///     d: GlobalMut<f32>,
/// ) {
///     let warp = block.warp();
///     let start = |step: usize| {
///         tiles[step % 2].copy_async(warp, a, |row, col| (step * 8 + row) * 8 + col);
///         CpAsync::<16>::commit(warp);
///     };
///     let steps = a.len() / 64;
///     let mut sum = PerLane::splat(0.0);
///     start(0);
///     for step in 0..steps {
///         if step + 1 < steps {
///             start(step + 1);
///             CpAsync::<16>::wait::<1>(warp);
///         } else {
///             CpAsync::<16>::wait::<0>(warp);
///         }
///         warp.sync();
///         warp.update(&mut sum, |lane, sum| {
///             if lane.id() < 8 {
///                 for row in 0..8 {
///                     *sum += tiles[step % 2].get(lane, (row, lane.id()));
///                 }
///             }
///         });
///         warp.sync();
///     }
///     warp.each(|lane| if lane.id() < 8 { d.set(lane.id(), lane.get(&sum)) });
/// }
///
/// let a: Vec<f32> = (0..40 * 8).map(|i| i as f32).collect();
/// let mut d = [0.0; 8];
/// sum::simulate(1, &a, &mut d).unwrap();
/// assert_eq!(d[3], (0..40).map(|row| (row * 8 + 3) as f32).sum::<f32>());
/// ```
pub struct CpAsync<const BYTES: usize, Target = BuildTarget>(PhantomData<Target>);

/// A legal size of `cp.async`.
#[diagnostic::on_unimplemented(
    message = "`cp.async` copies 4, 8 or 16 bytes: there is no `{Self}`"
)]
pub trait CpAsyncForm: Sealed {
    /// The instruction, as in PTX.
    const PTX: &'static str;

    /// # Safety
    /// As the form's functions in `raw`.
    #[doc(hidden)]
    unsafe fn issue(site: Site, to: u32, from: *const u8, some: Option<u32>);
}

macro_rules! forms {
    ($($bytes:literal $copy:ident $ptx:literal;)*) => {$(
        impl<Target> Sealed for CpAsync<$bytes, Target> {}
        impl<Target> CpAsyncForm for CpAsync<$bytes, Target> {
            const PTX: &'static str = $ptx;

            #[inline]
            unsafe fn issue(site: Site, to: u32, from: *const u8, some: Option<u32>) {
                // SAFETY: the caller upholds the conditions.
                unsafe { machine::$copy(site, to, from, some) }
            }
        }
    )*};
}
forms! {
    4 copy_4 "cp.async.ca.shared.global";
    8 copy_8 "cp.async.ca.shared.global";
    16 copy_16 "cp.async.cg.shared.global";
}

/// The window of one copy: `BYTES` along the contiguous dimension of a tile.
struct Chunk<const BYTES: usize, Tile>(PhantomData<Tile>);

impl<const BYTES: usize, T, const ROWS: usize, const COLS: usize, S, O> Window
    for Chunk<BYTES, SharedTile<T, ROWS, COLS, S, O>>
where
    T: Element,
    S: Swizzle,
    O: Order,
{
    const TILE_ROWS: usize = ROWS;
    const TILE_COLS: usize = COLS;
    const ROWS: usize = if O::ROW_MAJOR { 1 } else { BYTES / size_of::<T>() };
    const COLS: usize = if O::ROW_MAJOR { BYTES / size_of::<T>() } else { 1 };
    const ROW_STEP: usize = Self::ROWS;
    const COL_STEP: usize = Self::COLS;
}

impl<const BYTES: usize, Target> CpAsync<BYTES, Target>
where
    Self: CpAsyncForm,
{
    /// Starts a copy of `BYTES` from element `index` of a slice to `at` of a tile, along the tile's
    /// contiguous dimension.
    ///
    /// `at` and the element's address are multiples of `BYTES`.
    #[inline]
    #[track_caller]
    pub fn copy<
        C: Coordinate,
        T: Element,
        const ROWS: usize,
        const COLS: usize,
        S: Swizzle,
        O: Order,
    >(
        lane: Lane<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
        from: Global<T>,
        index: usize,
    ) where
        Target: Supports<AtLeast<80>>,
    {
        const { check_known::<C, Chunk<BYTES, SharedTile<T, ROWS, COLS, S, O>>>() };
        Self::copy_some(lane, tile, at, from, index, BYTES / size_of::<T>());
    }

    /// Like [`copy`](Self::copy), for the first `count` elements, or all if there are fewer; the
    /// rest of the `BYTES` becomes zero.
    ///
    /// With `count` 0 nothing is read, and `index` is ignored. Otherwise memcheck (CUDA 13.0) takes
    /// all `BYTES` for read, and reports those beyond an allocation. The hardware makes them zero.
    #[inline]
    #[track_caller]
    pub fn copy_some<
        C: Coordinate,
        T: Element,
        const ROWS: usize,
        const COLS: usize,
        S: Swizzle,
        O: Order,
    >(
        lane: Lane<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
        from: Global<T>,
        index: usize,
        count: usize,
    ) where
        Target: Supports<AtLeast<80>>,
    {
        const { check_known::<C, Chunk<BYTES, SharedTile<T, ROWS, COLS, S, O>>>() };
        let _ = lane;
        let site = Site::here();
        let (row, col) =
            at.resolve::<Chunk<BYTES, SharedTile<T, ROWS, COLS, S, O>>>(tile.address(), site);
        // SAFETY: the window is in the tile, as resolved.
        unsafe { Self::start(*tile, row, col, from, index, count, site) }
    }

    /// # Safety
    /// (row, col) is the start of a chunk in the tile.
    #[inline]
    pub(crate) unsafe fn start<
        T: Element,
        const ROWS: usize,
        const COLS: usize,
        S: Swizzle,
        O: Order,
    >(
        tile: SharedTile<T, ROWS, COLS, S, O>,
        row: usize,
        col: usize,
        from: Global<T>,
        index: usize,
        count: usize,
        site: Site,
    ) {
        const { assert!(BYTES >= size_of::<T>(), "an element has more bytes than the copy") };
        let whole = BYTES / size_of::<T>();
        let count = if count < whole { count } else { whole };
        let index = if count == 0 { 0 } else { index };
        check!(
            count <= from.len() && index <= from.len() - count,
            site,
            GlobalOutOfBounds {
                access: crate::lane::AccessKind::Copy,
                name: from.name(),
                index: index.saturating_add(count).saturating_sub(1),
                len: from.len()
            }
        );
        // SAFETY: within the slice.
        let source = unsafe { from.start().add(index) }.cast::<u8>();
        let address = from.alignment() + index * size_of::<T>();
        check!(
            address.is_multiple_of(BYTES),
            site,
            GlobalMisaligned {
                access: crate::lane::AccessKind::Copy,
                name: from.name(),
                index,
                bytes: BYTES
            }
        );
        let to = tile.address() + SharedTile::<T, ROWS, COLS, S, O>::offset(row, col);
        from.note_read(site, index, count);
        // SAFETY: both sides are in bounds and aligned. Accesses to the destination meanwhile
        // concern values and not memory safety; the simulator checks them.
        unsafe {
            let some = (count < whole).then_some((count * size_of::<T>()) as u32);
            Self::issue(site, to, source, some);
        }
    }

    /// Makes a group of the copies that each lane has started since its last commit
    /// (`cp.async.commit_group`). A group may be empty.
    #[inline]
    #[track_caller]
    pub fn commit(warp: Warp<'_>)
    where
        Target: Supports<AtLeast<80>>,
    {
        let _ = warp;
        machine::commit_copies(Site::here());
    }

    /// Waits until at most the `N` newest groups of each lane are in flight
    /// (`cp.async.wait_group`).
    #[inline]
    #[track_caller]
    pub fn wait<const N: u32>(warp: Warp<'_>)
    where
        Target: Supports<AtLeast<80>>,
    {
        let _ = warp;
        machine::wait_for_copies::<N>(Site::here());
    }
}

/// The bytes of one copy of a tile.
const CHUNK: usize = 16;

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// The elements of one copy.
    const PER_CHUNK: usize = CHUNK / size_of::<T>();

    /// Starts to copy a whole tile, 16 bytes at a time. The `threads` share the work: those of a
    /// warp, a warpgroup or the block.
    ///
    /// `source(row, col)` is the index in `from` of the element for (row, col). It is called for
    /// the first element of each 16 bytes, and the others are adjacent. The element's address is a
    /// multiple of 16. See [`CpAsync`] for when the tile may be read. Needs sm_80.
    #[inline]
    #[track_caller]
    pub fn copy_async(
        self,
        threads: impl Threads,
        from: Global<T>,
        source: impl Fn(usize, usize) -> usize + LaneCapture,
    ) where
        Self: BuiltFor<AtLeast<80>>,
    {
        let site = Site::here();
        Self::share_out_chunks(threads, |row, col| {
            // SAFETY: the chunks start in the tile.
            unsafe {
                CpAsync::<CHUNK>::start(
                    self,
                    row,
                    col,
                    from,
                    source(row, col),
                    Self::PER_CHUNK,
                    site,
                )
            }
        });
    }

    /// Like [`copy_async`](Self::copy_async), for a matrix that may end within the tile.
    ///
    /// `source(row, col)` is the index of the first element of 16 bytes, and how many elements to
    /// copy, at most those of 16 bytes. The rest of the 16 bytes becomes zero. Needs sm_80.
    #[inline]
    #[track_caller]
    pub fn copy_async_some(
        self,
        threads: impl Threads,
        from: Global<T>,
        source: impl Fn(usize, usize) -> (usize, usize) + LaneCapture,
    ) where
        Self: BuiltFor<AtLeast<80>>,
    {
        let site = Site::here();
        Self::share_out_chunks(threads, |row, col| {
            let (index, count) = source(row, col);
            // SAFETY: the chunks start in the tile.
            unsafe { CpAsync::<CHUNK>::start(self, row, col, from, index, count, site) }
        });
    }

    /// Calls `visit(row, col)` once for the start of each 16-byte chunk. Neighbouring threads get
    /// neighbouring chunks.
    #[inline]
    fn share_out_chunks(threads: impl Threads, visit: impl Fn(usize, usize) + LaneCapture) {
        let count = threads.count();
        let per_line = if O::ROW_MAJOR { COLS } else { ROWS } / Self::PER_CHUNK;
        threads.each_thread(|_, rank| {
            for chunk in (opaque(rank)..ROWS * COLS / Self::PER_CHUNK).step_by(count) {
                let (line, along) = (chunk / per_line, chunk % per_line * Self::PER_CHUNK);
                let (row, col) = if O::ROW_MAJOR { (line, along) } else { (along, line) };
                visit(row, col);
            }
        });
    }
}
