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
    // The first warp completes its barrier, or comes to that of the others.
    let errors = (0..16).filter_map(|seed| run(seed, 1, [1, 32], [1, 96]).err());
    let errors: Vec<SimError> = errors.collect();
    assert!(!errors.is_empty());
    for error in errors {
        let (barrier, threads, others) = (1, 32, Some(96));
        assert_eq!(error.misuse, Misuse::NamedBarrier { barrier, threads, others });
        let text = error.to_string();
        assert!(text.contains("for 32 threads, while others wait there for 96"), "{text}");
    }
}
