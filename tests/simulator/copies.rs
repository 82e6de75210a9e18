//! Accesses to the memory of asynchronous copies before the copies have landed.

use crate::{assert_at, line_of};
use ptx_matrix::copy::{Along, CpAsync, TileReader, UnalignedReader};
use ptx_matrix::memory::GlobalMatrix;
use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{AccessKind, Misuse, Place, SimError, Simulator};

type Tile = SharedTile<u32, 8, 8>;

/// Asserts that the error is an access of this kind while the copy of the marked line is in flight.
#[track_caller]
fn assert_in_flight(error: &SimError, access: AccessKind, copy_marker: &str) {
    let Misuse::CopyInFlight { access: found, place: Place { file, line, .. }, .. } = &error.misuse
    else {
        panic!("{error}")
    };
    assert_eq!(*found, access, "{error}");
    assert_eq!((file.clone(), *line), line_of(copy_marker), "{error}");
}

/// Copies a tile, and reads it. `commit` and `wait` say whether it waits.
#[kernel(threads = 32, target = "sm_80")]
fn wait_or_not(
    block: &Block,
    #[shared] tile: Tile,
    a: Global<u32>,
    d: GlobalMut<u32>,
    commit: u32,
    wait: u32,
) {
    let warp = block.warp();
    tile.copy_async(warp, a, |row, col| row * 8 + col); // <- copied
    if commit == 1 {
        CpAsync::<16>::commit(warp);
    }
    if wait == 1 {
        CpAsync::<16>::wait::<0>(warp);
    }
    warp.sync();
    tile.for_each(warp, |row, col, value| d.set(row * 8 + col, value)); // <- read too early
}

#[test]
fn read_before_the_wait_is_an_error() {
    let a: Vec<u32> = (100..164).collect();
    let mut d = vec![0; 64];
    wait_or_not::simulate(1, &a, &mut d, 1, 1).unwrap();
    assert_eq!(d, a);
    for (commit, wait) in [(1, 0), (0, 0), (0, 1)] {
        let error = wait_or_not::simulate(1, &a, &mut d, commit, wait).unwrap_err();
        assert_in_flight(&error, AccessKind::Read, "copied");
        assert_at(&error, "read too early", (0, 0, 0), 0, Some(0));
    }
}

/// Two groups are in flight. Waits until at most one, or none, is left; reads the tile of the
/// second.
#[kernel(threads = 32, target = "sm_80")]
fn two_groups(block: &Block, #[shared] tiles: [Tile; 2], a: Global<u32>, read: usize) {
    let warp = block.warp();
    for tile in tiles {
        tile.copy_async(warp, a, |row, col| row * 8 + col); // <- copied in two groups
        CpAsync::<16>::commit(warp);
    }
    CpAsync::<16>::wait::<1>(warp);
    warp.sync();
    tiles[read].for_each(warp, |_, _, _| ());
}

#[test]
fn wait_for_an_older_group_does_not_cover_the_copy() {
    let a = vec![1; 64];
    two_groups::simulate(1, &a, 0).unwrap();
    assert_in_flight(
        &two_groups::simulate(1, &a, 1).unwrap_err(),
        AccessKind::Read,
        "copied in two groups",
    );
}

/// Accesses a tile while a copy to it is in flight.
#[kernel(threads = 32, target = "sm_80")]
fn overwrite(block: &Block, #[shared] tile: Tile, a: Global<u32>, by: u32, row: usize) {
    let warp = block.warp();
    warp.each(|lane| {
        if lane.id() == 3 {
            CpAsync::<16>::copy(lane, &tile, (2, 4), a, 0); // <- one chunk
        }
    });
    CpAsync::<16>::commit(warp);
    warp.each(|lane| {
        if lane.id() == 5 {
            match by {
                0 => tile.set((row, 4), 1),
                _ => CpAsync::<16>::copy(lane, &tile, (row, 4), a, 0),
            }
        }
    });
    CpAsync::<16>::commit(warp);
    CpAsync::<16>::wait::<0>(warp);
}

