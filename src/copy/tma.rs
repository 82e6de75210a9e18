//! TMA copies of tiles: loads, stores, reductions and prefetches, with a cache policy and
//! multicast.

use crate::copy::CachePolicy;
use crate::copy::reduction::Reduction;
use crate::element::Element;
use crate::lane::{Lane, Sealed};
use crate::memory::{Order, SharedTile, Swizzle};
use crate::scope::ClusterMask;
use crate::sync::Barrier;
use crate::target::{AtLeast, BuiltFor};

/// A place in global memory that TMA loads read, and the options of the copy.
///
/// | place | made by |
/// | --- | --- |
/// | adjacent elements | [`Global::bulk`], [`GlobalMut::bulk_source`] |
/// | a box of a tensor | [`TensorMap::at`], [`TensorMapMut::source_at`] |
/// | pixels of images | `at` of a [`TensorMap`] of mode [`Im2col`] |
///
/// [`SharedTile::load_tma`] loads a tile from it, and its `prefetch` loads the bytes into the L2
/// cache.
///
/// [`Global::bulk`]: crate::memory::Global::bulk
/// [`GlobalMut::bulk_source`]: crate::memory::GlobalMut::bulk_source
/// [`TensorMap::at`]: crate::copy::TensorMap::at
/// [`TensorMapMut::source_at`]: crate::copy::TensorMapMut::source_at
/// [`TensorMap`]: crate::copy::TensorMap
/// [`Im2col`]: crate::copy::Im2col
#[derive(Debug, Clone, Copy)]
pub struct TmaSource<P, M = ()> {
    pub(super) place: P,
    pub(super) policy: Option<CachePolicy>,
    multicast: M,
}

/// A place in global memory that TMA stores and reductions write, and the options of the copy.
///
/// | place | made by |
/// | --- | --- |
/// | adjacent elements | [`GlobalMut::bulk`] |
/// | a box of a tensor | [`TensorMapMut::at`] |
/// | pixels of images | `at` of a [`TensorMapMut`] of mode [`Im2col`] |
///
/// [`SharedTile::store_tma`] and [`SharedTile::reduce_tma`] take it.
///
/// [`GlobalMut::bulk`]: crate::memory::GlobalMut::bulk
/// [`TensorMapMut::at`]: crate::copy::TensorMapMut::at
/// [`TensorMapMut`]: crate::copy::TensorMapMut
/// [`Im2col`]: crate::copy::Im2col
#[derive(Debug, Clone, Copy)]
pub struct TmaDestination<P> {
    place: P,
    policy: Option<CachePolicy>,
}

impl<P> TmaSource<P> {
    pub(super) const fn new(place: P) -> Self {
        TmaSource { place, policy: None, multicast: () }
    }

    /// Loads the tile into each of these blocks (`.multicast::cluster`).
    ///
    /// The bytes are read once. The load completes them on the barrier at the same place in each
    /// block, which has to expect them.
    ///
    /// ```
    /// use ptx_matrix::{isa::TensorMapError, launch::Tensor, prelude::*, sim::Simulator};
    /// type Half = SharedTile<f32, 4, 32, Swizzle128>;
    ///
    /// /// Each block of a pair loads one half of a matrix into both, and sums all of it.
    /// #[kernel(threads = 32, cluster = 2, target = "sm_90")]
    /// fn sum_both(
    ///     block: &ClusterBlock<2>,
    ///     #[shared] halves: SharedRing<Half, 2>,
    ///     #[shared] full: BarrierMemory,
    ///     a: TensorMap<Half, 2>,
    ///     d: GlobalMut<f32>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     warp.elect(|lane| {
    ///         full.arrive_expecting(lane, 2 * Half::BOX_BYTES); // One half from each block.
    ///     });
    ///     cluster.sync(); // The other block's barrier is initialised, and expects them.
    ///     let (rank, all) = (cluster.rank(), cluster.all());
    ///     warp.elect(|lane| {
    ///         halves.part(rank).load_tma(lane, a.at([0, 4 * rank as i32]).multicast(all), full)
    ///     });
    ///     full.wait(warp, Phase::FIRST);
    ///     warp.elect(|lane| {
    ///         let half = |part| {
    ///             (0..128).map(|i| halves.part(part).get(lane, (i / 32, i % 32))).sum::<f32>()
    ///         };
    ///         d.set(rank, half(0) + half(1));
    ///     });
    /// }
    ///
    /// let (device, a) = (Simulator::default(), [0.5; 8 * 32]);
    /// let map = Tensor::<Half, 2>::new([32, 8]).map(&device, &a[..])?;
    /// let mut d = [0.0; 2];
    /// sum_both::launch(&device, 2, &map, &mut d).check();
    /// assert_eq!(d, [128.0; 2]);
    /// # Ok::<(), TensorMapError>(())
    /// ```
    #[inline]
    pub fn multicast(self, blocks: ClusterMask) -> TmaSource<P, ClusterMask> {
        TmaSource { place: self.place, policy: self.policy, multicast: blocks }
    }
}

