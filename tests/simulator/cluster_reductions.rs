//! Reductions in distributed shared memory: the accesses that may run at the same time, and those
//! that may not.

use crate::assert_at;
use ptx_matrix::copy::reduction;
use ptx_matrix::lane::Grid;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{AccessKind, Agent, Awaited, BarrierMisuse, Misuse, SimError, Simulator};

type Row = SharedTile<u32, 1, 32>;

const FIRST: Grid = Grid { x: 0, y: 0, z: 0 };

/// Blocks 1 and 2 add rows to a row of block 0, which waits for them and reads it. `how` selects a
/// mistake.
#[kernel(threads = 32, cluster = 3, target = "sm_90")]
fn add(
    block: &ClusterBlock<3>,
    #[shared] (own, sums): (Row, Row),
    #[shared] fulls: SharedRing<BarrierMemory, 2>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let fulls = fulls.init(block, 1);
    let (warp, cluster) = (block.warp(), block.cluster());
    let rank = cluster.rank();
    if how != 1 {
        own.fill(warp, |_, col| (rank * 100 + col) as u32);
        warp.fence_for_bulk();
    }
    if how != 2 {
        sums.fill(warp, |_, _| 1);
    }
    if how != 3 {
        warp.fence_for_bulk();
    }
    if how == 1 {
        own.fill(warp, |_, col| (rank * 100 + col) as u32);
    }
    warp.sync();
    if rank == 0 {
        let bytes = match how {
            4 => Row::COPIED_BYTES,
            5 => 2 * Row::COPIED_BYTES + 16,
            _ => Row::COPIED_BYTES * if how == 6 { 1 } else { 2 },
        };
        warp.elect(|lane| {
            fulls.part(0).arrive_expecting(lane, bytes);
            fulls.part(1).arrive_expecting(lane, if how == 6 { bytes } else { 0 });
        });
    }
    cluster.sync();
    let first = cluster.peer(0);
    if rank > 0 {
        // Both complete on the first barrier, or each on its own.
        let full = fulls.part(if how == 6 { rank - 1 } else { 0 });
        warp.elect(|lane| match (how, rank) {
            (7, 2) => own.copy_bulk_to(lane, first, sums, full),
            (8, 2) => drop((0..32).map(|col| sums.of(first).get(lane, (0, col))).sum::<u32>()),
            (9, 2) => sums.of(first).set(lane, (0, 3), 1),
            _ => own.reduce_bulk_to(lane, reduction::Add, first, sums, full),
        });
        if matches!(how, 8 | 9) && rank == 2 {
            warp.elect(|lane| full.of(first).complete(lane, Row::COPIED_BYTES));
        }
    } else {
        match how {
            10 => {}
            // A wait for one of the two barriers.
            6 => drop(fulls.part(d.len() % 2).wait(warp, Phase::FIRST)),
            _ => drop(fulls.part(0).wait(warp, Phase::FIRST)),
        }
        sums.for_each(warp, |_, col, sum| d.set(col, sum)); // <- taken
        if how == 11 {
            // After the wait, the block may write the row.
            warp.each(|lane| sums.set((0, lane.id()), 0));
        }
    }
    if rank == 0 && matches!(how, 6 | 10) {
        for part in 0..2 {
            fulls.part(part).wait(warp, Phase::FIRST);
        }
    }
    cluster.sync();
}

/// The findings for all seeds; each seed must have one.
fn find(len: usize, how: u32) -> Vec<SimError> {
    let run = |seed| add::launch(&Simulator::new(seed), 3, &mut vec![0; len][..], how);
    (0..16).map(|seed| run(seed).expect_err("something is wrong")).collect()
}

#[test]
fn reductions_of_several_blocks_do_not_race() {
    for how in [0, 11] {
        let mut d = [0; 32];
        add::launch(&Simulator::new(0).schedules(64), 3, &mut d, how).check();
        assert_eq!(d, core::array::from_fn(|col| 301 + 2 * col as u32));
    }
}

#[test]
fn reduction_without_a_proxy_fence_is_an_error() {
    for error in find(32, 1) {
        assert!(matches!(error.misuse, Misuse::ProxyFence { .. }), "{error}");
    }
    for error in find(32, 3) {
        assert!(matches!(error.misuse, Misuse::ProxyFence { .. }), "{error}");
    }
}

#[test]
fn reduction_of_unwritten_elements_is_an_error() {
    for error in find(32, 2) {
        assert!(matches!(error.misuse, Misuse::SharedUnwritten { bytes: 128, .. }), "{error}");
    }
}

#[test]
fn barrier_must_expect_the_bytes_of_all_reductions() {
    for error in find(32, 4) {
        let is_expected = |misuse: &Misuse| match misuse {
            Misuse::Barrier { misuse, .. } => {
                matches!(misuse, BarrierMisuse::UnexpectedBytes { bytes: 128 })
            }
            _ => false,
        };
        assert!(error.findings().iter().any(|finding| is_expected(&finding.misuse)), "{error}");
    }
    for error in find(32, 5) {
        let Misuse::Deadlock { waiting, .. } = &error.misuse else { panic!("{error}") };
        let lacks =
            |awaited: &Awaited| matches!(awaited, Awaited::Barrier { arrivals: 0, bytes: 16, .. });
        assert!(waiting.iter().any(|waiting| lacks(&waiting.awaited)), "{error}");
    }
}

