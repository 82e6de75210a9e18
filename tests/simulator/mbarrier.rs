//! mbarriers: the order that they create, and misuses of barriers.

use crate::{assert_at, assert_elected_at, line_of};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{
    AccessKind, Agent, Awaited, BarrierMisuse, EndedWarp, Misuse, SHARED_BASE, SimError, Simulator,
};
use ptx_matrix::{raw, sim};

type Row = SharedTile<u32, 1, 32>;

/// The misuse of an mbarrier in the error.
#[track_caller]
fn misuse(error: &SimError) -> BarrierMisuse {
    let Misuse::Barrier { misuse, .. } = error.misuse else { panic!("{error}") };
    misuse
}

/// Warp 0 writes a row and arrives. Warp 1 waits and reads it. `how` selects the arrivals, or a
/// mistake.
#[kernel(threads = 64, target = "sm_90")]
fn hand_over(
    block: &Block,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    d: GlobalMut<u32>,
    how: u32,
) {
    let full = full.init(block, if how == 0 { 32 } else { 1 });
    let (warp, index) = (block.warp(), block.warp().index());
    if index == 0 {
        match how {
            // Each lane writes and arrives.
            0 => {
                warp.each(|lane| {
                    row.set((0, lane.id()), 7);
                    full.arrive(lane);
                });
            }
            // One lane arrives for all, after a `sync`.
            1 => {
                warp.each(|lane| row.set((0, lane.id()), 7));
                warp.sync();
                warp.elect(|lane| {
                    full.arrive(lane);
                });
            }
            // One lane arrives for all, without a `sync`.
            2 => {
                warp.each(|lane| row.set((0, lane.id()), 7)); // <- written
                warp.elect(|lane| {
                    full.arrive(lane);
                });
            }
            // The lane arrives before the writes.
            _ => {
                warp.elect(|lane| {
                    full.arrive(lane);
                });
                warp.sync();
                warp.each(|lane| row.set((0, lane.id()), 7));
            }
        }
    } else {
        if how != 4 {
            full.wait(warp, Phase::FIRST);
        }
        warp.each(|lane| d.set(lane.id(), row.get(lane, (0, 31 - lane.id())))); // <- read
    }
}

#[test]
fn waiter_sees_the_writes_before_the_arrivals() {
    for seed in 0..8 {
        let run = |how| {
            let mut d = [0; 32];
            hand_over::launch(&Simulator::new(seed), 1, &mut d, how)
                .and_then(|report| report.check())
                .map(|_| d)
        };
        assert_eq!(run(0).unwrap(), [7; 32]);
        assert_eq!(run(1).unwrap(), [7; 32]);
        for how in [2, 3] {
            let error = run(how).unwrap_err();
            let is_race = |misuse: &Misuse| {
                matches!(misuse, Misuse::Race { .. } | Misuse::SharedUnwritten { .. })
            };
            assert!(
                error.findings().iter().all(|finding| is_race(&finding.misuse)),
                "{how}: {error}"
            );
            let race = error
                .findings()
                .iter()
                .find(|finding| matches!(finding.misuse, Misuse::Race { .. }))
                .unwrap();
            let Misuse::Race { other: Agent::WarpOfBlock(_), .. } = race.misuse else {
                panic!("{error}")
            };
        }
    }
    let error = hand_over::simulate(1, &mut [0; 32], 2).unwrap_err();
    let Misuse::Race { other_place, .. } = &error.misuse else { panic!("{error}") };
    assert_eq!((other_place.file.clone(), other_place.line), line_of("written"));
    assert_at(&error, "read", (0, 0, 0), 1, Some(0));
}

/// Several warps read a row, and each arrives except for `silent`. Then warp 0 writes the row
/// again.
#[kernel(threads = 128, target = "sm_90")]
fn many_readers(block: &Block, #[shared] row: Row, #[shared] empty: BarrierMemory, silent: usize) {
    let (warp, index) = (block.warp(), block.warp().index());
    row.fill(block, |_, col| col as u32);
    let empty = empty.init(block, 3);
    if index > 0 {
        warp.each(|lane| row.get(lane, (0, 31 - lane.id()))); // <- read by many
        warp.sync();
        warp.elect(|lane| {
            // Another warp arrives twice in place of the silent one.
            match (index == silent, index == silent % 3 + 1 && silent > 0) {
                (true, _) => {}
                (_, other) => drop(empty.arrive_times(lane, 1 + u32::from(other))),
            }
        });
    } else {
        empty.wait(warp, Phase::FIRST);
        warp.each(|lane| row.set((0, lane.id()), 0)); // <- written again
    }
}

