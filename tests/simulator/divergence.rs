//! Raw collectives that the lanes of a warp do not reach together.

use crate::{assert_at, line_of};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{EndedWarp, Misuse, SimError, Simulator};
use std::ops::Range;

const LDMATRIX: &str = "ldmatrix.sync.aligned.m8n8.x1.shared.b16";
const MOVMATRIX: &str = "movmatrix.sync.aligned.m8n8.trans.b16";

/// Lanes that wait at an instruction, on the marked line.
type At = (Range<usize>, &'static str, &'static str);

/// Asserts that the error is a divergence of these waiting lanes and of the lanes that have ended.
#[track_caller]
fn assert_diverged(error: &SimError, expected: &[At], expected_ended: Range<usize>) {
    let Misuse::Divergence { waiting, ended } = &error.misuse else { panic!("{error}") };
    let known = waiting
        .iter()
        .map(|at| (at.lanes.clone(), at.form, (at.place.file.clone(), at.place.line)));
    let expected = expected
        .iter()
        .map(|(lanes, form, marker)| (lanes.clone().collect(), *form, line_of(marker)));
    assert!(known.eq(expected), "{error}");
    assert_eq!(*ended, expected_ended.collect::<Vec<_>>(), "{error}");
}

#[kernel(threads = 32)]
fn some_lanes(block: &Block, lanes: usize) {
    block.warp().each(|lane| {
        if lane.id() < lanes {
            // SAFETY: None unless `lanes` is 32. This is the bug under test.
            unsafe { raw::movmatrix_sync_aligned_m8n8_trans_b16(1) }; // <- some
        }
    });
}

#[test]
fn lanes_that_skip_the_collective_diverge() {
    for lanes in [1, 16, 31] {
        let error = some_lanes::simulate(1, lanes).unwrap_err();
        assert_diverged(&error, &[(0..lanes, MOVMATRIX, "some")], lanes..32);
        assert_at(&error, "some", (0, 0, 0), 0, None);
    }
    some_lanes::simulate(1, 32).unwrap();
    some_lanes::simulate(1, 0).unwrap();
}

#[kernel(threads = 32)]
fn lanes_that_return(block: &Block, lanes: usize) {
    block.warp().each(|lane| {
        for round in 0..3 {
            if lane.id() >= lanes && round == 2 {
                return;
            }
            // SAFETY: None unless `lanes` is 32. This is the bug under test.
            unsafe { raw::movmatrix_sync_aligned_m8n8_trans_b16(1) }; // <- rounds
        }
    });
}

#[test]
fn lanes_that_return_from_a_loop_diverge() {
    let error = lanes_that_return::simulate(1, 20).unwrap_err();
    assert_diverged(&error, &[(0..20, MOVMATRIX, "rounds")], 20..32);
    let report = error.to_string();
    assert!(report.starts_with(&format!(
        "error: divergence: the lanes of a warp do not come to `{MOVMATRIX}` together\n  --> \
         tests/simulator/"
    )));
    assert!(
        report.contains(&format!("= lanes 0 to 19 wait at `{MOVMATRIX}`, at tests/simulator/")),
        "{report}"
    );
    assert!(report.contains("= lanes 20 to 31 have ended the lane closure"), "{report}");
    assert!(
        report.contains("= help: all 32 lanes must come to the same collective, at the same line"),
        "{report}"
    );
    lanes_that_return::simulate(1, 32).unwrap();
}

#[kernel(threads = 32)]
fn two_forms(block: &Block, #[shared] tile: SharedTile<u16, 8, 8>, lanes: usize) {
    let warp = block.warp();
    tile.fill(warp, |_, _| 1);
    warp.sync();
    warp.each(|lane| {
        if lane.id() < lanes {
            let row = tile.row((lane.id() % 8, 0)).address();
            // SAFETY: None unless `lanes` is 32. This is the bug under test.
            unsafe { raw::ldmatrix_sync_aligned_m8n8_x1_shared_b16(row)[0] } // <- ldmatrix
        } else {
            // SAFETY: None unless `lanes` is 0. This is the bug under test.
            unsafe { raw::movmatrix_sync_aligned_m8n8_trans_b16(1) } // <- movmatrix
        }
    });
}

