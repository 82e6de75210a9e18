//! Panics in kernels: assertions, indices, overflows.

use crate::assert_at;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Misuse, SimError};

#[track_caller]
fn message(error: &SimError) -> &str {
    let Misuse::Panic { message } = &error.misuse else { panic!("{error}") };
    message
}

#[kernel(threads = 64)]
fn assert_uniform(block: &Block, limit: u32) {
    assert!(block.index().x < limit, "block {} is one too many", block.index().x); // <- assertion
}

#[test]
fn assertion_at_warp_scope() {
    let error = assert_uniform::simulate(4, 3).unwrap_err();
    assert_eq!(message(&error), "block 3 is one too many");
    let warp = error.warp.expect("a warp");
    assert_at(&error, "assertion", (3, 0, 0), warp, None);
    assert_uniform::simulate(4, 4).unwrap();
}

#[kernel(threads = 64)]
fn assert_in_lanes(block: &Block, limit: usize) {
    block.warp().each(|lane| assert_ne!(lane.id(), limit)); // <- lane's assertion
}

#[test]
fn assertion_in_lane_closure() {
    let error = assert_in_lanes::simulate(1, 17).unwrap_err();
    assert!(message(&error).starts_with("assertion `left != right` failed"), "{error}");
    let warp = error.warp.expect("a warp");
    assert_at(&error, "lane's assertion", (0, 0, 0), warp, Some(17));
    assert_in_lanes::simulate(1, 32).unwrap();
}

#[kernel(threads = 32)]
fn index(block: &Block, bound: usize) {
    let table = [0u8; 8];
    block.warp().each(|lane| table[lane.id() % bound]); // <- index
}

#[test]
fn index_out_of_bounds_in_lane_closure() {
    let error = index::simulate(1, 10).unwrap_err();
    assert_eq!(message(&error), "index out of bounds: the len is 8 but the index is 8");
    assert_at(&error, "index", (0, 0, 0), 0, Some(8));
    index::simulate(1, 8).unwrap();
}

#[kernel(threads = 32)]
fn subtract(block: &Block, from: usize) {
    block.warp().each(|lane| from - lane.id()); // <- subtraction
}

#[test]
fn overflow_in_lane_closure() {
    let error = subtract::simulate(1, 30).unwrap_err();
    assert_eq!(message(&error), "attempt to subtract with overflow");
    assert_at(&error, "subtraction", (0, 0, 0), 0, Some(31));
    subtract::simulate(1, 31).unwrap();
}

#[kernel(threads = 32)]
fn in_an_update(block: &Block) {
    let warp = block.warp();
    let mut ids = warp.each(|lane| lane.id());
    warp.update(&mut ids, |_, id| *id = 31 / (9 - *id)); // <- update
}

#[test]
fn division_by_zero_in_update() {
    let error = in_an_update::simulate(1).unwrap_err();
    assert_eq!(message(&error), "attempt to divide by zero");
    assert_at(&error, "update", (0, 0, 0), 0, Some(9));
}

#[kernel(threads = 32)]
fn after_lanes(block: &Block, zero: u32) {
    block.warp().each(|lane| lane.id());
    let _ = 1 / zero; // <- after lanes
}

#[test]
fn after_a_lane_closure_no_lane_is_to_blame() {
    let error = after_lanes::simulate(1, 0).unwrap_err();
    assert_at(&error, "after lanes", (0, 0, 0), 0, None);
}

#[test]
fn after_a_run_that_failed_in_a_lane_no_lane_is_to_blame() {
    index::simulate(1, 32).unwrap_err();
    let error = after_lanes::simulate(1, 0).unwrap_err();
    assert_at(&error, "after lanes", (0, 0, 0), 0, None);
}

/// Writes to shared memory and waits for the other warps when it is dropped.
struct AtTheEnd<'b> {
    block: &'b Block<'b>,
    tile: SharedTile<u8, 2, 16>,
    d: GlobalMut<'b, u8>,
}

impl Drop for AtTheEnd<'_> {
    fn drop(&mut self) {
        self.block.warp().each(|_| ());
        self.tile.set((self.block.warp().index(), 0), 1);
        self.d.set(self.block.warp().index(), 1);
        self.block.sync();
    }
}

#[kernel(threads = 64)]
fn destructors(block: &Block, #[shared] tile: SharedTile<u8, 2, 16>, d: GlobalMut<u8>, fail: u32) {
    let _at_the_end = AtTheEnd { block, tile, d };
    block.sync();
    assert!(fail == 0 || block.warp().index() == 0, "warp 1 fails"); // <- with destructors
}

#[test]
fn destructors_of_warps_that_do_not_end_run_to_their_end() {
    destructors::simulate(1, &mut [0; 2], 0).unwrap();
    for seed in 0..8 {
        let error = destructors::launch(&ptx_matrix::sim::Simulator::new(seed), 1, &mut [0; 2], 1)
            .unwrap_err();
        assert_at(&error, "with destructors", (0, 0, 0), 1, None);
    }
}