impl<P, M> TmaSource<P, M> {
    /// Adds a policy for the L2 cache (`.L2::cache_hint`).
    #[inline]
    pub fn cached(self, policy: CachePolicy) -> Self {
        TmaSource { policy: Some(policy), ..self }
    }
}

impl<P> TmaDestination<P> {
    pub(super) const fn new(place: P) -> Self {
        TmaDestination { place, policy: None }
    }

    /// Adds a policy for the L2 cache (`.L2::cache_hint`).
    #[inline]
    pub fn cached(self, policy: CachePolicy) -> Self {
        TmaDestination { policy: Some(policy), ..self }
    }
}

/// The blocks that a load writes to: its own, `()`, or several of a cluster, [`ClusterMask`].
pub trait Multicast: Sealed + Copy {
    #[doc(hidden)]
    fn mask(self) -> Option<u16>;
}

impl Sealed for () {}
impl Multicast for () {
    #[inline]
    fn mask(self) -> Option<u16> {
        None
    }
}

impl Sealed for ClusterMask {}
impl Multicast for ClusterMask {
    #[inline]
    fn mask(self) -> Option<u16> {
        Some(ClusterMask::mask(self))
    }
}

/// The source of a TMA load that fills a `Tile`.
#[diagnostic::on_unimplemented(
    message = "`{Tile}` cannot be loaded from `{Self}`",
    note = "a tensor map fills tiles of its own type; adjacent elements fill tiles without a \
            swizzle"
)]
pub trait LoadTma<Tile>: Sealed + Copy {
    /// # Safety
    /// `to` is a tile's address and `barrier` an initialised barrier's, in each block of the mask.
    #[doc(hidden)]
    unsafe fn load(self, to: u32, barrier: u32, mask: Option<u16>, policy: Option<CachePolicy>);
}

/// The destination of TMA stores and reductions of a `Tile` of elements `T`.
#[diagnostic::on_unimplemented(
    message = "`{Tile}` cannot be stored to `{Self}`",
    note = "a tensor map takes tiles of its own type; adjacent elements take tiles without a \
            swizzle"
)]
pub trait StoreTma<T: Element, Tile>: Sealed + Copy {
    /// # Safety
    /// `from` is a tile's address.
    #[doc(hidden)]
    unsafe fn store(self, from: u32, policy: Option<CachePolicy>);
    /// # Safety
    /// `from` is a tile's address.
    #[doc(hidden)]
    unsafe fn reduce<R: Reduction<T>>(self, from: u32, policy: Option<CachePolicy>);
}

