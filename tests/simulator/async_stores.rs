//! `st.async` and `red.async`: their results are there for those who have waited, and for nobody
//! else.

use crate::assert_elected_at;
use ptx_matrix::copy::reduction;
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::scope::Peer;
use ptx_matrix::sim::{AccessKind, BarrierMisuse, Misuse, SimError, Simulator};

type Row = SharedTile<u32, 1, 64>;

/// Block 1 sends numbers to block 0, two from each lane. Block 0 writes them to `d`. `how` selects
/// a mistake.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn send(
    block: &ClusterBlock<2>,
    #[shared] row: Row,
    #[shared] fulls: SharedRing<BarrierMemory, 2>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let full = fulls.init(block, 1).part(0);
    let (warp, cluster) = (block.warp(), block.cluster());
    row.fill(warp, |_, _| 9);
    if cluster.rank() == 0 {
        let expected = match how {
            1 => 255,
            2 => 257,
            _ => 256,
        };
        warp.elect(|lane| {
            full.arrive_expecting(lane, expected);
        });
    }
    if how != 3 {
        cluster.sync();
    }
    let (first, own) = (cluster.peer(0), cluster.peer(1));
    let peer_full = full.of(if how == 4 { own } else { first });
    if cluster.rank() == 1 {
        let there = row.of(first);
        warp.each(|lane| {
            let number = lane.id() as u32 * 2;
            match how {
                5 => {
                    there.send(lane, (0, lane.id()), [number], peer_full);
                    there.send(lane, (0, lane.id() ^ 1), [number], peer_full);
                }
                6 => {
                    let to = first_row(lane, row, first) + 8 * lane.id() as u32 + 4;
                    // SAFETY: None. The simulator finds the mistake.
                    unsafe {
                        raw::st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v2_b32(
                            to,
                            [0, 0],
                            peer_full.address(),
                        );
                    }
                }
                _ => there.send(lane, (0, lane.id() * 2), [number, number + 1], peer_full),
            }
        });
        return;
    }
    if !matches!(how, 7 | 8) {
        full.wait(warp, Phase::FIRST);
    }
    match how {
        8 => {}
        9 => {
            // There is no proxy fence before this.
            warp.elect(|lane| {
                row.store_tma(lane, d.bulk(0));
                BulkGroup::commit(lane);
                BulkGroup::wait::<0>(lane);
            });
        }
        10 => {
            warp.fence_for_bulk();
            warp.sync();
            warp.elect(|lane| {
                row.store_tma(lane, d.bulk(0));
                BulkGroup::commit(lane);
                BulkGroup::wait::<0>(lane);
            });
        }
        _ => row.for_each(warp, |_, col, value| d.set(col, value)),
    }
}

fn first_row(lane: Lane<'_>, row: Row, peer: Peer) -> u32 {
    let _ = lane;
    // SAFETY: This is the rank of the other block.
    unsafe { raw::mapa_shared_cluster_u32(row.row((0, 0)).address(), peer.rank() as u32) }
}

/// The findings for all seeds; each seed must have one.
fn find(how: u32) -> Vec<SimError> {
    let run = |seed| send::launch(&Simulator::new(seed), 2, &mut [0; 64][..], how);
    (0..16).map(|seed| run(seed).expect_err("something is wrong")).collect()
}

#[test]
fn waiter_reads_the_sent_values() {
    for how in [0, 10] {
        let mut d = [0; 64];
        send::launch(&Simulator::new(0).schedules(64), 2, &mut d, how).check();
        assert_eq!(d, core::array::from_fn(|col| col as u32));
    }
}

#[test]
fn barrier_must_expect_the_bytes() {
    for error in find(1) {
        let wrong = matches!(
            error.misuse,
            Misuse::Barrier { misuse: BarrierMisuse::UnexpectedBytes { bytes: 1 }, .. }
        );
        assert!(wrong, "{error}");
    }
    for error in find(2) {
        assert!(matches!(error.misuse, Misuse::Deadlock { .. }), "{error}");
    }
}

#[test]
fn send_needs_a_running_peer_and_the_peers_barrier() {
    for error in find(3) {
        assert!(
            matches!(error.misuse, Misuse::PeerNotStarted { access: AccessKind::Copy, .. }),
            "{error}"
        );
    }
    for error in find(4) {
        assert!(matches!(error.misuse, Misuse::BarrierOfAnother { to: 0, barrier: 1 }), "{error}");
    }
}

