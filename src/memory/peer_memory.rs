//! Shared memory of another block of the cluster: its tiles, and its barriers.

#[cfg(target_arch = "nvptx64")]
use crate::Width;
use crate::copy::reduction::SharedReduction;
use crate::lane::{Site, check};
use crate::memory::{
    Coordinate, Order, RingIndex, SharedLayout, SharedRing, SharedTile, Single, Swizzle, Window, check_known,
};
use crate::scope::Peer;
use crate::target::{AtLeast, BuiltFor};
use crate::{Barrier, BarrierRing, Element, Lane, raw};
use core::marker::PhantomData;

/// A part of shared memory that other blocks of the cluster can reach.
pub trait OfPeer: SharedLayout {
    /// The same part of another block.
    type Peer;

    /// The part at an address in the `.shared::cluster` window.
    ///
    /// # Safety
    /// As for [`SharedLayout::at`], in a block of the cluster.
    #[doc(hidden)]
    unsafe fn at_peer(address: u32) -> Self::Peer;
}

/// A [`SharedTile`] of another block of the cluster: [`SharedTile::of`] makes it. Its elements are read and written one by one
/// (`ld.shared::cluster`, `st.shared::cluster`), in lane closures.
///
/// The other block runs (behind a [`sync`](crate::Cluster::sync) of the cluster), and does not end meanwhile: the simulator reports both,
/// and races with the other block's warps as with the own block's.
pub struct PeerTile<T, const ROWS: usize, const COLS: usize, S, O> {
    /// Its address is one of the `.shared::cluster` window.
    tile: SharedTile<T, ROWS, COLS, S, O>,
}