/// Whether the error is an access to reduced elements that is unordered, or comes while the
/// reduction is in flight.
fn is_too_early(error: &SimError, accesses: &[AccessKind]) -> bool {
    error.findings().iter().any(|finding| match &finding.misuse {
        Misuse::CopyInFlight { access, .. } => accesses.contains(access),
        Misuse::Race { access, other_access, other, .. } => {
            let by_reduction =
                *other_access == AccessKind::Reduction && *other == Agent::Asynchronous;
            accesses.contains(access) && by_reduction
                || *access == AccessKind::Reduction && accesses.contains(other_access)
        }
        _ => false,
    })
}

#[test]
fn read_before_all_waits_is_an_error() {
    for error in find(32, 10) {
        assert!(is_too_early(&error, &[AccessKind::Read]), "{error}");
    }
    // One of two barriers is waited for.
    for len in [32, 33] {
        for error in find(len, 6) {
            assert!(is_too_early(&error, &[AccessKind::Read]), "{error}");
        }
    }
    let error = find(32, 6)
        .into_iter()
        .find(|error| matches!(error.misuse, Misuse::CopyInFlight { .. }))
        .unwrap();
    assert_at(&error, "taken", FIRST, 0, Some(0));
}

#[test]
fn access_to_elements_being_reduced_is_an_error() {
    for (how, access) in [(7, AccessKind::Copy), (8, AccessKind::Read), (9, AccessKind::Write)] {
        for error in find(32, how) {
            // A copy counts as a write once it has landed.
            let accesses = if access == AccessKind::Copy {
                &[AccessKind::Copy, AccessKind::Write, AccessKind::Reduction][..]
            } else {
                &[access]
            };
            assert!(is_too_early(&error, accesses), "{error}");
        }
    }
}

/// After a wait for the reductions, the row of the last block replaces the result.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn again(
    block: &ClusterBlock<2>,
    #[shared] (own, sums): (Row, Row),
    #[shared] full: BarrierMemory,
    d: GlobalMut<u32>,
) {
    let full = full.init(block, 1);
    let (warp, cluster) = (block.warp(), block.cluster());
    own.fill(warp, |_, col| col as u32);
    sums.fill(warp, |_, _| 5);
    warp.fence_for_bulk();
    warp.sync();
    let mut phase = Phase::FIRST;
    for round in 0..3 {
        if cluster.rank() == 0 {
            warp.elect(|lane| {
                full.arrive_expecting(lane, Row::COPIED_BYTES);
            });
        }
        cluster.sync();
        let first = cluster.peer(0);
        if cluster.rank() == 1 {
            warp.elect(|lane| match round {
                1 => own.copy_bulk_to(lane, first, sums, full),
                _ => own.reduce_bulk_to(lane, reduction::Max, first, sums, full),
            });
        } else {
            phase = full.wait(warp, phase);
            sums.for_each(warp, |_, col, value| d.set(round * 32 + col, value));
        }
        cluster.sync();
    }
}

#[test]
fn copies_and_reductions_alternate() {
    let mut d = [0; 96];
    again::launch(&Simulator::new(0).schedules(32), 2, &mut d).check();
    assert_eq!(d, core::array::from_fn(|i| if i < 32 { (i as u32).max(5) } else { i as u32 % 32 }));
}

/// Warp 0 of block 0 waits for a reduction, and copies the result. Warp 1 waits for the copy only,
/// and overwrites the result. `how` selects a mistake.
#[kernel(threads = 64, cluster = 2, target = "sm_90")]
fn hand_on(
    block: &ClusterBlock<2>,
    #[shared] (own, sums): (Row, Row),
    #[shared] fulls: SharedRing<BarrierMemory, 2>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let fulls = fulls.init(block, 1);
    let (warp, cluster) = (block.warp(), block.cluster());
    if warp.index() == 0 {
        own.fill(warp, |_, col| col as u32);
        sums.fill(warp, |_, _| 5);
        warp.fence_for_bulk();
        warp.elect(|lane| {
            for part in 0..2 {
                fulls.part(part).arrive_expecting(lane, Row::COPIED_BYTES);
            }
        });
    }
    cluster.sync();
    let first = cluster.peer(0);
    match (cluster.rank(), warp.index()) {
        (1, 0) => warp.elect(|lane| {
            own.reduce_bulk_to(lane, reduction::Add, first, sums, fulls.part(0));
        }),
        (0, 0) => {
            if how != 1 {
                fulls.part(0).wait(warp, Phase::FIRST);
            }
            warp.elect(|lane| sums.copy_bulk_to(lane, first, own, fulls.part(1)));
        }
        (0, 1) => {
            if how != 2 {
                fulls.part(1).wait(warp, Phase::FIRST);
            }
            sums.fill(warp, |_, _| 0);
            own.for_each(warp, |_, col, sum| d.set(col, sum));
        }
        _ => {}
    }
    if warp.index() == 0 && cluster.rank() == 0 {
        fulls.part(0).wait(warp, Phase::FIRST);
    }
    cluster.sync();
}

#[test]
fn wait_for_a_copy_covers_the_reductions_before_it() {
    let mut d = [0; 32];
    hand_on::launch(&Simulator::new(0).schedules(64), 2, &mut d, 0).check();
    assert_eq!(d, core::array::from_fn(|col| 5 + col as u32));
    for (how, accesses) in [
        (1, &[AccessKind::Copy, AccessKind::Read][..]),
        (2, &[AccessKind::Write, AccessKind::Copy, AccessKind::Read]),
    ] {
        for seed in 0..16 {
            let run = hand_on::launch(&Simulator::new(seed), 2, &mut [0; 32], how);
            let error = run.expect_err("something is wrong");
            assert!(is_too_early(&error, accesses), "{how}: {error}");
        }
    }
}
