//! The lanes of a closure run one after another in the simulator, and in step on a GPU. So a read
//! of an element that another lane wrote in the same closure is an error, and not only a warning.

use crate::assert_at;
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{AccessKind, Agent, Misuse, SimError, Simulator};

type Row = SharedTile<u32, 1, 32>;

/// The race in the error: whether both accesses are in one closure, and the writer.
#[track_caller]
fn race(error: &SimError) -> (bool, Agent) {
    let Misuse::Race { access, other_access, other, same_closure, .. } = error.misuse else {
        panic!("{error}")
    };
    assert_eq!((access, other_access), (AccessKind::Read, AccessKind::Write), "{error}");
    (same_closure, other)
}

/// A prefix sum that is only right if the lanes run one after another; and a correct one.
#[kernel(threads = 32)]
fn scan_global(block: &Block, d: GlobalMut<u32>, how: u32) {
    let warp = block.warp();
    if how == 0 {
        warp.each(|lane| {
            let before = if lane.id() == 0 { 0 } else { d.get(lane, lane.id() - 1) };
            // <- reads what the lane before wrote
            d.set(lane.id(), before + 1);
        });
        return;
    }
    let mut sum = PerLane::splat(1);
    for by in [1, 2, 4, 8, 16] {
        let before = warp.shuffle_up(&sum, by as u32);
        warp.update(&mut sum, |lane, sum| {
            *sum += if lane.id() < by { 0 } else { lane.get(&before) }
        });
    }
    warp.each(|lane| d.set(lane.id(), lane.get(&sum)));
}

#[test]
fn read_of_the_previous_lanes_write_is_an_error() {
    for seed in 0..8 {
        let error = scan_global::launch(&Simulator::new(seed), 1, &mut [0; 32], 0).unwrap_err();
        assert_eq!(race(&error), (true, Agent::LaneOfWarp(0)));
        assert_at(&error, "reads what the lane before wrote", (0, 0, 0), 0, Some(1));
        let mut d = [0; 32];
        scan_global::launch(&Simulator::new(seed), 1, &mut d, 1).check();
        assert_eq!(d, core::array::from_fn(|lane| lane as u32 + 1));
    }
    let text = scan_global::simulate(1, &mut [0; 32], 0).unwrap_err().to_string();
    assert!(
        text.contains("which lane 0 of the same warp wrote in the same lane closure"),
        "{text}"
    );
}

/// Lanes write and read a row; `how` selects the order.
#[kernel(threads = 64)]
fn row_of_lanes(
    block: &Block,
    #[shared] rows: SharedTile<u32, 2, 32>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let (warp, index) = (block.warp(), block.warp().index());
    let at = |col: usize| (index, col % 32);
    let set = |lane: Lane<'_>, value: usize| rows.set(at(lane.id()), value as u32 + 1);
    rows.fill(block, |_, _| 0);
    block.sync();
    match how {
        // Each lane reads the element that the lane before it wrote.
        0 => drop(warp.each(|lane| {
            set(lane, lane.id());
            d.set(index * 32 + lane.id(), rows.get(lane, at(lane.id() + 31)));
            // <- from the lane before
        })),
        // In another closure, without a `sync` in between.
        1 => {
            warp.each(|lane| set(lane, lane.id()));
            warp.each(|lane| d.set(index * 32 + lane.id(), rows.get(lane, at(lane.id() + 31))));
            // <- in the next closure
        }
        // With a `sync` in between.
        2 => {
            warp.each(|lane| set(lane, lane.id()));
            warp.sync();
            warp.each(|lane| d.set(index * 32 + lane.id(), rows.get(lane, at(lane.id() + 31))));
        }
        // Its own element.
        3 => drop(warp.each(|lane| {
            set(lane, lane.id());
            set(lane, lane.id());
            d.set(index * 32 + lane.id(), rows.get(lane, at(lane.id())));
        })),
        // Each lane reads the element that the next lane writes later. On a GPU in step, it also
        // has the old value.
        4 => drop(warp.each(|lane| {
            if lane.id() < 31 {
                d.set(index * 32 + lane.id(), rows.get(lane, at(lane.id() + 1)));
            }
            set(lane, lane.id());
        })),
        // One lane does everything.
        5 => drop(warp.each(|lane| {
            if lane.id() == 5 {
                (0..32).for_each(|col| rows.set(at(col), 9));
                d.set(index * 32, (0..32).map(|col| rows.get(lane, at(col))).sum());
            }
        })),
        // All lanes write the same value, and read it.
        6 => drop(warp.each(|lane| {
            rows.set(at(0), 7);
            d.set(index * 32 + lane.id(), rows.get(lane, at(0)));
        })),
        // The written value is already there.
        7 => drop(warp.each(|lane| {
            rows.set(at(lane.id()), 0);
            d.set(index * 32 + lane.id(), rows.get(lane, at(lane.id() + 31)));
        })),
        // One lane writes the same value twice, and others read it.
        8 => drop(warp.each(|lane| {
            if lane.id() == 0 {
                rows.set(at(0), 7);
                rows.set(at(0), 7);
            }
            d.set(index * 32 + lane.id(), rows.get(lane, at(0)));
        })),
        _ => unreachable!(),
    }
}

