//! The bytes of a live mbarrier: only mbarrier instructions may access them. A state belongs to the
//! barrier that returned it.

use crate::{assert_at, line_of};
use ptx_matrix::copy::CpAsync;
use ptx_matrix::mma::{B16, LdMatrix, NoTrans, X1};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{AccessKind, BarrierMisuse, Misuse, SHARED_BASE, SimError, Simulator};

type Tile = SharedTile<u32, 4, 8>;
type Ring = SharedRing<Tile, 1>;

/// The accesses to a barrier's memory in the error, each with its address. Each must name the line
/// of the barrier's initialisation.
#[track_caller]
fn touched(error: &SimError, made: &str) -> Vec<(AccessKind, u32)> {
    let touches = error.findings().iter().filter_map(|finding| match &finding.misuse {
        Misuse::BarrierMemory { access, address, place } => {
            assert_eq!((place.file.clone(), place.line), line_of(made), "{error}");
            Some((*access, *address))
        }
        _ => None,
    });
    touches.collect()
}

/// A barrier in the first eight bytes of a tile. `how` selects an access to it.
#[kernel(threads = 64, target = "sm_90")]
fn tile_and_barrier(
    block: &Block,
    #[shared] ring: Ring,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let (warp, tile) = (block.warp(), ring.part(0));
    tile.fill(block, |_, _| 3);
    warp.fence_for_bulk();
    block.sync();
    let full = full.init(block, 1);
    let barrier = ring.reuse::<BarrierMemory>().init(block, 64); // <- made in a tile
    let first = warp.index() == 0;
    match how {
        1 if first => drop(warp.each(|lane| {
            if lane.id() == 7 {
                tile.set((0, 0), 77)
            }
        })),
        2 if first => drop(warp.each(|lane| {
            if lane.id() == 7 {
                d.set(0, tile.get(lane, (0, 1)))
            }
        })),
        3 if first => {
            warp.each(|lane| {
                if lane.id() == 0 {
                    CpAsync::<16>::copy(lane, &tile, (0, 0), a, 0);
                }
            });
            CpAsync::<16>::commit(warp);
            CpAsync::<16>::wait::<0>(warp);
        }
        4 if first => {
            warp.elect(|lane| {
                full.arrive_expecting(lane, Tile::BULK_BYTES);
                tile.load_tma(lane, a.bulk(0), full);
            });
            full.wait(warp, Phase::FIRST);
        }
        5 if first => warp.elect(|lane| {
            tile.store_tma(lane, d.bulk(0));
            BulkGroup::commit(lane);
            BulkGroup::wait_read::<0>(lane);
        }),
        6 if first => {
            let rows = warp.each(|lane| tile.row((lane.id() % 4, 0)));
            LdMatrix::<X1, NoTrans, B16>::load(warp, rows);
        }
        // The same accesses next to the barrier.
        7 if first => drop(warp.each(|lane| {
            tile.set((0, 2 + lane.id() % 6), 7);
            if lane.id() == 0 {
                CpAsync::<16>::copy(lane, &tile, (1, 0), a, 0);
            }
        })),
        _ => {}
    }
    if how == 7 {
        CpAsync::<16>::commit(warp);
        CpAsync::<16>::wait::<0>(warp);
    }
    warp.each(|lane| {
        barrier.arrive(lane);
    });
    barrier.wait(warp, Phase::FIRST);
    if how >= 8 {
        barrier.invalidate(block);
        block.sync();
        if how == 9 {
            tile.fill(block, |_, _| 5);
            block.sync();
        }
        if first {
            warp.each(|lane| d.set(lane.id(), tile.get(lane, (lane.id() / 8, lane.id() % 8))));
            // <- read after its end
        }
    }
}

#[test]
fn access_to_a_live_barrier_is_an_error() {
    let run = |seed, how| {
        let (a, mut d) = ([1; 32], [0; 32]);
        tile_and_barrier::launch(&Simulator::new(seed), 1, &a, &mut d, how)
            .map(|report| report.check())
    };
    for seed in 0..16 {
        let accesses = |how| {
            let error = run(seed, how).unwrap_err();
            assert!(
                !error.findings().iter().any(|other| matches!(other.misuse, Misuse::Race { .. })),
                "{error}"
            );
            touched(&error, "made in a tile")
        };
        assert_eq!(accesses(1), [(AccessKind::Write, SHARED_BASE)]);
        assert_eq!(accesses(2), [(AccessKind::Read, SHARED_BASE + 4)]);
        assert_eq!(accesses(3)[0], (AccessKind::Copy, SHARED_BASE));
        assert_eq!(accesses(4)[0], (AccessKind::Copy, SHARED_BASE));
        assert_eq!(accesses(5), [(AccessKind::Read, SHARED_BASE)]);
        assert_eq!(accesses(6), [(AccessKind::Read, SHARED_BASE)]);
        for how in [0, 7, 9] {
            run(seed, how).unwrap().unwrap();
        }
        // After `invalidate` it is memory again, with undefined contents.
        let error = run(seed, 8).unwrap_err();
        assert_eq!(
            error.misuse,
            Misuse::SharedUnwritten { address: SHARED_BASE, bytes: 4 },
            "{error}"
        );
        assert_eq!(line_of("read after its end").1, error.place.as_ref().unwrap().line);
    }
    let text = run(0, 1).unwrap_err().to_string();
    assert!(
        text.contains("= the mbarrier is initialised at ")
            && text.contains("tests/simulator/barrier_memory.rs:"),
        "{text}"
    );
}

