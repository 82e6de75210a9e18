//! Atomic reductions of elements in global and in shared memory: the accesses that may run at the
//! same time, and those that may not.

use crate::{assert_at, assert_elected_at, line_of};
use ptx_matrix::copy::reduction::{Add, Inc, Max};
use ptx_matrix::memory::GlobalMatrixMut;
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{AccessKind, Finding, Memory, Misuse, SimError, Simulator, mark_unwritten};

/// All lanes of two warps add to `sums`, whose first element has the mistake `how`.
#[kernel(threads = 64)]
fn add(block: &Block, values: Global<f32>, sums: GlobalMut<f32>, seen: GlobalMut<f32>, how: u32) {
    let warp = block.warp();
    let is_last = block.index().x == 1;
    if how == 1 && is_last && warp.index() == 0 {
        warp.elect(|_| sums.set(0, 0.0)); // <- write
    }
    if how == 2 && warp.index() == 0 {
        warp.each(|lane| {
            if lane.id() == 0 {
                sums.set(0, 1.0);
            }
        });
        block.sync();
    } else if how == 2 {
        block.sync();
    }
    let first = warp.index() * 32;
    warp.each(|lane| {
        let rank = first + lane.id();
        sums.reduce(lane, Add, rank % sums.len(), values.get(rank)); // <- add
    });
    if how == 3 && warp.index() == 0 {
        warp.each(|lane| seen.set(0, sums.get(lane, 0))); // <- early
    }
    if how >= 4 {
        block.sync();
        if warp.index() == 1 && (how == 4 || is_last) {
            warp.each(|lane| {
                if lane.id() == 3 {
                    seen.set(0, sums.get(lane, 0)); // <- late
                }
            });
        }
    }
}

/// The sums after `blocks` blocks, and the element that a lane read meanwhile.
fn added(blocks: u32, how: u32) -> Result<([f32; 4], f32), SimError> {
    let values: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let (mut sums, mut seen) = ([0.5; 4], [-1.0]);
    add::simulate(blocks, &values, &mut sums, &mut seen, how)?;
    Ok((sums, seen[0]))
}

/// Asserts that an access of `sums` races with a reduction, in either order.
#[track_caller]
fn raced(blocks: u32, how: u32, access: AccessKind, mark: &str) {
    let error = added(blocks, how).unwrap_err();
    let Misuse::Race { access: one, memory, other_access, other_place, .. } = &error.misuse else {
        panic!("{error}");
    };
    let place = error.place.as_ref().expect("a place");
    let mut found = [(*one, place.line), (*other_access, other_place.line)];
    found.sort_unstable();
    let mut expected = [(AccessKind::Reduction, line_of("add").1), (access, line_of(mark).1)];
    expected.sort_unstable();
    assert_eq!(found, expected, "{error}");
    assert_eq!(*memory, Memory::Global { name: "sums", index: 0 });
}

#[test]
fn lanes_warps_and_blocks_may_reduce_one_element() {
    // 0 + 4 + .. + 60 is 480.
    assert_eq!(added(1, 0).unwrap().0, [480.5, 496.5, 512.5, 528.5]);
    assert_eq!(added(3, 0).unwrap().0, [1440.5, 1488.5, 1536.5, 1584.5]);
}

#[test]
fn element_is_read_and_written_in_order() {
    assert_eq!(added(1, 4).unwrap().1, 480.5);
    assert_eq!(added(1, 2).unwrap().0, [481.0, 496.5, 512.5, 528.5]);
}

#[test]
fn read_without_a_sync_races() {
    raced(1, 3, AccessKind::Read, "early");
}

#[test]
fn accesses_of_another_block_race() {
    raced(2, 5, AccessKind::Read, "late");
    raced(2, 1, AccessKind::Write, "write");
}

/// Of each block, warp 0 adds to an element, and warp 1 takes the maximum, with `sync`s between.
#[kernel(threads = 64)]
fn add_and_maximise(block: &Block, d: GlobalMut<u32>, syncs: bool, block_of_max: u32) {
    let warp = block.warp();
    let index = block.index().x;
    if warp.index() == 0 && (index != block_of_max || syncs) {
        warp.each(|lane| d.reduce(lane, Add, 0, 1)); // <- adds
    }
    if syncs {
        block.sync();
    }
    if warp.index() == 1 && index == block_of_max {
        warp.each(|lane| d.reduce(lane, Max, 0, 20)); // <- maximum
    }
}

