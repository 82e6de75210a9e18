//! Writes of the value that is already there, and of one value by all lanes.

use crate::assert_at;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{AccessKind, Agent, Misuse, SimError, Simulator};

type Row = SharedTile<u32, 1, 32>;

#[track_caller]
fn race(error: &SimError) -> (AccessKind, AccessKind) {
    let Misuse::Race { access, other_access, other, .. } = &error.misuse else { panic!("{error}") };
    assert!(matches!(other, Agent::LaneOfWarp(_) | Agent::SameWarp), "{error}");
    (*access, *other_access)
}

#[kernel(threads = 64)]
fn write_equal_value(block: &Block, #[shared] row: Row) {
    let warp = block.warp();
    row.fill(block, |_, _| 7);
    block.sync();
    if warp.index() == 0 {
        row.fill(warp, |_, _| 7);
    } else {
        row.for_each(warp, |_, _, _| ());
    }
}

#[test]
fn read_races_with_a_write_of_the_same_value() {
    for seed in 0..20 {
        let error = write_equal_value::launch(&Simulator::new(seed), 1).unwrap_err();
        assert!(matches!(error.misuse, Misuse::Race { .. }), "seed {seed}: {error}");
    }
}

#[kernel(threads = 32)]
fn one_value_and_another(block: &Block, #[shared] row: Row, lanes: usize, sync: u32) {
    let warp = block.warp();
    warp.each(|lane| {
        if lane.id() < lanes {
            row.set((0, 0), 1);
        }
    });
    if sync == 1 {
        warp.sync();
    }
    warp.each(|lane| {
        if lane.id() == 1 {
            row.set((0, 0), 2); // <- another value
        }
    });
}

#[test]
fn overwrite_of_a_value_of_several_lanes_is_a_race() {
    let error = one_value_and_another::simulate(1, 2, 0).unwrap_err();
    assert_eq!(race(&error), (AccessKind::Write, AccessKind::Write));
    assert_at(&error, "another value", (0, 0, 0), 0, Some(1));
    one_value_and_another::launch(&Simulator::default().strict(), 1, 2, 1).unwrap();
}

#[kernel(threads = 32)]
fn uniform(block: &Block, #[shared] row: Row, lane_first: u32, sync: u32) {
    let warp = block.warp();
    let one = || {
        warp.each(|lane| {
            if lane.id() == 3 {
                row.set((0, 0), if lane_first == 1 { row.get(lane, (0, 0)) } else { 2 });
                // <- one lane
            }
        });
    };
    row.set((0, 0), 0);
    if sync == 1 || lane_first == 1 {
        warp.sync();
    }
    one();
    if lane_first == 1 && sync == 1 {
        warp.sync();
    }
    if lane_first == 1 {
        row.set((0, 0), 1); // <- each lane
    }
}

#[test]
fn uniform_write_races_with_a_single_lanes_access() {
    let error = uniform::simulate(1, 0, 0).unwrap_err();
    assert_eq!(race(&error), (AccessKind::Write, AccessKind::Write));
    assert_at(&error, "one lane", (0, 0, 0), 0, Some(3));
    let strict = Simulator::default().strict();
    let error = uniform::launch(&strict, 1, 1, 0).unwrap_err();
    assert_eq!(race(&error), (AccessKind::Write, AccessKind::Read));
    assert_at(&error, "each lane", (0, 0, 0), 0, None);
    for lane_first in [0, 1] {
        uniform::launch(&strict, 1, lane_first, 1).unwrap();
    }
}
