//! Bulk copies of contiguous bytes between global memory and a shared tile (`cp.async.bulk`, PTX
//! ISA 9.7.9.25.4).

use crate::copy::reduction::Reduction;
use crate::copy::{CachePolicy, LoadTma, StoreTma, TmaDestination, TmaSource};
use crate::element::Element;
use crate::lane::{Lane, Sealed, Site};
use crate::machine::check;
use crate::memory::{Global, GlobalMut, Order, SharedTile, Unswizzled};
use crate::raw::{
    self, cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes as load,
    cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_L2_cache_hint as load_cached,
    cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_multicast_cluster as load_to,
};
use crate::scope::Warp;
use crate::target::{AtLeast, BuiltFor};

/// The adjacent elements of a slice that a TMA copy reads or writes.
///
/// The tile's rows (columns if `ColMajor`) follow each other without padding.
#[derive(Debug, Clone, Copy)]
pub struct TmaElements<Slice> {
    slice: Slice,
    index: usize,
}

impl<T: Element, const ROWS: usize, const COLS: usize, O: Order>
    SharedTile<T, ROWS, COLS, Unswizzled, O>
{
    /// The bytes that a load from adjacent elements completes on its barrier: those of the tile.
    pub const BULK_BYTES: u32 = (ROWS * COLS * size_of::<T>()) as u32;
}

impl<'k, T: Element> Global<'k, T> {
    /// The elements from `index` on, as the source of TMA copies
    /// (`cp.async.bulk.shared::cluster.global`).
    ///
    /// They start at a multiple of 16 bytes. [`SharedTile::load_tma`] takes as many elements as the
    /// tile has. A copy beyond the slice is refused.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Sums the columns of a matrix of 32 columns. One warp loads eight rows at a time, up to
    /// /// three stages ahead; the other adds them up.
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
    ///     let mut state = PipelineState::FIRST;
    ///     for step in 0..steps {
    ///         let (tile, full, empty) = (
    ///             tiles.stage(state.index()),
    ///             full.stage(state.index()),
    ///             empty.stage(state.index()),
    ///         );
    ///         if warp.index() == 0 {
    ///             empty.wait(warp, state.prev_phase());
    ///             warp.elect(|lane| {
    ///                 full.arrive_expecting(lane, SharedTile::<f32, 8, 32>::BULK_BYTES);
    ///                 tile.load_tma(lane, a.bulk(step * 256), full);
    ///             });
    ///         } else {
    ///             full.wait(warp, state.phase());
    ///             warp.update(&mut sum, |lane, sum| {
    ///                 *sum += (0..8).map(|row| tile.get(lane, (row, lane.id()))).sum::<f32>()
    ///             });
    ///             warp.each(|lane| empty.arrive(lane));
    ///         }
    ///         state = state.next();
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
    #[inline]
    pub fn bulk(self, index: usize) -> TmaSource<TmaElements<Self>> {
        TmaSource::new(TmaElements { slice: self, index })
    }
}

impl<'k, T: Element> GlobalMut<'k, T> {
    /// The elements from `index` on, as the destination of TMA copies
    /// (`cp.async.bulk.global.shared::cta`): see [`SharedTile::store_tma`] and
    /// [`SharedTile::reduce_tma`].
    #[inline]
    pub fn bulk(self, index: usize) -> TmaDestination<TmaElements<Self>> {
        TmaDestination::new(TmaElements { slice: self, index })
    }

