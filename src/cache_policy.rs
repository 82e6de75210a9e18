//! What becomes of copied bytes in the second-level cache (`createpolicy`, PTX ISA 9.7.9.18; `.L2::cache_hint`).

use crate::bulk::check_slice;
use crate::bulk_tensor::BoxAt;
use crate::shared::{Order, SharedTile, TensorSwizzle, Unswizzled};
use crate::site::Site;
use crate::target::{AtLeast, BuiltFor};
use crate::{Barrier, Blocks, Element, Global, GlobalMut, Lane, TensorMap, TensorMapMut, raw};

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
}
