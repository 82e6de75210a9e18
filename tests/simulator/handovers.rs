//! Memory that is handed over: forwarded copies, releases, and readers that are late.

use crate::line_of;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Misuse, SimError, Simulator};

type Row = SharedTile<u32, 1, 128>;

/// Block 0 sends two rows to block 1, which forwards them to block 2. Block 2 tells both when it
/// has a row. With `waits` of 0, nobody waits for that.
#[kernel(threads = 32, cluster = 3, target = "sm_90")]
fn forward(
    block: &ClusterBlock<3>,
    #[shared] (rows, slot): (SharedRing<Row, 2>, Row),
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    a: Global<u32>,
    d: GlobalMut<u32>,
    waits: u32,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, 1));
    let (warp, cluster) = (block.warp(), block.cluster());
    let rank = cluster.rank();
    (0..2).for_each(|row| rows.part(row).fill(warp, |_, col| a.get(row * 128 + col)));
    warp.fence_for_bulk();
    warp.sync();
    cluster.sync();
    let (mut phase, mut free) = (Phase::FIRST, Phase::BEFORE_FIRST);
    for row in 0..2 {
        if rank > 0 {
            warp.elect(|lane| _ = full.arrive_expecting(lane, Row::COPIED_BYTES));
            phase = full.wait(warp, phase);
        }
        if rank < 2 {
            if waits > 0 {
                free = empty.wait(warp, free);
            }
            let from = if rank == 0 { rows.part(row) } else { slot };
            let to = cluster.peer(rank + 1);
            warp.elect(|lane| from.copy_bulk_to(lane, to, slot, full)); // <- forwarded
        } else {
            slot.for_each(warp, |_, col, value| d.set(row * 128 + col, value));
            warp.sync();
            for peer in 0..2 {
                let empty = empty.of(cluster.peer(peer));
                warp.elect(|lane| empty.arrive_having_read(lane));
            }
        }
    }
    cluster.sync();
}

/// The second copy to the slot of block 1 is after the first: that one had landed before block 1
/// forwarded it, and the forwarded copy has landed.
#[test]
fn copy_is_behind_one_that_was_forwarded() {
    let a: Vec<u32> = (0..256).map(|i| i * 37 % 1009).collect();
    let run = |seed, waits| {
        let mut d = vec![0; 256];
        let report = forward::launch(&Simulator::new(seed).strict(), 3, &a, &mut d, waits);
        report.map(|_| d)
    };
    for seed in 0..32 {
        assert_eq!(run(seed, 1).unwrap(), a, "seed {seed}");
        run(seed, 0).unwrap_err();
    }
}

/// Block 1 sends its row to block 2. Then block 0 sends another row to block 1: nothing orders the
/// two, if the cluster's barrier is relaxed.
#[kernel(threads = 32, cluster = 3, target = "sm_90")]
fn overwrite(
    block: &ClusterBlock<3>,
    #[shared] (row, slot): (Row, Row),
    #[shared] full: BarrierMemory,
    relaxed: u32,
) {
    let full = full.init(block, 1);
    let (warp, cluster) = (block.warp(), block.cluster());
    let rank = cluster.rank();
    row.fill(warp, |_, col| col as u32);
    slot.fill(warp, |_, col| col as u32);
    warp.fence_for_bulk();
    warp.sync();
    if rank > 0 {
        warp.elect(|lane| _ = full.arrive_expecting(lane, Row::COPIED_BYTES));
    }
    cluster.sync();
    if rank == 1 {
        let to = cluster.peer(2);
        warp.elect(|lane| slot.copy_bulk_to(lane, to, slot, full)); // <- first sent
    }
    if rank == 2 {
        full.wait(warp, Phase::FIRST);
    }
    cluster.wait(if relaxed > 0 { cluster.arrive_relaxed() } else { cluster.arrive() });
    if rank == 0 {
        let to = cluster.peer(1);
        warp.elect(|lane| row.copy_bulk_to(lane, to, slot, full)); // <- sent over it
    }
    if rank == 1 {
        full.wait(warp, Phase::FIRST);
    }
    cluster.sync();
}