/// TMA copies of whole tiles.
///
/// One lane starts a copy ([`Warp::elect`](crate::scope::Warp::elect)), and the hardware carries it
/// out. Ordinary stores become visible to a later copy by a
/// [`Warp::fence_for_bulk`](crate::scope::Warp::fence_for_bulk) of the warps that stored. Needs
/// sm_90.
impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// Starts to load the tile from a place in global memory (`cp.async.bulk`,
    /// `cp.async.bulk.tensor`).
    ///
    /// `from` has the place and the options of the copy. Each copy completes
    /// [`BULK_BYTES`](Self::BULK_BYTES) or [`BOX_BYTES`](Self::BOX_BYTES) on the barrier. The
    /// barrier's phase ends when all [expected](Barrier::arrive_expecting) bytes have come. A warp
    /// that has waited for the phase may read the tile. Until then nobody may touch it.
    ///
    /// The simulator lets copies land as late as that allows. It reports early accesses, a missing
    /// fence between stores and copies, and bytes that the phase does not expect.
    ///
    /// [`Global::bulk`](crate::memory::Global::bulk) and [`TensorMap`](crate::copy::TensorMap) have
    /// examples.
    #[inline]
    #[track_caller]
    pub fn load_tma<P: LoadTma<Self>, M: Multicast>(
        self,
        lane: Lane<'_>,
        from: TmaSource<P, M>,
        barrier: Barrier,
    ) where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: in each block of the mask, the tile is aligned as its swizzle needs, and the
        // barrier was initialised. The mask names blocks of the cluster. Whether a thread touches
        // the tile meanwhile concerns values. The simulator checks that, and that the blocks run
        // until the load has ended (docs/SOUNDNESS.md).
        unsafe {
            from.place.load(self.address(), barrier.address(), from.multicast.mask(), from.policy)
        }
    }

    /// Starts to store the tile to a place in global memory (`cp.async.bulk`,
    /// `cp.async.bulk.tensor`).
    ///
    /// The store is in flight until the lane has waited for its group: see
    /// [`BulkGroup`](crate::copy::BulkGroup).
    #[inline]
    #[track_caller]
    pub fn store_tma<P: StoreTma<T, Self>>(self, lane: Lane<'_>, to: TmaDestination<P>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: it is a tile's address. A copy that is in flight when the kernel returns
        // completes before the launch ends.
        unsafe { to.place.store(self.address(), to.policy) }
    }

    /// Starts to reduce the elements of a place in global memory by the tile's
    /// (`cp.reduce.async.bulk`, `cp.reduce.async.bulk.tensor`).
    ///
    /// Each element is reduced atomically. The order of several reductions of one element is
    /// undefined, and sums of floats depend on it. The simulator takes the order of the blocks.
    /// Like a store, the reduction is in flight until the lane has waited for its group.
    ///
    /// ```
    /// use ptx_matrix::{copy::reduction, prelude::*};
    ///
    /// /// Each block adds its number to all elements.
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn add(block: &Block, #[shared] tile: SharedTile<u32, 4, 32>, d: GlobalMut<u32>) {
    ///     let (warp, number) = (block.warp(), block.index().x);
    ///     tile.fill(warp, |_, _| number);
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     warp.elect(|lane| {
    ///         tile.reduce_tma(lane, reduction::Add, d.bulk(0));
    ///         BulkGroup::commit(lane);
    ///         BulkGroup::wait_read::<0>(lane);
    ///     });
    /// }
    ///
    /// let mut d = [1; 128];
    /// add::simulate(5, &mut d).check();
    /// assert_eq!(d, [11; 128]);
    /// ```
    ///
    /// The same with a tensor map:
    ///
    /// ```
    /// use ptx_matrix::copy::reduction;
    /// use ptx_matrix::isa::TensorMapError;
    /// use ptx_matrix::launch::Tensor;
    /// use ptx_matrix::prelude::*;
    /// use ptx_matrix::sim::Simulator;
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
    ///         tile.reduce_tma(lane, reduction::Add, d.at([0, 0]));
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
    #[inline]
    #[track_caller]
    pub fn reduce_tma<R: Reduction<T>, P: StoreTma<T, Self>>(
        self,
        lane: Lane<'_>,
        reduction: R,
        to: TmaDestination<P>,
    ) where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = (lane, reduction);
        // SAFETY: as for a store; the reduction exists for the element type.
        unsafe { to.place.reduce::<R>(self.address(), to.policy) }
    }
}
