//! TMA copies of the pixels of images, for convolutions: im2col mode (`cp.async.bulk.tensor` with
//! `.im2col`, PTX ISA 9.7.9.27 and 5.5.4).

use crate::copy::reduction::{Operation, Reduction};
use crate::copy::{
    BoxTile, CachePolicy, Im2col, LoadTma, StoreTma, TensorMap, TensorMapMut, TmaBox,
    TmaDestination, TmaSource,
};
use crate::element::Element;
use crate::lane::{Lane, Sealed};
use crate::raw;
use crate::target::{AtLeast, BuiltFor};

/// The coordinates of the first pixel of an im2col copy: channel, place in the image, image.
///
/// `[C, W, N]`, `[C, W, H, N]` or `[C, W, H, D, N]`.
#[diagnostic::on_unimplemented(
    message = "im2col copies have no coordinates `{Self}`",
    note = "they are of tensors of 3, 4 or 5 dimensions: `[C, W, N]`, `[C, W, H, N]` or `[C, W, H, \
            D, N]`"
)]
pub trait Im2colAt: Sealed + Copy {
    /// One number for each spatial dimension: along W; along W and H; or along W, H and D.
    type Spatial<T: Copy>: Copy + AsRef<[T]>;
    /// Makes such numbers by calling `number` with each dimension, from 0.
    ///
    /// ```
    /// use ptx_matrix::copy::Im2colAt;
    /// assert_eq!(<[i32; 4]>::spatial(|dimension| dimension + 1), [1, 2]);
    /// ```
    fn spatial<T: Copy>(number: impl FnMut(usize) -> T) -> Self::Spatial<T>;
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn load(self, to: u32, map: *const u8, barrier: u32, offsets: Self::Spatial<u16>);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn load_to(
        self,
        to: u32,
        map: *const u8,
        barrier: u32,
        offsets: Self::Spatial<u16>,
        mask: u16,
    );
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn load_cached(
        self,
        to: u32,
        map: *const u8,
        barrier: u32,
        offsets: Self::Spatial<u16>,
        policy: u64,
    );
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn load_to_cached(
        self,
        to: u32,
        map: *const u8,
        barrier: u32,
        offsets: Self::Spatial<u16>,
        mask: u16,
        policy: u64,
    );
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn store(self, map: *const u8, from: u32);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn store_cached(self, map: *const u8, from: u32, policy: u64);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn prefetch(self, map: *const u8, offsets: Self::Spatial<u16>);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn reduce(self, map: *const u8, from: u32, operation: Operation);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn prefetch_cached(self, map: *const u8, offsets: Self::Spatial<u16>, policy: u64);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn reduce_cached(self, map: *const u8, from: u32, operation: Operation, policy: u64);
}

