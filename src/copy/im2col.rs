//! Copies of the pixels of images, as convolutions multiply them: a lane has a tile filled, or brought back, by a tensor map of im2col mode
//! (`cp.async.bulk.tensor` with `.im2col`, PTX ISA 9.7.9.27 and 5.5.4).

use crate::copy::reduction::{self, Operation, Reduction};
use crate::lane::Sealed;
use crate::memory::{Order, SharedTile, TensorSwizzle};
use crate::target::{AtLeast, BuiltFor};
use crate::{Barrier, Blocks, BoxTile, CachePolicy, Element, Im2col, Lane, TensorMap, TensorMapMut, raw};

/// Where the first pixel of an im2col copy is: its first channel, its place in the image, and which image. That is `[C, W, N]`, `[C, W, H, N]` or
/// `[C, W, H, D, N]`.
#[diagnostic::on_unimplemented(
    message = "im2col copies have no coordinates `{Self}`",
    note = "they are of tensors of 3, 4 or 5 dimensions: `[C, W, N]`, `[C, W, H, N]` or `[C, W, H, D, N]`"
)]
pub trait Im2colAt: Sealed + Copy {
    /// One for each dimension of an image: along W; along W and H; or along W, H and D.
    type Spatial<T: Copy>: Copy + AsRef<[T]>;
    /// Such numbers, by those of the dimensions, from 0.
    ///
    /// ```
    /// use ptx_matrix::Im2colAt;
    /// assert_eq!(<[i32; 4]>::spatial(|dimension| dimension + 1), [1, 2]);
    /// ```
    fn spatial<T: Copy>(number: impl FnMut(usize) -> T) -> Self::Spatial<T>;
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn load(self, to: u32, map: *const u8, barrier: u32, offsets: Self::Spatial<u16>);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn load_to(self, to: u32, map: *const u8, barrier: u32, offsets: Self::Spatial<u16>, mask: u16);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn load_cached(self, to: u32, map: *const u8, barrier: u32, offsets: Self::Spatial<u16>, policy: u64);
    /// # Safety
    /// As the raw function.
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
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn store(self, map: *const u8, from: u32);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn store_cached(self, map: *const u8, from: u32, policy: u64);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn prefetch(self, map: *const u8, offsets: Self::Spatial<u16>);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn reduce(self, map: *const u8, from: u32, operation: Operation);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn prefetch_cached(self, map: *const u8, offsets: Self::Spatial<u16>, policy: u64);
    /// # Safety
    /// As the raw function.
    #[doc(hidden)]
    unsafe fn reduce_cached(self, map: *const u8, from: u32, operation: Operation, policy: u64);
}