#[test]
fn write_to_a_stage_in_flight_is_an_error() {
    let a = vec![1; 64];
    for (by, access) in [(0, AccessKind::Write), (1, AccessKind::Copy)] {
        overwrite::simulate(1, &a, by, 3).unwrap();
        let error = overwrite::simulate(1, &a, by, 2).unwrap_err();
        assert_in_flight(&error, access, "one chunk");
        assert_eq!(error.lane, Some(5));
    }
}

/// Warp 0 copies and waits. Warp 1 reads, with or without a `sync` before.
#[kernel(threads = 64, target = "sm_80")]
fn for_another_warp(block: &Block, #[shared] tile: Tile, a: Global<u32>, sync: u32) {
    let warp = block.warp();
    if warp.index() == 0 {
        tile.copy_async(warp, a, |row, col| row * 8 + col);
        CpAsync::<16>::commit(warp);
        CpAsync::<16>::wait::<0>(warp);
    }
    if sync == 1 {
        block.sync();
    }
    if warp.index() == 1 {
        tile.for_each(warp, |_, _, _| ());
    }
}

#[test]
fn waited_copy_needs_a_sync_for_other_warps() {
    let a = vec![1; 64];
    for seed in 0..20 {
        for_another_warp::launch(&Simulator::new(seed), 1, &a, 1).unwrap();
        let error = for_another_warp::launch(&Simulator::new(seed), 1, &a, 0).unwrap_err();
        assert!(
            matches!(error.misuse, Misuse::Race { .. } | Misuse::SharedUnwritten { .. }),
            "{error}"
        );
    }
}

/// A ring of two stages. Without the `sync`, a fast warp fills a stage that a slow warp still
/// reads.
#[kernel(threads = 64, target = "sm_80")]
fn pipeline(block: &Block, #[shared] stages: SharedRing<Tile, 2>, a: Global<u32>, sync: u32) {
    let warp = block.warp();
    for step in 0..4 {
        stages.part(step % 2).copy_async(block, a, |row, col| row * 8 + col);
        CpAsync::<16>::commit(warp);
        CpAsync::<16>::wait::<0>(warp);
        block.sync();
        stages.part(step % 2).for_each(warp, |_, _, value| assert_eq!(value, 7));
        if sync == 1 {
            block.sync();
        }
    }
}

#[test]
fn copy_during_another_warps_read_is_a_race() {
    let a = vec![7; 64];
    for seed in 0..20 {
        // With two stages and one `sync` in each step, a warp is at most one step ahead, in the
        // other stage.
        pipeline::launch(&Simulator::new(seed), 1, &a, 0).unwrap();
        pipeline::launch(&Simulator::new(seed), 1, &a, 1).unwrap();
    }
}

#[kernel(threads = 32, target = "sm_80")]
fn from(block: &Block, #[shared] tile: Tile, a: Global<u32>, index: usize, count: usize) {
    block.warp().each(|lane| {
        if lane.id() == 9 {
            CpAsync::<16>::copy_some(lane, &tile, (0, 0), a, index, count); // <- copied from
        }
    });
}

#[test]
fn out_of_bounds_or_misaligned_copy_is_an_error() {
    // A host slice may start at any address. A GPU buffer starts aligned.
    let shifted = [1; 63];
    from::simulate(1, &shifted[1..], 56, 4).unwrap();
    let a = vec![1; 62];
    for (index, count) in [(0, 4), (56, 4), (60, 2), (usize::MAX, 0)] {
        from::simulate(1, &a, index, count).unwrap();
    }
    let error = from::simulate(1, &a, 60, 3).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::GlobalOutOfBounds { access: AccessKind::Copy, name: "a", index: 62, len: 62 }
    );
    assert_at(&error, "copied from", (0, 0, 0), 0, Some(9));
    let error = from::simulate(1, &a, usize::MAX, 4).unwrap_err();
    assert!(matches!(error.misuse, Misuse::GlobalOutOfBounds { .. }), "{error}");
    let error = from::simulate(1, &a, 2, 1).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::GlobalMisaligned { access: AccessKind::Copy, name: "a", index: 2, bytes: 16 }
    );
}

