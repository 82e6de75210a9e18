//! TMA copies of boxes of tensors, given by a tensor map and coordinates (`cp.async.bulk.tensor`,
//! PTX ISA 9.7.9.27).

use crate::copy::reduction::{Operation, Reduction};
use crate::copy::{
    BoxTile, CachePolicy, LoadTma, StoreTma, TensorMap, TensorMapMut, TmaDestination, TmaSource,
};
use crate::element::Element;
use crate::lane::{Lane, Sealed};
use crate::memory::{Order, SharedTile, TensorSwizzle};
use crate::raw;
use crate::target::{AtLeast, BuiltFor};

/// The coordinates at which a box starts in a tensor, innermost first.
///
/// `[i32; RANK]`, for 1 to 5 dimensions. A box may start or end outside the tensor.
pub trait TmaCoord: Sealed + Copy {
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn load(self, to: u32, map: *const u8, barrier: u32);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn load_to(self, to: u32, map: *const u8, barrier: u32, mask: u16);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn load_cached(self, to: u32, map: *const u8, barrier: u32, policy: u64);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn load_to_cached(self, to: u32, map: *const u8, barrier: u32, mask: u16, policy: u64);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn store_cached(self, map: *const u8, from: u32, policy: u64);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn store(self, map: *const u8, from: u32);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn prefetch(self, map: *const u8);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn reduce(self, map: *const u8, from: u32, operation: Operation);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn prefetch_cached(self, map: *const u8, policy: u64);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn reduce_cached(self, map: *const u8, from: u32, operation: Operation, policy: u64);
}