/// Block 1 accesses the memory of the barrier in block 0.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn of_a_peer(block: &ClusterBlock<2>, #[shared] ring: Ring, #[shared] source: Tile, how: u32) {
    let (warp, cluster, tile) = (block.warp(), block.cluster(), ring.part(0));
    tile.fill(warp, |_, _| 1);
    source.fill(warp, |_, _| 2);
    warp.fence_for_bulk();
    warp.sync();
    let barrier = ring.reuse::<BarrierMemory>().init(block, 1); // <- made in a peer's tile
    cluster.sync();
    let peer = cluster.peer(1 - cluster.rank());
    let (others, full) = (tile.of(peer), barrier.of(peer));
    if cluster.rank() == 1 {
        warp.elect(|lane| match how {
            1 => others.set(lane, (0, 0), 7),
            2 => drop(others.get(lane, (0, 1))),
            3 => others.set(lane, (0, 2), 7), // Next to the barrier.
            _ => full.arrive(lane),
        });
    }
    cluster.sync();
}

#[test]
fn access_to_a_live_peer_barrier_is_an_error() {
    for seed in 0..16 {
        let run = |how| of_a_peer::launch(&Simulator::new(seed), 2, how);
        // An address in the window of the cluster, which contains the rank.
        let of_first = SHARED_BASE | 1 << 24;
        assert_eq!(
            touched(&run(1).unwrap_err(), "made in a peer's tile"),
            [(AccessKind::Write, of_first)]
        );
        assert_eq!(
            touched(&run(2).unwrap_err(), "made in a peer's tile"),
            [(AccessKind::Read, of_first + 4)]
        );
        for how in [3, 4] {
            run(how).unwrap().check().unwrap();
        }
    }
}

/// The same through functions of `raw`.
#[kernel(threads = 32, target = "sm_90")]
fn raw_memory(block: &Block, #[shared] tile: Tile, d: GlobalMut<u32>, how: u32) {
    let address = tile.address();
    block.warp().each(|lane| {
        if lane.id() == 3 {
            // SAFETY: None. This is the bug under test.
            unsafe {
                raw::mbarrier_init_shared_cta_b64(address, 1); // <- made by hand
                match how {
                    1 => raw::st_shared_b32(address + 4, 1),
                    2 => d.set(0, raw::ld_shared_b32(address)),
                    3 => raw::mbarrier_init_shared_cta_b64(address, 2),
                    // The barrier is invalidated in between.
                    4 => {
                        raw::mbarrier_inval_shared_cta_b64(address);
                        raw::mbarrier_init_shared_cta_b64(address, 2);
                    }
                    5 => {
                        raw::mbarrier_inval_shared_cta_b64(address);
                        raw::st_shared_b32(address, 1);
                        d.set(0, raw::ld_shared_b32(address));
                    }
                    _ => raw::st_shared_b32(address + 8, 1),
                }
            }
        }
    });
}

#[test]
fn raw_access_to_a_live_barrier_is_an_error() {
    for seed in 0..4 {
        let run = |how| raw_memory::launch(&Simulator::new(seed), 1, &mut [0], how);
        assert_eq!(
            touched(&run(1).unwrap_err(), "made by hand"),
            [(AccessKind::Write, SHARED_BASE + 4)]
        );
        assert_eq!(
            touched(&run(2).unwrap_err(), "made by hand"),
            [(AccessKind::Read, SHARED_BASE)]
        );
        let again =
            Misuse::Barrier { address: SHARED_BASE, misuse: BarrierMisuse::InitialisedAgain };
        assert_eq!(run(3).unwrap_err().misuse, again);
        for how in [4, 5, 6] {
            run(how).unwrap().check().unwrap();
        }
    }
}