/// 32 and then 20, or 20 and then 32 more: the result depends on the order.
#[test]
fn reductions_by_different_operations_need_an_order() {
    let mut d = [0];
    add_and_maximise::simulate(1, &mut d, true, 0).unwrap();
    assert_eq!(d, [32]);
    let raced = |blocks, syncs| {
        let error = add_and_maximise::simulate(blocks, &mut [0], syncs, 0).unwrap_err();
        let Misuse::Race {
            access: AccessKind::Reduction, other_access: AccessKind::Reduction, ..
        } = error.misuse
        else {
            panic!("{error}");
        };
        error.to_string()
    };
    let report = raced(2, false);
    assert!(report.contains("by the same operation"), "{report}");
    raced(2, true);
}

#[test]
fn reductions_by_different_operations_race_in_a_block() {
    #[kernel(threads = 64)]
    fn both(block: &Block, d: GlobalMut<u32>) {
        let warp = block.warp();
        let is_first = warp.index() == 0;
        warp.each(|lane| match is_first {
            true => d.reduce(lane, Add, 0, 1),
            false => d.reduce(lane, Max, 0, 20),
        });
    }
    let error = both::simulate(1, &mut [0]).unwrap_err();
    let Misuse::Race { access: AccessKind::Reduction, other_access: AccessKind::Reduction, .. } =
        error.misuse
    else {
        panic!("{error}");
    };
}

/// Subnormal operands and results become zero in f32, and in no other type.
#[test]
fn subnormal_numbers_become_zero() {
    #[kernel(threads = 32)]
    fn sums(block: &Block, value: f32, of_f64: f64, d: GlobalMut<f32>, of_f64s: GlobalMut<f64>) {
        block.warp().each(|lane| {
            if lane.id() == 0 {
                d.reduce(lane, Add, 0, value);
                d.reduce(lane, Add, 1, -value);
                of_f64s.reduce(lane, Add, 0, of_f64);
            }
        });
    }
    let (least, least_f64) = (f32::MIN_POSITIVE, f64::MIN_POSITIVE);
    let (mut d, mut of_f64s) = ([least / 2.0, least * 1.5], [least_f64 / 4.0]);
    sums::simulate(1, least, least_f64 / 4.0, &mut d, &mut of_f64s).unwrap();
    assert_eq!((d, of_f64s), ([least, 0.0], [least_f64 / 2.0]));
}

#[test]
fn matrix_element_is_reduced() {
    #[kernel(threads = 32)]
    fn largest(block: &Block, d: GlobalMut<i32>, row: u32) {
        let d = GlobalMatrixMut::<i32, ColMajor>::new(d, 2, 3, 4);
        block.warp().each(|lane| d.reduce(lane, Max, (row as usize, 2), lane.id() as i32 - 40));
    }
    let mut d = [-20; 12];
    largest::simulate(1, &mut d, 1).unwrap();
    assert_eq!((d[9], d.iter().sum::<i32>()), (-9, -229));
    let error = largest::simulate(1, &mut d, 2).unwrap_err();
    assert!(error.to_string().contains("(2, 2)"), "{error}");
}

#[test]
fn reduction_out_of_bounds_is_an_error() {
    #[kernel(threads = 32)]
    fn count(block: &Block, d: GlobalMut<u32>, index: u32) {
        block.warp().each(|lane| d.reduce(lane, Inc, index as usize, 9)); // <- beyond
    }
    let mut d = [0; 5];
    count::simulate(2, &mut d, 4).unwrap();
    assert_eq!(d, [0, 0, 0, 0, 4], "64 modulo 10");
    let error = count::simulate(1, &mut d, 5).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::GlobalOutOfBounds { access: AccessKind::Reduction, name: "d", index: 5, len: 5 }
    );
    assert_at(&error, "beyond", (0, 0, 0), 0, Some(0));
}

#[test]
fn unwritten_element_must_not_be_reduced() {
    #[kernel(threads = 32)]
    fn count(block: &Block, d: GlobalMut<u32>) {
        block.warp().each(|lane| d.reduce(lane, Add, 3, 1)); // <- unwritten
    }
    let mut d = [0; 5];
    mark_unwritten(&mut d);
    let error = count::simulate(1, &mut d).unwrap_err();
    assert_eq!(error.misuse, Misuse::GlobalUnwritten { name: "d", index: 3 });
    assert_at(&error, "unwritten", (0, 0, 0), 0, Some(0));
}

