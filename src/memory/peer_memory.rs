//! Shared memory of another block of the cluster (distributed shared memory, DSMEM).

use crate::element::{Element, Moved, Sent};
use crate::lane::{Lane, Site};
use crate::machine::check;
use crate::memory::{
    Coordinate, Order, RingIndex, SharedLayout, SharedRing, SharedTile, Single, Swizzle,
    check_known,
};
use crate::scope::Peer;
use crate::target::{AtLeast, BuiltFor};
use core::marker::PhantomData;

/// A part of shared memory that other blocks of the cluster can access.
pub trait OfPeer: SharedLayout {
    /// The handle to the same part of another block.
    type Peer;

    /// Makes the handle for an address in the `.shared::cluster` window.
    ///
    /// # Safety
    /// As for [`SharedLayout::at`], in a block of the cluster.
    #[doc(hidden)]
    unsafe fn at_peer(address: u32) -> Self::Peer;
}

/// A [`SharedTile`] of another block of the cluster, from [`SharedTile::of`].
///
/// Lanes read and write single elements (`ld.shared::cluster`, `st.shared::cluster`), in lane
/// closures.
///
/// The other block must run, which a [`sync`](crate::scope::Cluster::sync) of the cluster ensures,
/// and must not end meanwhile. The simulator reports violations of either. It also reports races
/// with the other block's warps, as for the block's own memory.
pub struct PeerTile<T, const ROWS: usize, const COLS: usize, S, O> {
    /// Its address is in the `.shared::cluster` window.
    pub(crate) tile: SharedTile<T, ROWS, COLS, S, O>,
}

impl<T, const ROWS: usize, const COLS: usize, S, O> Clone for PeerTile<T, ROWS, COLS, S, O> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const ROWS: usize, const COLS: usize, S, O> Copy for PeerTile<T, ROWS, COLS, S, O> {}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// The tile at the same place in another block of the cluster (`mapa`, PTX ISA 9.7.9.23). Needs
    /// sm_90.
    ///
    /// See [`Cluster`](crate::scope::Cluster) for an example.
    #[inline]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerTile<T, ROWS, COLS, S, O>
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: the other block's shared memory has the same layout.
        unsafe { Self::at_peer(peer.map(self.address())) }
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order> OfPeer
    for SharedTile<T, ROWS, COLS, S, O>
{
    type Peer = PeerTile<T, ROWS, COLS, S, O>;

    #[inline]
    unsafe fn at_peer(address: u32) -> Self::Peer {
        // SAFETY: the caller upholds the conditions; `PeerTile` alone uses the address.
        PeerTile { tile: unsafe { SharedTile::from_address(address) } }
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    PeerTile<T, ROWS, COLS, S, O>
{
    /// Writes one element (`st.shared::cluster`).
    ///
    /// Before `wgmma` and bulk copies use the element, threads of the tile's block that have waited
    /// execute a [`fence_for_bulk`](crate::scope::Warp::fence_for_bulk): that fence is for the
    /// block's own shared memory.
    #[inline]
    #[track_caller]
    pub fn set<C: Coordinate>(self, lane: Lane<'_>, at: C, value: T) {
        const { check_known::<C, Single<SharedTile<T, ROWS, COLS, S, O>>>() };
        let _ = lane;
        let site = Site::here();
        let address = self.element(at, site);
        // SAFETY: in bounds, as resolved, and aligned, as the tile is.
        unsafe { value.to_bits().store_cluster(site, address) }
    }

    /// Reads one element (`ld.shared::cluster`).
    #[inline]
    #[track_caller]
    pub fn get<C: Coordinate>(self, lane: Lane<'_>, at: C) -> T {
        const { check_known::<C, Single<SharedTile<T, ROWS, COLS, S, O>>>() };
        let _ = lane;
        let site = Site::here();
        let address = self.element(at, site);
        // SAFETY: in bounds, as resolved, and aligned, as the tile is.
        T::from_bits(unsafe { Moved::load_cluster(site, address) })
    }

    #[inline]
    pub(crate) fn element<C: Coordinate>(self, at: C, site: Site) -> u32 {
        let (row, col) =
            at.resolve::<Single<SharedTile<T, ROWS, COLS, S, O>>>(self.tile.address(), site);
        self.tile.address() + SharedTile::<T, ROWS, COLS, S, O>::offset(row, col)
    }
}

/// A [`SharedRing`] of another block of the cluster, from [`SharedRing::of`].
pub struct PeerRing<P, const N: usize> {
    address: u32,
    _parts: PhantomData<fn() -> P>,
}

impl<P, const N: usize> Clone for PeerRing<P, N> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<P, const N: usize> Copy for PeerRing<P, N> {}

impl<P: OfPeer, const N: usize> SharedRing<P, N> {
    /// The ring at the same place in another block of the cluster (`mapa`). Needs sm_90.
    #[inline]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerRing<P, N>
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        PeerRing { address: peer.map(self.address()), _parts: PhantomData }
    }
}

impl<P: OfPeer, const N: usize> PeerRing<P, N> {
    /// The part of the stage `index`.
    #[inline]
    pub fn stage(self, index: RingIndex<N>) -> P::Peer {
        // SAFETY: an index is less than `N`.
        unsafe { P::at_peer(self.address + index.get() as u32 * SharedRing::<P, N>::STRIDE) }
    }

    /// Part `index`, less than `N`; otherwise the kernel stops.
    #[inline]
    #[track_caller]
    pub fn part(self, index: usize) -> P::Peer {
        check!(index < N, Site::here(), RingOutOfBounds { address: self.address, index, len: N });
        // SAFETY: as above.
        unsafe { P::at_peer(self.address + index as u32 * SharedRing::<P, N>::STRIDE) }
    }
}
