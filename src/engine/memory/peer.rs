//! Shared memory of the other blocks of a cluster: which of it an address names, and whether it is
//! there.
//!
//! A block's memory is there from when it is known to run until it ends. Of what others do to it,
//! the block must know before it ends: each such visit is noted until a warp of the block that ends
//! knows of it. So whether something is found does not depend on the schedule.

use crate::engine::findings::{Memory, Misuse, RANK_SHIFT};
use crate::engine::memory::race::Access;
use crate::engine::memory::shared::SHARED_BASE;
use crate::engine::record::{Traffic, note_element};
use crate::engine::warps::block::{BlockState, ClusterState};
use crate::engine::warps::context::{fail, with_cluster};
use crate::engine::warps::polling::{note_access, note_read};
use crate::engine::wgmma;
use crate::lane::Site;
use bytemuck::Pod;
use std::collections::BTreeMap;

/// What other blocks, and copies to them, did to a block's memory, of each lane, or asynchronous
/// agent, that did the last (of bytes, for each mbarrier by itself, which is named by its agent);
/// and what to blame for it.
#[derive(Default)]
pub(crate) struct Visits(BTreeMap<(usize, usize, usize), (Access, Visit, Access)>);

/// What is done to memory of another block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    Read,
    Write,
    /// An mbarrier is told of something.
    Arrival,
    /// An mbarrier is told of bytes to expect, or that have come, and of nothing else.
    Bytes,
    /// A copy to it starts. That it lands, the block must wait for; else that is found.
    Copy,
}

impl Visit {
    fn name(self) -> &'static str {
        match self {
            Visit::Read => "read",
            Visit::Write => "write",
            Visit::Arrival | Visit::Bytes => "arrival",
            Visit::Copy => "copy",
        }
    }
}

/// The block of the cluster that an address of the block's `.shared::cluster` window names, and the
/// address in it.
pub(crate) fn resolve<'c>(
    cluster: &'c ClusterState,
    block: &'c BlockState,
    address: u32,
) -> Result<(&'c BlockState, u32), Misuse> {
    match (address >> RANK_SHIFT) as usize {
        0 => Ok((block, address)),
        number => {
            let (rank, blocks) = (number - 1, cluster.blocks.len());
            let peer = cluster.blocks.get(rank).ok_or(Misuse::ClusterRank { rank, blocks })?;
            Ok((peer, address & ((1 << RANK_SHIFT) - 1)))
        }
    }
}

/// Notes that who makes the access does something to memory of a block, if that is another: the
/// other must be there.
pub(crate) fn visit(block: &BlockState, peer: &BlockState, by: Access, visit: Visit) {
    if peer.rank == block.rank {
        return;
    }
    let (access, of) = (visit.name(), peer.index);
    if !block.order.knows_started(&by, peer.rank) {
        block.findings.note(by, Misuse::PeerNotStarted { access, block: of });
    }
    if peer.has_ended.get() {
        block.findings.note(by, Misuse::PeerEnded { access, block: of });
    } else if !matches!(visit, Visit::Bytes | Visit::Copy) {
        let lane = by.lane().unwrap_or(crate::lane::LANES);
        peer.visits.borrow_mut().0.insert((by.agent, lane, 0), (by, visit, by));
    }
}

/// A copy from a block's memory to another's, started then, has read it and landed: that it has,
/// the first must know before it ends.
pub(crate) fn read_by_copy(block: &BlockState, by: Access, started: Access) {
    if block.has_ended.get() {
        block.findings.note(started, Misuse::BulkUnfinished);
    } else {
        block.visits.borrow_mut().0.insert((by.agent, 0, 0), (by, Visit::Copy, started));
    }
}

/// An mbarrier of a block has been told of bytes by another. That it has, those know who know of
/// `told`, which the phase's end tells; or of who did it, likewise.
pub(crate) fn count_bytes(peer: &BlockState, by: Access, told: Access) {
    if !peer.has_ended.get() {
        let lane = by.lane().unwrap_or(crate::lane::LANES);
        peer.visits.borrow_mut().0.insert((by.agent, lane, told.agent), (told, Visit::Bytes, by));
    }
}

/// The running warp of a block has ended, and, if it is the last, the block.
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
            let ended = Misuse::PeerEnded { access: visit.name(), block: block.index };
            block
                .findings
                .note(*blamed, if *visit == Visit::Copy { Misuse::BulkUnfinished } else { ended });
        }
    }
}

/// Does something to memory of the block of the cluster that an address names: `work(own, peer, by,
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
    (rank + 1) << RANK_SHIFT | address & ((1 << RANK_SHIFT) - 1)
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

/// One lane's `ld.shared::cluster`.
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

/// One lane's `st.shared::cluster`.
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
    check_aligned("read", site, address, size_of::<T>());
    let mut value = T::zeroed();
    load(site, address, bytemuck::bytes_of_mut(&mut value));
    value
}

/// `st.shared::cluster`, of one element.
#[track_caller]
pub(crate) fn store_element<T: Pod>(address: u32, value: T) {
    let site = Site::here();
    check_aligned("write", site, address, size_of::<T>());
    store(site, address, bytemuck::bytes_of(&value));
}

fn check_aligned(access: &'static str, site: Site, address: u32, bytes: usize) {
    if !(address as usize).is_multiple_of(bytes) && !std::thread::panicking() {
        fail(site, Misuse::SharedMisaligned { access, address, bytes });
    }
}

const _: () = assert!(SHARED_BASE as usize + crate::target::MAX_SHARED_BYTES < 1 << RANK_SHIFT);
