//! Shared memory of another block of the cluster: its tiles, and its barriers.

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

/// A [`SharedTile`] of another block of the cluster: [`SharedTile::of`] makes it. Its elements are
/// read and written one by one (`ld.shared::cluster`, `st.shared::cluster`), in lane closures.
///
/// The other block runs (behind a [`sync`](crate::scope::Cluster::sync) of the cluster), and does
/// not end meanwhile: the simulator reports both, and races with the other block's warps as with
/// the own block's.
pub struct PeerTile<T, const ROWS: usize, const COLS: usize, S, O> {
    /// Its address is one of the `.shared::cluster` window.
    pub(crate) tile: SharedTile<T, ROWS, COLS, S, O>,
}

impl<T, const ROWS: usize, const COLS: usize, S, O> Clone for PeerTile<T, ROWS, COLS, S, O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const ROWS: usize, const COLS: usize, S, O> Copy for PeerTile<T, ROWS, COLS, S, O> {}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// The same tile of another block of the cluster (`mapa`, PTX ISA 9.7.9.23). Needs sm_90.
    ///
    /// See [`Cluster`](crate::scope::Cluster) for an example.
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

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    PeerTile<T, ROWS, COLS, S, O>
{
    /// Writes one element (`st.shared::cluster`).
    #[inline(always)]
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
    #[inline(always)]
    #[track_caller]
    pub fn get<C: Coordinate>(self, lane: Lane<'_>, at: C) -> T {
        const { check_known::<C, Single<SharedTile<T, ROWS, COLS, S, O>>>() };
        let _ = lane;
        let site = Site::here();
        let address = self.element(at, site);
        // SAFETY: in bounds, as resolved, and aligned, as the tile is.
        T::from_bits(unsafe { Moved::load_cluster(site, address) })
    }

    #[inline(always)]
    pub(crate) fn element<C: Coordinate>(self, at: C, site: Site) -> u32 {
        let (row, col) = at.resolve::<Single<SharedTile<T, ROWS, COLS, S, O>>>(site);
        self.tile.address() + SharedTile::<T, ROWS, COLS, S, O>::offset(row, col)
    }
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