#[test]
fn row_between_lanes_needs_a_sync() {
    for seed in 0..8 {
        let run = |how| row_of_lanes::launch(&Simulator::new(seed), 1, &mut [0; 64], how);
        let error = run(0).unwrap_err();
        assert_eq!(race(&error), (true, Agent::LaneOfWarp(0)));
        assert_at(&error, "from the lane before", (0, 0, 0), error.warp, Some(1));
        let error = run(8).unwrap_err();
        assert_eq!(race(&error), (true, Agent::LaneOfWarp(0)));
        // These are warnings.
        let warning = run(1).unwrap().check().unwrap_err();
        assert!(!race(&warning).0, "{warning}");
        let warning = run(4).unwrap().check().unwrap_err();
        let Misuse::Race {
            access: AccessKind::Write,
            other_access: AccessKind::Read,
            same_closure: false,
            ..
        } = warning.misuse
        else {
            panic!("{warning}")
        };
        for how in [2, 3, 5] {
            run(how).unwrap().check().unwrap();
        }
        for how in [6, 7] {
            run(how).unwrap();
        }
    }
}

/// The same through functions of `raw`, after a warp barrier, after another collective, or after
/// neither.
#[kernel(threads = 32)]
fn raw_rows(block: &Block, #[shared] row: Row, d: GlobalMut<u32>, how: u32) {
    row.fill(block, |_, _| 0);
    block.sync();
    block.warp().each(|lane| {
        let of = |lane: usize| row.address() + (lane % 32 * 4) as u32;
        // SAFETY: The addresses are elements of the row, and all lanes reach the same instructions.
        unsafe {
            raw::st_shared_b32(of(lane.id()), 7);
            match how {
                0 => {}
                1 => raw::bar_warp_sync(),
                _ => drop(raw::movmatrix_sync_aligned_m8n8_trans_b16(0)),
            }
            d.set(lane.id(), raw::ld_shared_b32(of(lane.id() + 31))); // <- raw read
        }
    });
}

#[test]
fn raw_load_of_another_lanes_store_needs_a_sync() {
    let run = |how| raw_rows::simulate(1, &mut [0; 32], how);
    let error = run(0).unwrap_err();
    assert_eq!(race(&error), (true, Agent::LaneOfWarp(0)));
    assert_at(&error, "raw read", (0, 0, 0), 0, Some(1));
    run(1).unwrap().check().unwrap();
    // All lanes have stored before any lane continues, but nothing makes the stores visible.
    let warning = run(2).unwrap().check().unwrap_err();
    assert!(!race(&warning).0, "{warning}");
}

/// The sum of a row by halves, with all steps in one closure or in one closure each.
#[kernel(threads = 32)]
fn sum_by_halves(block: &Block, #[shared] row: Row, d: GlobalMut<u32>, how: u32) {
    let warp = block.warp();
    row.fill(warp, |_, col| col as u32);
    warp.sync();
    let step = |lane: Lane<'_>, half: usize| {
        let sum = row.get(lane, (0, lane.id())) + row.get(lane, (0, lane.id() + half));
        row.set((0, lane.id()), sum); // <- half of the sums
    };
    if how == 0 {
        warp.each(|lane| {
            [16, 8, 4, 2, 1]
                .into_iter()
                .filter(|&half| lane.id() < half)
                .for_each(|half| step(lane, half))
        });
    } else {
        for half in [16, 8, 4, 2, 1] {
            warp.each(|lane| {
                if lane.id() < half {
                    step(lane, half)
                }
            });
            warp.sync();
        }
    }
    warp.each(|lane| {
        if lane.id() == 0 {
            d.set(0, row.get(lane, (0, 0)))
        }
    });
}

/// Each lane writes its own element, and then reads that of the next lane, which has not written it
/// yet in the simulator.
#[kernel(threads = 32)]
fn next_element(block: &Block, d: GlobalMut<u32>, e: GlobalMut<u32>, first: u32) {
    let warp = block.warp();
    warp.each(|lane| {
        let next = (lane.id() + 1).min(31);
        if first == 1 {
            e.set(lane.id(), d.get(lane, next));
        }
        d.set(lane.id(), lane.id() as u32); // <- the next lane's own
        if first == 0 {
            e.set(lane.id(), d.get(lane, next));
        }
    });
}