macro_rules! ranks {
    ($($rank:literal $dims:literal;)*) => {$(
        impl Sealed for [i32; $rank] {}
        impl TmaCoord for [i32; $rank] {
            #[inline]
            #[track_caller]
            unsafe fn load(self, to: u32, map: *const u8, barrier: u32) {
                // `.shared::cluster` is in PTX since 8.0, `.shared::cta` since 8.6, which targets
                // from sm_100 on have. For sm_90 both become the same machine code. For sm_120
                // ptxas turns the first into a call.
                #[cfg(not(target_feature = "sm_100"))]
                let load =
                    pastey::paste!(raw::[<
                        cp_async_bulk_tensor_ $dims
                            _shared_cluster_global_tile_mbarrier_complete_tx_bytes
                    >]);
                #[cfg(target_feature = "sm_100")]
                let load =
                    pastey::paste!(raw::[<
                        cp_async_bulk_tensor_ $dims
                            _shared_cta_global_tile_mbarrier_complete_tx_bytes
                    >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { load(to, map, self, barrier) }
            }

            #[inline]
            #[track_caller]
            unsafe fn load_to(self, to: u32, map: *const u8, barrier: u32, mask: u16) {
                let load = pastey::paste!(raw::[<
                    cp_async_bulk_tensor_ $dims
                        _shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster
                >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { load(to, map, self, barrier, mask) }
            }

            #[inline]
            #[track_caller]
            unsafe fn load_cached(self, to: u32, map: *const u8, barrier: u32, policy: u64) {
                let load = pastey::paste!(raw::[<
                    cp_async_bulk_tensor_ $dims
                        _shared_cluster_global_tile_mbarrier_complete_tx_bytes_L2_cache_hint
                >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { load(to, map, self, barrier, policy) }
            }

            #[inline]
            #[track_caller]
            unsafe fn load_to_cached(
                self, to: u32, map: *const u8, barrier: u32, mask: u16, policy: u64
            ) {
                let load = pastey::paste!(raw::[<
                    cp_async_bulk_tensor_ $dims
                        _shared_cluster_global_tile_mbarrier_complete_tx_bytes
                        _multicast_cluster_L2_cache_hint
                >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { load(to, map, self, barrier, mask, policy) }
            }

            #[inline]
            #[track_caller]
            unsafe fn store_cached(self, map: *const u8, from: u32, policy: u64) {
                let store = pastey::paste!(raw::[<
                    cp_async_bulk_tensor_ $dims _global_shared_cta_tile_bulk_group_L2_cache_hint
                >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { store(map, self, from, policy) }
            }

            #[inline]
            #[track_caller]
            unsafe fn store(self, map: *const u8, from: u32) {
                // SAFETY: the caller upholds the conditions.
                unsafe {
                    pastey::paste!(raw::[<
                        cp_async_bulk_tensor_ $dims _global_shared_cta_tile_bulk_group
                    >])(map, self, from)
                }
            }

            #[inline]
            #[track_caller]
            unsafe fn prefetch(self, map: *const u8) {
                // SAFETY: the caller upholds the conditions.
                unsafe {
                    pastey::paste!(raw::[<
                        cp_async_bulk_prefetch_tensor_ $dims _L2_global_tile
                    >])(map, self)
                }
            }

            #[inline]
            #[track_caller]
            unsafe fn reduce(self, map: *const u8, from: u32, operation: Operation) {
                ranks!(@reduce $dims self map from operation () _tile_bulk_group:
                    Add add, Min min, Max max, Inc inc, Dec dec, And and, Or or, Xor xor);
            }

            #[inline]
            #[track_caller]
            unsafe fn prefetch_cached(self, map: *const u8, policy: u64) {
                let prefetch = pastey::paste!(raw::[<
                    cp_async_bulk_prefetch_tensor_ $dims _L2_global_tile_L2_cache_hint
                >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { prefetch(map, self, policy) }
            }

            #[inline]
            #[track_caller]
            unsafe fn reduce_cached(
                self, map: *const u8, from: u32, operation: Operation, policy: u64
            ) {
                ranks!(@reduce $dims self map from operation (policy)
                    _tile_bulk_group_L2_cache_hint:
                    Add add, Min min, Max max, Inc inc, Dec dec, And and, Or or, Xor xor);
            }
        }
    )*};
    (
        @reduce $dims:literal $at:ident $map:ident $from:ident $operation:ident $policy:tt
            $end:ident: $($which:ident $name:ident),*
    ) => {
        ranks!(@each $dims $at $map $from $operation $end $(($which $name $policy))*)
    };
    (@each $dims:literal $at:ident $map:ident $from:ident $operation:ident $end:ident
        $(($which:ident $name:ident ($($policy:ident)?)))*) => {
        match $operation {
            // SAFETY: the caller upholds the conditions.
            $(Operation::$which => unsafe {
                pastey::paste!(raw::[<
                    cp_reduce_async_bulk_tensor_ $dims _global_shared_cta_ $name $end
                >])($map, $at, $from, $($policy)?)
            },)*
        }
    };
}

ranks! {
    1 "1d";
    2 "2d";
    3 "3d";
    4 "4d";
    5 "5d";
}

/// The place of a TMA copy in a tensor: a map and coordinates. Stores in im2col mode use it too.
#[derive(Debug, Clone, Copy)]
pub struct TmaBox<Map, const RANK: usize> {
    pub(super) map: Map,
    pub(super) at: [i32; RANK],
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: TensorSwizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// The bytes that a load of a box completes on its barrier: those of the tile, even if the box
    /// is partly out of bounds.
    pub const BOX_BYTES: u32 = <Self as BoxTile>::BYTES;
}

impl<Tile: BoxTile, const RANK: usize> TensorMap<'_, Tile, RANK>
where
    [i32; RANK]: TmaCoord,
{
    /// The box at these coordinates, as the source of TMA copies
    /// (`cp.async.bulk.tensor.shared::cluster.global.tile`, or the equivalent `.shared::cta`).
    ///
    /// Elements outside the tensor, also before its start, become zero. Along dimension 0 the box
    /// starts at a multiple of 16 bytes. PTX does not state this; on an H200 any other start is an
    /// illegal instruction.
    ///
    /// See [`TensorMap`] for an example.
    #[inline]
    pub fn at(self, at: [i32; RANK]) -> TmaSource<TmaBox<Self, RANK>> {
        TmaSource::new(TmaBox { map: self, at })
    }
}

impl<Tile: BoxTile, const RANK: usize> TensorMapMut<'_, Tile, RANK>
where
    [i32; RANK]: TmaCoord,
{
    /// The box at these coordinates, as the destination of TMA copies
    /// (`cp.async.bulk.tensor.global.shared::cta.tile`).
    ///
    /// Elements outside the tensor are not written. Along dimension 0 the box starts at a multiple
    /// of 16 bytes. No coordinate is negative. On an H200 any other store is an illegal
    /// instruction. The copy is in flight until the lane has waited for its group: see
    /// [`BulkGroup`](crate::copy::BulkGroup).
    #[inline]
    pub fn at(self, at: [i32; RANK]) -> TmaDestination<TmaBox<Self, RANK>> {
        TmaDestination::new(TmaBox { map: self, at })
    }

    /// The box at these coordinates, as the source of TMA copies, as for [`TensorMap::at`].
    ///
    /// What this kernel's copies have stored there is in the tensor after
    /// [`BulkGroup::wait`](crate::copy::BulkGroup::wait). Stores that come later wait until the
    /// copy has landed.
    ///
    /// ```
    /// use ptx_matrix::{isa::TensorMapError, launch::Tensor, prelude::*, sim::Simulator};
    ///
    /// type Tile = SharedTile<f32, 8, 32, Swizzle128>;
    ///
    /// /// Adds 1 to each element, in place.
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn add_one(
    ///     block: &Block,
    ///     #[shared] tile: Tile,
    ///     #[shared] full: BarrierMemory,
    ///     d: TensorMapMut<Tile, 2>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, at) = (block.warp(), [0, block.index().x as i32 * 8]);
    ///     warp.elect(|lane| {
    ///         full.arrive_expecting(lane, Tile::BOX_BYTES);
    ///         tile.load_tma(lane, d.source_at(at), full);
    ///     });
    ///     full.wait(warp, Phase::FIRST);
    ///     warp.each(|lane| {
    ///         for row in 0..8 {
    ///             tile.set((row, lane.id()), 1.0 + tile.get(lane, (row, lane.id())));
    ///         }
    ///     });
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     warp.elect(|lane| {
    ///         tile.store_tma(lane, d.at(at));
    ///         BulkGroup::commit(lane);
    ///         BulkGroup::wait_read::<0>(lane);
    ///     });
    /// }
    ///
    /// let (device, mut d) = (Simulator::default(), [0.5; 12 * 32]);
    /// let mut map = Tensor::<Tile, 2>::new([32, 12]).map_mut(&device, &mut d[..])?;
    /// add_one::launch(&device, 2, map.by_ref()).check();
    /// assert_eq!(d, [1.5; 12 * 32]);
    /// # Ok::<(), TensorMapError>(())
    /// ```
    #[inline]
    pub fn source_at(self, at: [i32; RANK]) -> TmaSource<TmaBox<Self, RANK>> {
        TmaSource::new(TmaBox { map: self, at })
    }
}

impl<Map, const RANK: usize> Sealed for TmaBox<Map, RANK> {}

/// Loads by each kind of map.
macro_rules! loads {
    ($($map:ident)*) => {$(
        impl<Tile: BoxTile, const RANK: usize> LoadTma<Tile> for TmaBox<$map<'_, Tile, RANK>, RANK>
        where
            [i32; RANK]: TmaCoord,
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
                let (map, at) = (self.map.as_ptr(), self.at);
                // SAFETY: the map's tensor is live, and its boxes have the tile's size. Only
                // `createpolicy` makes a policy. The caller guarantees the rest.
                unsafe {
                    match (mask, policy) {
                        (None, None) => at.load(to, map, barrier),
                        (None, Some(policy)) => at.load_cached(to, map, barrier, policy.bits()),
                        (Some(mask), None) => at.load_to(to, map, barrier, mask),
                        (Some(mask), Some(policy)) => {
                            at.load_to_cached(to, map, barrier, mask, policy.bits())
                        }
                    }
                }
            }
        }
    )*};
}
loads!(TensorMap TensorMapMut);

impl<T: Element, Tile: BoxTile, const RANK: usize> StoreTma<T, Tile>
    for TmaBox<TensorMapMut<'_, Tile, RANK>, RANK>
where
    [i32; RANK]: TmaCoord,
{
    #[inline]
    #[track_caller]
    unsafe fn store(self, from: u32, policy: Option<CachePolicy>) {
        let (map, at) = (self.map.as_ptr(), self.at);
        // SAFETY: as for a load.
        unsafe {
            match policy {
                None => at.store(map, from),
                Some(policy) => at.store_cached(map, from, policy.bits()),
            }
        }
    }

    #[inline]
    #[track_caller]
    unsafe fn reduce<R: Reduction<T>>(self, from: u32, policy: Option<CachePolicy>) {
        const {
            assert!(
                R::OPERATION.is_of_tensors(T::TENSOR_DATA_TYPE),
                "a tensor map of `i64` has no `And`, `Or` and `Xor`: take one of `u64`"
            )
        };
        let (map, at) = (self.map.as_ptr(), self.at);
        // SAFETY: as for a load; the reduction exists for the element type.
        unsafe {
            match policy {
                None => at.reduce(map, from, R::OPERATION),
                Some(policy) => at.reduce_cached(map, from, R::OPERATION, policy.bits()),
            }
        }
    }
}

impl<Tile: BoxTile, const RANK: usize> TmaSource<TmaBox<TensorMap<'_, Tile, RANK>, RANK>>
where
    [i32; RANK]: TmaCoord,
{
    /// Loads the box into the L2 cache (`cp.async.bulk.prefetch.tensor.L2.global.tile`). Needs
    /// sm_90.
    #[inline]
    #[track_caller]
    pub fn prefetch(self, lane: Lane<'_>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        let (map, at) = (self.place.map.as_ptr(), self.place.at);
        // SAFETY: the map's tensor is live; only `createpolicy` makes a policy.
        unsafe {
            match self.policy {
                None => at.prefetch(map),
                Some(policy) => at.prefetch_cached(map, policy.bits()),
            }
        }
    }
}
