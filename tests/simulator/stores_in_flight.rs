//! Bulk copies to global memory: other accesses to the same elements while they are in flight, by
//! the lane itself, another warp or another block of the cluster.

use crate::{assert_at, assert_elected_at, line_of};
use ptx_matrix::copy::reduction;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{AccessKind, Memory, Misuse, SimError, Simulator};

type Tile = SharedTile<u32, 4, 32>;

/// Two copies of one lane to the same elements. `between` selects what lies between them.
#[kernel(threads = 32, target = "sm_90")]
fn store_twice(block: &Block, #[shared] tiles: [Tile; 2], d: GlobalMut<u32>, between: u32) {
    let warp = block.warp();
    tiles[0].fill(warp, |_, _| 1);
    tiles[1].fill(warp, |_, _| 2);
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        match between {
            5 => tiles[0].reduce_tma(lane, reduction::Add, d.bulk(0)),
            _ => tiles[0].store_tma(lane, d.bulk(0)), // <- first
        }
        if between > 0 {
            BulkGroup::commit(lane);
        }
        match between {
            2 => BulkGroup::wait_read::<0>(lane),
            3 => BulkGroup::wait::<0>(lane),
            _ => {}
        }
        match between {
            4 | 5 => tiles[1].reduce_tma(lane, reduction::Add, d.bulk(0)), // <- reduced
            _ => tiles[1].store_tma(lane, d.bulk(0)),                      // <- second
        }
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
}

#[track_caller]
fn assert_in_flight(error: &SimError, of: AccessKind, marker: &str) {
    let Misuse::StoreInFlight { access, name: "d", place, .. } = &error.misuse else {
        panic!("{error}")
    };
    assert_eq!((*access, place.line), (of, line_of(marker).1), "{error}");
}

#[test]
fn copies_of_one_lane_are_not_ordered_until_a_wait() {
    let run = |between| {
        let mut d = [5; 128];
        let report = store_twice::simulate(1, &mut d, between);
        report.and_then(|report| report.check()).map(|_| d)
    };
    for between in [0, 1, 2] {
        let error = run(between).unwrap_err();
        assert_in_flight(&error, AccessKind::Write, "first");
        assert_elected_at(&error, "second", (0, 0, 0), 0);
    }
    let error = run(4).unwrap_err();
    assert_in_flight(&error, AccessKind::Reduction, "first");
    assert_elected_at(&error, "reduced", (0, 0, 0), 0);
    assert_eq!(run(3).unwrap(), [2; 128]);
    assert_eq!(run(5).unwrap(), [8; 128], "reductions come in any order");
}

