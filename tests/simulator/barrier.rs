//! A `sync` that some warps of a block do not reach is reported, and ends the run.

use crate::{assert_at, line_of};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{Misuse, SimError, Simulator};

/// The waiting warps with their lines, and the warps that have ended.
#[track_caller]
fn deadlock(error: &SimError) -> (Vec<(usize, u32)>, Vec<usize>) {
    let Misuse::Deadlock { waiting, ended, .. } = &error.misuse else { panic!("{error}") };
    (
        waiting.iter().map(|waiting| (waiting.warp, waiting.place.line)).collect(),
        ended.iter().map(|ended| ended.warp).collect(),
    )
}

#[kernel(threads = 128)]
fn leave_early(block: &Block, last_warp: usize) {
    if block.warp().index() > last_warp {
        return;
    }
    block.sync(); // <- left
}

#[test]
fn early_end_of_a_warp_is_a_deadlock() {
    for seed in 0..8 {
        let error = leave_early::launch(&Simulator::new(seed), 1, 2).unwrap_err();
        let line = line_of("left").1;
        assert_eq!(deadlock(&error), (vec![(0, line), (1, line), (2, line)], vec![3]));
        assert_at(&error, "left", (0, 0, 0), None, None);
    }
    leave_early::simulate(1, 3).unwrap();
}

#[kernel(threads = 96)]
fn sync_as_often_as(block: &Block, a: Global<u32>) {
    for _ in 0..a.get(block.warp().index()) {
        block.sync(); // <- repeated
    }
}

#[test]
fn different_number_of_syncs_is_a_deadlock() {
    let line = line_of("repeated").1;
    let error = sync_as_often_as::simulate(1, &[2, 3, 2]).unwrap_err();
    assert_eq!(deadlock(&error), (vec![(1, line)], vec![0, 2]));
    let error = sync_as_often_as::simulate(1, &[0, 1, 1]).unwrap_err();
    assert_eq!(deadlock(&error), (vec![(1, line), (2, line)], vec![0]));
    sync_as_often_as::simulate(1, &[3, 3, 3]).unwrap();
    sync_as_often_as::simulate(1, &[0, 0, 0]).unwrap();
}

#[kernel(threads = 64)]
#[allow(clippy::if_same_then_else, reason = "two places to wait at")]
fn sync_here_or_there(block: &Block) {
    if block.warp().index() == 0 {
        block.sync();
    } else {
        block.sync();
    }
}

/// `bar.sync 0` is one barrier, on whatever line it is.
#[test]
fn syncs_in_both_branches_are_one_barrier() {
    sync_here_or_there::simulate(1).unwrap();
}

#[kernel(threads = 64)]
fn fail_while_others_wait(block: &Block) {
    if block.warp().index() == 0 {
        block.sync();
    }
    panic!("warp {} fails", block.warp().index()); // <- fails
}

#[test]
fn panic_wins_over_waiting_warps() {
    for seed in 0..8 {
        let error = fail_while_others_wait::launch(&Simulator::new(seed), 1).unwrap_err();
        assert_eq!(error.misuse, Misuse::Panic { message: "warp 1 fails".into() });
        assert_at(&error, "fails", (0, 0, 0), 1, None);
    }
}

/// Lane 9 of each warp comes to a named barrier with other operands.
#[kernel(threads = 64)]
fn differ_in_a_lane(block: &Block, most: [u32; 2], of_lane: [u32; 2]) {
    block.warp().each(|lane| {
        let [barrier, threads] = if lane.id() == 9 { of_lane } else { most };
        // SAFETY: the simulator checks the operands.
        unsafe { raw::bar_sync_threads(barrier, threads) }; // <- differ
    });
}

#[test]
fn lanes_of_a_warp_come_to_a_named_barrier_with_equal_operands() {
    differ_in_a_lane::simulate(1, [1, 64], [1, 64]).unwrap();
    for of_lane in [[2, 64], [1, 32]] {
        let error = differ_in_a_lane::simulate(1, [1, 64], of_lane).unwrap_err();
        assert_eq!(error.misuse, Misuse::OperandsDiffer { form: "bar.sync" });
        assert_eq!(error.place.as_ref().unwrap().line, line_of("differ").1);
    }
}