#[test]
fn writer_that_skips_a_readers_arrival_races() {
    for seed in 0..20 {
        many_readers::launch(&Simulator::new(seed), 1, 0).unwrap().check().unwrap();
        for silent in 1..4 {
            let error = many_readers::launch(&Simulator::new(seed), 1, silent).unwrap_err();
            let Misuse::Race { access, other_access, other, .. } = error.misuse else {
                panic!("{error}")
            };
            let expected = if access == AccessKind::Write {
                (AccessKind::Read, silent)
            } else {
                (AccessKind::Write, 0)
            };
            assert_eq!(
                (other_access, other),
                (expected.0, Agent::WarpOfBlock(expected.1)),
                "{error}"
            );
        }
    }
}

/// A warp learns of a write from another warp, and passes that on to a third one.
#[kernel(threads = 96, target = "sm_90")]
fn chain(
    block: &Block,
    #[shared] row: Row,
    #[shared] barriers: SharedRing<BarrierMemory, 2>,
    d: GlobalMut<u32>,
) {
    let barriers = barriers.init(block, 1);
    let (warp, index) = (block.warp(), block.warp().index());
    if index == 0 {
        warp.elect(|_| row.set((0, 5), 9)); // The lane that arrives.
    } else {
        barriers.part(index - 1).wait(warp, Phase::FIRST);
    }
    if index < 2 {
        warp.elect(|lane| {
            barriers.part(index).arrive(lane);
        });
    } else {
        warp.each(|lane| d.set(lane.id(), row.get(lane, (0, 5))));
    }
}

#[test]
fn waits_order_transitively() {
    let mut d = [0; 32];
    chain::launch(&Simulator::new(3).schedules(20), 1, &mut d).check();
    assert_eq!(d, [9; 32]);
}

/// Every lane arrives and waits several times: a barrier of all warps.
#[kernel(threads = 96, target = "sm_90")]
fn rounds(
    block: &Block,
    #[shared] row: SharedTile<u32, 1, 96>,
    #[shared] all: BarrierMemory,
    d: GlobalMut<u32>,
) {
    let all = all.init(block, 96);
    let (warp, index) = (block.warp(), block.warp().index());
    let first = index * 32;
    for round in 0..3 {
        warp.each(|lane| row.set((0, first + lane.id()), (round * 100 + first + lane.id()) as u32));
        for _ in 0..2 {
            let arrivals = warp.each(|lane| all.arrive(lane));
            all.wait_behind(warp, &arrivals);
            if round < 2 {
                continue;
            }
            warp.each(|lane| d.set(first + lane.id(), row.get(lane, (0, 95 - first - lane.id()))));
        }
    }
}

#[test]
fn mbarrier_counts_all_threads() {
    let mut d = [0; 96];
    rounds::launch(&Simulator::new(0).schedules(10), 1, &mut d).check();
    assert_eq!((d[0], d[95]), (295, 200));
}

/// A barrier for two arrivals. Warp 0 arrives `arrivals` times, expects `expected` bytes and
/// completes `come` bytes. Warp 1 waits.
#[kernel(threads = 64, target = "sm_90")]
fn transactions(
    block: &Block,
    #[shared] barrier: BarrierMemory,
    arrivals: u32,
    expected: u32,
    come: u32,
) {
    let barrier = barrier.init(block, 2);
    let (warp, index) = (block.warp(), block.warp().index());
    if index == 0 {
        warp.elect(|lane| {
            barrier.expect(lane, expected); // <- expects
            for _ in 0..arrivals {
                barrier.arrive(lane); // <- arrives
            }
            if come > 0 {
                barrier.complete(lane, come); // <- comes
            }
        });
    } else {
        barrier.wait(warp, Phase::FIRST); // <- waits
    }
}