impl<T, const ROWS: usize, const COLS: usize, S, O> Clone for PeerTile<T, ROWS, COLS, S, O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const ROWS: usize, const COLS: usize, S, O> Copy for PeerTile<T, ROWS, COLS, S, O> {}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order> SharedTile<T, ROWS, COLS, S, O> {
    /// The same tile of another block of the cluster (`mapa`, PTX ISA 9.7.9.23). Needs sm_90.
    ///
    /// See [`Cluster`](crate::Cluster) for an example.
    #[inline(always)]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerTile<T, ROWS, COLS, S, O>
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: the other block's shared memory is laid out as this one's.
        unsafe { Self::at_peer(peer.map(self.address())) }
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order> OfPeer
    for SharedTile<T, ROWS, COLS, S, O>
{
    type Peer = PeerTile<T, ROWS, COLS, S, O>;

    #[inline(always)]
    unsafe fn at_peer(address: u32) -> Self::Peer {
        // SAFETY: the caller's; nothing but `PeerTile` uses the address.
        PeerTile { tile: unsafe { SharedTile::from_address(address) } }
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order> PeerTile<T, ROWS, COLS, S, O> {
    /// Writes one element (`st.shared::cluster`).
    #[inline(always)]
    #[track_caller]
    pub fn set<C: Coordinate>(self, lane: Lane<'_>, at: C, value: T) {
        const { check_known::<C, Single<SharedTile<T, ROWS, COLS, S, O>>>() };
        let _ = lane;
        let site = Site::here();
        let address = self.element(at, site);
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: in bounds, as resolved, and aligned, as the tile is.
        unsafe {
            T::Width::store_cluster(address, value.to_bits());
        }
        #[cfg(not(target_arch = "nvptx64"))]
        crate::engine::peer::store(site, address, bytemuck::bytes_of(&value));
    }

    /// Reads one element (`ld.shared::cluster`).
    #[inline(always)]
    #[track_caller]
    pub fn get<C: Coordinate>(self, lane: Lane<'_>, at: C) -> T {
        const { check_known::<C, Single<SharedTile<T, ROWS, COLS, S, O>>>() };
        let _ = lane;
        let site = Site::here();
        let address = self.element(at, site);
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: in bounds, as resolved, and aligned, as the tile is.
        return T::from_bits(unsafe { T::Width::load_cluster(address) });
        #[cfg(not(target_arch = "nvptx64"))]
        return {
            let mut value = T::zeroed();
            crate::engine::peer::load(site, address, bytemuck::bytes_of_mut(&mut value));
            value
        };
    }

    /// Sends `N` elements from registers to `at` and on along the contiguous side (`st.async.shared::cluster.mbarrier::complete_tx::bytes`, PTX
    /// ISA 9.7.9.12): 4, 8 or 16 bytes, at a multiple of `N` elements. The lane goes on; the barrier, which is one of the tile's block, is
    /// told of the bytes when they have come, and who has waited for its phase sees them. Needs sm_90.
    ///
    /// It is a store like any other, so that it needs no fence behind others; but before `wgmma` and bulk copies use what it brought, whoever
    /// has waited puts a [`fence_for_bulk`](crate::Warp::fence_for_bulk).
    ///
    /// ```
    /// use ptx_matrix::*;
    ///
    /// /// Each block's lanes send their numbers to the next block of the cluster, without a word of global memory between.
    /// #[kernel(threads = 32, cluster = 4, target = "sm_90")]
    /// fn rotate(block: &ClusterBlock<4>, #[shared] row: SharedTile<f32, 1, 32>, #[shared] full: BarrierMemory, a: Global<f32>, d: GlobalMut<f32>) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     let rank = cluster.rank();
    ///     warp.elect(|lane| {
    ///         full.arrive_expecting(lane, 32 * 4);
    ///     });
    ///     cluster.sync();
    ///     let next = cluster.peer((rank + 1) % 4);
    ///     let (row_of_next, full_of_next) = (row.of(next), full.of(next));
    ///     warp.each(|lane| row_of_next.send(lane, (0, lane.id()), [a.get(rank * 32 + lane.id())], full_of_next));
    ///     full.wait(warp, Phase::FIRST);
    ///     row.for_each(warp, |_, col, value| d.set(rank * 32 + col, value));
    /// }
    ///
    /// let a: Vec<f32> = (0..128).map(|i| i as f32).collect();
    /// let mut d = [0.0; 128];
    /// rotate::simulate(4, &a, &mut d).check();
    /// assert_eq!((d[0], d[32], d[127]), (96.0, 0.0, 95.0));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn send<C: Coordinate, const N: usize>(self, lane: Lane<'_>, at: C, values: [T; N], barrier: PeerBarrier) {
        const { check_known::<C, Along<N, SharedTile<T, ROWS, COLS, S, O>>>() };
        let bytes = const {
            let bytes = N * size_of::<T>();
            assert!(matches!(bytes, 4 | 8 | 16), "4, 8 or 16 bytes are sent at once");
            bytes
        };
        let _ = lane;
        let (row, col) = at.resolve::<Along<N, SharedTile<T, ROWS, COLS, S, O>>>(Site::here());
        let to = self.tile.address() + SharedTile::<T, ROWS, COLS, S, O>::offset(row, col);
        let word = |index: usize| bytemuck::pod_read_unaligned::<u32>(&bytemuck::bytes_of(&values)[4 * index..][..4]);
        // SAFETY: in bounds, as resolved, and aligned, as tiles are. That the barrier is one of the same block, which runs, and that nobody
        // touches the elements meanwhile, is the simulator's to check.
        unsafe {
            match bytes {
                4 => raw::st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_b32(to, word(0), barrier.address),
                8 => raw::st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v2_b32(
                    to,
                    [word(0), word(1)],
                    barrier.address,
                ),
                _ => raw::st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v4_b32(
                    to,
                    core::array::from_fn(word),
                    barrier.address,
                ),
            }
        }
    }

    /// Sends a value by which an element is reduced (`red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes`, PTX ISA 9.7.13.7):
    /// it becomes this of itself and of the value, whoever else reduces it. Else as [`send`](Self::send), but that the element is to have been
    /// written before, and who wrote it known of. Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::*;
    ///
    /// /// All lanes of all blocks count in block 0 how many numbers end with which digit.
    /// #[kernel(threads = 32, cluster = 2, target = "sm_90")]
    /// fn digits(block: &ClusterBlock<2>, #[shared] counts: SharedTile<u32, 1, 16>, #[shared] full: BarrierMemory, a: Global<u32>, d: GlobalMut<u32>) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     let (rank, first) = (cluster.rank(), cluster.peer(0));
    ///     counts.fill(warp, |_, _| 0);
    ///     if rank == 0 {
    ///         warp.elect(|lane| {
    ///             full.arrive_expecting(lane, 64 * 4);
    ///         });
    ///     }
    ///     cluster.sync(); // All counts are zero.
    ///     let (counts_of_first, full_of_first) = (counts.of(first), full.of(first));
    ///     warp.each(|lane| {
    ///         let digit = a.get(rank * 32 + lane.id()) % 10;
    ///         counts_of_first.reduce(lane, reduction::Add, (0, digit as usize), 1, full_of_first);
    ///     });
    ///     if rank == 0 {
    ///         full.wait(warp, Phase::FIRST);
    ///         counts.for_each(warp, |_, digit, count| if digit < 10 { d.set(digit, count) });
    ///     }
    /// }
    ///
    /// let a: Vec<u32> = (0..64).collect();
    /// let mut d = [0; 10];
    /// digits::simulate(2, &a, &mut d).check();
    /// assert_eq!(d, [7, 7, 7, 7, 6, 6, 6, 6, 6, 6]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn reduce<C: Coordinate, R: SharedReduction<T>>(
        self,
        lane: Lane<'_>,
        reduction: R,
        at: C,
        value: T,
        barrier: PeerBarrier,
    ) {
        const { check_known::<C, Single<SharedTile<T, ROWS, COLS, S, O>>>() };
        let _ = (lane, reduction);
        let to = self.element(at, Site::here());
        // SAFETY: as above; the elements have the reduction.
        unsafe { R::reduce_by(to, value, barrier.address) }
    }

    #[inline(always)]
    fn element<C: Coordinate>(self, at: C, site: Site) -> u32 {
        let (row, col) = at.resolve::<Single<SharedTile<T, ROWS, COLS, S, O>>>(site);
        self.tile.address() + SharedTile::<T, ROWS, COLS, S, O>::offset(row, col)
    }
}

/// The window of elements that are sent at once: `N` along the contiguous side of a tile.
struct Along<const N: usize, Tile>(PhantomData<Tile>);

impl<const N: usize, T, const ROWS: usize, const COLS: usize, S, O> Window for Along<N, SharedTile<T, ROWS, COLS, S, O>>
where
    T: Element,
    S: Swizzle,
    O: Order,
{
    const TILE_ROWS: usize = ROWS;
    const TILE_COLS: usize = COLS;
    const ROWS: usize = if O::ROW_MAJOR { 1 } else { N };
    const COLS: usize = if O::ROW_MAJOR { N } else { 1 };
    const ROW_STEP: usize = Self::ROWS;
    const COL_STEP: usize = Self::COLS;
}

/// A [`SharedRing`] of another block of the cluster: [`SharedRing::of`] makes it.
pub struct PeerRing<P, const N: usize> {
    address: u32,
    _parts: PhantomData<fn() -> P>,
}

impl<P, const N: usize> Clone for PeerRing<P, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<P, const N: usize> Copy for PeerRing<P, N> {}

impl<P: OfPeer, const N: usize> SharedRing<P, N> {
    /// The same ring of another block of the cluster (`mapa`). Needs sm_90.
    #[inline(always)]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerRing<P, N>
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        PeerRing { address: peer.map(self.address()), _parts: PhantomData }
    }
}