#[test]
fn second_copy_to_the_same_row_is_an_error() {
    for error in find(5) {
        assert!(
            matches!(error.misuse, Misuse::CopyInFlight { access: AccessKind::Copy, .. }),
            "{error}"
        );
    }
}

#[test]
fn unaligned_vector_is_an_error() {
    for error in find(6) {
        assert!(
            matches!(
                error.misuse,
                Misuse::SharedMisaligned { access: AccessKind::Write, bytes: 8, .. }
            ),
            "{error}"
        );
    }
}

#[test]
fn read_before_the_wait_is_an_error() {
    for how in [7, 8] {
        let early = |error: &SimError| {
            matches!(
                error.misuse,
                Misuse::CopyInFlight { access: AccessKind::Read, .. }
                    | Misuse::Race { .. }
                    | Misuse::BulkUnfinished
            )
        };
        for error in find(how) {
            assert!(early(&error) || matches!(error.misuse, Misuse::PeerEnded { .. }), "{error}");
        }
    }
}

#[test]
fn async_proxy_read_needs_a_fence() {
    for error in find(9) {
        assert!(matches!(error.misuse, Misuse::ProxyFence { .. }), "{error}");
    }
}

/// All lanes of blocks 1 and 2 reduce elements of block 0; both blocks reduce the same elements.
/// `how` selects a mistake.
#[kernel(threads = 32, cluster = 3, target = "sm_90")]
fn count(
    block: &ClusterBlock<3>,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    d: GlobalMut<u32>,
    how: u32,
) {
    let full = full.init(block, 1);
    let (warp, cluster) = (block.warp(), block.cluster());
    if how != 1 {
        // No proxy fence is needed, because the reductions are stores of the generic proxy.
        row.fill(warp, |_, _| 5);
    }
    if how >= 4 {
        // For the bulk copy after the reductions.
        warp.fence_for_bulk();
    }
    if cluster.rank() == 0 {
        warp.elect(|lane| {
            full.arrive_expecting(lane, 64 * 4);
        });
    }
    cluster.sync();
    let first = cluster.peer(0);
    let (there, peer_full, rank) = (row.of(first), full.of(first), cluster.rank());
    if rank > 0 {
        warp.each(|lane| match (how, rank, lane.id()) {
            (2, 2, 3) => there.send(lane, (0, 3), [7], peer_full),
            (_, _, id) => {
                there.reduce(lane, reduction::Max, (0, id / 2), (rank * 10 + id) as u32, peer_full)
            }
        });
    } else {
        if how != 3 {
            full.wait(warp, Phase::FIRST);
        }
        if how == 5 {
            warp.fence_for_bulk();
            warp.sync();
        }
        if how >= 4 {
            warp.elect(|lane| {
                row.store_tma(lane, d.bulk(0)); // <- stores the reduced row
                BulkGroup::commit(lane);
                BulkGroup::wait::<0>(lane);
            });
        } else {
            row.for_each(warp, |_, col, value| d.set(col, value));
        }
        if how == 3 {
            full.wait(warp, Phase::FIRST);
        }
    }
}

#[test]
fn reductions_of_the_same_element_do_not_race() {
    for how in [0, 5] {
        let mut d = [0; 64];
        count::launch(&Simulator::new(0).schedules(64), 3, &mut d, how).check();
        assert_eq!(d, core::array::from_fn(|col| if col < 16 { 21 + 2 * col as u32 } else { 5 }));
    }
}

#[test]
fn async_proxy_read_of_reduced_elements_needs_a_fence() {
    for seed in 0..16 {
        let error = count::launch(&Simulator::new(seed), 3, &mut [0; 64][..], 4)
            .expect_err("no fence follows the reductions");
        assert!(matches!(error.misuse, Misuse::ProxyFence { .. }), "{error}");
        assert_elected_at(&error, "stores the reduced row", (0, 0, 0), 0);
    }
}

#[test]
fn reductions_race_with_other_accesses() {
    let find = |how, is_it: fn(&Misuse) -> bool| {
        for seed in 0..16 {
            let error = count::launch(&Simulator::new(seed), 3, &mut [0; 64][..], how)
                .expect_err("something is wrong");
            assert!(is_it(&error.misuse), "{how}: {error}");
        }
    };
    find(1, |misuse| matches!(misuse, Misuse::SharedUnwritten { bytes: 4, .. }));
    find(2, |misuse| matches!(misuse, Misuse::CopyInFlight { .. }));
    find(3, |misuse| {
        matches!(
            misuse,
            Misuse::CopyInFlight { access: AccessKind::Read, .. } | Misuse::Race { .. }
        )
    });
}
