//! Distributed shared memory: the order between accesses to it, and the lifetime of a block's
//! shared memory.

use crate::{assert_at, assert_elected_at};
use ptx_matrix::lane::Grid;
use ptx_matrix::launch::Tensor;
use ptx_matrix::memory::Unswizzled128;
use ptx_matrix::prelude::*;
use ptx_matrix::raw::{
    self,
    cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_multicast_cluster as multicast,
    cp_async_bulk_tensor_2d_shared_cluster_global_tile_mbarrier_complete_tx_bytes as load_2d,
    cp_async_bulk_tensor_2d_shared_cta_global_tile_mbarrier_complete_tx_bytes as load_2d_cta,
};
use ptx_matrix::sim::{self, AccessKind, Agent, BarrierMisuse, Misuse, SimError, Simulator};

type Row = SharedTile<u32, 1, 32>;

/// The blocks of the cluster, which is the whole grid.
const FIRST: Grid = Grid { x: 0, y: 0, z: 0 };
const SECOND: Grid = Grid { x: 1, y: 0, z: 0 };

/// The findings of `run` for all seeds; each seed must have one.
fn find(run: impl Fn(&Simulator) -> Result<sim::Report, SimError>) -> Vec<SimError> {
    (0..12).map(|seed| run(&Simulator::new(seed)).expect_err("something is wrong")).collect()
}

/// Block 0 writes a row of block 1, which reads it. `how` selects the synchronisation.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn send(
    block: &ClusterBlock<2>,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    d: GlobalMut<u32>,
    how: u32,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let full = full.init(block, 1);
    if how != 5 {
        let arrival = if how == 4 { cluster.arrive() } else { cluster.arrive_relaxed() };
        cluster.wait(arrival);
    }
    let other = cluster.peer(1);
    if cluster.rank() == 0 {
        let (row, full) = (row.of(other), full.of(other));
        warp.each(|lane| row.set(lane, (0, lane.id()), lane.id() as u32)); // <- sent
        if how != 2 {
            warp.sync();
        }
        warp.elect(|lane| if how == 1 { full.arrive_having_read(lane) } else { full.arrive(lane) });
        // <- signalled
    } else {
        if how == 3 {
            full.wait(warp, Phase::FIRST)
        } else {
            full.wait_for_cluster(warp, Phase::FIRST)
        };
        warp.each(|lane| d.set(lane.id(), row.get(lane, (0, 31 - lane.id())))); // <- received
    }
}

#[test]
fn cluster_arrival_releases_the_writes() {
    for how in [0, 4] {
        let mut d = [0; 32];
        send::launch(&Simulator::new(0).schedules(32), 2, &mut d, how).check();
        assert_eq!(d, core::array::from_fn(|i| 31 - i as u32));
    }
}

#[test]
fn block_arrival_or_single_lane_arrival_does_not_release() {
    for how in [1, 2, 3] {
        for error in find(|simulator| send::launch(simulator, 2, &mut [0; 32], how)) {
            let Misuse::Race {
                access: AccessKind::Read,
                other_access: AccessKind::Write,
                other,
                ..
            } = error.misuse
            else {
                panic!("{error}")
            };
            assert_eq!(other, Agent::WarpOfPeer { block: FIRST, warp: 0 });
            assert_at(&error, "received", SECOND, 0, Some(0));
        }
    }
}

#[test]
fn access_before_the_peer_started_is_an_error() {
    for error in find(|simulator| send::launch(simulator, 2, &mut [0; 32], 5)) {
        let Misuse::PeerNotStarted { access: AccessKind::Write, block } = error.misuse else {
            panic!("{error}")
        };
        assert_eq!(block, SECOND);
        assert_at(&error, "sent", FIRST, 0, Some(0));
        // The schedule decides whether the barrier is initialised by then. A race with its
        // initialisation follows from that, and is not reported separately.
        let is_expected = |misuse: &Misuse| match misuse {
            Misuse::PeerNotStarted { .. } => true,
            Misuse::Barrier { misuse, .. } => *misuse == BarrierMisuse::Uninitialised,
            _ => false,
        };
        assert!(error.findings().iter().all(|finding| is_expected(&finding.misuse)), "{error}");
    }
    let text = send::simulate(2, &mut [0; 32], 5).unwrap_err().to_string();
    let first = "error: write in shared memory of block (1, 0, 0), which may not have \
                 started yet\n";
    assert!(text.starts_with(first), "{text}");
}