/// Reductions by the functions of `raw`, with the mistake `how`.
#[kernel(threads = 32)]
fn reduce_raw(block: &Block, d: GlobalMut<u32>, how: u32) {
    use raw::{
        red_relaxed_gpu_global_add_u32 as add, red_relaxed_gpu_global_add_u64 as add_wide,
        red_relaxed_gpu_global_xor_b32 as xor,
    };
    if how == 1 {
        // SAFETY: None. This is the bug under test, as are some below.
        unsafe { add(d.as_ptr().cast(), 1) }; // <- warp
    }
    block.warp().each(|lane| {
        let to = |bytes: usize| d.as_ptr().cast::<u8>().wrapping_add(bytes);
        // SAFETY: as above; else an element of `d`.
        unsafe {
            match how {
                2 => add_wide(to(0), 1),      // <- wide
                3 => add(to(2), 1),           // <- misaligned
                4 => add(to(4 * d.len()), 1), // <- outside
                _ => xor(to(4 * (lane.id() % 2)), 1 << lane.id()),
            }
        }
    });
}

#[test]
fn raw_reductions_are_checked() {
    let mut d = [0; 8];
    reduce_raw::simulate(1, &mut d, 0).unwrap();
    assert_eq!(d, [0x5555_5555, 0xaaaa_aaaa, 0, 0, 0, 0, 0, 0]);
    let mut error = |how, mark| {
        let error = reduce_raw::simulate(1, &mut d, how).unwrap_err();
        assert_at(&error, mark, (0, 0, 0), 0, (how > 1).then_some(0));
        let text = error.to_string();
        assert!(!text.contains("copy") && text.contains("help: "), "{text}");
        error.misuse.clone()
    };
    let form = "red.relaxed.gpu.global.add.u32";
    assert_eq!(error(1, "warp"), Misuse::RawAtWarpScope { form });
    assert_eq!(error(2, "wide"), Misuse::ReductionWidth { name: "d", element: 4, bytes: 8 });
    let misaligned =
        Misuse::GlobalMisaligned { access: AccessKind::Reduction, name: "d", index: 0, bytes: 4 };
    assert_eq!(error(3, "misaligned"), misaligned);
    assert_eq!(
        error(4, "outside"),
        Misuse::OutsideOfSlices { access: AccessKind::Reduction, bytes: 4 }
    );
}

/// A reduction beside a bulk copy in flight to the element; beside a reduction by a bulk copy, of
/// the same operation or another.
#[test]
fn bulk_copy_in_flight_is_no_reduction() {
    type Tile = SharedTile<u32, 1, 4>;

    #[kernel(threads = 32, target = "sm_90")]
    fn in_flight(block: &Block, #[shared] tile: Tile, d: GlobalMut<u32>, how: u32) {
        let warp = block.warp();
        tile.fill(warp, |_, col| col as u32);
        warp.fence_for_bulk();
        warp.elect(|lane| {
            match how {
                0 => tile.reduce_tma(lane, Add, d.bulk(0)),
                1 => tile.reduce_tma(lane, Max, d.bulk(0)),
                _ => tile.store_tma(lane, d.bulk(0)),
            }
            BulkGroup::commit(lane);
            d.reduce(lane, Add, 2, 100); // <- in flight
            BulkGroup::wait::<0>(lane);
        });
    }
    let mut d = [1000; 4];
    in_flight::simulate(2, &mut d, 0).unwrap();
    assert_eq!(d, [1000, 1002, 1204, 1006]);
    for how in [1, 2] {
        let error = in_flight::simulate(1, &mut d, how).unwrap_err();
        let Misuse::StoreInFlight { access: AccessKind::Reduction, name: "d", index: 2, .. } =
            error.misuse
        else {
            panic!("{error}");
        };
        assert_elected_at(&error, "in flight", (0, 0, 0), 0);
    }
}

/// Counts in shared memory, with the mistake `how`.
#[kernel(threads = 64)]
fn count(block: &Block, #[shared] counts: SharedTile<u32, 1, 4>, d: GlobalMut<u32>, how: u32) {
    let first = block.warp().index() * 32;
    if how != 1 {
        counts.fill(block, |_, _| 0); // <- filled
    }
    if how != 2 {
        block.sync();
    }
    block.warp().each(|lane| {
        let rank = first + lane.id();
        match how == 3 && first > 0 {
            true => counts.reduce(lane, Max, (0, rank % 4), 9), // <- largest
            false => counts.reduce(lane, Add, (0, rank % 4), 1), // <- counted
        }
    });
    if how != 4 {
        block.sync();
    }
    if first == 32 {
        block.warp().each(|lane| {
            if lane.id() < 4 {
                d.set(lane.id(), counts.get(lane, (0, lane.id()))); // <- read
            }
        });
    }
}