#[test]
fn two_forms_in_branches_diverge() {
    let error = two_forms::simulate(1, 8).unwrap_err();
    assert_diverged(&error, &[(0..8, LDMATRIX, "ldmatrix"), (8..32, MOVMATRIX, "movmatrix")], 0..0);
    two_forms::simulate(1, 0).unwrap();
    two_forms::simulate(1, 32).unwrap();
}

/// # Safety
/// All lanes reach this together, with the same `first`.
#[track_caller]
unsafe fn one_of_two(first: bool, address: u32) -> u32 {
    // SAFETY: The caller guarantees it.
    unsafe {
        if first {
            raw::ldmatrix_sync_aligned_m8n8_x1_shared_b16(address)[0]
        } else {
            raw::movmatrix_sync_aligned_m8n8_trans_b16(address)
        }
    }
}

#[kernel(threads = 32)]
fn two_forms_for_one_line(block: &Block, #[shared] tile: SharedTile<u16, 8, 8>, lanes: usize) {
    let warp = block.warp();
    tile.fill(warp, |_, _| 1);
    warp.sync();
    warp.each(|lane| {
        let row = tile.row((lane.id() % 8, 0)).address();
        // SAFETY: None unless `lanes` is 0 or 32. This is the bug under test.
        unsafe { one_of_two(lane.id() < lanes, row) } // <- one of two
    });
}

#[test]
fn two_forms_on_one_line_diverge() {
    let error = two_forms_for_one_line::simulate(1, 8).unwrap_err();
    assert_diverged(
        &error,
        &[(0..8, LDMATRIX, "one of two"), (8..32, MOVMATRIX, "one of two")],
        0..0,
    );
    two_forms_for_one_line::simulate(1, 0).unwrap();
    two_forms_for_one_line::simulate(1, 32).unwrap();
}

#[kernel(threads = 32)]
#[allow(clippy::if_same_then_else, reason = "two places to wait at")]
fn two_lines(block: &Block, lanes: usize) {
    block.warp().each(|lane| {
        if lane.id() < lanes {
            // SAFETY: None unless `lanes` is 32. This is the bug under test.
            unsafe { raw::movmatrix_sync_aligned_m8n8_trans_b16(1) } // <- here
        } else {
            // SAFETY: None unless `lanes` is 0. This is the bug under test.
            unsafe { raw::movmatrix_sync_aligned_m8n8_trans_b16(1) } // <- there
        }
    });
}

#[test]
fn one_form_on_two_lines_diverges() {
    let error = two_lines::simulate(1, 31).unwrap_err();
    assert_diverged(&error, &[(0..31, MOVMATRIX, "here"), (31..32, MOVMATRIX, "there")], 0..0);
    two_lines::simulate(1, 0).unwrap();
}

#[kernel(threads = 32)]
fn one_line(block: &Block, one: u32, other: u32) {
    block.warp().each(|lane| {
        let operand = if lane.id() < 16 { one } else { other };
        // SAFETY: All lanes reach this together.
        unsafe { raw::movmatrix_sync_aligned_m8n8_trans_b16(operand) }
    });
}

/// The lanes may differ in the value of an operand, but not in the line of the instruction.
#[test]
fn different_operands_do_not_diverge() {
    one_line::simulate(1, 3, 4).unwrap();
}

