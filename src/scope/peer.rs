//! The blocks of a cluster, by their ranks.

use crate::lane::Site;
use crate::machine::check;
use core::marker::PhantomData;

/// The `N` blocks of a cluster: [`Cluster::peers`](crate::scope::Cluster::peers). It is nothing at
/// run time, and lane closures may capture it.
#[derive(Debug, Clone, Copy)]
pub struct Peers<const N: usize> {
    _cluster: PhantomData<()>,
}

/// A block of the executing block's cluster, maybe itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Less than the number of blocks.
    rank: u32,
}

impl<const N: usize> Peers<N> {
    pub(super) const fn new() -> Self {
        Peers { _cluster: PhantomData }
    }

    /// The block of this rank, less than `N`.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, rank: usize) -> Peer {
        check!(rank < N, Site::here(), ClusterRank { rank, blocks: N });
        Peer { rank: rank as u32 }
    }

    /// One after the other.
    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = Peer> {
        (0..N as u32).map(|rank| Peer { rank })
    }

    /// All of them, for a copy to go to.
    #[inline(always)]
    pub const fn all(self) -> Blocks {
        Blocks::of_mask(((1u32 << N) - 1) as u16)
    }
}

impl Peer {
    /// Its rank.
    #[inline(always)]
    pub const fn rank(self) -> usize {
        self.rank as usize
    }

    /// It alone, for a copy to go to.
    #[inline(always)]
    pub const fn alone(self) -> Blocks {
        Blocks::of_mask(1 << self.rank)
    }

    /// Where in its shared memory lies what lies at this address in the executing block's.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn map(self, address: u32) -> u32 {
        // SAFETY: the rank is that of a block of the cluster, as only its cluster makes one.
        unsafe { crate::raw::mapa_shared_cluster_u32(address, self.rank) }
    }
}

/// Blocks of the executing block's cluster, at least one, that a copy goes to:
/// [`Cluster::all`](crate::scope::Cluster::all), or some ([`Peer::alone`], [`and`](Self::and)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// A bit for each.
    mask: u16,
}

impl Blocks {
    pub(crate) const fn of_mask(mask: u16) -> Self {
        Blocks { mask }
    }

    /// These, and this one.
    #[inline(always)]
    #[must_use]
    pub const fn and(self, peer: Peer) -> Self {
        Blocks { mask: self.mask | 1 << peer.rank() }
    }

    /// A bit for each, that of rank 0 the lowest.
    #[inline(always)]
    pub const fn mask(self) -> u16 {
        self.mask
    }
}