#[test]
fn read_before_the_lockstep_write_is_an_error() {
    for seed in 0..8 {
        let device = Simulator::new(seed);
        let error = sum_by_halves::launch(&device, 1, &mut [0], 0).unwrap_err();
        let Misuse::Race {
            access: AccessKind::Write,
            other_access: AccessKind::Read,
            same_closure: true,
            ..
        } = error.misuse
        else {
            panic!("{error}")
        };
        let text = error.to_string();
        assert!(text.contains("in the same lane closure; lanes in step read after it"), "{text}");
        assert!(!text.contains("shared address"), "{text}");
        assert_at(&error, "half of the sums", (0, 0, 0), 0, error.lane);
        let mut d = [0];
        sum_by_halves::launch(&device, 1, &mut d, 1).check();
        assert_eq!(d, [496]);
        let error = next_element::launch(&device, 1, &mut [9; 32], &mut [0; 32], 0).unwrap_err();
        let Misuse::Race {
            access: AccessKind::Write,
            other_access: AccessKind::Read,
            same_closure: true,
            ..
        } = error.misuse
        else {
            panic!("{error}")
        };
        assert_at(&error, "the next lane's own", (0, 0, 0), 0, Some(1));
        // Reads that precede all writes give the same in step, so there is only a warning.
        let mut e = [0; 32];
        let warning =
            next_element::launch(&device, 1, &mut [9; 32], &mut e, 1).unwrap().check().unwrap_err();
        let Misuse::Race { same_closure: false, .. } = warning.misuse else { panic!("{warning}") };
        assert_eq!(e, [9; 32]);
    }
}

/// The elected lane passes values to all lanes, in one closure or in two.
#[kernel(threads = 32, target = "sm_90")]
fn elected(block: &Block, #[shared] row: Row, d: GlobalMut<u32>) {
    let warp = block.warp();
    warp.elect(|lane| {
        (0..32).for_each(|col| row.set((0, col), 3));
        d.set(32, row.get(lane, (0, 31)));
    });
    warp.sync();
    warp.each(|lane| d.set(lane.id(), row.get(lane, (0, 31 - lane.id()))));
}

/// A lane waits for a barrier within the closure, and then reads an element that another lane wrote
/// before its arrival.
#[kernel(threads = 32, target = "sm_90")]
fn ordered_by_a_barrier(
    block: &Block,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    d: GlobalMut<u32>,
    waits: u32,
) {
    let full = full.init(block, 1);
    row.fill(block, |_, _| 0);
    block.sync();
    block.warp().each(|lane| {
        if lane.id() == 0 {
            row.set((0, 0), 7);
            full.arrive(lane);
        }
        if lane.id() == 9 {
            while waits == 1 && !full.is_over(lane, Phase::FIRST) {}
            d.set(0, row.get(lane, (0, 0)));
        }
    });
}

#[test]
fn elect_and_barrier_order_lanes() {
    for seed in 0..8 {
        let device = Simulator::new(seed);
        let mut d = [0; 33];
        elected::launch(&device, 1, &mut d).check();
        assert_eq!(d, [3; 33]);
        let mut d = [0];
        ordered_by_a_barrier::launch(&device, 1, &mut d, 1).check();
        assert_eq!(d, [7]);
        let error = ordered_by_a_barrier::launch(&device, 1, &mut d, 0).unwrap_err();
        assert_eq!(race(&error), (true, Agent::LaneOfWarp(0)));
    }
}

/// Two closures with others between. The numbers of closures are small and come again. With
/// `rewrites`, one of those between writes the same values.
#[kernel(threads = 32)]
fn closures_between(
    block: &Block,
    row: GlobalMut<u32>,
    d: GlobalMut<u32>,
    between: u32,
    rewrites: bool,
) {
    let warp = block.warp();
    warp.each(|lane| row.set(lane.id(), lane.id() as u32));
    for closure in 0..between {
        warp.each(|lane| {
            if rewrites && closure + 3 == between {
                row.set(lane.id(), lane.id() as u32);
            }
        });
    }
    warp.each(|lane| d.set(lane.id(), row.get(lane, (lane.id() + 31) % 32)));
}

#[test]
fn other_closures_are_not_taken_for_the_same_one() {
    let cases = [0, 253, 254, 255, 509].into_iter().flat_map(|of| [(of, false), (of, true)]);
    for (between, rewrites) in cases {
        let (mut row, mut d) = ([0; 32], [0; 32]);
        let report = closures_between::simulate(1, &mut row, &mut d, between, rewrites).unwrap();
        let warned = report.warnings.iter().map(|warning| &warning.misuse);
        for misuse in warned {
            assert!(matches!(misuse, Misuse::Race { same_closure: false, .. }), "{between}");
        }
        assert_eq!(d, core::array::from_fn(|lane| (lane as u32 + 31) % 32));
    }
}