/// A barrier is initialised in memory that is, or is no longer, in use.
#[kernel(threads = 64, target = "sm_90")]
fn made_too_early(
    block: &Block,
    #[shared] ring: Ring,
    a: Global<u32>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let (warp, tile) = (block.warp(), ring.part(0));
    let (first, waits) = (warp.index() == 0, how % 2 == 1);
    match how {
        0 | 1 if first => {
            warp.each(|lane| {
                if lane.id() == 0 {
                    CpAsync::<16>::copy(lane, &tile, (0, 0), a, 0);
                }
            });
            CpAsync::<16>::commit(warp);
            if waits {
                CpAsync::<16>::wait::<0>(warp);
            }
        }
        2 | 3 if first => {
            tile.fill(warp, |_, _| 1);
            warp.fence_for_bulk();
            warp.sync();
            warp.elect(|lane| {
                tile.store_tma(lane, d.bulk(0));
                BulkGroup::commit(lane);
                if waits {
                    BulkGroup::wait_read::<0>(lane);
                }
            });
        }
        4 | 5 => {
            tile.fill(block, |_, _| 1);
            block.sync();
            if !first {
                warp.each(|lane| d.set(lane.id(), tile.get(lane, (lane.id() / 8, lane.id() % 8))));
            }
            if waits {
                block.sync();
            }
        }
        _ => {}
    }
    if how < 4 {
        block.sync();
    }
    let barrier = ring.reuse::<BarrierMemory>().init(block, 64);
    warp.each(|lane| {
        barrier.arrive(lane);
    });
    barrier.wait(warp, Phase::FIRST);
    if first {
        CpAsync::<16>::wait::<0>(warp);
        warp.elect(|lane| BulkGroup::wait_read::<0>(lane));
    }
}

#[test]
fn barrier_init_in_memory_in_use_is_an_error() {
    for seed in 0..16 {
        let run =
            |how| made_too_early::launch(&Simulator::new(seed), 1, &[1; 32], &mut [0; 32], how);
        let is_copy = |misuse: &Misuse| {
            matches!(misuse, Misuse::CopyInFlight { access: AccessKind::BarrierInit, .. })
        };
        let error = run(0).unwrap_err();
        assert!(is_copy(&error.misuse), "{error}");
        let error = run(2).unwrap_err();
        assert!(matches!(error.misuse, Misuse::CopySourceInFlight { .. }), "{error}");
        let error = run(4).unwrap_err();
        // In some orders it is a barrier before the read.
        assert!(
            matches!(
                error.misuse,
                Misuse::Race { .. } | Misuse::BarrierMemory { access: AccessKind::Read, .. }
            ),
            "{error}"
        );
        for how in [1, 3, 5] {
            run(how).unwrap().check().unwrap();
        }
    }
}

/// A barrier is initialised in each round. `ends` says whether it is invalidated before.
#[kernel(threads = 64, target = "sm_90")]
fn in_each_round(block: &Block, #[shared] ring: Ring, ends: u32) {
    let warp = block.warp();
    for _ in 0..3 {
        let barrier = ring.reuse::<BarrierMemory>().init(block, 64);
        warp.each(|lane| {
            barrier.arrive(lane);
        });
        barrier.wait(warp, Phase::FIRST);
        if ends == 1 {
            barrier.invalidate(block);
        }
        block.sync();
    }
}

#[test]
fn barrier_init_without_invalidate_is_an_error() {
    for seed in 0..16 {
        let error = in_each_round::launch(&Simulator::new(seed), 1, 0).unwrap_err();
        let Misuse::Barrier { misuse: BarrierMisuse::InitialisedAgain, .. } = error.misuse else {
            panic!("{error}")
        };
        in_each_round::launch(&Simulator::new(seed), 1, 1).unwrap().check().unwrap();
    }
}

/// A barrier that a copy signals is invalidated. With `waits`, its phase is over before. Otherwise
/// the copy would signal the barrier that is initialised there next. `by_lanes` selects `cp.async`
/// instead of a bulk copy.
#[kernel(threads = 32, target = "sm_90")]
fn ended_in_flight(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    waits: u32,
    by_lanes: u32,
) {
    let warp = block.warp();
    let barrier = full.init(block, if by_lanes == 1 { 32 } else { 1 });
    if by_lanes == 1 {
        tile.copy_async(warp, a, |row, col| row * 8 + col);
        warp.each(|lane| barrier.arrive_when_copied(lane)); // <- arrives later
    } else {
        warp.elect(|lane| {
            barrier.arrive_expecting(lane, Tile::BULK_BYTES);
            tile.load_tma(lane, a.bulk(0), barrier); // <- signals later
        });
    }
    if waits == 1 {
        barrier.wait(warp, Phase::FIRST);
    }
    let next = barrier.invalidate(block).init(block, 1); // <- ends in flight
    warp.elect(|lane| {
        next.arrive_expecting(lane, if waits == 1 { 0 } else { Tile::BULK_BYTES });
    });
    next.wait(warp, Phase::FIRST);
}

