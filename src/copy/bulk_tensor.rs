//! Copies of boxes of tensors: a lane has a tile filled, or brought back, from where a tensor map and coordinates say
//! (`cp.async.bulk.tensor`, PTX ISA 9.7.9.27).

use crate::copy::reduction::{self, Operation, Reduction};
use crate::lane::Sealed;
use crate::memory::{Order, SharedTile, TensorSwizzle};
use crate::target::{AtLeast, BuiltFor};
use crate::{Barrier, BoxTile, Element, Lane, TensorMap, TensorMapMut, raw};

/// Where in a tensor a box starts, innermost coordinate first, for a tensor of one dimension to five: `[i32; RANK]`.
///
/// A box may start, or end, beyond the tensor.
pub trait BoxAt: Sealed + Copy {
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn load(self, to: u32, map: *const u8, barrier: u32);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn load_to(self, to: u32, map: *const u8, barrier: u32, mask: u16);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn load_cached(self, to: u32, map: *const u8, barrier: u32, policy: u64);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn load_to_cached(self, to: u32, map: *const u8, barrier: u32, mask: u16, policy: u64);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn store_cached(self, map: *const u8, from: u32, policy: u64);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn store(self, map: *const u8, from: u32);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn prefetch(self, map: *const u8);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn reduce(self, map: *const u8, from: u32, operation: Operation);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn prefetch_cached(self, map: *const u8, policy: u64);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn reduce_cached(self, map: *const u8, from: u32, operation: Operation, policy: u64);
}