/// The first warps come to a named barrier with some operands, the others with others.
#[kernel(threads = 128)]
fn come_to_named(block: &Block, warps: u32, first: [u32; 2], others: [u32; 2]) {
    let warp = block.warp();
    let is_first = warp.index() < warps as usize;
    warp.each(|_| {
        let [barrier, threads] = if is_first { first } else { others };
        if threads > 0 {
            // SAFETY: the simulator checks the operands.
            unsafe { raw::bar_sync_threads(barrier, threads) }; // <- named
        }
    });
}

#[test]
fn named_barriers_have_a_number_and_whole_warps_and_one_count() {
    let run = |seed, warps, first, others| {
        come_to_named::launch(&Simulator::new(seed), 1, warps, first, others)
    };
    run(0, 2, [1, 64], [15, 64]).unwrap();
    run(0, 4, [1, 128], [0, 0]).unwrap();
    for [barrier, threads] in [[16, 128], [0, 128], [1, 33], [u32::MAX, 32]] {
        let error = run(0, 4, [barrier, threads], [0, 0]).unwrap_err();
        assert_eq!(error.misuse, Misuse::NamedBarrier { barrier, threads, others: None });
        assert_eq!(error.place.as_ref().unwrap().line, line_of("named").1);
        let text = error.to_string();
        let wrong = if barrier == 1 { "is for 33 threads" } else { "there is no named barrier" };
        assert!(text.contains(wrong) && text.contains("has a number from 1 to 15"), "{text}");
    }
    // The first warp completes its barrier, and the others may be counted there; or it comes to
    // that of the others.
    let mut kinds = [0; 2];
    for seed in 0..16 {
        let error = run(seed, 1, [1, 32], [1, 96]).unwrap_err();
        let text = error.to_string();
        if let Misuse::NamedBarrierShared { barrier: 1, warps, .. } = &error.misuse {
            assert!(warps[..] == [0] || warps[..] == [1, 2, 3], "{warps:?}");
            kinds[0] += 1;
        } else {
            let (barrier, threads, others) = (1, 32, Some(96));
            assert_eq!(error.misuse, Misuse::NamedBarrier { barrier, threads, others });
            assert!(text.contains("for 32 threads, while others wait there for 96"), "{text}");
            kinds[1] += 1;
        }
    }
    assert!(kinds[0] > 0 && kinds[1] > 0, "{kinds:?}");
}

/// Two warpgroups, each with its own tile, come to named barriers. With `one`, it is the same
/// barrier. `between` is what the second group does before: other work, or a wait for the first.
#[kernel(threads = 256, target = "sm_80")]
fn share_named(
    block: &Block,
    #[shared] rows: SharedRing<SharedTile<u32, 1, 128>, 2>,
    #[shared] done: BarrierMemory,
    d: GlobalMut<u32>,
    one: u32,
    between: u32,
) {
    let done = done.init(block, 128);
    let (group, warp) = (block.warp_group(), block.warp());
    let (index, row) = (group.index(), rows.part(group.index()));
    if index == 1 {
        match between {
            0 => (0..60).for_each(|_| group.sync()),
            1 => _ = done.wait(warp, Phase::FIRST),
            _ => block.sync(),
        }
    }
    row.fill(group, |_, col| (index * 128 + col) as u32);
    let number = if one > 0 { 4 } else { 4 + index as u32 };
    // SAFETY: the number and the count are right, and all lanes of the warp come.
    warp.each(|_| unsafe { raw::bar_sync_threads(number, 128) }); // <- shared number
    row.for_each(group, |_, col, value| d.set(index * 128 + 127 - col, value));
    if index == 0 {
        match between {
            1 => _ = warp.each(|lane| done.arrive(lane)),
            2 => block.sync(),
            _ => {}
        }
    }
}

