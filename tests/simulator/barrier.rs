//! A `sync` that some warps of a block do not reach is reported, and ends the run.

use crate::{assert_at, line_of};
use ptx_matrix::prelude::*;
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
