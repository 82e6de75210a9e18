//! Bulk copies: a lane has a tile copied, asynchronously and in one piece (`cp.async.bulk`, PTX ISA 9.7.9.25.4).

use crate::copy::reduction::Reduction;
use crate::lane::Site;
use crate::machine::check;
use crate::memory::{Order, SharedTile, Unswizzled};
use crate::target::{AtLeast, BuiltFor};
use crate::{Barrier, Element, Global, GlobalMut, Lane, Warp, raw};

/// Bulk copies of whole tiles, whose elements lie in the slice as in the tile: one line behind the other.
///
/// They are started by one lane ([`Warp::elect`]) and carried out by what is no thread. Both sides start at multiples of 16 bytes.
/// Such a copy sees what ordinary stores wrote, and may take the place of that, behind a [`Warp::fence_for_bulk`] of the warps
/// that wrote. Needs sm_90.
impl<T: Element, const ROWS: usize, const COLS: usize, O: Order> SharedTile<T, ROWS, COLS, Unswizzled, O> {
    /// The tile's bytes, which a barrier is told of when the tile has been loaded.
    pub const BULK_BYTES: u32 = (ROWS * COLS * size_of::<T>()) as u32;

    /// Starts to copy the elements from `index` on to the tile (`cp.async.bulk.shared::cluster.global`).
    ///
    /// The barrier's phase is over no sooner than all bytes have come that it was told to
    /// [expect](Barrier::arrive_expecting): [`BULK_BYTES`](Self::BULK_BYTES) of each copy. Who has waited for it may read the
    /// tile; until then nobody may touch it. The simulator lets copies land as late as that allows, and reports whoever comes too early,
    /// stores and copies with no fence between, and bytes that the phase does not expect, or that do not come.
    ///
    /// ```
    /// use ptx_matrix::*;
    ///
    /// /// Sums the columns of a matrix of 32 columns: one warp has eight rows copied, up to three times ahead, another adds up.
    /// #[kernel(threads = 64, target = "sm_90")]
    /// fn sum(
    ///     block: &Block,
    ///     #[shared] tiles: SharedRing<SharedTile<f32, 8, 32>, 3>,
    ///     #[shared] full: SharedRing<BarrierMemory, 3>,
    ///     #[shared] empty: SharedRing<BarrierMemory, 3>,
    ///     a: Global<f32>,
    ///     d: GlobalMut<f32>,
    /// ) {
    ///     let (full, empty) = (full.init(block, 1), empty.init(block, 32));
    ///     let (warp, steps) = (block.warp(), a.len() / 256);
    ///     let mut sum = PerLane::splat(0.0);
    ///     let mut turn = Turn::FIRST;
    ///     for step in 0..steps {
    ///         let (tile, full, empty) = (tiles.stage(turn.index()), full.stage(turn.index()), empty.stage(turn.index()));
    ///         if warp.index() == 0 {
    ///             empty.wait(warp, turn.phase_before());
    ///             warp.elect(|lane| {
    ///                 full.arrive_expecting(lane, SharedTile::<f32, 8, 32>::BULK_BYTES);
    ///                 tile.load_bulk(lane, a, step * 256, full);
    ///             });
    ///         } else {
    ///             full.wait(warp, turn.phase());
    ///             warp.update(&mut sum, |lane, sum| *sum += (0..8).map(|row| tile.get(lane, (row, lane.id()))).sum::<f32>());
    ///             warp.each(|lane| empty.arrive(lane));
    ///         }
    ///         turn = turn.next();
    ///     }
    ///     if warp.index() == 1 {
    ///         warp.each(|lane| d.set(lane.id(), lane.get(&sum)));
    ///     }
    /// }
    ///
    /// let a: Vec<f32> = (0..40 * 32).map(|i| i as f32).collect();
    /// let mut d = [0.0; 32];
    /// sum::simulate(1, &a, &mut d).check();
    /// assert_eq!(d[5], (0..40).map(|row| (row * 32 + 5) as f32).sum::<f32>());
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn load_bulk(self, lane: Lane<'_>, from: Global<T>, index: usize, barrier: Barrier)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        check_slice::<T>(Site::here(), from.name(), (from.len(), from.alignment()), index, ROWS * COLS);
        let source = from.as_ptr().wrapping_add(index).cast::<u8>();
        // SAFETY: within the slice, as checked, and aligned; the tile is so many bytes, and aligned; the barrier was initialised. That
        // nobody touches the tile meanwhile concerns values, not memory safety, and is the simulator's to check.
        unsafe {
            raw::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(
                self.address(),
                source,
                Self::BULK_BYTES,
                barrier.address(),
            );
        }
    }