#[test]
fn phase_without_its_arrivals_or_bytes_is_a_deadlock() {
    transactions::simulate(1, 2, 512, 512).check();
    transactions::simulate(1, 2, 0, 0).check();
    for (arrivals, expected, come, lacks) in
        [(1, 0, 0, (1, 0)), (2, 512, 500, (0, 12)), (1, 64, 32, (1, 32))]
    {
        for seed in 0..8 {
            let error = transactions::launch(&Simulator::new(seed), 1, arrivals, expected, come)
                .unwrap_err();
            let Misuse::Deadlock { waiting, ended, .. } = &error.misuse else { panic!("{error}") };
            let [waiting] = &waiting[..] else { panic!("{error}") };
            let awaited = Awaited::Barrier {
                address: SHARED_BASE,
                phase: 0,
                of: 2,
                arrivals: lacks.0,
                bytes: lacks.1,
            };
            assert_eq!(
                (waiting.warp, waiting.awaited, ended),
                (1, awaited, &vec![EndedWarp { warp: 0, block: None }])
            );
            match lacks.0 {
                0 => assert_elected_at(&error, "expects", (0, 0, 0), 0),
                _ => assert_at(&error, "waits", (0, 0, 0), None, None),
            }
        }
    }
    let text = transactions::simulate(1, 1, 64, 32).unwrap_err().to_string();
    let lacks = "1 of 2 arrivals missing; 32 of the bytes that it expects have not come";
    let title = format!(
        "error: deadlock: warp 1 waits for `barrier`, and nothing ends its phase 0: {lacks}\n"
    );
    assert!(text.starts_with(&title), "{text}");
    let (file, line) = line_of("waits");
    let waits =
        format!("\n   = warp 1 waits for `barrier` at {file}:{line}:17, phase 0: {lacks}\n");
    assert!(text.contains(&waits), "{text}");
    let (file, line) = line_of("arrives");
    assert!(
        text.contains(&format!("\n   = in phase 0 arrived warp 0 at {file}:{line}:25\n")),
        "{text}"
    );
}

#[test]
fn too_many_arrivals_or_bytes_are_errors() {
    let error = transactions::simulate(1, 3, 8, 0).unwrap_err();
    assert_eq!(misuse(&error), BarrierMisuse::TooManyArrivals { of: 2 });
    assert_elected_at(&error, "arrives", (0, 0, 0), 0);
    let error = transactions::simulate(1, 2, 8, 12).unwrap_err();
    assert_eq!(misuse(&error), BarrierMisuse::UnexpectedBytes { bytes: 4 });
    assert_elected_at(&error, "expects", (0, 0, 0), 0);
    let error = transactions::simulate(1, 0, 1 << 20, 0).unwrap_err();
    assert_eq!(misuse(&error), BarrierMisuse::TooManyBytes { bytes: 1 << 20 });
}

/// A lane arrives and lowers the count of later phases, and then it arrives `more` times.
#[kernel(threads = 32, target = "sm_90")]
fn last_arrival(block: &Block, #[shared] barrier: BarrierMemory, more: u32) {
    let (warp, barrier) = (block.warp(), barrier.init(block, 3));
    warp.elect(|lane| _ = barrier.arrive_drop(lane));
    warp.elect(|lane| _ = barrier.arrive_times(lane, more));
    barrier.wait(warp, Phase::FIRST);
}

#[test]
fn a_lowered_count_is_that_of_the_next_phase() {
    last_arrival::simulate(1, 2).check();
    let error = last_arrival::simulate(1, 1).unwrap_err().to_string();
    assert!(error.contains("phase 0: 1 of 3 arrivals missing"), "{error}");
    let error = last_arrival::simulate(1, 3).unwrap_err();
    assert_eq!(misuse(&error), BarrierMisuse::TooManyArrivals { of: 3 });
}

#[kernel(threads = 32, target = "sm_90")]
fn counts(block: &Block, #[shared] barrier: BarrierMemory, count: u32, arrivals: u32) {
    let barrier = barrier.init(block, count); // <- count
    block.warp().elect(|lane| {
        barrier.arrive_times(lane, arrivals);
    });
}