macro_rules! ranks {
    ($($rank:literal $spatial:literal $dims:literal;)*) => {$(
        impl Im2colAt for [i32; $rank] {
            type Spatial<T: Copy> = [T; $spatial];

            #[inline(always)]
            fn spatial<T: Copy>(number: impl FnMut(usize) -> T) -> [T; $spatial] {
                core::array::from_fn(number)
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn load(self, to: u32, map: *const u8, barrier: u32, offsets: [u16; $spatial]) {
                // Which of the two: as of boxes.
                #[cfg(not(target_feature = "sm_100"))]
                let load =
                    raw::${concat(cp_async_bulk_tensor_, $dims, _shared_cluster_global_im2col_mbarrier_complete_tx_bytes)};
                #[cfg(target_feature = "sm_100")]
                let load =
                    raw::${concat(cp_async_bulk_tensor_, $dims, _shared_cta_global_im2col_mbarrier_complete_tx_bytes)};
                // SAFETY: the caller's.
                unsafe { load(to, map, self, barrier, offsets) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn load_to(self, to: u32, map: *const u8, barrier: u32, offsets: [u16; $spatial], mask: u16) {
                let load = raw::${concat(cp_async_bulk_tensor_, $dims, _shared_cluster_global_im2col_mbarrier_complete_tx_bytes_multicast_cluster)};
                // SAFETY: the caller's.
                unsafe { load(to, map, self, barrier, offsets, mask) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn load_cached(self, to: u32, map: *const u8, barrier: u32, offsets: [u16; $spatial], policy: u64) {
                let load = raw::${concat(cp_async_bulk_tensor_, $dims, _shared_cluster_global_im2col_mbarrier_complete_tx_bytes_L2_cache_hint)};
                // SAFETY: the caller's.
                unsafe { load(to, map, self, barrier, offsets, policy) }
            }

            #[inline(always)]
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
                let load = raw::${concat(cp_async_bulk_tensor_, $dims, _shared_cluster_global_im2col_mbarrier_complete_tx_bytes_multicast_cluster_L2_cache_hint)};
                // SAFETY: the caller's.
                unsafe { load(to, map, self, barrier, offsets, mask, policy) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn store(self, map: *const u8, from: u32) {
                let store = raw::${concat(cp_async_bulk_tensor_, $dims, _global_shared_cta_im2col_no_offs_bulk_group)};
                // SAFETY: the caller's.
                unsafe { store(map, self, from) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn store_cached(self, map: *const u8, from: u32, policy: u64) {
                let store = raw::${concat(cp_async_bulk_tensor_, $dims, _global_shared_cta_im2col_no_offs_bulk_group_L2_cache_hint)};
                // SAFETY: the caller's.
                unsafe { store(map, self, from, policy) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn prefetch(self, map: *const u8, offsets: [u16; $spatial]) {
                // SAFETY: the caller's.
                unsafe { raw::${concat(cp_async_bulk_prefetch_tensor_, $dims, _L2_global_im2col)}(map, self, offsets) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn reduce(self, map: *const u8, from: u32, operation: Operation) {
                ranks!(@reduce $dims self map from operation () _im2col_no_offs_bulk_group:
                    Add add, Min min, Max max, Inc inc, Dec dec, And and, Or or, Xor xor);
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn prefetch_cached(self, map: *const u8, offsets: [u16; $spatial], policy: u64) {
                let prefetch = raw::${concat(cp_async_bulk_prefetch_tensor_, $dims, _L2_global_im2col_L2_cache_hint)};
                // SAFETY: the caller's.
                unsafe { prefetch(map, self, offsets, policy) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn reduce_cached(self, map: *const u8, from: u32, operation: Operation, policy: u64) {
                ranks!(@reduce $dims self map from operation (policy) _im2col_no_offs_bulk_group_L2_cache_hint:
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
    3 1 "3d";
    4 2 "4d";
    5 3 "5d";
}

/// Copies of pixels by tensor maps of im2col mode, which [`Im2colTensor`](crate::Im2colTensor) makes: a line of the tile is a pixel's channels. What is said
/// of [`load_box`](SharedTile::load_box) and [`store_box`](SharedTile::store_box) holds of them too. Needs sm_90.
///
/// A copy starts with the pixel at its coordinates, which is in the map's bounding box, and goes on by the map's steps: along W to the end of
/// the box; then from the box's start on, a step further along H; then along D; then in the next image. It has as many pixels as the tile has
/// lines. Pixels in images that there are not, and channels, count as any that are beyond the tensor.
impl<T: Element, const ROWS: usize, const COLS: usize, S: TensorSwizzle, O: Order> SharedTile<T, ROWS, COLS, S, O> {
    /// Starts to copy the pixels from these coordinates on, each moved by the offsets, to the tile
    /// (`cp.async.bulk.tensor.shared::cluster.global.im2col`, or, which is the same here, `.shared::cta`). What of them is beyond the tensor becomes zero.
    ///
    /// In a convolution the bounding box has the pixels at which the filter starts, the coordinates say from which of them on, and the
    /// offsets, which pixel of the filter it is: along each of three dimensions of an image less than 32, of two less than 256, of
    /// one less than 65,536. The barrier is told of [`BOX_BYTES`](Self::BOX_BYTES).
    ///
    /// ```
    /// use ptx_matrix::{sim::Simulator, *};
    /// type Pixels = SharedTile<f32, 16, 8, Swizzle32>;
    ///
    /// /// What a filter of 3 x 3 ones makes of an image of 4 x 4 pixels with 8 channels, and zeros around it.
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
    ///             pixels.load_im2col(lane, image, [0, -1, -1, 0], [x, y], full);
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
    /// let image: [f32; 128] = core::array::from_fn(|i| (i / 8) as f32); // Each channel is the pixel's number.
    /// let images = Im2colTensor::<Pixels, 4>::new([8, 4, 4, 1]).corners([-1, -1], [-1, -1]);
    /// let mut d = [0.0; 128];
    /// blur::launch(&device, 1, &images.map(&device, &image[..])?, &mut d).check();
    /// assert_eq!(d[5 * 8], (0.0 + 1.0 + 2.0) + (4.0 + 5.0 + 6.0) + (8.0 + 9.0 + 10.0));
    /// assert_eq!(d[3 * 8 + 7], (2.0 + 3.0) + (6.0 + 7.0));
    /// # Ok::<(), TensorMapError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn load_im2col<const RANK: usize>(
        self,
        lane: Lane<'_>,
        map: TensorMap<'_, Self, RANK, Im2col>,
        at: [i32; RANK],
        offsets: <[i32; RANK] as Im2colAt>::Spatial<u16>,
        barrier: Barrier,
    ) where
        [i32; RANK]: Im2colAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: the map's tensor is there, and its pixels fill such tiles; the tile is aligned as its swizzle needs; the barrier was
        // initialised. That nobody touches the tile meanwhile concerns values, not memory safety, and is the simulator's to check.
        unsafe { at.load(self.address(), map.as_ptr(), barrier.address(), offsets) }
    }

    /// Starts to copy the pixels to the tile in each of these blocks: as [`load_im2col`](Self::load_im2col)
    /// (`cp.async.bulk.tensor.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster`). In each block its own barrier is told, which
    /// has to expect the bytes: see [`load_box_to`](Self::load_box_to) for an example.
    #[inline(always)]
    #[track_caller]
    pub fn load_im2col_to<const RANK: usize>(
        self,
        lane: Lane<'_>,
        blocks: Blocks,
        map: TensorMap<'_, Self, RANK, Im2col>,
        at: [i32; RANK],
        offsets: <[i32; RANK] as Im2colAt>::Spatial<u16>,
        barrier: Barrier,
    ) where
        [i32; RANK]: Im2colAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: as above; the tile is aligned as its swizzle needs in each block, and the mask names blocks of the cluster. That they run, and
        // their barriers are initialised, is the simulator's to check.
        unsafe { at.load_to(self.address(), map.as_ptr(), barrier.address(), offsets, blocks.mask()) }
    }

    /// As [`load_im2col`](Self::load_im2col), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn load_im2col_cached<const RANK: usize>(
        self,
        lane: Lane<'_>,
        policy: CachePolicy,
        map: TensorMap<'_, Self, RANK, Im2col>,
        at: [i32; RANK],
        offsets: <[i32; RANK] as Im2colAt>::Spatial<u16>,
        barrier: Barrier,
    ) where
        [i32; RANK]: Im2colAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: as `load_im2col`; only `createpolicy` makes a policy.
        unsafe { at.load_cached(self.address(), map.as_ptr(), barrier.address(), offsets, policy.bits()) }
    }

    /// As [`load_im2col_to`](Self::load_im2col_to), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    #[allow(clippy::too_many_arguments, reason = "each is one of the instruction's")]
    pub fn load_im2col_to_cached<const RANK: usize>(
        self,
        lane: Lane<'_>,
        blocks: Blocks,
        policy: CachePolicy,
        map: TensorMap<'_, Self, RANK, Im2col>,
        at: [i32; RANK],
        offsets: <[i32; RANK] as Im2colAt>::Spatial<u16>,
        barrier: Barrier,
    ) where
        [i32; RANK]: Im2colAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        let (address, mask) = (self.address(), blocks.mask());
        // SAFETY: as `load_im2col_to`; only `createpolicy` makes a policy.
        unsafe { at.load_to_cached(address, map.as_ptr(), barrier.address(), offsets, mask, policy.bits()) }
    }

    /// Starts to copy the tile to the pixels from these coordinates on (`cp.async.bulk.tensor.global.shared::cta.im2col_no_offs`). What of them is
    /// beyond the tensor, goes nowhere. It is in flight until the lane has waited for its group: see [`BulkGroup`](crate::BulkGroup).
    ///
    /// ```
    /// use ptx_matrix::{sim::Simulator, *};
    /// type Pixels = SharedTile<u32, 8, 4, Unswizzled128>;
    ///
    /// /// Each pixel becomes its number in the tile.
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn number(block: &Block, #[shared] pixels: Pixels, images: TensorMapMut<Pixels, 4, Im2col>) {
    ///     let warp = block.warp();
    ///     pixels.fill(warp, |pixel, _| pixel as u32 + 1);
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     warp.elect(|lane| {
    ///         pixels.store_im2col(lane, images, [0, 2, 0, 0]);
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
    #[inline(always)]
    #[track_caller]
    pub fn store_im2col<const RANK: usize>(
        self,
        lane: Lane<'_>,
        map: TensorMapMut<'_, Self, RANK, Im2col>,
        at: [i32; RANK],
    ) where
        [i32; RANK]: Im2colAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: as above. A copy that is in flight when the kernel returns reaches its tensor before the launch has ended.
        unsafe { at.store(map.as_ptr(), self.address()) }
    }

    /// As [`store_im2col`](Self::store_im2col), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn store_im2col_cached<const RANK: usize>(
        self,
        lane: Lane<'_>,
        policy: CachePolicy,
        map: TensorMapMut<'_, Self, RANK, Im2col>,
        at: [i32; RANK],
    ) where
        [i32; RANK]: Im2colAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: as `store_im2col`; only `createpolicy` makes a policy.
        unsafe { at.store_cached(map.as_ptr(), self.address(), policy.bits()) }
    }

    /// Starts to reduce the pixels from these coordinates on by the tile (`cp.reduce.async.bulk.tensor.global.shared::cta.im2col_no_offs`): as
    /// [`reduce_box`](SharedTile::reduce_box).
    #[inline(always)]
    #[track_caller]
    pub fn reduce_im2col<R: Reduction<T> + reduction::Operates, const RANK: usize>(
        self,
        lane: Lane<'_>,
        reduction: R,
        map: TensorMapMut<'_, Self, RANK, Im2col>,
        at: [i32; RANK],
    ) where
        [i32; RANK]: Im2colAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = (lane, reduction);
        // SAFETY: as above; the elements have the reduction.
        unsafe { at.reduce(map.as_ptr(), self.address(), R::OPERATION) }
    }

    /// As [`reduce_im2col`](Self::reduce_im2col), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn reduce_im2col_cached<R: Reduction<T> + reduction::Operates, const RANK: usize>(
        self,
        lane: Lane<'_>,
        policy: CachePolicy,
        reduction: R,
        map: TensorMapMut<'_, Self, RANK, Im2col>,
        at: [i32; RANK],
    ) where
        [i32; RANK]: Im2colAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = (lane, reduction);
        // SAFETY: as `reduce_im2col`; only `createpolicy` makes a policy.
        unsafe { at.reduce_cached(map.as_ptr(), self.address(), R::OPERATION, policy.bits()) }
    }
}

impl<Tile: BoxTile, const RANK: usize> TensorMap<'_, Tile, RANK, Im2col> {
    /// As [`prefetch_im2col`](Self::prefetch_im2col), with a policy for the second-level cache (`.L2::cache_hint`).
    #[inline(always)]
    #[track_caller]
    pub fn prefetch_im2col_cached(
        self,
        lane: Lane<'_>,
        policy: CachePolicy,
        at: [i32; RANK],
        offsets: <[i32; RANK] as Im2colAt>::Spatial<u16>,
    ) where
        [i32; RANK]: Im2colAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: the map's tensor is there; only `createpolicy` makes a policy.
        unsafe { at.prefetch_cached(self.as_ptr(), offsets, policy.bits()) }
    }

    /// Has the pixels from these coordinates on, each moved by the offsets, brought to the second-level cache
    /// (`cp.async.bulk.prefetch.tensor.L2.global.im2col`).
    #[inline(always)]
    #[track_caller]
    pub fn prefetch_im2col(self, lane: Lane<'_>, at: [i32; RANK], offsets: <[i32; RANK] as Im2colAt>::Spatial<u16>)
    where
        [i32; RANK]: Im2colAt,
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: the map's tensor is there.
        unsafe { at.prefetch(self.as_ptr(), offsets) }
    }
}