/// Block 0 reads, writes or arrives in block 1. After that the cluster synchronises, depending on
/// `ends`.
#[kernel(threads = 64, cluster = 2, target = "sm_90")]
fn visit(
    block: &ClusterBlock<2>,
    #[shared] row: Row,
    #[shared] barrier: BarrierMemory,
    access: u32,
    ends: u32,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let barrier = barrier.init(block, 1);
    row.fill(block, |_, col| col as u32);
    cluster.sync();
    let other = cluster.peer(1);
    if cluster.rank() == 0 && warp.index() == 1 {
        let (row, barrier) = (row.of(other), barrier.of(other));
        warp.elect(|lane| match access {
            0 => drop(row.get(lane, (0, 5))), // <- reads
            1 => row.set(lane, (0, 5), 1),    // <- writes
            _ => barrier.arrive(lane),        // <- arrives
        });
    }
    match ends {
        0 => cluster.sync(),
        // The block itself waits for the arrival.
        1 if cluster.rank() == 1 && access == 2 => drop(barrier.wait(warp, Phase::FIRST)),
        // Without release, the arrival does not make the write known.
        2 => {
            let arrival = cluster.arrive_relaxed();
            cluster.wait(arrival);
        }
        _ => {}
    }
}

#[test]
fn access_after_the_peer_ended_is_an_error() {
    for access in 0..3 {
        visit::launch(&Simulator::new(0).schedules(16), 2, access, 0).check();
    }
    visit::launch(&Simulator::new(0).schedules(16), 2, 2, 1).check();
    for (access, marker, expected) in [
        (0, "reads", AccessKind::Read),
        (1, "writes", AccessKind::Write),
        (2, "arrives", AccessKind::Arrival),
    ] {
        for ends in if access == 1 { 2..4 } else { 3..4 } {
            for error in find(|simulator| visit::launch(simulator, 2, access, ends)) {
                let Misuse::PeerEnded { access, block } = error.misuse else { panic!("{error}") };
                assert_eq!((access, block), (expected, SECOND));
                assert_elected_at(&error, marker, FIRST, 1);
                assert_eq!(error.findings().len(), 1, "{error}");
            }
        }
    }
}

/// A phase of block 1 completes with bytes of block 0, which block 0 does not expect there (0) or
/// does (1). Block 1 waits for the phase (1), or all blocks synchronise (2), or nobody waits.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn signal_bytes(block: &ClusterBlock<2>, #[shared] full: BarrierMemory, how: u32, waits: u32) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let full = full.init(block, if how == 0 { 1 } else { 2 });
    if cluster.rank() == 1 && how == 0 {
        warp.elect(|lane| {
            full.arrive_expecting(lane, 48);
        });
    }
    cluster.sync();
    let other = full.of(cluster.peer(1));
    if cluster.rank() == 0 {
        warp.elect(|lane| {
            if how == 1 {
                other.arrive_expecting(lane, 32);
                other.expect(lane, 16);
                other.arrive_having_read(lane);
            }
            other.complete(lane, 16);
            other.complete(lane, 32); // <- bytes
        });
    } else if waits == 1 {
        full.wait(warp, Phase::FIRST);
    }
    if waits == 2 {
        cluster.sync();
    }
}

#[test]
fn completed_phase_covers_its_bytes() {
    for how in 0..2 {
        for waits in 1..3 {
            signal_bytes::launch(&Simulator::new(0).schedules(16), 2, how, waits).check();
        }
        for error in find(|simulator| signal_bytes::launch(simulator, 2, how, 0)) {
            let is_it = |misuse: &Misuse| {
                *misuse == Misuse::PeerEnded { access: AccessKind::Arrival, block: SECOND }
            };
            assert!(error.findings().iter().all(|finding| is_it(&finding.misuse)), "{error}");
        }
    }
}

/// Both blocks write an element of block 0.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn both_write(block: &ClusterBlock<2>, #[shared] row: Row) {
    let (warp, cluster) = (block.warp(), block.cluster());
    cluster.sync();
    let row = row.of(cluster.peer(0));
    warp.elect(|lane| row.set(lane, (0, 7), 1)); // <- both
    cluster.sync();
}

#[test]
fn blocks_race_in_the_memory_of_one_block() {
    for error in find(|simulator| both_write::launch(simulator, 2)) {
        let Misuse::Race {
            access: AccessKind::Write, other_access: AccessKind::Write, other, ..
        } = error.misuse
        else {
            panic!("{error}")
        };
        assert!(matches!(other, Agent::WarpOfPeer { .. }), "{error}");
    }
}