#[test]
fn arrival_count_out_of_range_is_an_error() {
    counts::simulate(1, 3, 2).check();
    counts::simulate(1, (1 << 20) - 1, 1).check();
    for count in [0, 1 << 20] {
        let error = counts::simulate(1, count, 1).unwrap_err();
        assert_eq!(misuse(&error), BarrierMisuse::Count { count });
        assert_at(&error, "count", (0, 0, 0), 0, Some(0));
    }
    assert_eq!(misuse(&counts::simulate(1, 3, 0).unwrap_err()), BarrierMisuse::Count { count: 0 });
    assert_eq!(
        misuse(&counts::simulate(1, 3, 4).unwrap_err()),
        BarrierMisuse::TooManyArrivals { of: 3 }
    );
}

/// Warp 0 completes `phases` phases, and signals that through another barrier. Only then warp 1
/// waits for the first phase.
#[kernel(threads = 64, target = "sm_90")]
fn late(
    block: &Block,
    #[shared] barrier: BarrierMemory,
    #[shared] done: BarrierMemory,
    phases: u32,
) {
    let (barrier, done) = (barrier.init(block, 1), done.init(block, 1));
    let (warp, index) = (block.warp(), block.warp().index());
    if index == 0 {
        warp.elect(|lane| {
            for _ in 0..phases {
                barrier.arrive(lane);
            }
            done.arrive(lane);
        });
    } else {
        done.wait(warp, Phase::FIRST);
        barrier.wait(warp, Phase::FIRST); // <- too late
    }
}

#[test]
fn wait_for_a_missed_phase_is_an_error() {
    late::simulate(1, 1).check();
    for phases in 2..5 {
        let error = late::simulate(1, phases).unwrap_err();
        assert_eq!(misuse(&error), BarrierMisuse::PhaseMissed { behind: phases - 1 });
        assert_at(&error, "too late", (0, 0, 0), 1, None);
    }
}

/// Warp 0 completes `phases` phases, and signals that through another barrier. Then warp 1 waits
/// for phase `number`. No further phase completes.
#[kernel(threads = 64, target = "sm_90")]
fn early(
    block: &Block,
    #[shared] barrier: BarrierMemory,
    #[shared] done: BarrierMemory,
    phases: u32,
    number: u32,
    how: u32,
) {
    let (barrier, done) = (barrier.init(block, 1), done.init(block, 1));
    let (warp, index) = (block.warp(), block.warp().index());
    if index == 0 {
        warp.elect(|lane| {
            for _ in 0..phases {
                barrier.arrive(lane);
            }
            done.arrive(lane);
        });
    } else {
        let phase = (0..number).fold(Phase::FIRST, |phase, _| phase.next());
        done.wait(warp, Phase::FIRST);
        match how {
            0 => drop(barrier.wait(warp, phase)), // <- too early
            1 => drop(barrier.wait_for_cluster(warp, phase)), // <- too early for the cluster
            2 => warp.elect(|lane| assert!(!barrier.is_over(lane, phase))), // <- tested too early
            _ => drop(barrier.begin_wait(warp, phase).wait(warp)), // <- looked too early
        }
    }
}

#[test]
fn wait_for_a_future_phase_is_an_error() {
    // The phase before the current one; and the current one, if nobody waits for its end.
    for phases in 1..4 {
        early::launch(&Simulator::new(0).schedules(8), 1, phases, phases - 1, 0).check();
        early::launch(&Simulator::new(0).schedules(8), 1, phases, phases, 2).check();
        early::launch(&Simulator::new(0).schedules(8), 1, phases, phases - 1, 3).check();
    }
    let markers =
        ["too early", "too early for the cluster", "tested too early", "looked too early"];
    for (how, marker) in (0..).zip(markers) {
        for (phases, ahead) in [(0, 1), (0, 2), (1, 1), (2, 1), (3, 4)] {
            let error = early::simulate(1, phases, phases + ahead, how).unwrap_err();
            assert_eq!(misuse(&error), BarrierMisuse::PhaseAhead { ahead });
            assert_eq!(error.lane.is_some(), how == 2, "{error}");
            assert_at(&error, marker, (0, 0, 0), 1, error.lane);
        }
    }
    let text = early::simulate(1, 0, 1, 0).unwrap_err().to_string();
    assert!(
        text.contains("is waited for too early: 1 phase before the awaited one has not ended"),
        "{text}"
    );
}