impl<P: OfPeer, const N: usize> PeerRing<P, N> {
    /// The part of this index.
    #[inline(always)]
    pub fn stage(self, index: RingIndex<N>) -> P::Peer {
        // SAFETY: an index is less than `N`.
        unsafe { P::at_peer(self.address + index.get() as u32 * SharedRing::<P, N>::STRIDE) }
    }

    /// Part `index`, less than `N`.
    #[inline(always)]
    #[track_caller]
    pub fn part(self, index: usize) -> P::Peer {
        check!(index < N, Site::here(), RingOutOfBounds { index, len: N });
        // SAFETY: as above.
        unsafe { P::at_peer(self.address + index as u32 * SharedRing::<P, N>::STRIDE) }
    }
}

/// A [`Barrier`] of another block of the cluster: [`Barrier::of`] makes it. Others can arrive at it, but only its own block can wait.
///
/// It is one behind the [`sync`](crate::Cluster::sync) of the cluster that comes behind its initialisation, and as long as its block has not
/// ended: the simulator reports whoever comes before, or may come after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerBarrier {
    address: u32,
}

impl Barrier {
    /// The same barrier of another block of the cluster (`mapa`, PTX ISA 9.7.9.23). Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::*;
    ///
    /// /// Block 0 hands a number to block 1.
    /// #[kernel(threads = 32, cluster = 2, target = "sm_90")]
    /// fn hand_over(
    ///     block: &ClusterBlock<2>,
    ///     #[shared] tile: SharedTile<u32, 1, 4>,
    ///     #[shared] full: BarrierMemory,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     cluster.sync(); // The other block's barrier is one.
    ///     let other = cluster.peer(1);
    ///     if cluster.rank() == 0 {
    ///         warp.elect(|lane| {
    ///             tile.of(other).set(lane, (0, 0), 42);
    ///             full.of(other).arrive(lane);
    ///         });
    ///     } else {
    ///         full.wait_for_cluster(warp, Phase::FIRST);
    ///         warp.elect(|lane| d.set(0, tile.get(lane, (0, 0))));
    ///     }
    /// }
    ///
    /// let mut d = [0];
    /// hand_over::simulate(2, &mut d).check();
    /// assert_eq!(d, [42]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerBarrier
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        PeerBarrier { address: peer.map(self.address()) }
    }
}

