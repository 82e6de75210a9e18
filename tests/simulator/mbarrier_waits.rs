//! mbarriers: `try_wait` tokens, waits with a time hint, and the effects of leaving a barrier of
//! another block.

use crate::{assert_at, assert_elected_at};
use ptx_matrix::lane::Grid;
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{AccessKind, Agent, BarrierMisuse, Misuse, Simulator};

type Row = SharedTile<u32, 1, 32>;

/// Warp 0 writes a row and arrives. Warp 1 waits in the way that `how` selects, and reads it.
#[kernel(threads = 64, target = "sm_90")]
fn look(
    block: &Block,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    d: GlobalMut<u32>,
    how: u32,
) {
    let full = full.init(block, 32);
    let warp = block.warp();
    if warp.index() == 0 {
        warp.each(|lane| {
            row.set((0, lane.id()), lane.id() as u32);
            if how != 3 && how != 4 {
                full.arrive(lane);
            }
        });
    } else {
        match how {
            0 => _ = full.wait_with_hint(warp, Phase::FIRST, 100),
            5 => _ = full.begin_wait(warp, Phase::FIRST).wait(warp),
            // The result of the look is ignored.
            6 => _ = full.begin_wait(warp, Phase::FIRST),
            _ => {}
        }
        warp.each(|lane| {
            match how {
                1 => while !full.try_wait(lane, Phase::FIRST, 100) {},
                // The answer is ignored.
                2 => drop(full.try_wait(lane, Phase::FIRST, 100)),
                // Does something else if the wait takes too long.
                3 if !full.try_wait(lane, Phase::FIRST, 100) => return d.set(lane.id(), 7),
                4 => while !full.try_wait(lane, Phase::FIRST, 100) {}, // <- in vain
                _ => {}
            }
            d.set(lane.id(), row.get(lane, (0, 31 - lane.id()))); // <- read
        });
    }
}

#[test]
fn successful_try_wait_sees_the_writes() {
    for how in [0, 1, 5] {
        let mut d = [0; 32];
        look::launch(&Simulator::new(0).schedules(32), 1, &mut d, how).check();
        assert_eq!(d, core::array::from_fn(|i| 31 - i as u32));
    }
}

#[test]
fn ignored_try_wait_result_is_an_error() {
    let found =
        (0..32).filter_map(|seed| look::launch(&Simulator::new(seed), 1, &mut [0; 32], 2).err());
    let found: Vec<_> = found.collect();
    assert!(!found.is_empty());
    for error in found {
        assert!(error.findings().iter().all(|finding| is_dependent(&finding.misuse)), "{error}");
    }
}

/// Whether a read came before the write, or was not ordered after it.
fn is_dependent(misuse: &Misuse) -> bool {
    matches!(misuse, Misuse::Race { .. } | Misuse::SharedUnwritten { .. })
}

#[test]
fn token_of_try_wait_does_not_order_before_its_wait() {
    // No order is right, even if the phase is complete at the time of the look.
    for seed in 0..16 {
        let error = look::launch(&Simulator::new(seed), 1, &mut [0; 32], 6).unwrap_err();
        assert!(error.findings().iter().all(|finding| is_dependent(&finding.misuse)), "{error}");
    }
}

#[test]
fn failed_try_wait_passes_and_endless_polling_is_an_error() {
    let mut d = [0; 32];
    look::launch(&Simulator::new(0).schedules(8), 1, &mut d, 3).check();
    assert_eq!(d, [7; 32]);
    let error = look::simulate(1, &mut [0; 32], 4).unwrap_err();
    assert!(matches!(error.misuse, Misuse::PollingBarrier { .. }), "{error}");
    assert_at(&error, "in vain", (0, 0, 0), 1, Some(0));
}