#[test]
fn copy_over_the_source_of_another_copy_is_a_race() {
    for seed in 0..16 {
        overwrite::launch(&Simulator::new(seed), 3, 0).unwrap();
        let error = overwrite::launch(&Simulator::new(seed), 3, 1).unwrap_err();
        let report = error.to_string();
        assert!(report.starts_with("error: race: write of `slot row 0, column 0`"), "{report}");
        let Misuse::Race { other_place, .. } = &error.misuse else { panic!("{report}") };
        assert_eq!(other_place.line, line_of("first sent").1);
        assert_eq!(error.place.as_ref().unwrap().line, line_of("sent over it").1);
    }
}

/// Block 0 sends a tile to block 1, and writes it again at once.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn rewrite(
    block: &ClusterBlock<2>,
    #[shared] (row, slot): (Row, Row),
    #[shared] full: BarrierMemory,
) {
    let full = full.init(block, 1);
    let (warp, cluster) = (block.warp(), block.cluster());
    row.fill(warp, |_, col| col as u32);
    warp.fence_for_bulk();
    warp.sync();
    if cluster.rank() == 1 {
        warp.elect(|lane| _ = full.arrive_expecting(lane, Row::COPIED_BYTES));
    }
    cluster.sync();
    if cluster.rank() == 0 {
        let to = cluster.peer(1);
        warp.elect(|lane| row.copy_bulk_to(lane, to, slot, full));
        warp.sync();
        row.fill(warp, |_, col| col as u32 + 1);
    } else {
        full.wait(warp, Phase::FIRST);
    }
    cluster.sync();
}

#[test]
fn source_of_a_sent_copy_is_free_when_its_receiver_says_so() {
    let error = rewrite::simulate(2).unwrap_err();
    assert!(matches!(error.misuse, Misuse::CopySourceInFlight { is_sent: true, .. }), "{error}");
    let help = "wait until a warp that has waited for the phase that the copy signals arrives at a \
                barrier of this block";
    assert!(error.to_string().contains(help), "{error}");
}

/// One warp fills a tile, another reads it. One of its lanes releases the tile before the others
/// are synchronised with it. `behind` is what the warp does then: nothing, a `sync`, or a named
/// barrier.
#[kernel(threads = 64, target = "sm_90")]
fn release(
    block: &Block,
    #[shared] row: Row,
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    a: Global<u32>,
    d: GlobalMut<u32>,
    behind: u32,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, 1));
    let warp = block.warp();
    let (mut phase, mut free) = (Phase::FIRST, Phase::BEFORE_FIRST);
    for step in 0..3 {
        if warp.index() == 0 {
            free = empty.wait(warp, free);
            warp.elect(|lane| {
                full.arrive_expecting(lane, Row::BULK_BYTES);
                row.load_tma(lane, a.bulk(step * 128), full);
            });
        } else {
            phase = full.wait(warp, phase);
            row.for_each(warp, |_, col, value| d.set(step * 128 + col, value));
            warp.elect(|lane| _ = empty.arrive(lane)); // <- released without a sync
            match behind {
                0 => {}
                1 => warp.sync(),
                _ => {
                    // SAFETY: the number and the count are right, and all lanes of the warp come.
                    warp.each(|_| unsafe { ptx_matrix::raw::bar_sync_threads(5, 32) });
                }
            }
        }
    }
}

/// A `sync` after the release does not repair it, and the report does not depend on it.
#[test]
fn release_without_a_sync_is_named_whatever_follows() {
    let a = vec![1; 384];
    for (behind, seed) in (0..3).flat_map(|behind| (0..8).map(move |seed| (behind, seed))) {
        let mut d = vec![0; 384];
        let launched = release::launch(&Simulator::new(seed), 1, &a, &mut d, behind);
        let error: SimError = launched.unwrap_err();
        let report = error.to_string();
        let title = "error: `row row 0, column 0` is released too early: warp 1 arrives at `empty` \
                     with no `sync` of the warp after its reads\n";
        assert!(report.starts_with(title), "{behind}, seed {seed}: {report}");
        assert_eq!(error.place.as_ref().unwrap().line, line_of("released without a sync").1);
    }
}