    /// The elements from `index` on, as the source of TMA copies
    /// (`cp.async.bulk.shared::cluster.global`), as for [`Global::bulk`].
    ///
    /// What this kernel's threads have stored there becomes visible to the copy by a
    /// [`fence_global_for_bulk`](crate::scope::Warp::fence_global_for_bulk) after the stores.
    /// Stores that come later wait until the copy has landed: of a multicast, the part of the block
    /// that started it.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Doubles the elements in place, 128 in each block.
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn double(
    ///     block: &Block,
    ///     #[shared] tile: SharedTile<u32, 4, 32>,
    ///     #[shared] full: BarrierMemory,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, first) = (block.warp(), block.index().x as usize * 128);
    ///     warp.elect(|lane| {
    ///         full.arrive_expecting(lane, SharedTile::<u32, 4, 32>::BULK_BYTES);
    ///         tile.load_tma(lane, d.bulk_source(first), full);
    ///     });
    ///     full.wait(warp, Phase::FIRST);
    ///     warp.each(|lane| {
    ///         for row in 0..4 {
    ///             tile.set((row, lane.id()), 2 * tile.get(lane, (row, lane.id())));
    ///         }
    ///     });
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     warp.elect(|lane| {
    ///         tile.store_tma(lane, d.bulk(first));
    ///         BulkGroup::commit(lane);
    ///         BulkGroup::wait_read::<0>(lane);
    ///     });
    /// }
    ///
    /// let mut d: Vec<u32> = (0..256).collect();
    /// double::simulate(2, &mut d).check();
    /// assert_eq!(d[255], 510);
    /// ```
    #[inline]
    pub fn bulk_source(self, index: usize) -> TmaSource<TmaElements<Self>> {
        TmaSource::new(TmaElements { slice: self, index })
    }
}

impl<Slice> Sealed for TmaElements<Slice> {}

/// Loads from each kind of slice.
macro_rules! loads {
    ($($slice:ident)*) => {$(
        impl<T: Element, const ROWS: usize, const COLS: usize, O: Order>
            LoadTma<SharedTile<T, ROWS, COLS, Unswizzled, O>> for TmaElements<$slice<'_, T>>
        {
            #[inline]
            #[track_caller]
            unsafe fn load(
                self,
                to: u32,
                barrier: u32,
                mask: Option<u16>,
                policy: Option<CachePolicy>,
            ) {
                let TmaElements { slice, index } = self;
                check_slice::<T>(
                    Site::here(),
                    slice.name(),
                    (slice.len(), slice.alignment()),
                    index,
                    ROWS * COLS,
                );
                let from = slice.as_ptr().wrapping_add(index).cast::<u8>();
                let bytes = SharedTile::<T, ROWS, COLS, Unswizzled, O>::BULK_BYTES;
                // SAFETY: the elements are within the slice, as checked, and aligned. The tile has
                // as many bytes, and is aligned. Only `createpolicy` makes a policy. The caller
                // guarantees the rest.
                unsafe {
                    match (mask, policy) {
                        (None, None) => {
                            load(to, from, bytes, barrier);
                        }
                        (None, Some(policy)) => {
                            load_cached(to, from, bytes, barrier, policy.bits());
                        }
                        (Some(mask), None) => {
                            load_to(to, from, bytes, barrier, mask);
                        }
                        (Some(mask), Some(policy)) => {
                            let load_to_cached = pastey::paste!(raw::[<
                                cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes
                                _multicast_cluster_L2_cache_hint
                            >]);
                            load_to_cached(to, from, bytes, barrier, mask, policy.bits());
                        }
                    }
                }
            }
        }
    )*};
}
loads!(Global GlobalMut);

impl<T: Element, const ROWS: usize, const COLS: usize, O: Order>
    StoreTma<T, SharedTile<T, ROWS, COLS, Unswizzled, O>> for TmaElements<GlobalMut<'_, T>>
{
    #[inline]
    #[track_caller]
    unsafe fn store(self, from: u32, policy: Option<CachePolicy>) {
        let TmaElements { slice, index } = self;
        check_slice::<T>(
            Site::here(),
            slice.name(),
            (slice.len(), slice.alignment()),
            index,
            ROWS * COLS,
        );
        let to = slice.as_ptr().wrapping_add(index).cast::<u8>();
        let bytes = SharedTile::<T, ROWS, COLS, Unswizzled, O>::BULK_BYTES;
        // SAFETY: as for a load.
        unsafe {
            match policy {
                None => raw::cp_async_bulk_global_shared_cta_bulk_group(to, from, bytes),
                Some(policy) => {
                    raw::cp_async_bulk_global_shared_cta_bulk_group_L2_cache_hint(
                        to,
                        from,
                        bytes,
                        policy.bits(),
                    );
                }
            }
        }
    }

    #[inline]
    #[track_caller]
    unsafe fn reduce<R: Reduction<T>>(self, from: u32, policy: Option<CachePolicy>) {
        let TmaElements { slice, index } = self;
        check_slice::<T>(
            Site::here(),
            slice.name(),
            (slice.len(), slice.alignment()),
            index,
            ROWS * COLS,
        );
        let to = slice.as_ptr().wrapping_add(index).cast::<u8>();
        let bytes = SharedTile::<T, ROWS, COLS, Unswizzled, O>::BULK_BYTES;
        // SAFETY: as for a load; the reduction exists for the element type.
        unsafe {
            match policy {
                None => R::reduce(to, from, bytes),
                Some(policy) => R::reduce_cached(to, from, bytes, policy.bits()),
            }
        }
    }
}

impl<T: Element> TmaSource<TmaElements<Global<'_, T>>> {
    /// Loads `count` elements into the L2 cache (`cp.async.bulk.prefetch.L2`).
    ///
    /// Their start and their size are multiples of 16 bytes. Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn warm_up(block: &Block, a: Global<f32>) {
    ///     block.warp().elect(|lane| a.bulk(8).prefetch(lane, 24));
    /// }
    ///
    /// warm_up::simulate(1, &[0.0; 32]).check();
    /// assert!(warm_up::simulate(1, &[0.0; 31]).is_err()); // The prefetch exceeds the slice.
    /// ```
    #[inline]
    #[track_caller]
    pub fn prefetch(self, lane: Lane<'_>, count: usize)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        let TmaElements { slice, index } = self.place;
        let bytes = check_prefetch(Site::here(), slice, index, count);
        let from = slice.as_ptr().wrapping_add(index).cast();
        // SAFETY: the elements are within the slice, as checked, and aligned. Only `createpolicy`
        // makes a policy.
        unsafe {
            match self.policy {
                None => raw::cp_async_bulk_prefetch_L2_global(from, bytes),
                Some(policy) => {
                    raw::cp_async_bulk_prefetch_L2_global_L2_cache_hint(from, bytes, policy.bits())
                }
            }
        }
    }
}

/// Returns the bytes of `count` elements from `index` on. Checks that they are in the slice, and
/// that start and size are multiples of 16 bytes.
#[inline]
fn check_prefetch<T: Element>(site: Site, slice: Global<'_, T>, index: usize, count: usize) -> u32 {
    check_slice::<T>(site, slice.name(), (slice.len(), slice.alignment()), index, count);
    let bytes = count * size_of::<T>();
    check!(bytes.is_multiple_of(16) && bytes < 1 << 32, site, BulkSize { bytes: bytes as u32 });
    bytes as u32
}

/// Checks that `count` elements from `index` on are in a slice of `len`, and start at a multiple of
/// 16 bytes. A buffer starts aligned; a slice that skips elements may not.
#[inline]
fn check_slice<T: Element>(
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
        GlobalOutOfBounds {
            access: crate::lane::AccessKind::Copy,
            name,
            index: index.saturating_add(count).saturating_sub(1),
            len
        }
    );
    let start = alignment + index * size_of::<T>();
    check!(start.is_multiple_of(16), site, BulkMisaligned { name, index, beyond: start % 16 });
}

/// The bulk-async groups of a lane: its bulk copies from shared to global memory.
///
/// The lane that starts the copies also commits and waits for them. [`Warp::elect`] elects the same
/// lane each time. Needs sm_90.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Writes numbers, a tile at a time. One store is in flight while the next tile is filled.
/// #[kernel(threads = 32, target = "sm_90")]
/// fn count(
///     block: &Block,
///     #[shared] tiles: SharedRing<SharedTile<u32, 4, 32>, 2>,
///     d: GlobalMut<u32>,
/// ) {
///     let warp = block.warp();
///     for step in 0..d.len() / 128 {
///         let tile = tiles.part(step % 2);
///         // The tile's previous store has read it.
///         warp.elect(|lane| BulkGroup::wait_read::<1>(lane));
///         warp.sync();
///         tile.fill(warp, |row, col| (step * 128 + row * 32 + col) as u32);
///         warp.fence_for_bulk();
///         warp.sync();
///         warp.elect(|lane| {
///             tile.store_tma(lane, d.bulk(step * 128));
///             BulkGroup::commit(lane);
///         });
///     }
///     // The stores read shared memory until then.
///     warp.elect(|lane| BulkGroup::wait_read::<0>(lane));
/// }
///
/// let mut d = [0; 640];
/// count::simulate(1, &mut d).check();
/// assert_eq!(d, core::array::from_fn(|i| i as u32));
/// ```
#[derive(Debug, Clone, Copy)]
pub enum BulkGroup {}

impl BulkGroup {
    /// Makes a group of the copies that the lane has started since its last commit
    /// (`cp.async.bulk.commit_group`).
    #[inline]
    #[track_caller]
    pub fn commit<'l>(lane: Lane<'l>)
    where
        Lane<'l>: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        raw::cp_async_bulk_commit_group();
    }

    /// Waits until at most the lane's `N` newest groups are in flight (`cp.async.bulk.wait_group`).
    ///
    /// The lane then sees the writes of the completed groups to global memory.
    #[inline]
    #[track_caller]
    pub fn wait<'l, const N: u32>(lane: Lane<'l>)
    where
        Lane<'l>: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        raw::cp_async_bulk_wait_group::<N>();
    }

    /// Waits until at most the lane's `N` newest groups still read shared memory
    /// (`cp.async.bulk.wait_group.read`).
    ///
    /// The tiles of the completed groups may then be overwritten.
    #[inline]
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
    /// Orders the lanes' earlier accesses to the block's own shared memory before later bulk copies
    /// and `wgmma`s (`fence.proxy.async.shared::cta`, PTX ISA 9.7.13.4).
    ///
    /// It belongs between ordinary stores to a tile and a bulk copy from or to that tile. Each warp
    /// that stored executes it, before the `sync` or the barrier that hands the tile to the copying
    /// warp; or the copying warp executes it after that. If another block of the cluster stored,
    /// the tile's block executes it after its wait. The fence does not synchronise lanes or warps.
    /// Needs sm_90.
    #[inline]
    #[track_caller]
    pub fn fence_for_bulk(self)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        raw::fence_proxy_async_shared_cta();
    }

    /// Orders the lanes' earlier accesses to global memory before later bulk copies
    /// (`fence.proxy.async.global`).
    ///
    /// It belongs between ordinary stores to elements and a bulk copy that replaces, reduces or
    /// reads them. The writes of a kernel that was launched before need no fence. Needs sm_90.
    #[inline]
    #[track_caller]
    pub fn fence_global_for_bulk(self)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        raw::fence_proxy_async_global();
    }
}