#[test]
fn shared_element_is_reduced_by_all_lanes() {
    let mut d = [0; 4];
    count::simulate(1, &mut d, 0).unwrap().check().unwrap();
    assert_eq!(d, [16; 4]);
    let error = count::simulate(1, &mut d, 1).unwrap_err();
    assert!(matches!(error.misuse, Misuse::SharedUnwritten { bytes: 4, .. }), "{error}");
}

#[test]
fn unordered_access_of_a_reduced_shared_element_races() {
    for (how, marks) in
        [(2, ["filled", "counted"]), (3, ["largest", "counted"]), (4, ["counted", "read"])]
    {
        let mut expected = marks.map(|mark| line_of(mark).1);
        expected.sort_unstable();
        let error = count::simulate(1, &mut [0; 4], how).unwrap_err();
        let is_it = |finding: &Finding| {
            let Misuse::Race { other_place, .. } = &finding.misuse else { return false };
            let mut found = [finding.place.as_ref().expect("a place").line, other_place.line];
            found.sort_unstable();
            found == expected
        };
        assert!(error.findings().iter().any(is_it), "{how}: {error}");
    }
}

/// A reduction beside a copy in flight to the element, and one whose bytes a bulk copy then reads.
#[test]
fn reduced_shared_element_and_bulk_copies() {
    type Tile = SharedTile<f32, 1, 4>;

    #[kernel(threads = 32, target = "sm_90")]
    fn stored(block: &Block, #[shared] tile: Tile, d: GlobalMut<f32>, how: u32) {
        let warp = block.warp();
        tile.fill(warp, |_, col| col as f32);
        warp.sync();
        warp.each(|lane| tile.reduce(lane, Add, (0, lane.id() % 4), 0.5));
        if how != 1 {
            warp.fence_for_bulk();
        }
        warp.sync();
        warp.elect(|lane| {
            tile.store_tma(lane, d.bulk(0)); // <- stored
            BulkGroup::commit(lane);
            if how == 2 {
                tile.reduce(lane, Add, (0, 1), 1.0); // <- again
            }
            BulkGroup::wait_read::<0>(lane);
        });
    }
    let mut d = [0.0; 4];
    stored::simulate(1, &mut d, 0).unwrap().check().unwrap();
    assert_eq!(d, [4.0, 5.0, 6.0, 7.0]);
    let error = stored::simulate(1, &mut d, 1).unwrap_err();
    assert!(matches!(error.misuse, Misuse::ProxyFence { .. }), "{error}");
    assert_elected_at(&error, "stored", (0, 0, 0), 0);
    let error = stored::simulate(1, &mut d, 2).unwrap_err();
    assert!(matches!(error.misuse, Misuse::CopySourceInFlight { .. }), "{error}");
    assert_elected_at(&error, "again", (0, 0, 0), 0);
}

/// All threads count in shared memory. `how` is the mistake.
#[kernel(threads = 64)]
fn ranks(block: &Block, #[shared] count: SharedTile<u32, 1, 4>, d: GlobalMut<u32>, how: u32) {
    count.fill(block, |_, _| 0);
    if how != 1 {
        block.sync();
    }
    block.each_thread(|lane, rank| {
        d.set(rank, count.fetch(lane, Add, (0, 0), 1)); // <- fetches
    });
    if how != 2 {
        block.sync();
    }
    block.each_thread(|lane, rank| {
        if how == 3 && rank == 5 {
            count.fetch(lane, Max, (0, 0), 7);
        }
        if rank == 63 {
            d.set(64, count.get(lane, (0, 0)));
        }
    });
}

#[test]
fn results_in_shared_memory_are_a_permutation() {
    let run = |seed, how| {
        let mut d = [99; 65];
        ranks::launch(&Simulator::new(seed), 1, &mut d, how).map(|_| d)
    };
    for seed in 0..8 {
        let mut d = run(seed, 0).unwrap();
        d.sort();
        assert_eq!(d, std::array::from_fn(|i| i as u32));
        for how in 1..=3 {
            let error = run(seed, how).unwrap_err();
            assert!(error.to_string().contains("error: race: "), "{how}: {error}");
        }
    }
    let lowest: Vec<u32> = (0..8).map(|seed| run(seed, 0).unwrap()[0]).collect();
    assert!(lowest.contains(&0) && lowest.iter().any(|&lowest| lowest > 0), "{lowest:?}");
}