/// One warp fills the stages of a ring; four warps read each of them. `empty` counts `readers`.
#[kernel(threads = 160, target = "sm_90")]
fn readers(
    block: &Block,
    #[shared] rows: SharedRing<Row, 2>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, 2>, SharedRing<BarrierMemory, 2>),
    a: Global<u32>,
    d: GlobalMut<u32>,
    readers: u32,
) {
    let full = full.init(block, 1);
    let empty = empty.init(block, readers); // <- readers counted
    let warp = block.warp();
    let mut state = PipelineState::FIRST;
    for step in 0..6 {
        let stage = state.index();
        let (row, full, empty) = (rows.stage(stage), full.stage(stage), empty.stage(stage));
        if warp.index() == 0 {
            empty.wait(warp, state.prev_phase());
            warp.elect(|lane| {
                full.arrive_expecting(lane, Row::BULK_BYTES);
                row.load_tma(lane, a.bulk(step * 128), full);
            });
        } else {
            full.wait(warp, state.phase());
            let col = (warp.index() - 1) * 32;
            warp.each(|lane| {
                let col = col + lane.id();
                d.set(step * 128 + col, row.get(lane, (0, col)));
            });
            warp.sync();
            warp.elect(|lane| _ = empty.arrive(lane));
        }
        state = state.next();
    }
}

/// The fourth reader is in step, and late: its wait is not the mistake.
#[test]
fn late_reader_is_not_blamed() {
    let a: Vec<u32> = (0..6 * 128).collect();
    let run = |seed, count| {
        let mut d = vec![0; a.len()];
        readers::launch(&Simulator::new(seed).strict(), 1, &a, &mut d, count).map(|_| d)
    };
    for seed in 0..32 {
        assert_eq!(run(seed, 4).unwrap(), a);
        let error = run(seed, 3).unwrap_err();
        let report = error.to_string();
        let first = report.lines().next().unwrap();
        let counts = ["which is for 3 arrivals", "is initialised for 3 arrivals"];
        let names_it = first.contains("`empty[") && counts.iter().any(|text| first.contains(text));
        assert!(names_it, "seed {seed}: {report}");
        assert_eq!(error.place.as_ref().unwrap().line, line_of("readers counted").1, "{report}");
    }
}

/// Two warps read a tile in turn, by two other barriers. Nobody waits for its copy.
#[kernel(threads = 96, target = "sm_90")]
fn in_turn(
    block: &Block,
    #[shared] row: Row,
    #[shared] (full, turns): (BarrierMemory, SharedRing<BarrierMemory, 2>),
    a: Global<u32>,
    d: GlobalMut<u32>,
    waits: u32,
) {
    let (full, turns, warp) = (full.init(block, 1), turns.init(block, 1), block.warp());
    if warp.index() == 2 {
        warp.elect(|lane| {
            full.arrive_expecting(lane, Row::BULK_BYTES);
            row.load_tma(lane, a.bulk(0), full);
        });
    } else {
        let first = if warp.index() == 0 { Phase::BEFORE_FIRST } else { Phase::FIRST };
        let (own, other) = (turns.part(warp.index()), turns.part(1 - warp.index()));
        own.wait(warp, first);
        if waits > 0 {
            full.wait(warp, Phase::FIRST);
        }
        let to = warp.index() * 128;
        row.for_each(warp, |_, col, value| d.set(to + col, value)); // <- read in turn
        warp.elect(|lane| _ = other.arrive(lane));
    }
}

