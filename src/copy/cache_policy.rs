//! What becomes of copied bytes in the second-level cache (`createpolicy`, PTX ISA 9.7.9.18; `.L2::cache_hint`).

use crate::copy::BoxAt;
use crate::copy::reduction::{self, Reduction};
use crate::copy::{check_prefetch, check_slice};
use crate::lane::Site;
use crate::memory::{Order, SharedTile, TensorSwizzle, Unswizzled};
use crate::target::{AtLeast, BuiltFor};
use crate::{Barrier, Blocks, BoxTile, Element, Global, GlobalMut, Lane, TensorMap, TensorMapMut, raw};

/// How long the second-level cache is to keep what a copy touches. It changes how fast memory is, and nothing else; the simulator ignores it.
///
/// Copies take one by methods of their own: `load_bulk_cached` is [`load_bulk`](SharedTile::load_bulk) with a policy, and so on. Needs sm_90.
///
/// ```
/// use ptx_matrix::{sim::Simulator, *};
/// type Tile = SharedTile<f32, 8, 32, Swizzle128>;
///
/// /// Copies a matrix that nobody reads again.
/// #[kernel(threads = 32, target = "sm_90")]
/// fn copy(block: &Block, #[shared] tile: Tile, #[shared] full: BarrierMemory, a: TensorMap<Tile, 2>, d: TensorMapMut<Tile, 2>) {
///     let full = full.init(block, 1);
///     let (warp, row) = (block.warp(), block.index().x as i32 * 8);
///     let once = CachePolicy::evict_first();
///     warp.elect(|lane| {
///         full.arrive_expecting(lane, Tile::BOX_BYTES);
///         tile.load_box_cached(lane, once, a, [0, row], full);
///     });
///     full.wait(warp, Phase::FIRST);
///     warp.elect(|lane| {
///         tile.store_box_cached(lane, once, d, [0, row]);
///         BulkGroup::commit(lane);
///         BulkGroup::wait_read::<0>(lane);
///     });
/// }
///
/// let (device, a, mut d) = (Simulator::default(), [0.5; 16 * 32], [0.0; 16 * 32]);
/// let from = Tensor::<Tile, 2>::new([32, 16]).map(&device, &a[..])?;
/// let mut to = Tensor::<Tile, 2>::new([32, 16]).map_mut(&device, &mut d[..])?;
/// copy::launch(&device, 2, &from, to.by_ref()).check();
/// assert_eq!(d, a);
/// # Ok::<(), TensorMapError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachePolicy {
    bits: u64,
}

/// How long the second-level cache keeps a part of what a copy touches: see [`CachePolicy::of_part`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// As [`CachePolicy::evict_first`].
    EvictFirst,
    /// As [`CachePolicy::evict_last`].
    EvictLast,
    /// As [`CachePolicy::evict_normal`].
    EvictNormal,
    /// As [`CachePolicy::evict_unchanged`].
    EvictUnchanged,
}

/// The same of the rest, for which there are fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestPriority {
    /// It goes first.
    EvictFirst,
    /// It keeps the priority that it had.
    EvictUnchanged,
}