/// One arrival: its function, the raw one, its operands.
macro_rules! arrivals {
    ($($(#[$doc:meta])* $name:ident($($operand:ident)*) $raw:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $name(self, lane: Lane<'_>, $($operand: u32)*) {
            let _ = lane;
            // SAFETY: a barrier of a block of the cluster, as `Barrier::of` said. That it is one by now, and its block runs, is the
            // simulator's to check, as of a missing `sync`.
            unsafe { raw::$raw(self.address, $($operand)*) }
        }
    )*};
}

impl PeerBarrier {
    arrivals! {
        /// One arrival (`mbarrier.arrive.release.cluster.shared::cluster`): what the lane wrote before, and what it knows of, the other block
        /// sees who waits by [`wait_for_cluster`](Barrier::wait_for_cluster).
        arrive() mbarrier_arrive_release_cluster_shared_cluster_b64;
        /// As many at once, at least one.
        arrive_times(count) mbarrier_arrive_release_cluster_shared_cluster_b64_count;
        /// The phase waits for so many bytes more, and one has arrived (`mbarrier.arrive.expect_tx`).
        arrive_expecting(bytes) mbarrier_arrive_expect_tx_release_cluster_shared_cluster_b64;
        /// One arrival, and from the next phase on one fewer is needed (`mbarrier.arrive_drop.release.cluster.shared::cluster`, PTX ISA
        /// 9.7.13.15.14): of a block that has no more to bring, and may end when the barrier's own block knows of it.
        ///
        /// ```
        /// use ptx_matrix::*;
        ///
        /// /// Blocks 1 to 3 bring block 0 as many numbers as their rank; who has no more leaves.
        /// #[kernel(threads = 32, cluster = 4, target = "sm_90")]
        /// fn gather(block: &ClusterBlock<4>, #[shared] row: SharedTile<u32, 1, 4>, #[shared] come: BarrierMemory, d: GlobalMut<u32>) {
        ///     let come = come.init(block, 4);
        ///     let (warp, cluster) = (block.warp(), block.cluster());
        ///     let (rank, first) = (cluster.rank(), cluster.peer(0));
        ///     cluster.sync();
        ///     let (row_of_first, come_of_first) = (row.of(first), come.of(first));
        ///     let mut phase = Phase::FIRST;
        ///     for round in 1..=3 {
        ///         if rank >= round {
        ///             warp.elect(|lane| {
        ///                 row_of_first.set(lane, (0, rank), (rank * 10 + round) as u32);
        ///                 if rank == round { come_of_first.leave(lane) } else { come_of_first.arrive(lane) }
        ///             });
        ///         } else if rank == 0 {
        ///             warp.elect(|lane| {
        ///                 come.arrive(lane);
        ///             });
        ///             phase = come.wait_for_cluster(warp, phase);
        ///         }
        ///         cluster.sync(); // Nobody arrives in a phase twice.
        ///     }
        ///     if rank == 0 {
        ///         warp.elect(|lane| (1..4).for_each(|from| d.set(from, row.get(lane, (0, from)))));
        ///     }
        /// }
        ///
        /// let mut d = [0; 4];
        /// gather::simulate(4, &mut d).check();
        /// assert_eq!(d, [0, 11, 22, 33]);
        /// ```
        leave() mbarrier_arrive_drop_release_cluster_shared_cluster_b64;
        /// As many at once, at least one.
        leave_times(count) mbarrier_arrive_drop_release_cluster_shared_cluster_b64_count;
        /// The phase waits for so many bytes more, one has arrived, and later phases need one fewer
        /// (`mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster`).
        leave_expecting(bytes) mbarrier_arrive_drop_expect_tx_release_cluster_shared_cluster_b64;
        /// One arrival (`mbarrier.arrive.shared::cluster`), of a lane that has only read: what it, and who it knows of, read before may be
        /// overwritten then. What they wrote the other block need not see. It is quick: [`arrive`](Self::arrive) waits until
        /// what was written has come to memory.
        arrive_having_read() mbarrier_arrive_shared_cluster_b64;
        /// The phase waits for so many bytes more (`mbarrier.expect_tx`).
        expect(bytes) mbarrier_expect_tx_relaxed_cluster_shared_cluster_b64;
        /// So many bytes have come (`mbarrier.complete_tx`).
        complete(bytes) mbarrier_complete_tx_relaxed_cluster_shared_cluster_b64;
    }