/// The wait for a turn is right. It is not the wait that is missing.
#[test]
fn missing_wait_is_named_beside_a_wait_for_another_barrier() {
    let a: Vec<u32> = (0..128).collect();
    for seed in 0..32 {
        let device = Simulator::new(seed);
        let mut d = [0; 256];
        in_turn::launch(&device, 1, &a, &mut d, 1).unwrap();
        let error = in_turn::launch(&device, 1, &a, &mut d, 0).unwrap_err();
        let report = error.to_string();
        let title = "error: `row row 0, column 0` is read before the copy to it has come: no wait \
                     for phase 0 of `full` is before\n";
        assert!(report.starts_with(title), "seed {seed}: {report}");
        assert_eq!(error.place.as_ref().unwrap().line, line_of("read in turn").1);
    }
}

/// Block 0 sends rows to block 1 by `st.async`. Block 1 expects their bytes, reads, and releases.
/// `releases` is the count of the releases in block 0; with 0, it does not wait for them.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn send(
    block: &ClusterBlock<2>,
    #[shared] row: SharedTile<u32, 1, 32>,
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    d: GlobalMut<u32>,
    releases: u32,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, releases.max(1)));
    let (warp, cluster) = (block.warp(), block.cluster());
    cluster.sync();
    let (mut phase, mut free) = (Phase::FIRST, Phase::BEFORE_FIRST);
    for step in 0..3 {
        if cluster.rank() == 0 {
            if releases > 0 {
                free = empty.wait(warp, free); // <- waits for the release
            }
            let (peer, full) = (row.of(cluster.peer(1)), full.of(cluster.peer(1)));
            warp.each(|lane| {
                let col = lane.id();
                peer.send(lane, (0, col), [step * 32 + col as u32], full); // <- sent again
            });
        } else {
            warp.elect(|lane| _ = full.arrive_expecting(lane, 128));
            phase = full.wait(warp, phase);
            row.for_each(warp, |_, col, value| d.set(step as usize * 32 + col, value));
            warp.sync();
            let empty = empty.of(cluster.peer(0));
            warp.elect(|lane| empty.arrive_having_read(lane));
        }
    }
    cluster.sync();
}

/// The bytes are missing because their sender waits.
#[test]
fn deadlock_is_at_the_wait_of_the_sender() {
    for seed in 0..16 {
        let mut d = [0; 96];
        send::launch(&Simulator::new(seed), 2, &mut d, 1).unwrap();
        assert!(d.iter().zip(0..).all(|(value, expected)| *value == expected));
        let error = send::launch(&Simulator::new(seed), 2, &mut d, 2).unwrap_err();
        let report = error.to_string();
        let title = "error: deadlock: warp 0 of block (0, 0, 0) waits for `empty`, and nothing \
                     ends its phase 0: 1 of 2 arrivals missing\n";
        assert!(report.starts_with(title), "seed {seed}: {report}");
        assert_eq!(error.place.as_ref().unwrap().line, line_of("waits for the release").1);
    }
}

/// The remedy is a wait, and not that a phase expects the bytes of all rounds.
#[test]
fn copies_of_several_rounds_in_one_phase_are_named() {
    let mut named = 0;
    for seed in 0..16 {
        let error = send::launch(&Simulator::new(seed), 2, &mut [0; 96], 0).unwrap_err();
        let report = error.to_string();
        assert!(!report.contains("expect 2") && !report.contains("expect 3"), "{report}");
        let title = "gets too many bytes: warp 0 of block (0, 0, 0) copies to the same place again";
        if report.lines().next().unwrap().ends_with(title) {
            assert_eq!(error.place.as_ref().unwrap().line, line_of("sent again").1);
            named += 1;
        }
    }
    assert!(named >= 8, "{named} of 16 reports");
}