macro_rules! ranks {
    ($($rank:literal $dims:literal;)*) => {$(
        impl Sealed for [i32; $rank] {}
        impl BoxAt for [i32; $rank] {
            #[inline(always)]
            #[track_caller]
            unsafe fn load(self, to: u32, map: *const u8, barrier: u32) {
                // The one is in PTX since 8.0, the other since 8.6, which targets from sm_100 on have; for sm_90 they become the same. For
                // sm_120 ptxas makes a call of the first.
                #[cfg(not(target_feature = "sm_100"))]
                let load =
                    raw::${concat(cp_async_bulk_tensor_, $dims, _shared_cluster_global_tile_mbarrier_complete_tx_bytes)};
                #[cfg(target_feature = "sm_100")]
                let load =
                    raw::${concat(cp_async_bulk_tensor_, $dims, _shared_cta_global_tile_mbarrier_complete_tx_bytes)};
                // SAFETY: the caller's.
                unsafe { load(to, map, self, barrier) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn load_to(self, to: u32, map: *const u8, barrier: u32, mask: u16) {
                let load = raw::${concat(cp_async_bulk_tensor_, $dims, _shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster)};
                // SAFETY: the caller's.
                unsafe { load(to, map, self, barrier, mask) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn load_cached(self, to: u32, map: *const u8, barrier: u32, policy: u64) {
                let load = raw::${concat(cp_async_bulk_tensor_, $dims, _shared_cluster_global_tile_mbarrier_complete_tx_bytes_L2_cache_hint)};
                // SAFETY: the caller's.
                unsafe { load(to, map, self, barrier, policy) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn load_to_cached(self, to: u32, map: *const u8, barrier: u32, mask: u16, policy: u64) {
                let load = raw::${concat(cp_async_bulk_tensor_, $dims, _shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster_L2_cache_hint)};
                // SAFETY: the caller's.
                unsafe { load(to, map, self, barrier, mask, policy) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn store_cached(self, map: *const u8, from: u32, policy: u64) {
                let store = raw::${concat(cp_async_bulk_tensor_, $dims, _global_shared_cta_tile_bulk_group_L2_cache_hint)};
                // SAFETY: the caller's.
                unsafe { store(map, self, from, policy) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn store(self, map: *const u8, from: u32) {
                // SAFETY: the caller's.
                unsafe { raw::${concat(cp_async_bulk_tensor_, $dims, _global_shared_cta_tile_bulk_group)}(map, self, from) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn prefetch(self, map: *const u8) {
                // SAFETY: the caller's.
                unsafe { raw::${concat(cp_async_bulk_prefetch_tensor_, $dims, _L2_global_tile)}(map, self) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn reduce(self, map: *const u8, from: u32, operation: Operation) {
                ranks!(@reduce $dims self map from operation () _tile_bulk_group:
                    Add add, Min min, Max max, Inc inc, Dec dec, And and, Or or, Xor xor);
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn prefetch_cached(self, map: *const u8, policy: u64) {
                let prefetch = raw::${concat(cp_async_bulk_prefetch_tensor_, $dims, _L2_global_tile_L2_cache_hint)};
                // SAFETY: the caller's.
                unsafe { prefetch(map, self, policy) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn reduce_cached(self, map: *const u8, from: u32, operation: Operation, policy: u64) {
                ranks!(@reduce $dims self map from operation (policy) _tile_bulk_group_L2_cache_hint:
                    Add add, Min min, Max max, Inc inc, Dec dec, And and, Or or, Xor xor);
            }
        }
    )*};
    (@reduce $dims:literal $at:ident $map:ident $from:ident $operation:ident $policy:tt $end:ident: $($which:ident $name:ident),*) => {
        ranks!(@each $dims $at $map $from $operation $end $(($which $name $policy))*)
    };
    (@each $dims:literal $at:ident $map:ident $from:ident $operation:ident $end:ident
        $(($which:ident $name:ident ($($policy:ident)?)))*) => {
        match $operation {
            // SAFETY: the caller's.
            $(Operation::$which => unsafe {
                raw::${concat(cp_reduce_async_bulk_tensor_, $dims, _global_shared_cta_, $name, $end)}($map, $at, $from, $($policy)?)
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

/// Copies of boxes of tensors. They are started by one lane ([`Warp::elect`](crate::Warp::elect)), of any tile whose swizzle the hardware has
/// ([`BoxTile`]); what is said of [`load_bulk`](SharedTile::load_bulk) and [`store_bulk`](SharedTile::store_bulk) holds of them too. Needs
/// sm_90.
impl<T: Element, const ROWS: usize, const COLS: usize, S: TensorSwizzle, O: Order> SharedTile<T, ROWS, COLS, S, O> {
    /// The tile's bytes, which a barrier is told of when the box has come, whatever of it lies beyond the tensor.
    pub const BOX_BYTES: u32 = <Self as BoxTile>::BYTES;

    /// Starts to copy the box at these coordinates to the tile (`cp.async.bulk.tensor.shared::cluster.global.tile`, or, which is the
    /// same here, `.shared::cta`). What of it is beyond the tensor, also before its start, becomes zero. Along dimension 0 it starts at a
    /// multiple of 16 bytes: what PTX does not say, an H200 does; of others it makes an illegal instruction.
    ///
    /// See [`TensorMap`] for an example.
    #[inline(always)]
    #[track_caller]
    pub fn load_box<const RANK: usize>(
        self,
        lane: Lane<'_>,
        map: TensorMap<'_, Self, RANK>,
        at: [i32; RANK],
        barrier: Barrier,
    ) where
        [i32; RANK]: BoxAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: the map's tensor is there, and its boxes are such tiles; the tile is aligned as its swizzle needs; the barrier was initialised.
        // That nobody touches the tile meanwhile concerns values, not memory safety, and is the simulator's to check.
        unsafe { at.load(self.address(), map.as_ptr(), barrier.address()) }
    }

    /// Starts to copy the tile to the box at these coordinates (`cp.async.bulk.tensor.global.shared::cta.tile`). What of it is beyond the
    /// tensor, goes nowhere. It starts at a multiple of 16 bytes, likewise, and at no negative coordinate, of which an H200 makes an illegal
    /// instruction too. It is in flight until the lane has waited for its group: see [`BulkGroup`](crate::BulkGroup).
    #[inline(always)]
    #[track_caller]
    pub fn store_box<const RANK: usize>(self, lane: Lane<'_>, map: TensorMapMut<'_, Self, RANK>, at: [i32; RANK])
    where
        [i32; RANK]: BoxAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: as above. A copy that is in flight when the kernel returns reaches its tensor before the launch has ended.
        unsafe { at.store(map.as_ptr(), self.address()) }
    }

    /// Starts to reduce the box at these coordinates by the tile (`cp.reduce.async.bulk.tensor.global.shared::cta.tile`): as
    /// [`reduce_bulk`](SharedTile::reduce_bulk).
    ///
    /// ```
    /// use ptx_matrix::{sim::Simulator, *};
    /// type Tile = SharedTile<f32, 8, 32, Swizzle128>;
    ///
    /// /// Each block adds its number to the matrix.
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn add(block: &Block, #[shared] tile: Tile, d: TensorMapMut<Tile, 2>) {
    ///     let (warp, number) = (block.warp(), block.index().x as f32);
    ///     tile.fill(warp, |_, _| number);
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     warp.elect(|lane| {
    ///         tile.reduce_box(lane, reduction::Add, d, [0, 0]);
    ///         BulkGroup::commit(lane);
    ///         BulkGroup::wait_read::<0>(lane);
    ///     });
    /// }
    ///
    /// let (device, mut d) = (Simulator::default(), [0.5; 5 * 20]);
    /// let mut map = Tensor::<Tile, 2>::new([20, 5]).map_mut(&device, &mut d[..])?;
    /// add::launch(&device, 4, map.by_ref()).check();
    /// assert_eq!(d, [6.5; 5 * 20]);
    /// # Ok::<(), TensorMapError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn reduce_box<R: Reduction<T> + reduction::Operates, const RANK: usize>(
        self,
        lane: Lane<'_>,
        reduction: R,
        map: TensorMapMut<'_, Self, RANK>,
        at: [i32; RANK],
    ) where
        [i32; RANK]: BoxAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = (lane, reduction);
        // SAFETY: as above; the elements have the reduction.
        unsafe { at.reduce(map.as_ptr(), self.address(), R::OPERATION) }
    }
}

impl<Tile: BoxTile, const RANK: usize> TensorMap<'_, Tile, RANK> {
    /// Has the box at these coordinates brought to the second-level cache (`cp.async.bulk.prefetch.tensor.L2.global.tile`).
    #[inline(always)]
    #[track_caller]
    pub fn prefetch_box(self, lane: Lane<'_>, at: [i32; RANK])
    where
        [i32; RANK]: BoxAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: the map's tensor is there.
        unsafe { at.prefetch(self.as_ptr()) }
    }
}