/// Block 1 writes a row of block 0, and leaves its barrier `times` times. Each phase has one
/// arrival of this block. Block 0 tests the barrier, in the scope of the cluster or not, and reads
/// the row.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn leave(
    block: &ClusterBlock<2>,
    #[shared] row: Row,
    #[shared] fulls: SharedRing<BarrierMemory, 2>,
    d: GlobalMut<u32>,
    times: u32,
    how: u32,
) {
    let fulls = fulls.init(block, 2);
    let (warp, cluster) = (block.warp(), block.cluster());
    cluster.sync();
    let full = fulls.part(1);
    if cluster.rank() == 1 {
        let (row, full) = (row.of(cluster.peer(0)), fulls.of(cluster.peer(0)).part(1));
        warp.each(|lane| row.set(lane, (0, lane.id()), lane.id() as u32));
        warp.sync();
        if times == 1 {
            warp.elect(|lane| full.arrive_drop(lane));
        } else {
            warp.elect(|lane| full.arrive_drop_times(lane, times)); // <- left
        }
    } else {
        // The first phase has two arrivals, the second one.
        warp.elect(|lane| {
            full.arrive(lane);
        });
        let over = warp.each(|lane| {
            match how {
                0 => while !full.is_over_for_cluster(lane, Phase::FIRST) {},
                1 => while !full.try_wait_for_cluster(lane, Phase::FIRST, 100) {},
                _ => while !full.is_over(lane, Phase::FIRST) {},
            }
            row.get(lane, (0, 31 - lane.id())) // <- read by the block
        });
        warp.sync();
        warp.elect(|lane| {
            full.arrive(lane);
        });
        full.wait_for_cluster_with_hint(warp, Phase::FIRST.next(), 100);
        warp.each(|lane| d.set(lane.id(), lane.get(&over)));
    }
    cluster.sync();
    fulls.invalidate(block);
}

#[test]
fn arrive_and_drop_at_a_peer_barrier_releases_the_writes() {
    for how in [0, 1] {
        let mut d = [0; 32];
        leave::launch(&Simulator::new(0).schedules(32), 2, &mut d, 1, how).check();
        assert_eq!(d, core::array::from_fn(|i| 31 - i as u32));
    }
}

#[test]
fn block_scope_try_wait_does_not_see_a_peers_writes() {
    for seed in 0..12 {
        let error = leave::launch(&Simulator::new(seed), 2, &mut [0; 32], 1, 2).unwrap_err();
        let Misuse::Race {
            access: AccessKind::Read, other_access: AccessKind::Write, other, ..
        } = error.misuse
        else {
            panic!("{error}")
        };
        assert_eq!(other, Agent::WarpOfPeer { block: Grid { x: 1, y: 0, z: 0 }, warp: 0 });
        assert_at(&error, "read by the block", (0, 0, 0), 0, Some(0));
    }
}

#[test]
fn too_many_drops_are_an_error() {
    let error = leave::simulate(2, &mut [0; 32], 3, 0).unwrap_err();
    let Misuse::Barrier { misuse, .. } = error.misuse else { panic!("{error}") };
    assert!(matches!(misuse, BarrierMisuse::TooManyArrivals { .. }), "{error}");
    assert_elected_at(&error, "left", (1, 0, 0), 0);
}

#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn beyond_the_ring(
    block: &ClusterBlock<2>,
    #[shared] fulls: SharedRing<BarrierMemory, 2>,
    index: u32,
) {
    let fulls = fulls.init(block, 1);
    block.cluster().sync();
    fulls.of(block.cluster().peer(0)).part(index as usize);
}

#[test]
fn stage_beyond_a_peers_ring_is_an_error() {
    beyond_the_ring::simulate(2, 1).check();
    let error = beyond_the_ring::simulate(2, 2).unwrap_err();
    assert!(matches!(error.misuse, Misuse::RingOutOfBounds { index: 2, len: 2, .. }), "{error}");
}

