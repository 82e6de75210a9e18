//! Operations on mbarriers that another schedule would put into another phase. One run finds them,
//! whatever the schedule.

use crate::{assert_at, line_of};
use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{BarrierMisuse, Misuse, SimError, Simulator};

type Row = SharedTile<u32, 2, 32>;
const BYTES: u32 = Row::BULK_BYTES;

/// Runs the kernel with several seeds. Each must find an error.
fn find(run: impl Fn(Simulator) -> Result<ptx_matrix::sim::Report, SimError>) -> Vec<SimError> {
    (0..16).map(|seed| run(Simulator::new(seed)).expect_err("something is wrong")).collect()
}

#[track_caller]
fn is_barrier_misuse(error: &SimError, expected: BarrierMisuse) {
    let Misuse::Barrier { misuse, .. } = error.misuse else { panic!("{error}") };
    assert_eq!(misuse, expected, "{error}");
}

/// Warp 1 reads stages that warp 0 fills by TMA. `how` is 1 for a release of the next stage, 2 for
/// one of the stage before.
#[kernel(threads = 64, target = "sm_90")]
fn pipeline(
    block: &Block,
    #[shared] ring: SharedRing<Row, 3>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, 3>, SharedRing<BarrierMemory, 3>),
    a: Global<u32>,
    d: GlobalMut<u32>,
    steps: usize,
    how: u32,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, 1));
    let warp = block.warp();
    let mut state = PipelineState::FIRST;
    for step in 0..steps {
        let (tile, full) = (ring.stage(state.index()), full.stage(state.index()));
        if warp.index() == 0 {
            empty.stage(state.index()).wait(warp, state.prev_phase()); // <- stage awaited
            warp.elect(|lane| {
                full.arrive_expecting(lane, BYTES);
                tile.load_tma(lane, a.bulk(step * 64), full);
            });
        } else {
            full.wait(warp, state.phase());
            tile.for_each(warp, |row, col, value| d.set(step * 64 + row * 32 + col, value));
            warp.sync();
            let released = match how {
                1 => state.index().next(),
                2 => state.index().before(),
                _ => state.index(),
            };
            warp.elect(|lane| _ = empty.stage(released).arrive(lane)); // <- stage released
        }
        state = state.next();
    }
}

#[test]
fn phase_must_not_end_before_the_wait_for_the_one_before() {
    let a: Vec<u32> = (0..640).collect();
    let run = |simulator: Simulator, steps, how| {
        pipeline::launch(&simulator, 1, &a, &mut vec![0; steps * 64][..], steps, how)
    };
    for steps in [1, 3, 4, 10] {
        run(Simulator::new(0).schedules(32), steps, 0).unwrap();
    }
    for (steps, how) in [(2, 1), (10, 1), (3, 2)] {
        for error in find(|simulator| run(simulator, steps, how)) {
            let Misuse::PhaseMayEnd { wait, .. } = &error.misuse else { panic!("{error}") };
            assert_at(&error, "stage released", (0, 0, 0), 1, error.lane);
            assert_eq!((wait.place.file.clone(), wait.place.line), line_of("stage awaited"));
            assert_eq!(wait.warp, 0);
        }
    }
}

/// Warp 0 of block 1 arrives twice at a barrier of block 0. It waits for warp 1 in between, which
/// does not order the second arrival after the first wait of warp 0.
#[kernel(threads = 64, cluster = 2, target = "sm_90")]
fn arrive_at_a_peer(
    block: &ClusterBlock<2>,
    #[shared] (ready, go): (BarrierMemory, BarrierMemory),
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let (ready, go) = (ready.init(block, 1), go.init(block, 1));
    cluster.sync();
    match (cluster.rank(), warp.index()) {
        (0, 0) => {
            let phase = ready.wait_for_cluster(warp, Phase::FIRST);
            ready.wait_for_cluster(warp, phase);
        }
        (0, _) => {
            let go = go.of(cluster.peer(1));
            warp.elect(|lane| go.arrive(lane));
        }
        (_, 0) => {
            let ready = ready.of(cluster.peer(0));
            warp.elect(|lane| ready.arrive(lane));
            go.wait_for_cluster(warp, Phase::FIRST);
            warp.elect(|lane| ready.arrive(lane)); // <- arrives at the peer again
        }
        _ => {}
    }
    cluster.sync();
}

#[test]
fn report_names_the_barrier_of_another_block() {
    let errors = find(|simulator| arrive_at_a_peer::launch(&simulator, 2));
    let suspected =
        errors.iter().filter(|error| matches!(error.misuse, Misuse::PhaseMayEnd { .. }));
    for error in suspected.clone() {
        assert_at(error, "arrives at the peer again", (1, 0, 0), 0, error.lane);
        let title = "error: a phase of `ready` of block (0, 0, 0) may end before";
        assert!(error.to_string().starts_with(title), "{error}");
    }
    assert!(suspected.count() > 0);
}

