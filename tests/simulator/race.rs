//! Races between the warps of a block, and between blocks.

use crate::{assert_at, line_of};
use ptx_matrix::lane::Grid;
use ptx_matrix::mma::{B16, LdMatrix, NoTrans, StMatrix, X1};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{AccessKind, Agent, Memory, Misuse, Place, SHARED_BASE, SimError, Simulator};

type Tile = SharedTile<u16, 64, 8>;

/// Asserts that the error is a race of these accesses, with the other access on the marked line.
#[track_caller]
fn assert_race(
    error: &SimError,
    accesses: (AccessKind, AccessKind),
    memory: Memory,
    other_marker: &str,
) {
    let Misuse::Race {
        access,
        memory: raced,
        other_access,
        other_place: Place { file, line, .. },
        ..
    } = &error.misuse
    else {
        panic!("{error}")
    };
    assert_eq!((*access, *other_access), accesses, "{error}");
    assert_eq!(*raced, memory, "{error}");
    assert_eq!((file.clone(), *line), line_of(other_marker), "{error}");
}

/// Each warp writes its own row, and reads a row: that of the other warp if `row_distance` is 1.
#[kernel(threads = 64)]
fn read_a_row(block: &Block, #[shared] tile: Tile, row_distance: usize, sync: u32) {
    let warp = block.warp();
    let mine = warp.index();
    warp.each(|lane| {
        if lane.id() < 8 {
            tile.set((mine, lane.id()), 1); // <- row written
        }
    });
    if sync == 1 {
        block.sync();
    }
    warp.each(|lane| {
        if lane.id() < 8 {
            tile.get(lane, ((mine + row_distance) % 2, lane.id())); // <- row read
        }
    });
}

#[test]
fn read_of_another_warps_write_needs_a_sync() {
    for seed in 0..20 {
        let simulator = Simulator::new(seed);
        read_a_row::launch(&simulator, 1, 1, 1).unwrap();
        read_a_row::launch(&simulator, 1, 0, 0).unwrap();
        let error = read_a_row::launch(&simulator, 1, 1, 0).unwrap_err();
        // The first warp reads unwritten memory. If the row had been written before, the read would
        // race.
        assert!(
            matches!(error.misuse, Misuse::SharedUnwritten { .. } | Misuse::Race { .. }),
            "{error}"
        );
    }
}

/// Lane 1 of warp 0 reads an element, then lane 1 of warp 1, and then lane 0 of warp 0 writes it.
/// The arrivals are by another lane, and so order none of these.
#[kernel(threads = 64, target = "sm_90")]
fn read_by_two_warps(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] turns: SharedRing<BarrierMemory, 2>,
    own_warp: u32,
    other_warp: u32,
) {
    let (warp, turns) = (block.warp(), turns.init(block, 1));
    let (index, reads) = (warp.index(), [own_warp, other_warp][warp.index()] == 1);
    tile.fill(block, |_, _| 0);
    block.sync();
    if index == 1 {
        turns.part(0).wait(warp, Phase::FIRST);
    }
    warp.each(|lane| match lane.id() {
        1 if reads => drop(tile.get(lane, (0, 0))),
        2 => drop(turns.part(index).arrive(lane)),
        _ => {}
    });
    if index == 0 {
        turns.part(1).wait(warp, Phase::FIRST);
        warp.each(|lane| {
            if lane.id() == 0 {
                // Both bytes change.
                tile.set((0, 0), 0x101);
            }
        });
    }
}

#[test]
fn warning_does_not_hide_a_race_with_another_warp() {
    for seed in 0..20 {
        let run = |own, other| read_by_two_warps::launch(&Simulator::new(seed), 1, own, other);
        assert!(run(1, 0).unwrap().check().is_err(), "a warning");
        for own in [0, 1] {
            let error = run(own, 1).expect_err("nothing orders warps 0 and 1");
            let Misuse::Race { other: Agent::WarpOfBlock(_), .. } = error.misuse else {
                panic!("{error}")
            };
        }
    }
}

#[kernel(threads = 64)]
fn write_the_same(block: &Block, #[shared] tile: Tile, distance: usize) {
    let row = block.warp().index() * distance;
    block.warp().each(|lane| tile.set((row + lane.id() / 8, lane.id() % 8), 1));
    // <- written by both
}

#[test]
fn writes_of_two_warps_race() {
    let error = write_the_same::simulate(1, 3).unwrap_err();
    let memory = Memory::Shared { address: SHARED_BASE + 3 * 16 };
    assert_race(&error, (AccessKind::Write, AccessKind::Write), memory, "written by both");
    write_the_same::simulate(1, 4).unwrap();
}

/// A pipeline bug: the tile is filled again while another warp may still read it.
///
/// `sync` is 0 for a `sync` after each fill, 1 for one after each read, too, and 2 for one before
/// each fill only.
#[kernel(threads = 64)]
fn fill_again(block: &Block, #[shared] tile: SharedTile<u16, 16, 16>, sync: u32) {
    for _ in 0..2 {
        if sync == 2 {
            block.sync();
        }
        tile.fill(block, |_, _| 1); // <- filled again
        if sync < 2 {
            block.sync(); // <- synced
        }
        FragmentA::<M16N8K16, u16>::load(block.warp(), &tile, At::<0, 0>); // <- loaded
        if sync == 1 {
            block.sync();
        }
    }
}