#[test]
fn report_names_the_copy_and_the_remedy() {
    let error = overwrite::simulate(1, &vec![1; 64], 0, 2).unwrap_err().to_string();
    let headline = "error: write of `tile row 2, column 4` while a copy to it, started by warp 0, \
        is in flight";
    assert!(error.starts_with(headline), "{error}");
    assert!(error.contains("\n   = the copy is started at tests/simulator/copies.rs:"), "{error}");
    let help = "\n   = help: wait until at most 0 groups are in flight (`wait::<0>`)";
    assert!(error.contains(help), "{error}");
}

type Row = SharedTile<u64, 1, 64>;

/// Reads the first tile of a matrix with one row, which fits its slice for every stride.
#[kernel(threads = 32, target = "sm_80")]
fn one_row(block: &Block, #[shared] tile: Row, a: Global<u64>, stride: usize) {
    let a = GlobalMatrix::new(a, 1, 64, stride);
    let reader = TileReader::<Row, 1>::new(block, a, (0, 0), Along::Cols); // <- reader
    reader.copy(block, &tile);
    CpAsync::<16>::commit(block.warp());
    CpAsync::<16>::wait::<0>(block.warp());
}

#[test]
fn too_large_row_stride_is_an_error() {
    let most = u32::MAX as usize / 8 / 2 * 2;
    one_row::simulate(1, &[1; 64], most).unwrap();
    let error = one_row::simulate(1, &[1; 64], most + 2).unwrap_err();
    assert!(matches!(error.misuse, Misuse::StrideTooLarge { .. }), "{error}");
    assert_at(&error, "reader", (0, 0, 0), 0, None);
}

/// Starts at a column beyond all 32-bit numbers, and advances from there.
#[kernel(threads = 32, target = "sm_80")]
fn far_column(block: &Block, #[shared] tile: Half, a: Global<u32>) {
    let a = GlobalMatrix::new(a, 8, 32, 32);
    let mut reader = TileReader::<Half, 2>::new(block.warp(), a, (0, 1 << 32), Along::Cols);
    for _ in 0..3 {
        reader.copy(block.warp(), &tile);
        reader.advance(1);
        CpAsync::<16>::commit(block.warp());
        CpAsync::<16>::wait::<0>(block.warp());
    }
}

#[test]
fn column_beyond_32_bits_stays_aligned() {
    far_column::simulate(1, &[1; 8 * 32]).check();
}

type Half = SharedTile<u32, 8, 32>;

/// A reader for a block of 256 threads, or for one warp, and then the other threads. `how` selects
/// the call; 0 to 2 are right.
#[kernel(threads = 256, target = "sm_80")]
fn other_threads(block: &Block, #[shared] tile: Half, a: Global<u32>, how: usize) {
    let (warp, a) = (block.warp(), GlobalMatrix::new(a, 8, 32, 32));
    let aligned =
        |block: &Block| UnalignedReader::<Half, u32, 1>::new(block, a, (0, 0), Along::Cols);
    match how {
        0 => aligned(block).copy(block, &tile, 0, 1),
        1 => {
            let reader = aligned(block);
            reader.put(block, &tile, &reader.fetch(block, 0, 1), 0, 1);
        }
        2 if warp.index() == 0 => {
            let reader = UnalignedReader::<Half, u32, 8>::new(warp, a, (0, 0), Along::Cols);
            for part in 0..3 {
                reader.put(warp, &tile, &reader.fetch(warp, part, 3), part, 3);
            }
        }
        2 => {}
        3 => drop(aligned(block).fetch(warp, 0, 1)), // <- 3
        4 => aligned(block).copy(warp, &tile, 0, 1), // <- 4
        5 => {
            let reader = UnalignedReader::<Half, u32, 8>::new(warp, a, (0, 0), Along::Cols);
            reader.put(block, &tile, &reader.fetch(warp, 0, 1), 0, 1); // <- 5
        }
        6 => {
            let reader = UnalignedReader::<Half, u32, 8>::new(warp, a, (0, 0), Along::Cols);
            reader.put(warp, &tile, &reader.fetch(warp, 0, 1), 1, 1); // <- 6
        }
        7 => {
            let reader = TileReader::<Half, 2>::new(warp, a, (0, 0), Along::Cols);
            reader.copy(block, &tile); // <- 7
        }
        _ => {
            let reader = TileReader::<Half, 2>::new(warp, a, (0, 0), Along::Cols);
            reader.copy_part(block, &tile, 0, 1); // <- 8
        }
    }
    CpAsync::<4>::commit(warp);
    CpAsync::<4>::wait::<0>(warp);
}