#[kernel(threads = 32)]
#[allow(clippy::if_same_then_else, reason = "two places to wait at")]
fn warp_sync_in_branches(block: &Block, lanes: usize) {
    block.warp().each(|lane| {
        if lane.id() < 16 {
            // SAFETY: Each lane reaches one of the two.
            unsafe { raw::bar_warp_sync() }; // <- warp sync
        } else if lane.id() < lanes {
            // SAFETY: Each lane reaches one of the two, unless `lanes` is less than 32. This is the
            // bug under test.
            unsafe { raw::bar_warp_sync() }; // <- other warp sync
        }
    });
}

/// `bar.warp.sync` is not `.aligned`.
#[test]
fn warp_sync_on_different_lines_needs_all_lanes() {
    warp_sync_in_branches::simulate(1, 32).unwrap();
    let error = warp_sync_in_branches::simulate(1, 30).unwrap_err();
    let waiting =
        [(0..16, "bar.warp.sync", "warp sync"), (16..30, "bar.warp.sync", "other warp sync")];
    assert_diverged(&error, &waiting, 30..32);
}

#[kernel(threads = 96)]
fn block_sync(block: &Block, lanes_of_warp_0: usize, warps: usize) {
    let warp = block.warp().index();
    block.warp().each(|lane| {
        if warp < warps && (warp > 0 || lane.id() < lanes_of_warp_0) {
            // SAFETY: None unless all lanes of all warps reach this. This is the bug under test.
            unsafe { raw::bar_sync() }; // <- raw sync
        }
    });
}

#[test]
fn half_a_warp_at_a_block_barrier_diverges() {
    for seed in 0..8 {
        let error = block_sync::launch(&Simulator::new(seed), 1, 16, 3).unwrap_err();
        assert_diverged(&error, &[(0..16, "bar.sync", "raw sync")], 16..32);
        assert_at(&error, "raw sync", (0, 0, 0), 0, None);
        block_sync::launch(&Simulator::new(seed), 1, 32, 3).unwrap();
    }
}

#[test]
fn warp_that_skips_a_block_barrier_is_a_deadlock() {
    for seed in 0..8 {
        let error = block_sync::launch(&Simulator::new(seed), 1, 32, 2).unwrap_err();
        let Misuse::Deadlock { waiting, ended, .. } = &error.misuse else { panic!("{error}") };
        assert_eq!(waiting.iter().map(|waiting| waiting.warp).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(*ended, [EndedWarp { warp: 2, block: None }]);
        assert_at(&error, "raw sync", (0, 0, 0), None, None);
    }
}

#[kernel(threads = 64)]
fn raw_and_typed(block: &Block) {
    if block.warp().index() == 0 {
        block.sync();
    } else {
        // SAFETY: All lanes reach this together, and the other warp reaches the same barrier.
        block.warp().each(|_| unsafe { raw::bar_sync() });
    }
}

/// They are the same barrier.
#[test]
fn raw_and_typed_sync_are_one_barrier() {
    raw_and_typed::simulate(1).unwrap();
}

#[kernel(threads = 64)]
fn different_collectives_in_warps(block: &Block) {
    let first = block.warp().index() == 0;
    block.warp().each(|_| {
        if first {
            // SAFETY: All lanes of the warp reach this together.
            unsafe { raw::movmatrix_sync_aligned_m8n8_trans_b16(1) };
        }
    });
}

#[test]
fn warps_may_call_different_collectives() {
    different_collectives_in_warps::simulate(1).unwrap();
}

#[kernel(threads = 32)]
fn at_warp_scope(_block: &Block, which: u32) {
    // SAFETY: All lanes reach this together.
    unsafe {
        match which {
            0 => drop(raw::movmatrix_sync_aligned_m8n8_trans_b16(1)), // <- 0
            1 => raw::bar_sync(),                                     // <- 1
            2 => drop(raw::index::thread()),                          // <- 2
            3 => drop(raw::index::clock()),                           // <- 3
            _ => raw::cp_async_ca_shared_global_4(1024, core::ptr::null()), // <- 4
        }
    }
}

#[test]
fn collective_outside_a_lane_closure_is_an_error() {
    let forms = [MOVMATRIX, "bar.sync", "%tid.x", "%clock64", "cp.async.ca.shared.global 4"];
    for (which, form) in forms.into_iter().enumerate() {
        let error = at_warp_scope::simulate(1, which as u32).unwrap_err();
        assert_eq!(error.misuse, Misuse::RawAtWarpScope { form });
        assert_at(&error, &which.to_string(), (0, 0, 0), 0, None);
    }
}

/// Uses the lane's collectives and memory when it is dropped.
struct AtTheEnd {
    tile: SharedTile<u32, 1, 32>,
}

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        // SAFETY: The address is an element of the tile. All lanes reach this together.
        unsafe {
            raw::st_shared_b32(self.tile.address() + raw::index::thread() % 32 * 4, 1);
            raw::bar_warp_sync();
        }
    }
}

