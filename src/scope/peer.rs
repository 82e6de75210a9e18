//! The blocks of a cluster, by rank.

use crate::lane::Site;
use crate::machine::check;
use core::marker::PhantomData;

/// The `N` blocks of a cluster, from [`Cluster::peers`](crate::scope::Cluster::peers).
///
/// It has no size at run time, and lane closures may capture it.
#[derive(Debug, Clone, Copy)]
pub struct Peers<const N: usize> {
    _cluster: PhantomData<()>,
}

/// A block of the executing block's cluster, possibly the executing block itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The rank, less than the number of blocks.
    rank: u32,
}

impl<const N: usize> Peers<N> {
    pub(super) const fn new() -> Self {
        Peers { _cluster: PhantomData }
    }

    /// The block of this rank. A rank of `N` or more stops the kernel.
    #[inline]
    #[track_caller]
    pub fn get(self, rank: usize) -> Peer {
        check!(rank < N, Site::here(), ClusterRank { rank, blocks: N });
        Peer { rank: rank as u32 }
    }

    /// The blocks in the order of their ranks.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Peer> {
        (0..N as u32).map(|rank| Peer { rank })
    }

    /// All blocks, for a multicast.
    #[inline]
    pub const fn all(self) -> ClusterMask {
        ClusterMask::of_mask(((1u32 << N) - 1) as u16)
    }
}

impl Peer {
    /// The block's rank.
    #[inline]
    pub const fn rank(self) -> usize {
        self.rank as usize
    }

    /// A set of this block alone, for a multicast.
    #[inline]
    pub const fn alone(self) -> ClusterMask {
        ClusterMask::of_mask(1 << self.rank)
    }

    /// The `.shared::cluster` address of the same place in this block's shared memory (`mapa`).
    #[inline]
    #[track_caller]
    pub(crate) fn map(self, address: u32) -> u32 {
        // SAFETY: the rank is that of a block of the cluster, since only the cluster makes one.
        unsafe { crate::raw::mapa_shared_cluster_u32(address, self.rank) }
    }
}

/// A set of blocks of the executing block's cluster, at least one: the destinations of a multicast.
///
/// [`Cluster::all`](crate::scope::Cluster::all) makes the whole set; [`Peer::alone`] and
/// [`and`](Self::and) make others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterMask {
    /// A bit for each block.
    mask: u16,
}

impl ClusterMask {
    pub(crate) const fn of_mask(mask: u16) -> Self {
        ClusterMask { mask }
    }

    /// Adds a block to the set.
    #[inline]
    #[must_use]
    pub const fn and(self, peer: Peer) -> Self {
        ClusterMask { mask: self.mask | 1 << peer.rank() }
    }

    /// A bit for each block; bit 0 is rank 0.
    #[inline]
    pub const fn mask(self) -> u16 {
        self.mask
    }
}