#[test]
fn reader_is_used_by_the_threads_that_made_it() {
    let a = [1; 8 * 32];
    for how in 0..3 {
        other_threads::simulate(1, &a, how).unwrap();
    }
    for how in 3..9 {
        let error = other_threads::simulate(1, &a, how).unwrap_err();
        let Misuse::Panic { message, .. } = &error.misuse else { panic!("{error}") };
        let expected = if how == 6 {
            "the parts of a tile count from 0 to `parts` - 1"
        } else {
            "the threads that use a reader are those that made it"
        };
        assert!(message.contains(expected), "{how}: {error}");
        let Place { file, line, .. } = error.place.clone().unwrap();
        assert_eq!((file, line), line_of(&how.to_string()));
    }
}

/// Two groups of copies, and a read of both tiles. `how` selects what is missing.
#[kernel(threads = 32, target = "sm_80")]
fn read_too_early(block: &Block, #[shared] tiles: [Tile; 2], a: Global<u32>, how: u32) {
    let warp = block.warp();
    for tile in tiles {
        tile.copy_async(warp, a, |row, col| row * 8 + col);
        if how != 0 {
            CpAsync::<16>::commit(warp);
        }
    }
    match how {
        0 => CpAsync::<16>::wait::<0>(warp),
        1 => {}
        2 => CpAsync::<16>::wait::<1>(warp),
        _ => CpAsync::<16>::wait::<0>(warp),
    }
    warp.sync();
    tiles.iter().for_each(|tile| tile.for_each(warp, |_, _, _| ()));
}

#[test]
fn help_says_what_a_copy_lacks() {
    let run = |how| read_too_early::simulate(1, &[1; 64], how);
    run(3).check();
    for (how, help) in [
        (0, "help: commit the copy and wait for its group"),
        (1, "help: wait until at most 1 group is in flight (`wait::<1>`)"),
        (2, "help: wait until at most 0 groups are in flight (`wait::<0>`)"),
    ] {
        let report = run(how).unwrap_err().to_string();
        assert!(report.contains(help), "{how}: {report}");
    }
}

#[kernel(threads = 128, target = "sm_90a")]
fn multiply_copied(
    block: &Block,
    #[shared] tile_a: SharedTile<bf16, 64, 64, Swizzle128>,
    #[shared] tile_b: SharedTile<bf16, 64, 32, Swizzle128, ColMajor>,
    a: Global<bf16>,
    early: u32,
    d: GlobalMut<f32>,
) {
    let group = block.warp_group();
    let warp = group.warp();
    tile_a.copy_async(group, a, |row, k| row * 64 + k);
    tile_b.copy_async(group, a, |k, col| col * 64 + k);
    CpAsync::<16>::commit(warp);
    if early == 1 {
        warp.fence_for_bulk();
    }
    CpAsync::<16>::wait::<0>(warp);
    if early == 0 {
        warp.fence_for_bulk();
    }
    group.sync();
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    Wgmma::<32, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
        for k in (0..64).step_by(16) {
            issue.accumulate(tile_a.matrix_a((0, k)), tile_b.matrix_b((k, 0)));
        }
    });
    acc.finish(group).for_each(group, |row, col, sum| d.set(row * 32 + col, sum));
}

/// The proxy fence orders what has landed: it comes after the wait.
#[test]
fn fence_before_the_wait_for_a_copy_is_too_early() {
    let (a, mut d) = (vec![bf16::ONE; 64 * 64], vec![0.0; 64 * 32]);
    multiply_copied::simulate(1, &a, 0, &mut d).check();
    assert!(d.iter().all(|&sum| sum == 64.0));
    let error = multiply_copied::simulate(1, &a, 1, &mut d).unwrap_err().to_string();
    let help = "help: put `fence_for_bulk` of the warp after the wait for the store or copy";
    assert!(error.contains(help), "{error}");
}