/// Two copies that one barrier awaits. `how` selects the operations that expect their bytes.
#[kernel(threads = 96, target = "sm_90")]
fn expect(
    block: &Block,
    #[shared] (one, two): (Row, Row),
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let full = full.init(block, if how == 4 { 2 } else { 1 });
    let (warp, index) = (block.warp(), block.warp().index());
    if index == 0 {
        warp.elect(|lane| {
            let bytes = if how == 2 { 2 * BYTES } else { BYTES };
            match how {
                3 => full.expect(lane, bytes),
                _ => _ = full.arrive_expecting(lane, bytes),
            }
            one.load_tma(lane, a.bulk(0), full);
            if matches!(how, 1 | 3) {
                full.expect(lane, BYTES); // <- expected late
                two.load_tma(lane, a.bulk(64), full);
            }
            if how == 3 {
                full.arrive(lane);
            }
        });
    } else if index == 1 {
        warp.elect(|lane| match how {
            0 => {
                full.expect(lane, BYTES);
                two.load_tma(lane, a.bulk(64), full);
            }
            2 => two.load_tma(lane, a.bulk(64), full),
            4 => {
                full.arrive_expecting(lane, BYTES);
                two.load_tma(lane, a.bulk(64), full);
            }
            _ => {}
        });
    } else {
        full.wait(warp, Phase::FIRST);
        one.for_each(warp, |row, col, value| d.set(row * 32 + col, value));
        two.for_each(warp, |row, col, value| d.set(64 + row * 32 + col, value));
    }
}

#[test]
fn bytes_must_be_expected_before_the_end_of_the_phase() {
    let a: Vec<u32> = (0..128).collect();
    let run = |simulator: Simulator, how| {
        let mut d = [0; 128];
        let done = expect::launch(&simulator, 1, &a, &mut d, how);
        assert!(done.is_err() || d[..] == a[..]);
        done
    };
    for how in [2, 3, 4] {
        run(Simulator::new(0).schedules(32), how).unwrap();
    }
    for (how, warp) in [(0, 1), (1, 0)] {
        for error in find(|simulator| run(simulator, how)) {
            is_barrier_misuse(&error, BarrierMisuse::ExpectedLate { bytes: BYTES });
            assert_eq!(error.warp, Some(warp), "{error}");
        }
    }
    let error = run(Simulator::new(0), 1).unwrap_err();
    assert_at(&error, "expected late", (0, 0, 0), 0, error.lane);
}

/// One copy is still missing while further bytes are expected: the phase cannot be over.
#[kernel(threads = 32, target = "sm_90")]
fn expect_in_time(
    block: &Block,
    #[shared] tiles: [Row; 3],
    #[shared] full: BarrierMemory,
    a: Global<u32>,
) {
    let full = full.init(block, 1);
    block.warp().elect(|lane| {
        full.arrive_expecting(lane, 2 * BYTES);
        tiles[0].load_tma(lane, a.bulk(0), full);
        full.expect(lane, BYTES);
        tiles[1].load_tma(lane, a.bulk(0), full);
        tiles[2].load_tma(lane, a.bulk(0), full);
    });
    full.wait(block.warp(), Phase::FIRST);
}

#[test]
fn bytes_may_be_expected_while_a_copy_is_missing() {
    expect_in_time::simulate(1, &[1; 64]).check();
}

/// Warp 1 waits for phases 0 and 2 of a barrier, at which warp 0 arrives three times. With `how` 1,
/// it waits for phase 1, too; with 2, a `sync` of the block orders both.
#[kernel(threads = 64, target = "sm_90")]
fn every_second(block: &Block, #[shared] ready: BarrierMemory, how: u32) {
    let ready = ready.init(block, 1);
    let warp = block.warp();
    if warp.index() == 0 {
        warp.elect(|lane| _ = ready.arrive(lane));
        ready.wait(warp, Phase::FIRST);
    } else {
        ready.wait(warp, Phase::FIRST);
    }
    block.sync();
    let mut phase = Phase::FIRST.next();
    if warp.index() == 0 {
        warp.elect(|lane| _ = ready.arrive(lane));
        phase = ready.wait(warp, phase);
    } else if how == 1 {
        ready.wait(warp, phase);
    }
    if how > 0 {
        block.sync();
    }
    if warp.index() == 0 {
        warp.elect(|lane| _ = ready.arrive(lane));
        ready.wait(warp, phase);
    } else {
        ready.wait(warp, Phase::FIRST.next().next()); // <- waited early
    }
}

#[test]
fn wait_must_come_after_the_end_of_the_phase_before() {
    for how in [1, 2] {
        every_second::launch(&Simulator::new(0).schedules(32), 1, how).unwrap();
    }
    let errors = find(|simulator| every_second::launch(&simulator, 1, 0));
    for error in &errors {
        match error.misuse {
            Misuse::Barrier { misuse: BarrierMisuse::PhaseAhead { .. }, .. } => {}
            _ => is_barrier_misuse(error, BarrierMisuse::MayBeEarly),
        }
        assert_at(error, "waited early", (0, 0, 0), 1, error.lane);
    }
    assert!(
        errors.iter().any(|error| error.to_string().contains("may still be in the phase before"))
    );
}