#[test]
fn barrier_with_a_copy_in_flight_must_not_be_invalidated() {
    let a = [1; 32];
    for (by_lanes, marker) in [(0, "signals later"), (1, "arrives later")] {
        for seed in 0..16 {
            let run =
                |waits| ended_in_flight::launch(&Simulator::new(seed), 1, &a, waits, by_lanes);
            run(1).check();
            let error = run(0).expect_err("nothing waits for the copy");
            let Misuse::BarrierInFlight { place, .. } = &error.misuse else { panic!("{error}") };
            assert_eq!((place.file.clone(), place.line), line_of(marker), "{error}");
            assert_at(&error, "ends in flight", (0, 0, 0), 0, Some(0));
            assert!(error.to_string().contains("`full` is invalidated while a copy"), "{error}");
        }
    }
}

/// Lanes wait with the state of an arrival: at the same barrier, at another one, or at a later
/// barrier with the same address.
#[kernel(threads = 64, target = "sm_90")]
fn by_state(
    block: &Block,
    #[shared] memory: SharedRing<BarrierMemory, 2>,
    how: u32,
    pending: GlobalMut<u32>,
) {
    let warp = block.warp();
    let (ring, first) = (memory.init(block, 64), warp.index() * 32);
    for _ in 0..3 {
        let [arrivals, others] =
            [0, 1].map(|index| warp.each(|lane| ring.part(index).arrive(lane)));
        match how {
            1 => ring.part(1).wait_behind(warp, &arrivals), // <- at another
            _ => ring.part(0).wait_behind(warp, &arrivals),
        }
        ring.part(1).wait_behind(warp, &others);
        warp.each(|lane| pending.set(first + lane.id(), lane.get(&arrivals).pending()));
    }
    if how == 2 {
        let arrivals = warp.each(|lane| ring.part(0).arrive(lane));
        ring.part(0).wait_behind(warp, &arrivals);
        let ring = ring.invalidate(block).init(block, 64);
        ring.part(0).wait_behind(warp, &arrivals); // <- at a later one
    }
}

#[test]
fn arrival_state_of_another_barrier_is_an_error() {
    for seed in 0..16 {
        let run = |how| {
            let mut pending = [0; 64];
            by_state::launch(&Simulator::new(seed), 1, how, &mut pending)
                .map(|report| (report, pending))
        };
        let (report, mut pending) = run(0).unwrap();
        report.check().unwrap();
        pending.sort_unstable();
        assert_eq!(
            pending,
            core::array::from_fn(|i| i as u32 + 1),
            "each arrival found one more missing"
        );
        for (how, marker, at) in [(1, "at another", 8), (2, "at a later one", 0)] {
            let error = run(how).unwrap_err();
            let misuse = BarrierMisuse::ArrivalOfAnother { address: SHARED_BASE };
            assert_eq!(
                error.misuse,
                Misuse::Barrier { address: SHARED_BASE + at, misuse },
                "{error}"
            );
            assert_eq!(line_of(marker).1, error.place.as_ref().unwrap().line);
        }
    }
}

/// The barriers of the blocks have the same address within their block, but their states differ.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn by_a_peers_state(
    block: &ClusterBlock<2>,
    #[shared] own: BarrierMemory,
    #[shared] states: SharedTile<u32, 2, 4>,
    swap: u32,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let barrier = own.init(block, 1);
    cluster.sync();
    let peer = cluster.peer(if swap == 1 { 1 - cluster.rank() } else { cluster.rank() });
    let of_peer = states.of(peer);
    warp.each(|lane| {
        if lane.id() == 0 {
            // SAFETY: The address is a barrier.
            let state = unsafe { raw::mbarrier_arrive_shared_cta_b64(barrier.address()) };
            of_peer.set(lane, (0, 0), state as u32);
            of_peer.set(lane, (0, 1), (state >> 32) as u32);
        }
    });
    cluster.sync();
    warp.each(|lane| {
        if lane.id() == 0 {
            let [low, high] = [0, 1].map(|col| u64::from(states.get(lane, (0, col))));
            // SAFETY: None, if the state is of another barrier.
            while !unsafe {
                raw::mbarrier_test_wait_shared_cta_b64(barrier.address(), low | high << 32)
            } {}
        }
    });
    cluster.sync();
}

#[test]
fn arrival_state_of_a_peer_barrier_is_an_error() {
    for seed in 0..8 {
        let run = |swap| by_a_peers_state::launch(&Simulator::new(seed), 2, swap);
        run(0).unwrap().check().unwrap();
        let error = run(1).unwrap_err();
        let Misuse::Barrier { misuse: BarrierMisuse::ArrivalOfAnother { .. }, .. } = error.misuse
        else {
            panic!("{error}")
        };
    }
}
