//! Shared memory of the other blocks of a cluster (DSMEM): address resolution and lifetime.
//!
//! The memory of a block is accessible from the time when the block is known to run until it ends.
//! The block must know of others' accesses before it ends. So each access ("visit") is recorded
//! until an ending warp of the block knows of it. This makes the findings independent of the
//! schedule.

use crate::engine::findings::{Memory, Misuse, RANK_SHIFT, address_of, split_address};
use crate::engine::memory::race::Access;
use crate::engine::memory::shared::{SHARED_BASE, check_aligned};
use crate::engine::record::{Traffic, note_element};
use crate::engine::warps::block::{BlockState, ClusterState};
use crate::engine::warps::context::{fail, with_cluster};
use crate::engine::warps::polling::{note_access, note_read};
use crate::engine::wgmma;
use crate::lane::{AccessKind, Site};
use bytemuck::Pod;
use std::collections::BTreeMap;

/// Other blocks' accesses and copies to a block's memory.
///
/// For each lane or asynchronous agent, the last visit, and the access to report. Writes are kept
/// separately: to know of a later arrival is not to know of them. So are byte counts, for each
/// mbarrier, identified by its agent.
#[derive(Default)]
pub(crate) struct Visits(BTreeMap<(usize, usize, usize), (Access, Visit, Access)>);

/// The kind of an access to another block's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    Read,
    Write,
    /// An arrival at an mbarrier.
    Arrival,
    /// A change of an mbarrier's transaction count, and nothing else.
    Bytes,
    /// The start of a copy to it. The block must wait until it lands; otherwise that is a misuse.
    Copy,
}

impl Visit {
    fn access(self) -> AccessKind {
        match self {
            Visit::Read => AccessKind::Read,
            Visit::Write => AccessKind::Write,
            Visit::Arrival | Visit::Bytes => AccessKind::Arrival,
            Visit::Copy => AccessKind::Copy,
        }
    }
}

/// The block of the cluster, and the address in it, of an address in the `.shared::cluster` window.
pub(crate) fn resolve<'c>(
    cluster: &'c ClusterState,
    block: &'c BlockState,
    address: u32,
) -> Result<(&'c BlockState, u32), Misuse> {
    let (rank, local) = split_address(address);
    let Some(rank) = rank else { return Ok((block, local)) };
    let blocks = cluster.blocks.len();
    let peer = cluster.blocks.get(rank).ok_or(Misuse::ClusterRank { rank, blocks })?;
    Ok((peer, local))
}

/// Records an access to the memory of another block, and checks that this block runs.
pub(crate) fn visit(block: &BlockState, peer: &BlockState, by: Access, visit: Visit) {
    if peer.rank == block.rank {
        return;
    }
    let (access, of) = (visit.access(), peer.index);
    if !block.order.knows_started(&by, peer.rank) {
        block.findings.note(by, Misuse::PeerNotStarted { access, block: of });
    }
    if peer.has_ended.get() {
        block.findings.note(by, Misuse::PeerEnded { access, block: of });
    } else if !matches!(visit, Visit::Bytes | Visit::Copy) {
        let lane = by.lane().unwrap_or(crate::lane::LANES);
        let kind = usize::from(visit == Visit::Write);
        peer.visits.borrow_mut().0.insert((by.agent, lane, kind), (by, visit, by));
    }
}

/// Records that a copy from this block's memory to another block has landed. The block must know
/// this before it ends.
pub(crate) fn read_by_copy(block: &BlockState, by: Access, started: Access) {
    if block.has_ended.get() {
        block.findings.note(started, Misuse::BulkUnfinished);
    } else {
        block.visits.borrow_mut().0.insert((by.agent, 0, 0), (by, Visit::Copy, started));
    }
}

/// Records that another block has changed the transaction count of an mbarrier of `peer`.
///
/// A lane knows of the change if it knows `released`, which the end of the phase releases, or `by`.
pub(crate) fn count_bytes(peer: &BlockState, by: Access, released: Access) {
    if !peer.has_ended.get() {
        let lane = by.lane().unwrap_or(crate::lane::LANES);
        peer.visits
            .borrow_mut()
            .0
            .insert((by.agent, lane, released.agent), (released, Visit::Bytes, by));
    }
}