#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn out_of_cluster(
    block: &ClusterBlock<2>,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    how: u32,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let (full, peers) = (full.init(block, 1), cluster.peers());
    cluster.sync();
    warp.elect(|_| {
        let (to, barrier) = (row.address(), full.address());
        let copy = |mask| {
            // SAFETY: None, if the rank does not exist. This is the bug under test.
            unsafe {
                multicast(to, a.as_ptr().cast(), 128, barrier, mask);
            }
        };
        match how {
            0 => drop(row.of(peers.get(2))), // <- typed
            // SAFETY: None, if the rank does not exist. This is the bug under test.
            1 => drop(unsafe { raw::mapa_shared_cluster_u32(to, 2) }), // <- raw
            2 => copy(0b101),
            3 => copy(0),
            // SAFETY: None. A mapped address is not one of the block's own window.
            4 => drop(unsafe { raw::ld_shared_b32(raw::mapa_shared_cluster_u32(to, 1)) }),
            // SAFETY: None. The rank does not exist.
            _ => drop(unsafe { raw::ld_shared_cluster_b32(5 << 24 | to) }),
        }
    });
}

#[test]
fn rank_outside_the_cluster_is_an_error() {
    let run = |how| out_of_cluster::simulate(2, &[0; 32], how).unwrap_err();
    for (how, marker) in [(0, "typed"), (1, "raw")] {
        let error = run(how);
        assert!(matches!(error.misuse, Misuse::ClusterRank { rank: 2, blocks: 2 }), "{error}");
        assert_elected_at(&error, marker, error.block.unwrap(), 0);
    }
    assert!(matches!(run(2).misuse, Misuse::BlockMask { mask: 0b101, blocks: 2 }));
    assert!(matches!(run(3).misuse, Misuse::BlockMask { mask: 0, blocks: 2 }));
    assert!(matches!(run(4).misuse, Misuse::SharedOutOfBounds { access: AccessKind::Read, .. }));
    assert!(matches!(run(5).misuse, Misuse::ClusterRank { rank: 4, blocks: 2 }));
}

/// Block 0 writes a row of block 1, which stores it by a bulk copy. `fenced` is the rank of the
/// block with the proxy fence; 2: none has one.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn send_to_a_bulk_copy(
    block: &ClusterBlock<2>,
    #[shared] row: Row,
    d: GlobalMut<u32>,
    fenced: u32,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    cluster.sync();
    if cluster.rank() == 0 {
        let row = row.of(cluster.peer(1));
        warp.each(|lane| row.set(lane, (0, lane.id()), lane.id() as u32)); // <- sent to a copy
        if fenced == 0 {
            warp.fence_for_bulk();
        }
    }
    cluster.sync();
    if cluster.rank() == 1 {
        if fenced == 1 {
            warp.fence_for_bulk();
        }
        warp.elect(|lane| {
            row.store_tma(lane, d.bulk(0));
            BulkGroup::commit(lane);
            BulkGroup::wait::<0>(lane);
        });
    }
}

/// `fence.proxy.async.shared::cta` orders accesses to the shared memory of its own block only (PTX
/// ISA 9.7.13.4).
#[test]
fn fence_in_the_writing_block_is_not_for_the_peers_memory() {
    let mut d = [0; 32];
    send_to_a_bulk_copy::launch(&Simulator::new(0).schedules(32), 2, &mut d, 1).check();
    assert_eq!(d, core::array::from_fn(|i| i as u32));
    for fenced in [0, 2] {
        for error in
            find(|simulator| send_to_a_bulk_copy::launch(simulator, 2, &mut [0; 32], fenced))
        {
            let Misuse::ProxyFence { place, .. } = &error.misuse else { panic!("{error}") };
            assert_eq!(place.line, crate::line_of("sent to a copy").1);
            assert!(error.to_string().contains("after the wait for the store"), "{error}");
        }
    }
}

/// Block 0 copies its first row to the second row of block 1. Block 1 reads it, and arrives at
/// block 0 afterwards. `how` selects a mistake.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn copy(
    block: &ClusterBlock<2>,
    #[shared] (from, to): (Row, Row),
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    d: GlobalMut<u32>,
    how: u32,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let (full, empty) = (full.init(block, 1), empty.init(block, 1));
    cluster.sync();
    let [first, second] = [0, 1].map(|rank| cluster.peer(rank));
    if cluster.rank() == 0 {
        from.fill(warp, |_, col| col as u32); // <- filled
        if how != 1 {
            warp.fence_for_bulk();
        }
        warp.sync();
        warp.elect(|lane| {
            if how == 2 {
                // SAFETY: None. This is the bug under test: the barrier is not in the second block.
                unsafe {
                    raw::cp_async_bulk_shared_cluster_shared_cta_mbarrier_complete_tx_bytes(
                        raw::mapa_shared_cluster_u32(to.address(), 1),
                        from.address(),
                        128,
                        full.address(),
                    );
                }
            } else {
                from.copy_bulk_to(lane, second, to, full); // <- copied
            }
        });
        if how != 3 {
            empty.wait(warp, Phase::FIRST);
        }
        from.fill(warp, |_, _| 0); // <- filled again
    } else {
        warp.elect(|lane| {
            full.arrive_expecting(lane, Row::COPIED_BYTES);
        });
        if how != 4 {
            full.wait(warp, Phase::FIRST);
        }
        to.for_each(warp, |_, col, value| d.set(col, value)); // <- taken
        let empty = empty.of(first);
        warp.elect(|lane| empty.arrive_having_read(lane));
    }
    cluster.sync();
}