    /// Starts to copy the tile to the elements from `index` on (`cp.async.bulk.global.shared::cta`).
    ///
    /// It is in flight until the lane has waited for its group: see [`BulkGroup`].
    #[inline(always)]
    #[track_caller]
    pub fn store_bulk(self, lane: Lane<'_>, to: GlobalMut<T>, index: usize)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        check_slice::<T>(Site::here(), to.name(), (to.len(), to.alignment()), index, ROWS * COLS);
        let destination = to.as_ptr().wrapping_add(index).cast::<u8>();
        // SAFETY: as above. A copy that is in flight when the kernel returns reaches its slice before the launch has ended.
        unsafe { raw::cp_async_bulk_global_shared_cta_bulk_group(destination, self.address(), Self::BULK_BYTES) }
    }

    /// Starts to reduce the elements from `index` on by the tile's (`cp.reduce.async.bulk.global.shared::cta`, PTX ISA 9.7.9.25.4).
    ///
    /// Each element is reduced as a whole; in which order several tiles come to one is not said (the simulator takes the order of the
    /// blocks), which sums of floats tell. Like [`store_bulk`](Self::store_bulk) it is in flight until the lane has waited for its group.
    ///
    /// ```
    /// use ptx_matrix::*;
    ///
    /// /// Each block adds its number to all elements.
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn add(block: &Block, #[shared] tile: SharedTile<u32, 4, 32>, d: GlobalMut<u32>) {
    ///     let (warp, number) = (block.warp(), block.index().x);
    ///     tile.fill(warp, |_, _| number);
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     warp.elect(|lane| {
    ///         tile.reduce_bulk(lane, reduction::Add, d, 0);
    ///         BulkGroup::commit(lane);
    ///         BulkGroup::wait_read::<0>(lane);
    ///     });
    /// }
    ///
    /// let mut d = [1; 128];
    /// add::simulate(5, &mut d).check();
    /// assert_eq!(d, [11; 128]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn reduce_bulk<R: Reduction<T>>(self, lane: Lane<'_>, reduction: R, to: GlobalMut<T>, index: usize)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = (lane, reduction);
        check_slice::<T>(Site::here(), to.name(), (to.len(), to.alignment()), index, ROWS * COLS);
        let destination = to.as_ptr().wrapping_add(index).cast::<u8>();
        // SAFETY: as above.
        unsafe { R::reduce(destination, self.address(), Self::BULK_BYTES) }
    }
}

impl<T: Element> Global<'_, T> {
    /// Has `count` elements from `index` on brought to the second-level cache (`cp.async.bulk.prefetch.L2`). Both are multiples of 16
    /// bytes. Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::*;
    ///
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn warm_up(block: &Block, a: Global<f32>) {
    ///     block.warp().elect(|lane| a.prefetch_bulk(lane, 8, 24));
    /// }
    ///
    /// warm_up::simulate(1, &[0.0; 32]).check();
    /// assert!(warm_up::simulate(1, &[0.0; 31]).is_err()); // beyond the slice
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn prefetch_bulk(self, lane: Lane<'_>, index: usize, count: usize)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        let bytes = check_prefetch(Site::here(), self, index, count);
        // SAFETY: within the slice, as checked, and aligned.
        unsafe { raw::cp_async_bulk_prefetch_L2_global(self.as_ptr().wrapping_add(index).cast(), bytes) }
    }
}

/// The bytes of `count` elements from `index` on, if they are in the slice, and both are multiples of 16 bytes.
#[inline(always)]
pub(crate) fn check_prefetch<T: Element>(site: Site, slice: Global<'_, T>, index: usize, count: usize) -> u32 {
    check_slice::<T>(site, slice.name(), (slice.len(), slice.alignment()), index, count);
    let bytes = count * size_of::<T>();
    check!(bytes.is_multiple_of(16) && bytes < 1 << 32, site, BulkSize { bytes: bytes as u32 });
    bytes as u32
}

/// Whether `count` elements from `index` on are in a slice of `len`, and start at a multiple of 16 bytes: a buffer does, what is
/// behind elements that were skipped need not.
#[inline(always)]
pub(crate) fn check_slice<T: Element>(
    site: Site,
    name: &'static str,
    (len, alignment): (usize, usize),
    index: usize,
    count: usize,
) {
    let _ = name;
    check!(
        count <= len && index <= len - count,
        site,
        GlobalOutOfBounds { access: "copy", name, index: index.saturating_add(count).saturating_sub(1), len }
    );
    let start = alignment + index * size_of::<T>();
    check!(start.is_multiple_of(16), site, BulkMisaligned { name, index, beyond: start % 16 });
}

/// Groups of the bulk copies that a lane has started from shared to global memory. The same lane commits and waits: that of
/// [`Warp::elect`], which is the same each time.
///
/// ```
/// use ptx_matrix::*;
///
/// /// Writes numbers, a tile at a time, by copies of which one is in flight while the next tile is filled.
/// #[kernel(threads = 32, target = "sm_90")]
/// fn count(block: &Block, #[shared] tiles: SharedRing<SharedTile<u32, 4, 32>, 2>, d: GlobalMut<u32>) {
///     let warp = block.warp();
///     for step in 0..d.len() / 128 {
///         let tile = tiles.part(step % 2);
///         warp.elect(|lane| BulkGroup::wait_read::<1>(lane)); // The copy from this tile has read it.
///         warp.sync();
///         tile.fill(warp, |row, col| (step * 128 + row * 32 + col) as u32);
///         warp.fence_for_bulk();
///         warp.sync();
///         warp.elect(|lane| {
///             tile.store_bulk(lane, d, step * 128);
///             BulkGroup::commit(lane);
///         });
///     }
///     warp.elect(|lane| BulkGroup::wait_read::<0>(lane)); // Shared memory is needed until then.
/// }
///
/// let mut d = [0; 640];
/// count::simulate(1, &mut d).check();
/// assert_eq!(d, core::array::from_fn(|i| i as u32));
/// ```
#[derive(Debug, Clone, Copy)]
pub enum BulkGroup {}

impl BulkGroup {
    /// Makes a group of the copies that the lane has started since the last one (`cp.async.bulk.commit_group`).
    #[inline(always)]
    #[track_caller]
    pub fn commit<'l>(lane: Lane<'l>)
    where
        Lane<'l>: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        raw::cp_async_bulk_commit_group();
    }

