//! L2 cache policies of copies (`createpolicy`, PTX ISA 9.7.9.18; `.L2::cache_hint`).

use crate::raw;
use crate::target::{AtLeast, BuiltFor};

/// An L2 cache policy: how long the cache keeps the bytes of a copy.
///
/// It affects speed alone; the simulator ignores it.
/// [`TmaSource::cached`](crate::copy::TmaSource::cached) and
/// [`TmaDestination::cached`](crate::copy::TmaDestination::cached) take it. Needs sm_90.
///
/// ```
/// use ptx_matrix::copy::CachePolicy;
/// use ptx_matrix::isa::TensorMapError;
/// use ptx_matrix::launch::Tensor;
/// use ptx_matrix::prelude::*;
/// use ptx_matrix::sim::Simulator;
/// type Tile = SharedTile<f32, 8, 32, Swizzle128>;
///
/// /// Copies a matrix that nobody reads again.
/// #[kernel(threads = 32, target = "sm_90")]
/// fn copy(
///     block: &Block,
///     #[shared] tile: Tile,
///     #[shared] full: BarrierMemory,
///     a: TensorMap<Tile, 2>,
///     d: TensorMapMut<Tile, 2>,
/// ) {
///     let full = full.init(block, 1);
///     let (warp, row) = (block.warp(), block.index().x as i32 * 8);
///     let once = CachePolicy::evict_first();
///     warp.elect(|lane| {
///         full.arrive_expecting(lane, Tile::BOX_BYTES);
///         tile.load_tma(lane, a.at([0, row]).cached(once), full);
///     });
///     full.wait(warp, Phase::FIRST);
///     warp.elect(|lane| {
///         tile.store_tma(lane, d.at([0, row]).cached(once));
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

/// The primary priority of [`CachePolicy::of_part`]: for a fraction of the bytes of a copy.
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

/// The secondary priority of [`CachePolicy::of_part`]: for the rest of the bytes. PTX allows these
/// two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestPriority {
    /// The bytes are evicted first.
    EvictFirst,
    /// The bytes keep the priority that they had.
    EvictUnchanged,
}

impl CachePolicy {
    /// The bytes are evicted first (`L2::evict_first`): for data that is needed once.
    #[inline]
    pub fn evict_first() -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        CachePolicy { bits: raw::createpolicy_fractional_L2_evict_first_b64() }
    }

    /// The bytes are evicted last (`L2::evict_last`): for data that other blocks need too.
    #[inline]
    pub fn evict_last() -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        CachePolicy { bits: raw::createpolicy_fractional_L2_evict_last_b64() }
    }

    /// The priority of a copy without a policy (`L2::evict_normal`).
    #[inline]
    pub fn evict_normal() -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        CachePolicy { bits: raw::createpolicy_fractional_L2_evict_normal_b64() }
    }

    /// The bytes keep the priority that they had (`L2::evict_unchanged`).
    #[inline]
    pub fn evict_unchanged() -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        CachePolicy { bits: raw::createpolicy_fractional_L2_evict_unchanged_b64() }
    }

    /// `priority` for `PERCENT` percent of the bytes of a copy, and `rest` for the others
    /// (`createpolicy.fractional` with a fraction and a secondary priority).
    ///
    /// `PERCENT` is from 1 to 100. Of data larger than the cache, a part then stays. The hardware
    /// chooses it by address.
    ///
    /// ```
    /// use ptx_matrix::{copy::{CachePolicy, Priority, RestPriority}, prelude::*};
    ///
    /// /// Keeps 60 percent of a table in the L2 cache, for all blocks. The rest is evicted first.
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn warm_up(block: &Block, table: Global<f32>) {
    ///     let most = CachePolicy::of_part::<60>(Priority::EvictLast, RestPriority::EvictFirst);
    ///     block.warp().elect(|lane| table.bulk(0).cached(most).prefetch(lane, table.len()));
    /// }
    ///
    /// warm_up::simulate(1, &[0.0; 1024]).check();
    /// ```
    #[inline]
    pub fn of_part<const PERCENT: u32>(priority: Priority, rest: RestPriority) -> Self
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        const {
            assert!(
                PERCENT >= 1 && PERCENT <= 100,
                "a policy is for 1 to 100 percent of what a copy touches"
            )
        };
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

    /// The policy's bits, for the functions of `raw`.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.bits
    }
}