/// Warpgroup 1 waits for a barrier, and its first warp arrives at another one, after which
/// warpgroup 0 ends a phase of the first. `how` is 1 for a `sync` of the warpgroup before this
/// arrival, 2 for a `wgmma` that its four warps have waited for, and 3 for an arrival of each warp.
#[kernel(threads = 256, target = "sm_90a")]
fn in_turn(
    block: &Block,
    #[shared] a: SharedTile<bf16, 64, 16, Swizzle32>,
    #[shared] b: SharedTile<bf16, 16, 8, Swizzle32, ColMajor>,
    #[shared] (turn, passed): (BarrierMemory, BarrierMemory),
    how: u32,
) {
    a.fill(block, |_, _| bf16::ONE);
    b.fill(block, |_, _| bf16::ONE);
    block.warp().fence_for_bulk();
    let turn = turn.init(block, 1);
    let passed = passed.init(block, if how == 3 { 4 } else { 1 });
    let (group, warp) = (block.warp_group(), block.warp());
    if group.index() == 1 {
        turn.wait(warp, PipelineState::<1>::FIRST.prev_phase());
        let mut acc = GroupAccumulator::<8, f32>::zero().begin(group);
        Wgmma::<8, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
            issue.accumulate(a.matrix_a((0, 0)), b.matrix_b((0, 0)));
        });
        let acc = if how == 2 { acc.finish(group).begin(group) } else { acc };
        if how == 1 {
            group.sync();
        }
        if how == 3 || group.warp_rank() == 0 {
            warp.elect(|lane| _ = passed.arrive(lane));
        }
        acc.finish(group);
        turn.wait(warp, Phase::FIRST);
    } else {
        passed.wait(warp, Phase::FIRST);
        if group.warp_rank() == 0 {
            warp.elect(|lane| _ = turn.arrive(lane));
        }
    }
}

#[test]
fn each_warp_of_a_warpgroup_waits_before_the_phase_ends() {
    for how in 1..=3 {
        in_turn::launch(&Simulator::new(0).schedules(32), 1, how).unwrap();
    }
    for error in find(|simulator| in_turn::launch(&simulator, 1, 0)) {
        let waiting = match (&error.misuse, error.warp) {
            (Misuse::PhaseMayEnd { wait, .. }, _) => wait.warp,
            // This seed shows it.
            (Misuse::Barrier { misuse: BarrierMisuse::PhaseMissed { .. }, .. }, Some(warp)) => warp,
            _ => panic!("{error}"),
        };
        assert!((5..8).contains(&waiting), "warp 4 arrives after its wait: {error}");
    }
}

/// Each of two warps starts its copy, arrives, and only then expects the bytes; with `in_time` one
/// of them expects first.
#[kernel(threads = 96, target = "sm_90")]
fn expect_late(
    block: &Block,
    #[shared] rows: [Row; 2],
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    in_time: usize,
) {
    let (warp, full) = (block.warp(), full.init(block, 2));
    let index = warp.index();
    if index == 2 {
        full.wait(warp, Phase::FIRST);
        return;
    }
    warp.elect(|lane| {
        rows[index].load_tma(lane, a.bulk(0), full);
        if index < in_time {
            full.expect(lane, BYTES);
            full.arrive(lane);
        } else {
            full.arrive(lane);
            full.expect(lane, BYTES);
        }
    });
}

#[test]
fn bytes_expected_after_the_arrival_and_the_copy_are_late() {
    let run =
        |in_time| expect_late::launch(&Simulator::new(0).schedules(16), 1, &[0; 128], in_time);
    for in_time in [0, 1] {
        is_barrier_misuse(&run(in_time).unwrap_err(), BarrierMisuse::ExpectedLate { bytes: BYTES });
    }
    run(2).check();
}

/// Lane 3 expects bytes and starts their copy, and lane 5 arrives; with `synced` after a
/// `warp.sync`.
#[kernel(threads = 64, target = "sm_90")]
fn expect_in_another_lane(
    block: &Block,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    synced: bool,
) {
    let (warp, full) = (block.warp(), full.init(block, 1));
    if warp.index() == 1 {
        full.wait(warp, Phase::FIRST);
        return;
    }
    warp.each(|lane| {
        if lane.id() == 3 {
            full.expect(lane, BYTES);
            row.load_tma(lane, a.bulk(0), full);
        }
    });
    if synced {
        warp.sync();
    }
    warp.each(|lane| {
        if lane.id() == 5 {
            full.arrive(lane); // <- arrival of another lane
        }
    });
}

#[test]
fn lanes_of_a_warp_are_not_ordered_at_a_barrier() {
    for seed in 0..16 {
        let run =
            |synced| expect_in_another_lane::launch(&Simulator::new(seed), 1, &[0; 64], synced);
        let error = run(false).unwrap_err();
        is_barrier_misuse(&error, BarrierMisuse::ExpectedLate { bytes: BYTES });
        assert_eq!(error.lane, Some(3), "{error}");
        run(true).check();
    }
}