#[kernel(threads = 64)]
fn with_destructors(block: &Block, #[shared] tile: SharedTile<u32, 1, 32>, failing: usize) {
    let warp = block.warp().index();
    block.warp().each(|lane| {
        let _at_the_end = AtTheEnd { tile };
        // SAFETY: All lanes reach this together.
        unsafe { raw::bar_warp_sync() };
        assert_ne!(lane.id(), failing); // <- fails
        if warp == 0 || lane.id() != failing {
            // SAFETY: All lanes reach this together.
            unsafe { raw::bar_sync() };
        }
        assert!(warp == 0 || failing < 32); // <- other warp fails
    });
}

/// Waiting lanes are unwound, and their values are dropped.
#[test]
fn waiting_lanes_unwind_when_another_fails() {
    for seed in 0..8 {
        let error = with_destructors::launch(&Simulator::new(seed), 1, 17).unwrap_err();
        assert!(matches!(error.misuse, Misuse::Panic { .. }), "{error}");
        assert_at(&error, "fails", (0, 0, 0), error.warp, Some(17));
    }
}

/// The same with a whole warp that waits in its lanes.
#[test]
fn waiting_warp_unwinds_when_another_fails() {
    for seed in 0..8 {
        let error = with_destructors::launch(&Simulator::new(seed), 1, 32).unwrap_err();
        assert!(matches!(error.misuse, Misuse::Panic { .. }), "{error}");
        assert_at(&error, "other warp fails", (0, 0, 0), 1, Some(0));
    }
}

#[kernel(threads = 32)]
fn changed_by_lanes(block: &Block, d: GlobalMut<u32>) {
    let warp = block.warp();
    let mut values = warp.each(|lane| lane.id() as u32);
    warp.update(&mut values, |_, value| {
        *value += 1;
        // SAFETY: All lanes reach this together.
        unsafe { raw::bar_warp_sync() };
        *value *= 2;
    });
    warp.each(|lane| d.set(lane.id(), lane.get(&values)));
}

#[test]
fn update_may_wait_in_a_collective() {
    let mut d = [0; 32];
    changed_by_lanes::simulate(1, &mut d).unwrap();
    assert_eq!(d, core::array::from_fn(|lane| (lane as u32 + 1) * 2));
}

#[kernel(threads = 1024)]
fn many_rounds(block: &Block, d: GlobalMut<u32>, rounds: usize) {
    block.warp().each(|lane| {
        for _ in 0..rounds {
            // SAFETY: All lanes reach this together.
            unsafe { raw::bar_sync() };
        }
        if lane.id() == 0 {
            // SAFETY: This is in a lane closure.
            d.set(unsafe { raw::index::thread() } as usize / 32, rounds as u32);
        }
    });
}

/// All 1024 lanes of a block wait, each on its stack, again and again.
#[test]
fn all_lanes_of_a_full_block_wait() {
    let mut d = [0; 32];
    many_rounds::simulate(1, &mut d, 20).unwrap();
    assert_eq!(d, [20; 32]);
}