impl CachePolicy {
    /// It goes first: what is needed once.
    #[inline(always)]
    pub fn evict_first() -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        CachePolicy { bits: raw::createpolicy_fractional_L2_evict_first_b64() }
    }

    /// It stays as long as may be: what other blocks need too.
    #[inline(always)]
    pub fn evict_last() -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        CachePolicy { bits: raw::createpolicy_fractional_L2_evict_last_b64() }
    }

    /// As without a policy.
    #[inline(always)]
    pub fn evict_normal() -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        CachePolicy { bits: raw::createpolicy_fractional_L2_evict_normal_b64() }
    }

    /// It keeps the priority that it had.
    #[inline(always)]
    pub fn evict_unchanged() -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        CachePolicy { bits: raw::createpolicy_fractional_L2_evict_unchanged_b64() }
    }

    /// The first priority for `PERCENT` percent of what a copy touches, from 1 to 100, and the second for the rest
    /// (`createpolicy.fractional` with a fraction and a secondary priority): of data that the cache has not room for, a part stays.
    /// Which part, the hardware chooses by the addresses.
    ///
    /// ```
    /// use ptx_matrix::*;
    ///
    /// /// Has 60 percent of a table stay, which all blocks will read; the rest need not go through the cache in vain.
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn warm_up(block: &Block, table: Global<f32>) {
    ///     let most = CachePolicy::of_part::<60>(Priority::EvictLast, RestPriority::EvictFirst);
    ///     block.warp().elect(|lane| table.prefetch_bulk_cached(lane, most, 0, table.len()));
    /// }
    ///
    /// warm_up::simulate(1, &[0.0; 1024]).check();
    /// ```
    #[inline(always)]
    pub fn of_part<const PERCENT: u32>(priority: Priority, rest: RestPriority) -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        const { assert!(PERCENT >= 1 && PERCENT <= 100, "a policy is for 1 to 100 percent of what a copy touches") };
        let fraction = const { PERCENT as f32 / 100.0 };
        use {Priority::*, RestPriority as Rest};
        // SAFETY: the fraction is more than 0 and at most 1.
        let bits = unsafe {
            match (priority, rest) {
                (EvictFirst, Rest::EvictFirst) => {
                    raw::createpolicy_fractional_L2_evict_first_L2_evict_first_b64(fraction)
                }
                (EvictFirst, Rest::EvictUnchanged) => {
                    raw::createpolicy_fractional_L2_evict_first_L2_evict_unchanged_b64(fraction)
                }
                (EvictLast, Rest::EvictFirst) => {
                    raw::createpolicy_fractional_L2_evict_last_L2_evict_first_b64(fraction)
                }
                (EvictLast, Rest::EvictUnchanged) => {
                    raw::createpolicy_fractional_L2_evict_last_L2_evict_unchanged_b64(fraction)
                }
                (EvictNormal, Rest::EvictFirst) => {
                    raw::createpolicy_fractional_L2_evict_normal_L2_evict_first_b64(fraction)
                }
                (EvictNormal, Rest::EvictUnchanged) => {
                    raw::createpolicy_fractional_L2_evict_normal_L2_evict_unchanged_b64(fraction)
                }
                (EvictUnchanged, Rest::EvictFirst) => {
                    raw::createpolicy_fractional_L2_evict_unchanged_L2_evict_first_b64(fraction)
                }
                (EvictUnchanged, Rest::EvictUnchanged) => {
                    raw::createpolicy_fractional_L2_evict_unchanged_L2_evict_unchanged_b64(fraction)
                }
            }
        };
        CachePolicy { bits }
    }

    /// The policy, for `raw`'s functions.
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        self.bits
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize, O: Order> SharedTile<T, ROWS, COLS, Unswizzled, O> {
    /// As [`load_bulk`](Self::load_bulk), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn load_bulk_cached(self, lane: Lane<'_>, policy: CachePolicy, from: Global<T>, index: usize, barrier: Barrier)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        check_slice::<T>(Site::here(), from.name(), (from.len(), from.alignment()), index, ROWS * COLS);
        let source = from.as_ptr().wrapping_add(index).cast::<u8>();
        // SAFETY: as `load_bulk`; only `createpolicy` makes a policy.
        unsafe {
            raw::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_L2_cache_hint(
                self.address(),
                source,
                Self::BULK_BYTES,
                barrier.address(),
                policy.bits,
            );
        }
    }

    /// As [`store_bulk`](Self::store_bulk), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn store_bulk_cached(self, lane: Lane<'_>, policy: CachePolicy, to: GlobalMut<T>, index: usize)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        check_slice::<T>(Site::here(), to.name(), (to.len(), to.alignment()), index, ROWS * COLS);
        let destination = to.as_ptr().wrapping_add(index).cast::<u8>();
        // SAFETY: as `store_bulk`; only `createpolicy` makes a policy.
        unsafe {
            raw::cp_async_bulk_global_shared_cta_bulk_group_L2_cache_hint(
                destination,
                self.address(),
                Self::BULK_BYTES,
                policy.bits,
            );
        }
    }

    /// As [`load_bulk_to`](Self::load_bulk_to), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn load_bulk_to_cached(
        self,
        lane: Lane<'_>,
        blocks: Blocks,
        policy: CachePolicy,
        from: Global<T>,
        index: usize,
        barrier: Barrier,
    ) where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        check_slice::<T>(Site::here(), from.name(), (from.len(), from.alignment()), index, ROWS * COLS);
        let source = from.as_ptr().wrapping_add(index).cast::<u8>();
        // SAFETY: as `load_bulk_to`; only `createpolicy` makes a policy.
        unsafe {
            raw::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_multicast_cluster_L2_cache_hint(
                self.address(),
                source,
                Self::BULK_BYTES,
                barrier.address(),
                blocks.mask(),
                policy.bits,
            );
        }
    }

    /// As [`reduce_bulk`](Self::reduce_bulk), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn reduce_bulk_cached<R: Reduction<T>>(
        self,
        lane: Lane<'_>,
        policy: CachePolicy,
        reduction: R,
        to: GlobalMut<T>,
        index: usize,
    ) where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = (lane, reduction);
        check_slice::<T>(Site::here(), to.name(), (to.len(), to.alignment()), index, ROWS * COLS);
        let destination = to.as_ptr().wrapping_add(index).cast::<u8>();
        // SAFETY: as `reduce_bulk`; only `createpolicy` makes a policy.
        unsafe { R::reduce_cached(destination, self.address(), Self::BULK_BYTES, policy.bits) }
    }
}