macro_rules! ranks {
    ($($rank:literal $spatial:literal $dims:literal;)*) => {$(
        impl Im2colAt for [i32; $rank] {
            type Spatial<T: Copy> = [T; $spatial];

            #[inline]
            fn spatial<T: Copy>(number: impl FnMut(usize) -> T) -> [T; $spatial] {
                core::array::from_fn(number)
            }

            #[inline]
            #[track_caller]
            unsafe fn load(self, to: u32, map: *const u8, barrier: u32, offsets: [u16; $spatial]) {
                // The choice of form: as for boxes (`bulk_tensor.rs`).
                #[cfg(not(target_feature = "sm_100"))]
                let load =
                    pastey::paste!(raw::[<
                        cp_async_bulk_tensor_ $dims
                            _shared_cluster_global_im2col_mbarrier_complete_tx_bytes
                    >]);
                #[cfg(target_feature = "sm_100")]
                let load =
                    pastey::paste!(raw::[<
                        cp_async_bulk_tensor_ $dims
                            _shared_cta_global_im2col_mbarrier_complete_tx_bytes
                    >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { load(to, map, self, barrier, offsets) }
            }

            #[inline]
            #[track_caller]
            unsafe fn load_to(
                self, to: u32, map: *const u8, barrier: u32, offsets: [u16; $spatial], mask: u16
            ) {
                let load = pastey::paste!(raw::[<
                    cp_async_bulk_tensor_ $dims
                        _shared_cluster_global_im2col_mbarrier_complete_tx_bytes_multicast_cluster
                >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { load(to, map, self, barrier, offsets, mask) }
            }

            #[inline]
            #[track_caller]
            unsafe fn load_cached(
                self, to: u32, map: *const u8, barrier: u32, offsets: [u16; $spatial], policy: u64
            ) {
                let load = pastey::paste!(raw::[<
                    cp_async_bulk_tensor_ $dims
                        _shared_cluster_global_im2col_mbarrier_complete_tx_bytes_L2_cache_hint
                >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { load(to, map, self, barrier, offsets, policy) }
            }

            #[inline]
            #[track_caller]
            unsafe fn load_to_cached(
                self,
                to: u32,
                map: *const u8,
                barrier: u32,
                offsets: [u16; $spatial],
                mask: u16,
                policy: u64,
            ) {
                let load = pastey::paste!(raw::[<
                    cp_async_bulk_tensor_ $dims
                        _shared_cluster_global_im2col_mbarrier_complete_tx_bytes
                        _multicast_cluster_L2_cache_hint
                >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { load(to, map, self, barrier, offsets, mask, policy) }
            }

            #[inline]
            #[track_caller]
            unsafe fn store(self, map: *const u8, from: u32) {
                let store = pastey::paste!(raw::[<
                    cp_async_bulk_tensor_ $dims _global_shared_cta_im2col_no_offs_bulk_group
                >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { store(map, self, from) }
            }

            #[inline]
            #[track_caller]
            unsafe fn store_cached(self, map: *const u8, from: u32, policy: u64) {
                let store = pastey::paste!(raw::[<
                    cp_async_bulk_tensor_ $dims
                        _global_shared_cta_im2col_no_offs_bulk_group_L2_cache_hint
                >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { store(map, self, from, policy) }
            }

            #[inline]
            #[track_caller]
            unsafe fn prefetch(self, map: *const u8, offsets: [u16; $spatial]) {
                // SAFETY: the caller upholds the conditions.
                unsafe {
                    pastey::paste!(raw::[<
                        cp_async_bulk_prefetch_tensor_ $dims _L2_global_im2col
                    >])(map, self, offsets)
                }
            }

            #[inline]
            #[track_caller]
            unsafe fn reduce(self, map: *const u8, from: u32, operation: Operation) {
                ranks!(@reduce $dims self map from operation () _im2col_no_offs_bulk_group:
                    Add add, Min min, Max max, Inc inc, Dec dec, And and, Or or, Xor xor);
            }

            #[inline]
            #[track_caller]
            unsafe fn prefetch_cached(self, map: *const u8, offsets: [u16; $spatial], policy: u64) {
                let prefetch = pastey::paste!(raw::[<
                    cp_async_bulk_prefetch_tensor_ $dims _L2_global_im2col_L2_cache_hint
                >]);
                // SAFETY: the caller upholds the conditions.
                unsafe { prefetch(map, self, offsets, policy) }
            }

            #[inline]
            #[track_caller]
            unsafe fn reduce_cached(
                self, map: *const u8, from: u32, operation: Operation, policy: u64
            ) {
                ranks!(@reduce $dims self map from operation (policy)
                    _im2col_no_offs_bulk_group_L2_cache_hint:
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
    3 1 "3d";
    4 2 "4d";
    5 3 "5d";
}

/// The source of a TMA load in im2col mode: a map, the first pixel's coordinates, and the filter's
/// offsets.
pub struct TmaPixels<'k, Tile, const RANK: usize>
where
    [i32; RANK]: Im2colAt,
{
    map: TensorMap<'k, Tile, RANK, Im2col>,
    at: [i32; RANK],
    offsets: <[i32; RANK] as Im2colAt>::Spatial<u16>,
}

impl<Tile, const RANK: usize> Clone for TmaPixels<'_, Tile, RANK>
where
    [i32; RANK]: Im2colAt,
{
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<Tile, const RANK: usize> Copy for TmaPixels<'_, Tile, RANK> where [i32; RANK]: Im2colAt {}
impl<Tile, const RANK: usize> Sealed for TmaPixels<'_, Tile, RANK> where [i32; RANK]: Im2colAt {}

impl<'k, Tile: BoxTile, const RANK: usize> TensorMap<'k, Tile, RANK, Im2col>
where
    [i32; RANK]: Im2colAt,
{
    /// The pixels from these coordinates on, each moved by the offsets, as the source of TMA copies
    /// (`cp.async.bulk.tensor.shared::cluster.global.im2col`, or the equivalent `.shared::cta`).
    ///
    /// A load starts with the pixel at `at`, which is in the map's bounding box, and advances by
    /// the map's steps. It goes along W to the end of the box, and starts again a step further
    /// along H. Then it goes along D, and to the next image. It loads one pixel for each row of the
    /// tile (column if `ColMajor`). Elements outside the tensor become zero, also channels and
    /// pixels of images that do not exist.
    ///
    /// In a convolution, the bounding box contains the pixels at which the filter starts. `at` is
    /// the first of these to load, and `offsets` is the pixel of the filter. Offsets are less than
    /// 65,536 for one spatial dimension, 256 for two, and 32 for three. The load completes
    /// [`BOX_BYTES`](crate::memory::SharedTile::BOX_BYTES) on the barrier.
    ///
    /// ```
    /// use ptx_matrix::copy::Im2col;
    /// use ptx_matrix::isa::TensorMapError;
    /// use ptx_matrix::launch::Im2colTensor;
    /// use ptx_matrix::prelude::*;
    /// use ptx_matrix::sim::Simulator;
    /// type Pixels = SharedTile<f32, 16, 8, Swizzle32>;
    ///
    /// /// Convolves an image of 4 x 4 pixels with 8 channels, padded by zeros, with a filter of 3
    /// /// x 3 ones.
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn blur(
    ///     block: &Block,
    ///     #[shared] pixels: Pixels,
    ///     #[shared] full: BarrierMemory,
    ///     image: TensorMap<Pixels, 4, Im2col>,
    ///     d: GlobalMut<f32>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, mut phase) = (block.warp(), Phase::FIRST);
    ///     for [x, y] in (0..9).map(|i| [i % 3, i / 3]) {
    ///         warp.elect(|lane| {
    ///             full.arrive_expecting(lane, Pixels::BOX_BYTES);
    ///             pixels.load_tma(lane, image.at([0, -1, -1, 0], [x, y]), full);
    ///         });
    ///         phase = full.wait(warp, phase);
    ///         warp.each(|lane| {
    ///             for index in (lane.id()..128).step_by(32) {
    ///                 d.set(index, d.get(lane, index) + pixels.get(lane, (index / 8, index % 8)));
    ///             }
    ///         });
    ///         warp.sync();
    ///     }
    /// }
    ///
    /// let device = Simulator::default();
    /// // The channels of pixel n are n.
    /// let image: [f32; 128] = core::array::from_fn(|i| (i / 8) as f32);
    /// let images = Im2colTensor::<Pixels, 4>::new([8, 4, 4, 1]).corners([-1, -1], [-1, -1]);
    /// let mut d = [0.0; 128];
    /// blur::launch(&device, 1, &images.map(&device, &image[..])?, &mut d).check();
    /// assert_eq!(d[5 * 8], (0.0 + 1.0 + 2.0) + (4.0 + 5.0 + 6.0) + (8.0 + 9.0 + 10.0));
    /// assert_eq!(d[3 * 8 + 7], (2.0 + 3.0) + (6.0 + 7.0));
    /// # Ok::<(), TensorMapError>(())
    /// ```
    #[inline]
    pub fn at(
        self,
        at: [i32; RANK],
        offsets: <[i32; RANK] as Im2colAt>::Spatial<u16>,
    ) -> TmaSource<TmaPixels<'k, Tile, RANK>> {
        TmaSource::new(TmaPixels { map: self, at, offsets })
    }
}

impl<Tile: BoxTile, const RANK: usize> TensorMapMut<'_, Tile, RANK, Im2col>
where
    [i32; RANK]: Im2colAt,
{
    /// The pixels from these coordinates on, as the destination of TMA copies
    /// (`cp.async.bulk.tensor.global.shared::cta.im2col_no_offs`).
    ///
    /// Elements outside the tensor are not written. The copy is in flight until the lane has waited
    /// for its group: see [`BulkGroup`](crate::copy::BulkGroup).
    ///
    /// ```
    /// use ptx_matrix::copy::Im2col;
    /// use ptx_matrix::isa::TensorMapError;
    /// use ptx_matrix::launch::Im2colTensor;
    /// use ptx_matrix::memory::Unswizzled128;
    /// use ptx_matrix::prelude::*;
    /// use ptx_matrix::sim::Simulator;
    /// type Pixels = SharedTile<u32, 8, 4, Unswizzled128>;
    ///
    /// /// Sets each pixel to its number in the tile.
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn number(
    ///     block: &Block,
    ///     #[shared] pixels: Pixels,
    ///     images: TensorMapMut<Pixels, 4, Im2col>,
    /// ) {
    ///     let warp = block.warp();
    ///     pixels.fill(warp, |pixel, _| pixel as u32 + 1);
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     warp.elect(|lane| {
    ///         pixels.store_tma(lane, images.at([0, 2, 0, 0]));
    ///         BulkGroup::commit(lane);
    ///         BulkGroup::wait_read::<0>(lane);
    ///     });
    /// }
    ///
    /// // Two images of 3 x 5 pixels with 4 channels; every other pixel of each.
    /// let (device, mut d) = (Simulator::default(), [0; 4 * 5 * 3 * 2]);
    /// let images = Im2colTensor::<Pixels, 4>::new([4, 5, 3, 2]).steps([2, 2]);
    /// number::launch(&device, 1, images.map_mut(&device, &mut d[..])?.by_ref()).check();
    /// let first_channels: Vec<u32> = d.into_iter().step_by(4).collect();
    /// assert_eq!(first_channels[..15], [0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4, 0, 5]);
    /// assert_eq!(first_channels[15..], [6, 0, 7, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    /// # Ok::<(), TensorMapError>(())
    /// ```
    #[inline]
    pub fn at(self, at: [i32; RANK]) -> TmaDestination<TmaBox<Self, RANK>> {
        TmaDestination::new(TmaBox { map: self, at })
    }
}

impl<Tile: BoxTile, const RANK: usize> LoadTma<Tile> for TmaPixels<'_, Tile, RANK>
where
    [i32; RANK]: Im2colAt,
{
    #[inline]
    #[track_caller]
    unsafe fn load(self, to: u32, barrier: u32, mask: Option<u16>, policy: Option<CachePolicy>) {
        let (map, at, offsets) = (self.map.as_ptr(), self.at, self.offsets);
        // SAFETY: the map's tensor is live, and its pixels fill tiles of this size. Only
        // `createpolicy` makes a policy. The caller guarantees the rest.
        unsafe {
            match (mask, policy) {
                (None, None) => at.load(to, map, barrier, offsets),
                (None, Some(policy)) => at.load_cached(to, map, barrier, offsets, policy.bits()),
                (Some(mask), None) => at.load_to(to, map, barrier, offsets, mask),
                (Some(mask), Some(policy)) => {
                    at.load_to_cached(to, map, barrier, offsets, mask, policy.bits())
                }
            }
        }
    }
}

impl<T: Element, Tile: BoxTile, const RANK: usize> StoreTma<T, Tile>
    for TmaBox<TensorMapMut<'_, Tile, RANK, Im2col>, RANK>
where
    [i32; RANK]: Im2colAt,
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

impl<Tile: BoxTile, const RANK: usize> TmaSource<TmaPixels<'_, Tile, RANK>>
where
    [i32; RANK]: Im2colAt,
{
    /// Loads the pixels into the L2 cache (`cp.async.bulk.prefetch.tensor.L2.global.im2col`). Needs
    /// sm_90.
    #[inline]
    #[track_caller]
    pub fn prefetch(self, lane: Lane<'_>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        let TmaPixels { map, at, offsets } = self.place;
        // SAFETY: the map's tensor is live; only `createpolicy` makes a policy.
        unsafe {
            match self.policy {
                None => at.prefetch(map.as_ptr(), offsets),
                Some(policy) => at.prefetch_cached(map.as_ptr(), offsets, policy.bits()),
            }
        }
    }
}