/// Ends the running warp of a block, and the block if the warp is the last.
pub(crate) fn end_warp(block: &BlockState, is_last: bool) {
    let visits = &mut block.visits.borrow_mut().0;
    let (order, agent) = (&block.order, block.agent());
    visits.retain(|_, (by, visit, blamed)| match visit {
        Visit::Read | Visit::Arrival => !order.is_known_over_in(agent, by),
        Visit::Bytes => !order.is_known_in(agent, by) && !order.is_known_over_in(agent, blamed),
        Visit::Write | Visit::Copy => !order.is_known_in(agent, by),
    });
    if is_last {
        for (_, visit, blamed) in visits.values() {
            let ended = Misuse::PeerEnded { access: visit.access(), block: block.index };
            block
                .findings
                .note(*blamed, if *visit == Visit::Copy { Misuse::BulkUnfinished } else { ended });
        }
    }
}

/// Performs an access to the block of the cluster that an address names: `work(own, peer, by,
/// address in it)`.
pub(crate) fn at_peer<R>(
    site: Site,
    address: u32,
    kind: Visit,
    work: impl FnOnce(&BlockState, &BlockState, Access, u32) -> Result<R, Misuse>,
) -> Result<R, Misuse> {
    with_cluster(|cluster, block| {
        let (peer, address) = resolve(cluster, block, address)?;
        let by = block.access(site);
        visit(block, peer, by, kind);
        work(block, peer, by, address).map_err(|misuse| misuse.in_memory_of(peer.rank, block.rank))
    })
}

/// `mapa`.
#[track_caller]
pub(crate) fn map(address: u32, rank: u32) -> u32 {
    if std::thread::panicking() {
        return address;
    }
    let blocks = with_cluster(|cluster, _| cluster.blocks.len());
    if rank as usize >= blocks {
        fail(Site::here(), Misuse::ClusterRank { rank: rank as usize, blocks });
    }
    address_of(rank as usize, split_address(address).1)
}

/// `getctarank`.
#[track_caller]
pub(crate) fn rank_of(address: u32) -> u32 {
    if std::thread::panicking() {
        return 0;
    }
    let rank = with_cluster(|cluster, block| {
        resolve(cluster, block, address).map(|(peer, _)| peer.rank as u32)
    });
    rank.unwrap_or_else(|misuse| fail(Site::here(), misuse))
}

/// `ld.shared::cluster` of one lane.
pub(crate) fn load(site: Site, address: u32, into: &mut [u8]) {
    if std::thread::panicking() {
        return;
    }
    note_element(site, Traffic::ClusterRead, address as usize, into.len());
    let loaded = at_peer(site, address, Visit::Read, |_, peer, by, address| {
        peer.shared.load(by, address, into)
    });
    loaded.unwrap_or_else(|misuse| fail(site, misuse));
    note_read(site, address as usize, into, || Memory::Shared { address });
}

/// `st.shared::cluster` of one lane.
pub(crate) fn store(site: Site, address: u32, from: &[u8]) {
    if std::thread::panicking() {
        return;
    }
    note_access(site);
    note_element(site, Traffic::ClusterWrite, address as usize, from.len());
    let stored = at_peer(site, address, Visit::Write, |own, peer, by, address| {
        wgmma::check_stored(own, site, from);
        peer.shared.store(by, address, from)
    });
    stored.unwrap_or_else(|misuse| fail(site, misuse));
}

/// `ld.shared::cluster`, of one element.
#[track_caller]
pub(crate) fn load_element<T: Pod>(address: u32) -> T {
    let site = Site::here();
    check_aligned(AccessKind::Read, site, address, size_of::<T>());
    let mut value = T::zeroed();
    load(site, address, bytemuck::bytes_of_mut(&mut value));
    value
}

/// `st.shared::cluster`, of one element.
#[track_caller]
pub(crate) fn store_element<T: Pod>(address: u32, value: T) {
    let site = Site::here();
    check_aligned(AccessKind::Write, site, address, size_of::<T>());
    store(site, address, bytemuck::bytes_of(&value));
}

const _: () = assert!(SHARED_BASE as usize + crate::target::MAX_SHARED_BYTES < 1 << RANK_SHIFT);