/// A barrier counts threads, whichever they are.
#[test]
fn named_barrier_of_two_groups_needs_an_order() {
    let run = |seed, one, between| {
        let mut d = [0; 256];
        share_named::launch(&Simulator::new(seed).strict(), 1, &mut d, one, between).map(|_| d)
    };
    for seed in 0..16 {
        run(seed, 0, 0).unwrap();
        run(seed, 1, 1).unwrap();
        run(seed, 1, 2).unwrap();
        let error = run(seed, 1, 0).unwrap_err();
        let Misuse::NamedBarrierShared { barrier: 4, warps, place } = &error.misuse else {
            panic!("seed {seed}: {error}")
        };
        assert_eq!(warps[..], [0, 1, 2, 3]);
        assert_eq!(place.line, line_of("shared number").1);
        let text = error.to_string();
        let title = "error: named barrier 4 may count a warp too early: warps 0 to 3 passed it, \
                     and nothing orders this one after that\n";
        assert!(text.starts_with(title) && text.contains("a number of its own"), "{text}");
    }
}

/// Two warps use a row in turn, each in two rounds. Each waits for its own barrier, and arrives at
/// the other's. `how` selects a mistake.
#[kernel(threads = 64)]
fn in_turn(block: &Block, #[shared] row: SharedTile<u32, 1, 32>, d: GlobalMut<u32>, how: u32) {
    let warp = block.warp();
    let own = NamedBarrier::new(warp.index(), 64);
    let other = NamedBarrier::new(1 - warp.index(), 64);
    if warp.index() == 1 {
        row.fill(warp, |_, _| 0);
        other.arrive(warp); // <- first turn
        if how == 1 {
            other.arrive(warp); // <- arrives twice
        }
    }
    for round in 0..2 {
        if how != 2 {
            own.sync(warp); // <- waits for its turn
        }
        let number = warp.index() as u32;
        let add = || {
            warp.each(|lane| {
                let sum = row.get(lane, (0, lane.id()));
                row.set((0, lane.id()), sum.wrapping_mul(3) + number);
            });
        };
        if how != 3 {
            add();
        }
        let is_last = warp.index() == 1 && round == 1;
        if !is_last && (how != 4 || round == 0) {
            other.arrive(warp);
        }
        if how == 3 {
            add();
        }
    }
    if warp.index() == 1 {
        row.for_each(warp, |_, col, sum| d.set(col, sum));
    }
}

#[test]
fn warps_that_arrive_at_named_barriers_take_turns() {
    let mut d = [0; 32];
    in_turn::launch(&Simulator::new(0).schedules(100), 1, &mut d, 0).check();
    assert_eq!(d, [10; 32], "((0 * 3) * 3 + 1) * 3 * 3 + 1");
}

#[test]
fn wrong_turns_at_named_barriers_are_errors() {
    for seed in 0..16 {
        let find = |how| in_turn::launch(&Simulator::new(seed), 1, &mut [0; 32], how).unwrap_err();
        let error = find(1);
        match &error.misuse {
            Misuse::NamedBarrierTwice { barrier: 9, place } => {
                assert_eq!(place.line, line_of("first turn").1);
            }
            // The first warp has waited in between.
            Misuse::NamedBarrierShared { barrier: 9, warps, .. } => assert_eq!(warps[..], [0]),
            _ => panic!("{error}"),
        }
        assert_eq!(error.place.as_ref().unwrap().line, line_of("arrives twice").1, "{error}");
        for how in [2, 3] {
            let error = find(how);
            let is_expected = |misuse: &Misuse| {
                matches!(misuse, Misuse::Race { .. } | Misuse::SharedUnwritten { .. })
            };
            assert!(error.findings().iter().any(|found| is_expected(&found.misuse)), "{error}");
        }
        let error = find(4);
        assert_at(&error, "waits for its turn", (0, 0, 0), None, None);
        let title = "error: deadlock: warp 1 waits at named barrier 10, to which 32 of 64 threads \
            have come\n";
        assert!(error.to_string().starts_with(title), "{error}");
    }
}

/// A barrier at which all arrive is complete, and nobody has to wait.
#[kernel(threads = 64)]
fn all_arrive(block: &Block) {
    let barrier = NamedBarrier::new(0, 64);
    barrier.arrive(block.warp());
    block.sync();
    barrier.sync(block.warp());
}

#[test]
fn arrivals_alone_complete_a_phase() {
    all_arrive::launch(&Simulator::new(0).schedules(16), 1).check();
}