/// The lanes of one warp arrive, and one of them starts a copy. With `late`, it expects the bytes
/// after the arrivals, when the phase is over.
#[kernel(threads = 64, target = "sm_90")]
fn expect(
    block: &Block,
    #[shared] row: Row,
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    a: Global<u32>,
    d: GlobalMut<u32>,
    late: u32,
) {
    let (full, empty) = (full.init(block, 32), empty.init(block, 1));
    let warp = block.warp();
    let (mut phase, mut free) = (Phase::FIRST, Phase::BEFORE_FIRST);
    for step in 0..3 {
        if warp.index() == 0 {
            free = empty.wait(warp, free);
            if late == 0 {
                warp.elect(|lane| full.expect(lane, Row::BULK_BYTES));
                warp.sync();
            }
            warp.each(|lane| _ = full.arrive(lane)); // <- arrivals of all lanes
            warp.elect(|lane| {
                if late > 0 {
                    full.expect(lane, Row::BULK_BYTES);
                }
                row.load_tma(lane, a.bulk(step * 128), full);
            });
        } else {
            phase = full.wait(warp, phase);
            row.for_each(warp, |_, col, value| d.set(step * 128 + col, value));
            warp.sync();
            warp.elect(|lane| _ = empty.arrive(lane));
        }
    }
}

#[test]
fn bytes_that_are_expected_behind_the_last_arrival() {
    let a: Vec<u32> = (0..384).collect();
    for seed in 0..16 {
        let mut d = vec![0; 384];
        expect::launch(&Simulator::new(seed), 1, &a, &mut d, 0).unwrap().check().unwrap();
        assert_eq!(d, a);
        let error = expect::launch(&Simulator::new(seed), 1, &a, &mut d, 1).unwrap_err();
        let report = error.to_string();
        assert!(
            report.starts_with("error: phase 0 of `full` ended with 0 bytes expected"),
            "seed {seed}: {report}"
        );
        assert_eq!(error.place.as_ref().unwrap().line, line_of("arrivals of all lanes").1);
    }
}

/// A row for each head, which is read first and last, and steps in between with rows and barriers
/// of their own. `how` is 1 for a head without a wait for its release, and 2 for a release before
/// the last read.
#[kernel(threads = 64, target = "sm_90")]
fn heads(
    block: &Block,
    #[shared] (head, steps): (Row, SharedRing<Row, 2>),
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    #[shared] (full_steps, empty_steps): (
        SharedRing<BarrierMemory, 2>,
        SharedRing<BarrierMemory, 2>,
    ),
    a: Global<u32>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, 1));
    let (full_steps, empty_steps) = (full_steps.init(block, 1), empty_steps.init(block, 1));
    let (warp, mut state) = (block.warp(), PipelineState::FIRST);
    let (mut filled, mut free) = (Phase::FIRST, Phase::BEFORE_FIRST);
    for number in 0..3 {
        if warp.index() == 0 {
            if how != 1 {
                free = empty.wait(warp, free);
            }
            warp.elect(|lane| {
                full.arrive_expecting(lane, Row::BULK_BYTES);
                head.load_tma(lane, a.bulk(number * 384), full); // <- next head
            });
        } else {
            filled = full.wait(warp, filled);
        }
        for step in 0..2 {
            let (row, full) = (steps.stage(state.index()), full_steps.stage(state.index()));
            let empty_step = empty_steps.stage(state.index());
            if warp.index() == 0 {
                empty_step.wait(warp, state.prev_phase());
                warp.elect(|lane| {
                    full.arrive_expecting(lane, Row::BULK_BYTES);
                    row.load_tma(lane, a.bulk(number * 384 + 128 * (step + 1)), full);
                });
            } else {
                full.wait(warp, state.phase());
                row.for_each(warp, |_, col, value| {
                    d.set((number * 2 + step) * 128 + col, value);
                });
                warp.sync();
                if how == 2 && step == 1 {
                    warp.elect(|lane| _ = empty.arrive(lane)); // <- head released early
                }
                warp.elect(|lane| _ = empty_step.arrive(lane));
            }
            state = state.next();
        }
        if warp.index() == 1 {
            head.for_each(warp, |_, col, value| d.set(768 + number * 128 + col, value));
            warp.sync();
            if how != 2 {
                warp.elect(|lane| _ = empty.arrive(lane));
            }
        }
    }
}