    /// Waits until at most the lane's `N` newest groups are in flight (`cp.async.bulk.wait_group`): what the others wrote to global
    /// memory, the lane sees.
    #[inline(always)]
    #[track_caller]
    pub fn wait<'l, const N: u32>(lane: Lane<'l>)
    where
        Lane<'l>: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        raw::cp_async_bulk_wait_group::<N>();
    }

    /// Waits until at most the lane's `N` newest groups still read shared memory (`cp.async.bulk.wait_group.read`): the tiles of the others
    /// may be written again.
    #[inline(always)]
    #[track_caller]
    pub fn wait_read<'l, const N: u32>(lane: Lane<'l>)
    where
        Lane<'l>: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        raw::cp_async_bulk_wait_group_read::<N>();
    }
}

impl<'b> Warp<'b> {
    /// What each lane knows of shared memory until now, bulk copies that come behind it know too (`fence.proxy.async.shared::cta`, PTX
    /// ISA 9.7.13.4): behind stores to a tile that is then copied from, or to. It does not make the lanes, or warps, wait for each
    /// other. Each warp that stored says it, before the `sync` or the barrier by which the one that copies knows of that: of another's stores, the
    /// simulator takes the copying warp's own fence for none. Needs sm_90.
    #[inline(always)]
    #[track_caller]
    pub fn fence_for_bulk(self)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        raw::fence_proxy_async_shared_cta();
    }

    /// The same of global memory (`fence.proxy.async.global`): behind ordinary stores to elements that a bulk copy then replaces, reduces
    /// or takes. Of what a kernel launched before wrote, none is needed.
    #[inline(always)]
    #[track_caller]
    pub fn fence_global_for_bulk(self)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        raw::fence_proxy_async_global();
    }
}