impl<T: Element> Global<'_, T> {
    /// As [`prefetch_bulk`](Self::prefetch_bulk), with a policy for the second-level cache (`.L2::cache_hint`). Needs sm_90.
    #[inline(always)]
    #[track_caller]
    pub fn prefetch_bulk_cached(self, lane: Lane<'_>, policy: CachePolicy, index: usize, count: usize)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        let bytes = check_prefetch(Site::here(), self, index, count);
        let source = self.as_ptr().wrapping_add(index).cast();
        // SAFETY: within the slice, as checked, and aligned; only `createpolicy` makes a policy.
        unsafe { raw::cp_async_bulk_prefetch_L2_global_L2_cache_hint(source, bytes, policy.bits) }
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: TensorSwizzle, O: Order> SharedTile<T, ROWS, COLS, S, O> {
    /// As [`load_box`](Self::load_box), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn load_box_cached<const RANK: usize>(
        self,
        lane: Lane<'_>,
        policy: CachePolicy,
        map: TensorMap<'_, Self, RANK>,
        at: [i32; RANK],
        barrier: Barrier,
    ) where
        [i32; RANK]: BoxAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: as `load_box`; only `createpolicy` makes a policy.
        unsafe { at.load_cached(self.address(), map.as_ptr(), barrier.address(), policy.bits) }
    }

    /// As [`load_box_to`](Self::load_box_to), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn load_box_to_cached<const RANK: usize>(
        self,
        lane: Lane<'_>,
        blocks: Blocks,
        policy: CachePolicy,
        map: TensorMap<'_, Self, RANK>,
        at: [i32; RANK],
        barrier: Barrier,
    ) where
        [i32; RANK]: BoxAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: as `load_box_to`; only `createpolicy` makes a policy.
        unsafe { at.load_to_cached(self.address(), map.as_ptr(), barrier.address(), blocks.mask(), policy.bits) }
    }

    /// As [`store_box`](Self::store_box), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn store_box_cached<const RANK: usize>(
        self,
        lane: Lane<'_>,
        policy: CachePolicy,
        map: TensorMapMut<'_, Self, RANK>,
        at: [i32; RANK],
    ) where
        [i32; RANK]: BoxAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: as `store_box`; only `createpolicy` makes a policy.
        unsafe { at.store_cached(map.as_ptr(), self.address(), policy.bits) }
    }

    /// As [`reduce_box`](Self::reduce_box), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn reduce_box_cached<R: Reduction<T> + reduction::Operates, const RANK: usize>(
        self,
        lane: Lane<'_>,
        policy: CachePolicy,
        reduction: R,
        map: TensorMapMut<'_, Self, RANK>,
        at: [i32; RANK],
    ) where
        [i32; RANK]: BoxAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = (lane, reduction);
        // SAFETY: as `reduce_box`; only `createpolicy` makes a policy.
        unsafe { at.reduce_cached(map.as_ptr(), self.address(), R::OPERATION, policy.bits) }
    }
}

impl<Tile: BoxTile, const RANK: usize> TensorMap<'_, Tile, RANK> {
    /// As [`prefetch_box`](Self::prefetch_box), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn prefetch_box_cached(self, lane: Lane<'_>, policy: CachePolicy, at: [i32; RANK])
    where
        [i32; RANK]: BoxAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: the map's tensor is there; only `createpolicy` makes a policy.
        unsafe { at.prefetch_cached(self.as_ptr(), policy.bits) }
    }
}