#[test]
fn write_during_another_warps_read_is_a_race() {
    for seed in 0..20 {
        fill_again::launch(&Simulator::new(seed), 1, 1).unwrap();
        let error = fill_again::launch(&Simulator::new(seed), 1, 0).unwrap_err();
        // The seed decides which of the two comes first.
        let Misuse::Race { access, other, memory, synced, .. } = &error.misuse else {
            panic!("{error}")
        };
        let line = synced.expect("the `sync` between the lines comes before both").get();
        assert_eq!(line, line_of("synced").1);
        let (accesses, here, there) = match *access {
            AccessKind::Write => ((AccessKind::Write, AccessKind::Read), "filled again", "loaded"),
            _ => ((AccessKind::Read, AccessKind::Write), "loaded", "filled again"),
        };
        assert_race(&error, accesses, memory.clone(), there);
        let Agent::WarpOfBlock(other) = *other else { panic!("{error}") };
        assert_at(&error, here, (0, 0, 0), 1 - other, error.lane);

        let error = fill_again::launch(&Simulator::new(seed), 1, 2).unwrap_err();
        assert!(matches!(error.misuse, Misuse::Race { synced: None, .. }), "{error}");
    }
}

#[kernel(threads = 64)]
fn global(block: &Block, d: GlobalMut<u32>, distance: usize, sync: u32) {
    let (warp, first) = (block.warp(), block.warp().index() * distance);
    warp.each(|lane| d.set(first + lane.id(), 1)); // <- global written
    if sync == 1 {
        block.sync();
    }
    warp.each(|lane| d.get(lane, (first + lane.id() + 32) % 64)); // <- global read
}

#[test]
fn warps_race_in_global_memory() {
    let mut d = [0; 64];
    global::simulate(1, &mut d, 32, 1).unwrap();
    let error = global::simulate(1, &mut d, 32, 0).unwrap_err();
    let Misuse::Race { access, memory, .. } = &error.misuse else { panic!("{error}") };
    let other_marker = if *access == AccessKind::Read { "global written" } else { "global read" };
    let accesses = if *access == AccessKind::Read {
        (AccessKind::Read, AccessKind::Write)
    } else {
        (AccessKind::Write, AccessKind::Read)
    };
    assert_race(&error, accesses, memory.clone(), other_marker);
    let error = global::simulate(1, &mut d, 31, 1).unwrap_err();
    assert_race(
        &error,
        (AccessKind::Write, AccessKind::Write),
        Memory::Global { name: "d", index: 31 },
        "global written",
    );
}

#[kernel(threads = 32)]
fn by_blocks(block: &Block, d: GlobalMut<u32>, distance: usize, read_from: usize) {
    let first = block.index().y as usize * distance;
    block.warp().each(|lane| {
        d.set(first + lane.id(), 1); // <- written by a block
        d.get(lane, (first + lane.id() + read_from) % 96); // <- read by a block
    });
}

#[test]
fn blocks_race_in_global_memory() {
    let mut d = [0; 96];
    by_blocks::simulate((1, 3), &mut d, 32, 0).unwrap();
    let error = by_blocks::simulate((1, 3), &mut d, 16, 0).unwrap_err();
    assert_race(
        &error,
        (AccessKind::Write, AccessKind::Write),
        Memory::Global { name: "d", index: 16 },
        "written by a block",
    );
    assert_at(&error, "written by a block", (0, 1, 0), 0, Some(0));
    let Misuse::Race { other, .. } = &error.misuse else { panic!("{error}") };
    assert_eq!(*other, Agent::OtherBlock(Grid { x: 0, y: 0, z: 0 }));
    let error = by_blocks::simulate((1, 2), &mut d, 32, 32).unwrap_err();
    assert_race(
        &error,
        (AccessKind::Write, AccessKind::Read),
        Memory::Global { name: "d", index: 32 },
        "read by a block",
    );
}

/// Warps pass values to each other through global memory.
#[kernel(threads = 64)]
fn hand_over(block: &Block, d: GlobalMut<u32>) {
    let (warp, part) = (block.warp(), block.index().x as usize * 64);
    let first = warp.index() * 32;
    warp.each(|lane| d.set(part + first + lane.id(), 1));
    block.sync();
    warp.each(|lane| d.get(lane, part + 63 - first - lane.id()));
}

#[test]
fn sync_orders_accesses_of_a_block() {
    hand_over::simulate(3, &mut [0; 192]).unwrap().check().unwrap();
}