/// By the time of the report, the copying warp has waited for the releases of later steps.
#[test]
fn release_of_a_head_is_not_sought_at_the_barriers_of_its_steps() {
    let a: Vec<u32> = (0..1152).map(|i| i * 31 % 1013).collect();
    let run = |seed, how| {
        let mut d = vec![0; 1152];
        heads::launch(&Simulator::new(seed).strict(), 1, &a, &mut d, how).map(|_| d)
    };
    for seed in 0..16 {
        run(seed, 0).unwrap_or_else(|error| panic!("{error}"));
        let text = run(seed, 1).unwrap_err().to_string();
        let titles = [
            "error: `head row 0, column 0` is refilled while warp 1 may still read it: no wait for \
             `empty` is before the copy\n",
            "error: the stage of `full` is refilled without a wait for `empty`: warp 0 arrives",
        ];
        assert!(titles.iter().any(|title| text.starts_with(title)), "{text}");
        let text = run(seed, 2).unwrap_err().to_string();
        let title =
            "error: `head row 0, column 0` is released too early: warp 1 arrives at `empty`";
        assert!(text.starts_with(title), "{text}");
        assert!(text.contains(&format!(":{}", line_of("head released early").1)), "{text}");
    }
}

/// Warp 0 fills rows for two warps, which take turns. Both wait for their first turn, and nobody
/// gives one.
#[kernel(threads = 96, target = "sm_90")]
fn turns(
    block: &Block,
    #[shared] rows: SharedRing<Row, 2>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, 2>, SharedRing<BarrierMemory, 2>),
    #[shared] turn: SharedRing<BarrierMemory, 2>,
    a: Global<u32>,
    d: GlobalMut<u32>,
) {
    let (full, empty, turn) = (full.init(block, 1), empty.init(block, 1), turn.init(block, 1));
    let (warp, mut state) = (block.warp(), PipelineState::FIRST);
    for step in 0..4 {
        let (row, full) = (rows.stage(state.index()), full.stage(state.index()));
        let empty = empty.stage(state.index());
        if warp.index() == 0 {
            empty.wait(warp, state.prev_phase());
            warp.elect(|lane| {
                full.arrive_expecting(lane, Row::BULK_BYTES);
                row.load_tma(lane, a.bulk(step * 128), full);
            });
        } else if step % 2 == warp.index() - 1 {
            let phase = if step < 2 { Phase::FIRST } else { Phase::FIRST.next() };
            turn.part(warp.index() - 1).wait(warp, phase);
            full.wait(warp, state.phase());
            row.for_each(warp, |_, col, value| d.set(step * 128 + col, value));
            warp.sync();
            let other = turn.part(2 - warp.index());
            warp.elect(|lane| {
                empty.arrive(lane);
                other.arrive(lane);
            });
        }
        state = state.next();
    }
}

#[test]
fn deadlock_names_the_turns_that_nobody_gives() {
    let a = [1; 512];
    for seed in 0..16 {
        let error = turns::launch(&Simulator::new(seed), 1, &a, &mut [0; 512]).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("error: deadlock: warp 1 waits for `turn[0]`"), "{text}");
    }
}

/// In each block, one warp fills a row for another. Both wait for the first phase.
#[kernel(threads = 96, cluster = 2, target = "sm_90")]
fn both_wait(
    block: &ClusterBlock<2>,
    #[shared] row: Row,
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    a: Global<u32>,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, 1));
    let (warp, cluster) = (block.warp(), block.cluster());
    cluster.sync();
    if warp.index() == 0 {
        empty.wait(warp, Phase::FIRST);
        warp.elect(|lane| {
            full.arrive_expecting(lane, Row::BULK_BYTES);
            row.load_tma(lane, a.bulk(0), full);
        });
    } else if warp.index() == 1 {
        full.wait(warp, Phase::FIRST);
        warp.elect(|lane| _ = empty.arrive(lane));
    }
    cluster.sync();
}