/// Lanes of warp 0 read the first element that one of them stores, which is only a warning. Warp 1
/// reads the last one.
#[kernel(threads = 64, target = "sm_90")]
fn store_behind_reads(block: &Block, #[shared] tile: Tile, d: GlobalMut<u32>, others: u32) {
    let (warp, index) = (block.warp(), block.warp().index());
    tile.fill(block, |_, _| 1);
    warp.fence_for_bulk();
    block.sync();
    if index == 1 {
        warp.each(|lane| {
            if others == 1 {
                d.get(lane, 127);
            }
        });
        return;
    }
    warp.each(|lane| {
        d.get(lane, 0);
    });
    warp.elect(|lane| {
        tile.store_tma(lane, d.bulk(0));
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
}

#[test]
fn warning_does_not_hide_an_error_in_a_later_element() {
    for seed in 0..16 {
        let run =
            |others| store_behind_reads::launch(&Simulator::new(seed), 1, &mut [5; 128], others);
        assert!(run(0).unwrap().check().is_err(), "a warning");
        let error = run(1).expect_err("nothing orders warps 0 and 1");
        assert!(
            matches!(error.misuse, Misuse::Race { .. } | Misuse::StoreInFlight { .. }),
            "{error}"
        );
    }
}

/// Warp 0 starts a copy. Behind a `sync`, warp 1 starts another. `full` selects the wait before.
#[kernel(threads = 64, target = "sm_90")]
fn store_by_two(block: &Block, #[shared] tiles: [Tile; 2], d: GlobalMut<u32>, full: u32) {
    let (warp, index) = (block.warp(), block.warp().index());
    tiles[0].fill(block, |_, _| 1);
    tiles[1].fill(block, |_, _| 2);
    warp.fence_for_bulk();
    block.sync();
    if index == 0 {
        warp.elect(|lane| {
            tiles[0].store_tma(lane, d.bulk(0)); // <- of warp 0
            BulkGroup::commit(lane);
            match full {
                0 => BulkGroup::wait_read::<0>(lane),
                _ => BulkGroup::wait::<0>(lane),
            }
        });
    }
    block.sync();
    if index == 1 {
        warp.elect(|lane| {
            tiles[1].store_tma(lane, d.bulk(0)); // <- of warp 1
            BulkGroup::commit(lane);
            BulkGroup::wait::<0>(lane);
        });
    }
}

#[test]
fn copy_of_another_warp_is_still_in_flight() {
    for seed in 0..4 {
        let run = |full| {
            let mut d = [5; 128];
            let report = store_by_two::launch(&Simulator::new(seed), 1, &mut d, full);
            report.and_then(|report| report.check()).map(|_| d)
        };
        let error = run(0).unwrap_err();
        assert_in_flight(&error, AccessKind::Write, "of warp 0");
        assert_elected_at(&error, "of warp 1", (0, 0, 0), 1);
        assert_eq!(run(1).unwrap(), [2; 128]);
    }
}

/// Warp 1 accesses elements, without an order with the copy of warp 0. The `sync` before the wait
/// does not order it with the start of the copy.
#[kernel(threads = 64, target = "sm_90")]
fn wait_behind_a_sync(
    block: &Block,
    #[shared] tile: Tile,
    d: GlobalMut<u32>,
    e: GlobalMut<u32>,
    writes: bool,
) {
    let (warp, index) = (block.warp(), block.warp().index());
    tile.fill(block, |_, _| 1);
    warp.fence_for_bulk();
    block.sync();
    if index == 0 {
        warp.elect(|lane| {
            tile.store_tma(lane, d.bulk(0));
            BulkGroup::commit(lane);
        });
    } else if writes {
        warp.each(|lane| d.set(lane.id(), 77));
    } else {
        warp.each(|lane| e.set(lane.id(), d.get(lane, lane.id())));
    }
    block.sync();
    if index == 0 {
        warp.elect(|lane| BulkGroup::wait::<0>(lane));
    }
}

#[test]
fn access_before_or_after_the_start_is_an_error_in_every_schedule() {
    for writes in [false, true] {
        let misuses = (0..16).map(|seed| {
            let (mut d, mut e) = ([5; 128], [0; 32]);
            let simulator = Simulator::new(seed);
            let report = wait_behind_a_sync::launch(&simulator, 1, &mut d, &mut e, writes);
            report.and_then(|report| report.check()).unwrap_err().misuse.clone()
        });
        let misuses: Vec<Misuse> = misuses.collect();
        assert!(
            misuses.iter().all(|misuse| matches!(
                misuse,
                Misuse::StoreInFlight { .. } | Misuse::Race { access: AccessKind::Write, .. }
            )),
            "{misuses:?}"
        );
        for is_race in [false, true] {
            let found = misuses.iter().any(|of| matches!(of, Misuse::Race { .. }) == is_race);
            assert!(found, "both orders of the warps: {misuses:?}");
        }
    }
}

/// Block 0 starts a copy or a reduction. Block 1 accesses the elements. `waits` selects the wait.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn store_of_a_peer(
    block: &ClusterBlock<2>,
    #[shared] tile: Tile,
    d: GlobalMut<u32>,
    e: GlobalMut<u32>,
    reduces: bool,
    waits: u32,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    if cluster.rank() == 0 {
        tile.fill(warp, |_, _| 7);
        warp.fence_for_bulk();
        warp.sync();
        warp.elect(|lane| {
            if reduces {
                tile.reduce_tma(lane, reduction::Add, d.bulk(0)); // <- reduction of block 0
            } else {
                tile.store_tma(lane, d.bulk(0)); // <- copy of block 0
            }
            BulkGroup::commit(lane);
            if waits == 2 {
                BulkGroup::wait::<0>(lane);
            } else {
                BulkGroup::wait_read::<0>(lane);
            }
        });
    }
    cluster.sync();
    if cluster.rank() == 1 && reduces {
        warp.each(|lane| d.set(lane.id(), 100)); // <- write of block 1
    } else if cluster.rank() == 1 {
        warp.each(|lane| e.set(lane.id(), d.get(lane, lane.id()))); // <- read of block 1
    }
    // Otherwise the block ends before the copy.
    if waits > 0 {
        cluster.sync();
        if cluster.rank() == 0 {
            warp.elect(|lane| BulkGroup::wait::<0>(lane));
        }
    }
}

#[test]
fn copy_of_another_block_is_still_in_flight() {
    for seed in 0..8 {
        let run = |reduces, waits| {
            let (mut d, mut e) = ([1; 128], [0; 32]);
            let simulator = Simulator::new(seed);
            let report = store_of_a_peer::launch(&simulator, 2, &mut d, &mut e, reduces, waits);
            report.and_then(|report| report.check()).map(|_| (d[0], e[0]))
        };
        for waits in [0, 1] {
            let error = run(false, waits).unwrap_err();
            assert_in_flight(&error, AccessKind::Read, "copy of block 0");
            assert_at(&error, "read of block 1", (1, 0, 0), 0, Some(0));
            let error = run(true, waits).unwrap_err();
            assert_in_flight(&error, AccessKind::Write, "reduction of block 0");
            assert_at(&error, "write of block 1", (1, 0, 0), 0, Some(0));
        }
        assert_eq!(run(false, 2).unwrap(), (7, 7));
        assert_eq!(run(true, 2).unwrap(), (100, 0));
    }
}

/// Warps 0 and 1 reduce the same elements. Warp 1 waits for its own reduction, and reads.
#[kernel(threads = 64, target = "sm_90")]
fn reduce_by_two(block: &Block, #[shared] tile: Tile, d: GlobalMut<u32>, e: GlobalMut<u32>) {
    let (warp, index) = (block.warp(), block.warp().index());
    tile.fill(block, |_, _| 1);
    warp.fence_for_bulk();
    block.sync();
    if index == 0 {
        warp.elect(|lane| {
            tile.reduce_tma(lane, reduction::Add, d.bulk(0)); // <- reduction in flight
            BulkGroup::commit(lane);
            BulkGroup::wait_read::<0>(lane);
        });
    }
    block.sync();
    if index == 1 {
        warp.elect(|lane| {
            tile.reduce_tma(lane, reduction::Add, d.bulk(0));
            BulkGroup::commit(lane);
            BulkGroup::wait::<0>(lane);
        });
        warp.sync();
        warp.each(|lane| e.set(lane.id(), d.get(lane, lane.id()))); // <- read beside it
    }
}

#[test]
fn report_names_the_copy_that_is_in_flight() {
    for seed in 0..4 {
        let report = reduce_by_two::launch(&Simulator::new(seed), 1, &mut [5; 128], &mut [0; 32]);
        let error = report.and_then(|report| report.check()).unwrap_err();
        assert_in_flight(&error, AccessKind::Read, "reduction in flight");
        assert_at(&error, "read beside it", (0, 0, 0), 1, Some(0));
    }
}

/// All lanes write an element, and one starts a copy to it. Without a `sync`, other lanes may be
/// later.
#[kernel(threads = 32, target = "sm_90")]
fn store_behind_a_uniform_write(
    block: &Block,
    #[shared] tile: Tile,
    d: GlobalMut<u32>,
    syncs: bool,
) {
    let warp = block.warp();
    tile.fill(warp, |_, _| 2);
    d.set(0, 1);
    warp.fence_for_bulk();
    warp.fence_global_for_bulk();
    if syncs {
        warp.sync();
    }
    warp.elect(|lane| {
        tile.store_tma(lane, d.bulk(0));
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
}

#[test]
fn write_of_all_lanes_races_with_the_copy_of_one() {
    let run = |syncs| {
        let report = store_behind_a_uniform_write::simulate(1, &mut [0; 128], syncs);
        report.and_then(|report| report.check())
    };
    run(true).unwrap();
    let races = run(false).unwrap_err().findings().iter().any(|finding| {
        matches!(
            &finding.misuse,
            Misuse::Race { access: AccessKind::Write, other_access: AccessKind::Write, memory, .. }
                if matches!(memory, Memory::Global { name: "d", .. })
        )
    });
    assert!(races);
}

/// Block 0 reduces `d`, waits and arrives at block 1, which reads `d`. `releases` says whether the
/// arrival publishes writes.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn read_behind_a_reduction(
    block: &ClusterBlock<2>,
    #[shared] (tile, full): (Tile, BarrierMemory),
    d: GlobalMut<u32>,
    e: GlobalMut<u32>,
    releases: bool,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let full = full.init(block, 1);
    tile.fill(warp, |_, _| 7);
    warp.fence_for_bulk();
    cluster.sync();
    if cluster.rank() == 0 {
        let full = full.of(cluster.peer(1));
        warp.elect(|lane| {
            tile.reduce_tma(lane, reduction::Add, d.bulk(0));
            BulkGroup::commit(lane);
            BulkGroup::wait::<0>(lane);
            if releases {
                full.arrive(lane);
            } else {
                full.arrive_having_read(lane);
            }
        });
    } else {
        full.wait_for_cluster(warp, Phase::FIRST);
        warp.each(|lane| e.set(lane.id(), d.get(lane, lane.id())));
    }
    cluster.sync();
}

#[test]
fn an_arrival_that_releases_no_writes_publishes_no_reduction() {
    let run = |seed, releases| {
        let (mut d, mut e) = ([5; 128], [0; 32]);
        let device = Simulator::new(seed);
        read_behind_a_reduction::launch(&device, 2, &mut d, &mut e, releases)?.check()?;
        Ok::<_, SimError>(e)
    };
    for seed in 0..4 {
        assert_eq!(run(seed, true).unwrap(), [12; 32]);
        let error = run(seed, false).unwrap_err();
        assert!(matches!(error.misuse, Misuse::Race { .. }), "{error}");
    }
}