/// Warp 2 tests a barrier again and again, while the others meet `rounds` times before they arrive.
/// Without `arrives` they do not.
#[kernel(threads = 96, target = "sm_90")]
fn test_beside_others(
    block: &Block,
    #[shared] full: BarrierMemory,
    rounds: u32,
    arrives: bool,
    d: GlobalMut<u32>,
) {
    let full = full.init(block, 2);
    let warp = block.warp();
    if warp.index() < 2 {
        for _ in 0..rounds {
            // SAFETY: both warps come here equally often.
            warp.each(|_| unsafe { raw::bar_sync_threads(1, 64) });
        }
        if arrives {
            warp.elect(|lane| {
                full.arrive(lane);
            });
        }
    } else {
        warp.each(|lane| {
            while !full.is_over(lane, Phase::FIRST) {} // <- tested
            d.set(lane.id(), 1);
        });
    }
}

#[test]
fn tests_are_not_in_vain_while_other_warps_run() {
    for seed in 0..4 {
        let run = |rounds, arrives| {
            let mut d = [0; 32];
            test_beside_others::launch(&Simulator::new(seed), 1, rounds, arrives, &mut d).map(|_| d)
        };
        assert_eq!(run(3000, true).unwrap(), [1; 32]);
        let error = run(100, false).unwrap_err();
        assert!(matches!(error.misuse, Misuse::PollingBarrier { .. }), "{error}");
    }
}

/// Each lane tests a barrier, and goes on after `times` tests in vain.
#[kernel(threads = 256)]
fn test_at_most(block: &Block, #[shared] full: BarrierMemory, times: u32, d: GlobalMut<u32>) {
    let full = full.init(block, 1);
    let index = block.warp().index();
    block.warp().each(|lane| {
        let tests = (0..times).take_while(|_| !full.is_over(lane, Phase::FIRST)).count();
        d.set(index * 32 + lane.id(), tests as u32);
    });
}

#[test]
fn loop_that_stops_testing_is_no_deadlock() {
    let mut d = [0; 256];
    test_at_most::simulate(1, 1000, &mut d).unwrap();
    assert_eq!(d, [1000; 256]);
}

/// All lanes of block 0 test a barrier. Meanwhile the two warps of block 1 pass a token `rounds`
/// times. They test too.
#[kernel(threads = 64, cluster = 2, target = "sm_90")]
fn test_beside_another_block(
    block: &ClusterBlock<2>,
    #[shared] full: BarrierMemory,
    #[shared] tokens: SharedRing<BarrierMemory, 2>,
    rounds: u32,
) {
    let (full, tokens) = (full.init(block, 1), tokens.init(block, 1));
    let (warp, cluster, index) = (block.warp(), block.cluster(), block.warp().index());
    let there = full.of(cluster.peer(0));
    cluster.sync();
    if cluster.rank() == 0 {
        warp.each(|lane| while !full.is_over(lane, Phase::FIRST) {});
    } else {
        warp.elect(|lane| {
            for round in 0..rounds {
                let phase = Phase::FIRST.after(round);
                if index == 1 {
                    while !tokens.part(0).is_over(lane, phase) {}
                }
                let _ = tokens.part(index).arrive(lane);
                if index == 0 {
                    while !tokens.part(1).is_over(lane, phase) {}
                }
            }
            if index == 0 {
                there.arrive(lane);
            }
        });
    }
    cluster.sync();
}

#[test]
fn tests_are_not_in_vain_while_another_block_works() {
    test_beside_another_block::simulate(2, 3000).unwrap();
}

/// Warp 0 copies a row twice. Lane 3 waits until warp 1 has read the first one, and lane 0 copies.
#[kernel(threads = 64, target = "sm_90")]
fn wait_by_another_lane(
    block: &Block,
    #[shared] row: Row,
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    a: Global<u32>,
    d: GlobalMut<u32>,
    syncs: bool,
) {
    let (warp, full, empty) = (block.warp(), full.init(block, 1), empty.init(block, 1));
    for round in 0..2 {
        let phase = Phase::FIRST.after(round);
        if warp.index() == 0 {
            if round == 1 {
                full.wait(warp, Phase::FIRST);
                warp.each(|lane| while lane.id() == 3 && !empty.is_over(lane, Phase::FIRST) {});
                if syncs {
                    warp.sync();
                }
            }
            warp.each(|lane| {
                if lane.id() == 0 {
                    full.arrive_expecting(lane, Row::BULK_BYTES);
                    row.load_tma(lane, a.bulk(0), full);
                }
            });
        } else {
            full.wait(warp, phase);
            warp.each(|lane| d.set(lane.id(), row.get(lane, (0, lane.id()))));
            warp.sync();
            warp.elect(|lane| {
                empty.arrive(lane);
            });
        }
    }
}