#[test]
fn deadlock_in_the_first_round_is_named_in_a_cluster() {
    for seed in 0..8 {
        let error = both_wait::launch(&Simulator::new(seed), 2, &[1; 128]).unwrap_err();
        let title = "error: deadlock in the first round: warps wait for ";
        assert!(error.to_string().starts_with(title), "{error}");
    }
}

/// Warp 1 reads rows that warp 0 fills. With `surplus`, it also releases the second stage before it
/// has waited for it.
#[kernel(threads = 64, target = "sm_90")]
fn released_unfilled(
    block: &Block,
    #[shared] rows: SharedRing<Row, 2>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, 2>, SharedRing<BarrierMemory, 2>),
    a: Global<u32>,
    d: GlobalMut<u32>,
    surplus: bool,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, 1));
    let (warp, mut state) = (block.warp(), PipelineState::FIRST);
    for step in 0..6 {
        let (row, full) = (rows.stage(state.index()), full.stage(state.index()));
        let empty = empty.stage(state.index());
        if warp.index() == 0 {
            empty.wait(warp, state.prev_phase());
            warp.elect(|lane| {
                full.arrive_expecting(lane, Row::BULK_BYTES);
                row.load_tma(lane, a.bulk(step * 128), full);
            });
        } else {
            if surplus && step == 1 {
                warp.elect(|lane| _ = empty.arrive(lane)); // <- released before it is filled
            }
            full.wait(warp, state.phase());
            row.for_each(warp, |_, col, value| d.set(step * 128 + col, value));
            warp.sync();
            warp.elect(|lane| _ = empty.arrive(lane));
        }
        state = state.next();
    }
}

#[test]
fn release_of_a_row_that_is_not_filled_is_named() {
    let a = [1; 768];
    let run = |seed, surplus| {
        released_unfilled::launch(&Simulator::new(seed), 1, &a, &mut [0; 768], surplus)
    };
    let mut named = 0;
    for seed in 0..32 {
        run(seed, false).unwrap_or_else(|error| panic!("{error}"));
        let text = run(seed, true).unwrap_err().to_string();
        let line = line_of("released before it is filled").1;
        let title = "error: a stage is released before it is filled: warp 1 arrives at \
            `empty[1]`, and has not waited for phase 0 of `full[1]`\n";
        let place = format!("  --> tests/simulator/handovers.rs:{line}:");
        named += u32::from(text.starts_with(title) && text.contains(&place));
    }
    assert_eq!(named, 32);
}

/// Each warp expects the bytes of the row and loads it, where one of them should.
#[kernel(threads = 64, target = "sm_90")]
fn loaded_by_all(block: &Block, #[shared] row: Row, #[shared] full: BarrierMemory, a: Global<u32>) {
    let full = full.init(block, 1); // <- for one loader
    let warp = block.warp();
    warp.elect(|lane| {
        full.arrive_expecting(lane, Row::BULK_BYTES); // <- each expects
        row.load_tma(lane, a.bulk(0), full);
    });
    full.wait(warp, Phase::FIRST);
}

#[test]
fn arrival_of_one_warp_too_many_names_the_others() {
    for seed in 0..8 {
        let error = loaded_by_all::launch(&Simulator::new(seed), 1, &[1; 128]).unwrap_err();
        let text = error.to_string();
        let title = "error: `full` is initialised for 1 arrival, and 2 warps arrive at it: its \
            phases end too early\n";
        assert!(text.starts_with(title), "{text}");
        let arrival = format!("tests/simulator/handovers.rs:{}:", line_of("each expects").1);
        assert_eq!(text.matches(&arrival).count(), 2, "{text}");
        let place = error.place.as_ref().expect("the initialisation");
        assert_eq!(place.line, line_of("for one loader").1);
    }
}