/// Accesses of one warp's lanes, one after another, with or without a warp `sync` in between. The
/// racecheck tool of compute-sanitizer warns about the same cases on an H200. It does not see the
/// writes of `stmatrix`, so those cases are an exception.
#[kernel(threads = 32, target = "sm_90")]
fn within_a_warp(block: &Block, #[shared] tile: SharedTile<u16, 8, 8>, case: u32, sync: u32) {
    let warp = block.warp();
    let rows = warp.each(|lane| tile.row((lane.id() % 8, 0)));
    let write = || tile.fill(warp, |row, col| (row * 8 + col) as u16);
    let read = || {
        warp.each(|lane| tile.get(lane, (lane.id() % 8, lane.id() / 4)));
    };
    let load = || {
        LdMatrix::<X1, NoTrans, B16>::load(warp, rows);
    };
    let store =
        || StMatrix::<X1, NoTrans, B16>::store(warp, rows, warp.each(|lane| [lane.id() as u32]));
    let sync_if_asked = || {
        if sync == 1 {
            warp.sync();
        }
    };
    if case >= 4 {
        tile.fill(warp, |_, _| 0xffff);
        block.sync();
    }
    match case {
        0 => (write(), sync_if_asked(), read()),
        1 => (write(), sync_if_asked(), load()),
        2 => (store(), sync_if_asked(), read()),
        3 => (store(), sync_if_asked(), load()),
        4 => (read(), sync_if_asked(), write()),
        5 => (load(), sync_if_asked(), write()),
        _ => (read(), sync_if_asked(), store()),
    };
}

#[test]
fn race_of_lanes_without_a_warp_sync_is_a_warning() {
    for case in 0..7 {
        within_a_warp::simulate(1, case, 1).unwrap().check().unwrap();
        let report = within_a_warp::simulate(1, case, 0).unwrap();
        let error = report.check().unwrap_err();
        let strict = Simulator::default().strict();
        assert_eq!(within_a_warp::launch(&strict, 1, case, 0).unwrap_err(), error);
        let Misuse::Race { other, .. } = &error.misuse else { panic!("{case}: {error}") };
        assert!(matches!(other, Agent::LaneOfWarp(_) | Agent::SameWarp), "{case}: {error}");
    }
}

#[kernel(threads = 32)]
fn one_element(block: &Block, #[shared] tile: SharedTile<u16, 8, 8>, d: GlobalMut<u16>, same: u32) {
    block.warp().each(|lane| {
        let value = if same == 1 { 7 } else { lane.id() as u16 };
        tile.set((0, 0), value);
        d.set(0, value);
    });
    d.set(0, 7); // each lane for itself, all with the same value
}

#[test]
fn lanes_may_write_the_same_value_but_not_different_ones() {
    one_element::simulate(1, &mut [0], 1).unwrap();
    let error = one_element::simulate(1, &mut [0], 0).unwrap_err();
    let Misuse::Race { other, .. } = &error.misuse else { panic!("{error}") };
    assert_eq!((error.lane, *other), (Some(1), Agent::LaneOfWarp(0)));
}

#[test]
fn report_names_both_accesses() {
    let error = write_the_same::simulate(1, 3).unwrap_err().to_string();
    assert!(
        error.starts_with("error: race: write of `tile row 3, column 0`, with a write by warp "),
        "{error}"
    );
    assert!(error.contains("\n   = the write by warp "), "{error}");
    assert!(error.contains("\n   = help: two warps write it by one line: check"), "{error}");
}

#[kernel(threads = 64)]
fn write_one_place(block: &Block, of_warps: u32, d: GlobalMut<u32>) {
    let (warp, first) = (block.warp(), block.warp().index() * 32);
    if of_warps == 1 {
        warp.each(|lane| d.set(lane.id(), (first + lane.id()) as u32));
    } else if first == 0 {
        warp.each(|lane| d.set(lane.id() / 2, lane.id() as u32));
    }
}

/// No `sync` is between two writes of one statement.
#[test]
fn writes_by_one_line_are_a_wrong_index() {
    for (of_warps, authors) in [(1, "two warps"), (0, "two lanes")] {
        let error = write_one_place::simulate(1, of_warps, &mut [0; 32]).unwrap_err().to_string();
        let help = format!("   = help: {authors} write it by one line: check the index");
        assert!(error.contains(&help), "{error}");
    }
}

type Row = SharedTile<u32, 1, 32>;

#[kernel(threads = 64, target = "sm_90")]
fn race_before_a_swizzled_tile(
    block: &Block,
    #[shared] row: Row,
    #[shared] rows: SharedRing<Row, 3>,
    #[shared] tile: SharedTile<u32, 8, 32, Swizzle128>,
    d: GlobalMut<u32>,
) {
    let warp = block.warp();
    if warp.index() == 0 {
        rows.part(1).fill(warp, |_, col| col as u32);
        row.fill(warp, |_, _| 0);
        tile.fill(warp, |_, _| 0);
    } else {
        rows.part(1).for_each(warp, |_, col, value| d.set(col, value));
    }
}

/// Also if a parameter of larger alignment follows.
#[test]
fn race_names_the_shared_parameter() {
    let error = race_before_a_swizzled_tile::simulate(1, &mut [0; 32]).unwrap_err().to_string();
    assert!(error.contains("`rows[1] row 0, column 0`"), "{error}");
}