/// A consumer that starts with the second phase. If it comes late enough, the first phase is
/// already complete.
#[kernel(threads = 64, target = "sm_90")]
fn one_phase_ahead(
    block: &Block,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    d: GlobalMut<u32>,
) {
    let full = full.init(block, 32);
    let warp = block.warp();
    if warp.index() == 0 {
        for round in 0..2 {
            warp.each(|lane| {
                row.set((0, lane.id()), round);
                full.arrive(lane);
            });
        }
    } else {
        full.wait(warp, Phase::FIRST.next());
        warp.each(|lane| d.set(lane.id(), row.get(lane, (0, 31 - lane.id()))));
    }
}

#[test]
fn schedules_find_a_wait_one_phase_ahead() {
    let error =
        one_phase_ahead::launch(&Simulator::new(0).schedules(16), 1, &mut [0; 32]).unwrap_err();
    let ahead = |finding: &sim::Finding| {
        matches!(
            finding.misuse,
            Misuse::Barrier { misuse: BarrierMisuse::PhaseAhead { ahead: 1 }, .. }
        )
    };
    assert!(error.findings().iter().any(ahead), "{error}");
}

/// A warp leaves, so later phases need one arrival fewer. The barrier is then invalidated, and its
/// memory becomes another barrier.
#[kernel(threads = 64, target = "sm_90")]
fn leave(block: &Block, #[shared] memory: BarrierMemory, end: u32) {
    let barrier = memory.init(block, 2);
    let (warp, index) = (block.warp(), block.warp().index());
    let mut phase = Phase::FIRST;
    warp.elect(|lane| {
        if index == 0 {
            barrier.arrive_drop(lane);
        } else {
            barrier.arrive(lane);
        }
    });
    if index == 1 {
        phase = barrier.wait(warp, phase);
        for _ in 0..3 {
            warp.elect(|lane| {
                barrier.arrive(lane);
            });
            phase = barrier.wait(warp, phase);
        }
    }
    if end > 0 {
        let memory = barrier.invalidate(block);
        if end > 1 {
            block.sync();
            barrier.wait(warp, phase); // <- after its end
        }
        let again = memory.init(block, 64);
        let arrivals = warp.each(|lane| again.arrive(lane));
        again.wait_behind(warp, &arrivals);
    }
}

#[test]
fn dropped_arrival_is_not_awaited_and_invalid_barrier_is_an_error() {
    leave::launch(&Simulator::new(0).schedules(10), 1, 0).check();
    leave::launch(&Simulator::new(0).schedules(10), 1, 1).check();
    let error = leave::simulate(1, 2).unwrap_err();
    assert_eq!(misuse(&error), BarrierMisuse::Uninitialised);
    let Misuse::Barrier { .. } = error.misuse else { panic!("{error}") };
}

/// The raw functions, used by lanes that wait for each other.
#[kernel(threads = 64, target = "sm_90")]
fn raw_barrier(
    block: &Block,
    #[shared] row: Row,
    #[shared] place: SharedTile<u64, 1, 2>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let (warp, index) = (block.warp(), block.warp().index());
    let address = place.address();
    warp.each(|lane| {
        if index == 0 && lane.id() == 0 && how != 1 {
            // SAFETY: The address is memory for a barrier.
            unsafe { raw::mbarrier_init_shared_cta_b64(address, 1) }
            if how == 2 {
                // SAFETY: None. This is the bug under test.
                unsafe { raw::mbarrier_init_shared_cta_b64(address, 1) }
            }
        }
    });
    if how != 3 {
        block.sync();
    }
    warp.each(|lane| {
        if lane.id() != 3 {
            return;
        }
        // SAFETY: The address is a barrier.
        unsafe {
            if index == 0 {
                row.set((0, 0), 8);
                raw::mbarrier_arrive_shared_cta_b64(address); // <- raw arrival
            } else {
                if how == 4 {
                    while !raw::mbarrier_test_wait_parity_shared_cta_b64(address, 0) {}
                } else {
                    while !raw::mbarrier_try_wait_parity_shared_cta_b64(
                        address,
                        u32::from(how == 5),
                    ) {}
                }
                d.set(0, row.get(lane, (0, 0)));
            }
        }
    });
}