#[test]
fn copy_to_a_peer_writes_its_memory() {
    let mut d = [0; 32];
    copy::launch(&Simulator::new(0).schedules(32), 2, &mut d, 0).check();
    assert_eq!(d, core::array::from_fn(|i| i as u32));
}

#[test]
fn peer_copy_without_fence_or_waits_is_an_error() {
    for error in find(|simulator| copy::launch(simulator, 2, &mut [0; 32], 1)) {
        assert!(matches!(error.misuse, Misuse::ProxyFence { .. }), "{error}");
    }
    for error in find(|simulator| copy::launch(simulator, 2, &mut [0; 32], 2)) {
        assert!(matches!(error.misuse, Misuse::BarrierOfAnother { to: 1, barrier: 0 }), "{error}");
    }
    for error in find(|simulator| copy::launch(simulator, 2, &mut [0; 32], 3)) {
        let found = |misuse: &Misuse| match misuse {
            Misuse::CopySourceInFlight { warp: 0, block, .. } => *block == Some(FIRST),
            Misuse::Race { access: AccessKind::Write, other: Agent::Asynchronous, .. } => true,
            _ => false,
        };
        assert!(error.findings().iter().any(|finding| found(&finding.misuse)), "{error}");
    }
    for error in find(|simulator| copy::launch(simulator, 2, &mut [0; 32], 4)) {
        let found = |misuse: &Misuse| match misuse {
            Misuse::CopyInFlight { access: AccessKind::Read, block, .. } => *block == Some(FIRST),
            Misuse::Race { .. } | Misuse::SharedUnwritten { .. } => true,
            _ => false,
        };
        assert!(error.findings().iter().any(|finding| found(&finding.misuse)), "{error}");
    }
}

type RowBox = SharedTile<u32, 1, 32, Unswizzled128>;

/// Block 0 copies a row of global memory to the block of rank `to`, through a mapped address. `how`
/// selects a mistake.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn load_mapped(
    block: &ClusterBlock<2>,
    #[shared] row: RowBox,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    map: TensorMap<RowBox, 2>,
    d: GlobalMut<u32>,
    to: u32,
    how: u32,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let full = full.init(block, 1);
    cluster.sync();
    if cluster.rank() == 0 {
        warp.elect(|_| {
            // SAFETY: `to` is a rank of the cluster, and nobody in that block accesses the row
            // before the wait, except for the mistakes.
            unsafe {
                let mapped = |address| raw::mapa_shared_cluster_u32(address, to);
                let (row, full) = (
                    mapped(row.address()),
                    if how == 2 { full.address() } else { mapped(full.address()) },
                );
                match how {
                    0 | 2 => raw::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(
                        row,
                        a.as_ptr().cast(),
                        128,
                        full,
                    ),
                    1 => load_2d(row, map.as_ptr(), [0, 0], full),
                    3 => load_2d_cta(row, map.as_ptr(), [0, 0], full),
                    // A multicast goes to all its blocks, whichever of them the addresses belong
                    // to.
                    _ => multicast(row, a.as_ptr().cast(), 128, full, 1 << (1 - to)),
                }
            }
        });
    }
    let receiver = if how == 4 { 1 - to } else { to };
    if cluster.rank() == receiver as usize {
        warp.elect(|lane| {
            full.arrive_expecting(lane, 128);
        });
        full.wait(warp, Phase::FIRST);
        row.for_each(warp, |_, col, value| d.set(col, value));
    }
    cluster.sync();
}