#[test]
fn copy_by_a_lane_that_has_not_waited_is_named() {
    wait_by_another_lane::simulate(1, &[1; 32], &mut [0; 32], true).check();
    let run = wait_by_another_lane::simulate(1, &[1; 32], &mut [0; 32], false);
    let error = run.unwrap_err().to_string();
    assert!(error.contains("no wait for `empty` is before the copy"), "{error}");
}

/// All lanes expect bytes: more than a barrier, and a 32-bit number, can count.
#[kernel(threads = 32, target = "sm_90")]
fn expect_far_too_much(block: &Block, #[shared] full: BarrierMemory, bytes: u32) {
    let full = full.init(block, 1);
    // SAFETY: the simulator checks the bytes.
    unsafe { raw::mbarrier_expect_tx_relaxed_cta_shared_cta_b64(full.address(), bytes) };
}

#[test]
fn too_many_bytes_of_all_lanes_are_an_error() {
    for bytes in [1 << 15, 1 << 27, u32::MAX] {
        let error = expect_far_too_much::simulate(1, bytes).unwrap_err();
        let Misuse::Barrier { misuse, .. } = error.misuse else { panic!("{error}") };
        assert!(matches!(misuse, BarrierMisuse::TooManyBytes { .. }), "{error}");
    }
}

/// All lanes load a row; one of them has expected it.
#[kernel(threads = 32, target = "sm_90")]
fn load_in_each_lane(
    block: &Block,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
) {
    let full = full.init(block, 1);
    let warp = block.warp();
    warp.elect(|lane| _ = full.arrive_expecting(lane, 128));
    warp.each(|lane| row.load_tma(lane, a.bulk(0), full));
    full.wait(warp, Phase::FIRST);
}

#[test]
fn copy_of_all_lanes_is_named() {
    let error = load_in_each_lane::simulate(1, &[1; 32]).unwrap_err().to_string();
    assert!(error.contains("help: let one lane start the copy, `warp.elect"), "{error}");
}

/// A warp of block 0 tests a barrier, while two warps of block 1 wait for each other at barriers of
/// their block, again and again, before they arrive.
#[kernel(threads = 64, cluster = 2, target = "sm_90")]
fn test_beside_a_peer(
    block: &ClusterBlock<2>,
    #[shared] full: BarrierMemory,
    #[shared] turns: [BarrierMemory; 2],
    rounds: u32,
    d: GlobalMut<u32>,
) {
    let full = full.init(block, 1);
    let turns = turns.map(|turn| turn.init(block, 1));
    let (warp, cluster) = (block.warp(), block.cluster());
    cluster.sync();
    if cluster.rank() == 1 {
        let me = warp.index();
        let mut phase = Phase::FIRST;
        for _ in 0..rounds {
            if me == 1 {
                turns[0].wait(warp, phase);
            }
            warp.elect(|lane| {
                turns[me].arrive(lane);
            });
            if me == 0 {
                turns[1].wait(warp, phase);
            }
            phase = phase.next();
        }
        if me == 0 {
            let full = full.of(cluster.peer(0));
            warp.elect(|lane| full.arrive(lane));
        }
    } else if warp.index() == 0 {
        warp.each(|lane| {
            while !full.is_over(lane, Phase::FIRST) {}
            d.set(lane.id(), 1);
        });
    }
    cluster.sync();
}

#[test]
fn tests_are_not_in_vain_while_a_peers_warps_run() {
    for seed in 0..4 {
        let mut d = [0; 32];
        test_beside_a_peer::launch(&Simulator::new(seed), 2, 3000, &mut d).check();
        assert_eq!(d, [1; 32]);
    }
}