#[test]
fn raw_barriers() {
    let run = |seed, how| {
        let mut d = [0];
        raw_barrier::launch(&Simulator::new(seed), 1, &mut d, how)
            .map(|report| (report.check().unwrap(), d[0]))
    };
    for seed in 0..8 {
        assert_eq!(run(seed, 0).unwrap().1, 8);
        assert_eq!(run(seed, 4).unwrap().1, 8);
        assert_eq!(misuse(&run(seed, 1).unwrap_err()), BarrierMisuse::Uninitialised);
        assert_eq!(misuse(&run(seed, 2).unwrap_err()), BarrierMisuse::InitialisedAgain);
        // Nobody waits for the initialisation, so in some orders the barrier does not exist yet.
        let error = run(seed, 3).unwrap_err();
        let uninitialised =
            Misuse::Barrier { address: SHARED_BASE + 128, misuse: BarrierMisuse::Uninitialised };
        assert!(
            matches!(error.misuse, Misuse::Race { .. }) || error.misuse == uninitialised,
            "{error}"
        );
        // The parity of the phase before: in some orders the wait ends at once.
        let Err(error) = run(seed, 5) else { panic!("{seed}") };
        assert!(matches!(
            error.misuse,
            Misuse::Race { .. } | Misuse::SharedUnwritten { .. } | Misuse::Deadlock { .. }
        ));
    }
}

/// Lane 3 of warp 1 tests whether a row is full, and `how` selects its reaction before it reads the
/// row. Lane 3 of warp 0 fills the row.
#[kernel(threads = 64, target = "sm_90")]
fn try_and(
    block: &Block,
    #[shared] row: Row,
    #[shared] (full, go, other): (BarrierMemory, BarrierMemory, BarrierMemory),
    d: GlobalMut<u32>,
    how: u32,
) {
    let (full, go, other) = (full.init(block, 1), go.init(block, 1), other.init(block, 1));
    let (warp, index) = (block.warp(), block.warp().index());
    let tried = |barrier: Barrier| {
        // SAFETY: The address is a barrier.
        unsafe { raw::mbarrier_try_wait_parity_shared_cta_b64(barrier.address(), 0) } // <- tries
    };
    warp.each(|lane| {
        if lane.id() != 3 {
            return;
        }
        if index == 0 {
            match how {
                2 => while !tried(go) {},
                4 => while !go.is_over(lane, Phase::FIRST) {},
                _ => {}
            }
            row.set((0, 0), 8);
            if how == 3 {
                other.arrive(lane);
                while !tried(go) {}
            }
            if how != 5 {
                full.arrive(lane);
            }
            return;
        }
        match how {
            // Treats every answer as the end of the phase.
            0 => {
                let _ = tried(full);
            }
            // Tests until the phase is complete.
            1 | 5 => while !tried(full) {},
            // Tests once, then signals that it is ready, and only then waits.
            2 | 4 => {
                if !tried(full) {
                    go.arrive(lane);
                    while !tried(full) {}
                }
            }
            // Tests two barriers alternately. The second completes first; the lane's reaction lets
            // the first complete.
            _ => {
                while !tried(full) {
                    if tried(other) {
                        go.arrive(lane);
                        while !tried(full) {}
                        break;
                    }
                }
            }
        }
        d.set(0, row.get(lane, (0, 0)));
    });
}

#[test]
fn lane_may_work_between_two_try_waits() {
    for how in 1..5 {
        let mut d = [0];
        try_and::launch(&Simulator::new(0).schedules(32), 1, &mut d, how).check();
        assert_eq!(d, [8], "{how}");
    }
}

#[test]
fn single_try_wait_does_not_order_a_read() {
    let error = try_and::launch(&Simulator::new(0).schedules(16), 1, &mut [0], 0).unwrap_err();
    assert!(
        error.findings().iter().any(|finding| matches!(finding.misuse, Misuse::Race { .. })),
        "{error}"
    );
}

#[test]
fn endless_try_wait_is_a_deadlock() {
    for seed in 0..4 {
        let error = try_and::launch(&Simulator::new(seed), 1, &mut [0], 5).unwrap_err();
        let Misuse::Deadlock { waiting, .. } = &error.misuse else { panic!("{error}") };
        let [waiting] = &waiting[..] else { panic!("{error}") };
        assert!(
            matches!(waiting.awaited, Awaited::Barrier { phase: 0, arrivals: 1, bytes: 0, .. }),
            "{error}"
        );
        assert_at(&error, "tries", (0, 0, 0), None, None);
    }
}