#[test]
fn copy_goes_to_the_block_of_its_mapped_addresses() {
    let a: Vec<u32> = (1..33).collect();
    let run = |simulator: &Simulator, to, how| {
        let (mut d, map) =
            ([0; 32], Tensor::<RowBox, 2>::new([32, 1]).map(simulator, &a[..]).unwrap());
        load_mapped::launch(simulator, 2, &a, &map, &mut d, to, how)?.check()?;
        assert_eq!(d[..], a, "to {to}, {how}");
        Ok(())
    };
    for to in 0..2 {
        for how in [0, 1, 4] {
            run(&Simulator::new(0).schedules(16), to, how)
                .unwrap_or_else(|error: SimError| panic!("{error}"));
        }
        // The instruction for the own block takes no mapped address.
        let error = run(&Simulator::new(0), to, 3).unwrap_err();
        assert!(matches!(error.misuse, Misuse::SharedOutOfBounds { .. }), "{error}");
    }
    let error = run(&Simulator::new(0), 1, 2).unwrap_err();
    assert!(matches!(error.misuse, Misuse::BarrierOfAnother { to: 1, barrier: 0 }), "{error}");
}

/// Block 0 copies a row to block 1 and ends, with or without a `sync` of the cluster.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn copy_and_end(
    block: &ClusterBlock<2>,
    #[shared] (from, to): (Row, Row),
    #[shared] full: BarrierMemory,
    last: u32,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let full = full.init(block, 1);
    from.fill(warp, |_, col| col as u32);
    warp.fence_for_bulk();
    cluster.sync();
    let second = cluster.peer(1);
    if cluster.rank() == 0 {
        warp.elect(|lane| from.copy_bulk_to(lane, second, to, full)); // <- unfinished
    } else {
        warp.elect(|lane| {
            full.arrive_expecting(lane, Row::COPIED_BYTES);
        });
        full.wait(warp, Phase::FIRST);
    }
    if last != 0 {
        cluster.sync();
    }
}

/// Block 0 copies a row of global memory to both blocks. Block 1 waits for it, or (0) may have
/// ended before the copy starts.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn copy_to_both(
    block: &ClusterBlock<2>,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    waits: u32,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let full = full.init(block, 1);
    cluster.sync();
    let (rank, all) = (cluster.rank(), cluster.all());
    if rank == 0 || waits != 0 {
        warp.elect(|lane| {
            full.arrive_expecting(lane, 128);
            if rank == 0 {
                row.load_tma(lane, a.bulk(0).multicast(all), full); // <- to both
            }
        });
        full.wait(warp, Phase::FIRST);
    }
}

#[test]
fn block_that_ends_before_a_copy_to_it_is_an_error() {
    let a = [7; 32];
    copy_to_both::launch(&Simulator::new(0).schedules(16), 2, &a, 1).check();
    let mut ended_before = 0;
    for error in find(|simulator| copy_to_both::launch(simulator, 2, &a, 0)) {
        match &error.misuse {
            Misuse::PeerEnded { access: AccessKind::Copy, block } => assert_eq!(*block, SECOND),
            // The block ends after the start.
            Misuse::BulkUnfinished => continue,
            _ => panic!("{error}"),
        }
        assert_elected_at(&error, "to both", FIRST, 0);
        ended_before += 1;
    }
    assert!(ended_before > 0);
}

#[test]
fn block_that_ends_before_its_copy_is_read_is_an_error() {
    copy_and_end::launch(&Simulator::new(0).schedules(16), 2, 1).check();
    for error in find(|simulator| copy_and_end::launch(simulator, 2, 0)) {
        assert!(matches!(error.misuse, Misuse::BulkUnfinished), "{error}");
        assert_elected_at(&error, "unfinished", FIRST, 0);
    }
}

/// Block 0 writes to block 1, and arrives there. Without a release, block 1 may end before the
/// write comes.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn write_and_arrive(
    block: &ClusterBlock<2>,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    releases: bool,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let full = full.init(block, 1);
    cluster.sync();
    if cluster.rank() == 1 {
        full.wait_for_cluster(warp, Phase::FIRST);
        return;
    }
    let (row, full) = (row.of(cluster.peer(1)), full.of(cluster.peer(1)));
    warp.elect(|lane| {
        row.set(lane, (0, 3), 9); // <- written to the peer
        if releases {
            full.arrive(lane);
        } else {
            full.arrive_having_read(lane);
        }
    });
}

#[test]
fn later_arrival_does_not_hide_a_write_that_the_peer_does_not_know_of() {
    for seed in 0..8 {
        let run = |releases| {
            let report = write_and_arrive::launch(&Simulator::new(seed), 2, releases);
            report.and_then(|report| report.check())
        };
        run(true).unwrap();
        let error = run(false).unwrap_err();
        assert_eq!(error.misuse, Misuse::PeerEnded { access: AccessKind::Write, block: SECOND });
        assert_elected_at(&error, "written to the peer", FIRST, 0);
    }
}