    /// Where it lies, in the `.shared::cluster` window.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        self.address
    }
}

/// A [`BarrierRing`] of another block of the cluster: [`BarrierRing::of`] makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerBarrierRing<const N: usize> {
    address: u32,
}

impl<const N: usize> BarrierRing<N> {
    /// The same barriers of another block of the cluster (`mapa`). Needs sm_90.
    #[inline(always)]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerBarrierRing<N>
    where
        Barrier: BuiltFor<AtLeast<90>>,
    {
        PeerBarrierRing { address: peer.map(self.stage(RingIndex::FIRST).address()) }
    }
}

impl<const N: usize> PeerBarrierRing<N> {
    /// The barrier of this index.
    #[inline(always)]
    pub fn stage(self, index: RingIndex<N>) -> PeerBarrier {
        PeerBarrier { address: self.address + index.get() as u32 * SharedRing::<crate::BarrierMemory, N>::STRIDE }
    }

    /// Barrier `index`, less than `N`.
    #[inline(always)]
    #[track_caller]
    pub fn part(self, index: usize) -> PeerBarrier {
        check!(index < N, Site::here(), RingOutOfBounds { index, len: N });
        PeerBarrier { address: self.address + index as u32 * SharedRing::<crate::BarrierMemory, N>::STRIDE }
    }
}