/// A lane tests again and again for a phase that does not complete.
#[kernel(threads = 32, target = "sm_90")]
fn test_in_vain(block: &Block, #[shared] barrier: BarrierMemory) {
    let barrier = barrier.init(block, 1);
    block.warp().elect(|lane| while !barrier.is_over(lane, Phase::FIRST) {}); // <- in vain
}

#[test]
fn endless_test_wait_is_a_deadlock() {
    let error = test_in_vain::simulate(1).unwrap_err();
    assert!(matches!(error.misuse, Misuse::PollingBarrier { .. }), "{error}");
    assert_elected_at(&error, "in vain", (0, 0, 0), 0);
    let text = error.to_string();
    let title = "error: deadlock: `barrier` is tested again and again, and nothing ends its phase \
        0: 1 of 1 arrivals missing\n";
    assert!(text.starts_with(title), "{text}");
    assert!(text.contains("\n   = nobody has ever arrived at `barrier`\n"), "{text}");
}

/// A ring whose consumers release a stage by `arrivals`: all lanes, or one.
#[kernel(threads = 96, target = "sm_90")]
fn release_by_lanes(
    block: &Block,
    #[shared] rows: SharedRing<Row, 2>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, 2>, SharedRing<BarrierMemory, 2>),
    count: u32,
    arrivals: [usize; 2],
    a: Global<u32>,
    d: GlobalMut<u32>,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, count));
    let warp = block.warp();
    let consumer = warp.index();
    let mut state = PipelineState::<2>::FIRST;
    for step in 0..6 {
        let (row, full) = (rows.stage(state.index()), full.stage(state.index()));
        let empty = empty.stage(state.index());
        if consumer == 2 {
            empty.wait(warp, state.prev_phase());
            warp.elect(|lane| {
                full.arrive_expecting(lane, Row::BULK_BYTES);
                row.load_tma(lane, a.bulk(step * 32), full);
            });
        } else {
            full.wait(warp, state.phase());
            row.for_each(warp, |_, col, value| d.set((consumer * 6 + step) * 32 + col, value));
            warp.sync();
            if arrivals[consumer] == LANES {
                warp.each(|lane| _ = empty.arrive(lane)); // <- all lanes release
            } else {
                warp.elect(|lane| _ = empty.arrive(lane));
            }
        }
        state = state.next();
    }
}

#[test]
fn arrivals_of_all_lanes_are_too_many() {
    let (a, mut d) = ((0..192).collect::<Vec<u32>>(), vec![0; 384]);
    let device = Simulator::new(0).schedules(8);
    for (count, arrivals) in [(2, [1, 1]), (33, [LANES, 1]), (64, [LANES; 2])] {
        release_by_lanes::launch(&device, 1, count, arrivals, &a, &mut d).check();
    }
    let line = line_of("all lanes release").1;
    for seed in 0..8 {
        let device = Simulator::new(seed);
        let error = release_by_lanes::launch(&device, 1, 2, [LANES; 2], &a, &mut d);
        let error = error.unwrap_err().to_string();
        let title = "error: `empty[0]` gets too many arrivals: 32 lanes of warp ";
        assert!(error.starts_with(title), "{error}");
        assert!(error.contains(&format!("mbarrier.rs:{line}:")), "{error}");
        assert!(error.contains(" arrive, and a phase has 2\n"), "{error}");
        assert!(
            error.contains("= help: arrive in one lane, by `warp.elect(|lane| ..)`"),
            "{error}"
        );
    }
}

#[test]
fn arrivals_of_all_lanes_and_of_one_are_too_many() {
    let (a, mut d) = ((0..192).collect::<Vec<u32>>(), vec![0; 384]);
    let count_is_named = |seed| {
        let device = Simulator::new(seed);
        let error = release_by_lanes::launch(&device, 1, 32, [LANES, 1], &a, &mut d).err()?;
        Some(error.to_string().contains(
            "is initialised for 32 arrivals, and 33 lanes of 2 warps arrive at it: its phases end \
             too early",
        ))
    };
    let named: Vec<bool> = (0..16).filter_map(count_is_named).collect();
    assert!(named.contains(&true) && named.len() > 8, "{named:?}");
}
