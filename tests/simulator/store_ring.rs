//! Mistakes in a ring of stages that warps fill by ordinary stores and hand over by mbarriers. The
//! report names the missing or wrong wait.

use ptx_matrix::prelude::*;
use ptx_matrix::sim::{SimError, Simulator};

type Row = SharedTile<u32, 1, 64>;

/// The mistakes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Plant {
    Nothing,
    /// The reader does not wait for a stage.
    NotWaited,
    /// The reader waits for phase 0 in each round.
    PhaseNotAdvanced,
    /// The writer does not wait until a stage is free.
    NotReleased,
    /// The writer waits for the same phase in each round.
    ReleasePhaseNotAdvanced,
    /// The reader releases a stage before it reads it.
    EarlyRelease,
    /// The reader releases a stage twice.
    ReleasedTwice,
    /// The writer hands a stage over before it fills it.
    EarlyReady,
    /// The reader waits at a `sync` of the block in each round.
    SyncOfBlock,
}

use Plant::*;

/// Warp 1 fills the stages. Warps 0 and 2 copy them to `d`, in turn if there are two `readers`.
#[kernel(threads = 96, target = "sm_90")]
fn ring(
    block: &Block,
    #[shared] rows: SharedRing<Row, 3>,
    #[shared] (ready, free): (SharedRing<BarrierMemory, 3>, SharedRing<BarrierMemory, 3>),
    d: GlobalMut<u32>,
    plant: u32,
    readers: u32,
) {
    let is = |which: Plant| plant == which as u32;
    let (ready, free) = (ready.init(block, 1), free.init(block, 1));
    let warp = block.warp();
    let mut state = PipelineState::<3>::FIRST;
    for round in 0..8 {
        let stage = state.index();
        let (row, ready, free) = (rows.stage(stage), ready.stage(stage), free.stage(stage));
        let arrive = |at: Barrier| {
            warp.sync();
            warp.elect(|lane| _ = at.arrive(lane));
        };
        if warp.index() == 1 {
            if is(ReleasePhaseNotAdvanced) {
                free.wait(warp, PipelineState::<3>::FIRST.prev_phase());
            } else if !is(NotReleased) {
                free.wait(warp, state.prev_phase());
            }
            if is(EarlyReady) {
                arrive(ready);
            }
            for half in [0, 32] {
                warp.each(|lane| {
                    let i = half + lane.id();
                    row.set((0, i), (round * 64 + i) as u32);
                });
            }
            if !is(EarlyReady) {
                arrive(ready);
            }
        } else if warp.index() as u32 == round as u32 % readers * 2 {
            if is(PhaseNotAdvanced) {
                ready.wait(warp, Phase::FIRST);
            } else if !is(NotWaited) {
                ready.wait(warp, state.phase());
            }
            if is(SyncOfBlock) {
                block.sync();
            }
            if is(EarlyRelease) {
                arrive(free);
            }
            for half in [0, 32] {
                warp.each(|lane| {
                    let i = half + lane.id();
                    d.set(round * 64 + i, row.get(lane, (0, i)));
                });
            }
            if !is(EarlyRelease) {
                arrive(free);
            }
            if is(ReleasedTwice) {
                arrive(free);
            }
        }
        state = state.next();
    }
}

fn run(plant: Plant, seed: u64, readers: u32) -> Result<(), SimError> {
    let mut d = vec![0; 512];
    ring::launch(&Simulator::new(seed), 1, &mut d, plant as u32, readers)?.check()?;
    assert_eq!(d, (0..512).collect::<Vec<u32>>());
    Ok(())
}

/// The titles of the reports of 16 orders of the warps, for one reader and for two.
fn titles(plant: Plant) -> Vec<String> {
    let title = |i: u64| {
        let error = run(plant, i / 2, 1 + i as u32 % 2).expect_err("a planted mistake");
        error.to_string().lines().next().unwrap_or_default().to_string()
    };
    (0..32).map(title).collect()
}

#[test]
fn the_correct_ring_passes() {
    (0..32).for_each(|i| run(Nothing, i / 2, 1 + i as u32 % 2).unwrap());
}

#[test]
fn a_missing_wait_is_named() {
    let titles = titles(NotWaited);
    let is_named = |title: &String| {
        title.starts_with("error: no wait for `ready[") && title.contains("arrival at `free[")
    };
    let unwritten = "error: read of shared memory that nothing wrote: 4 bytes at `rows[";
    assert!(titles.iter().all(|of| is_named(of) || of.starts_with(unwritten)), "{titles:#?}");
    assert!(titles.iter().filter(|of| is_named(of)).count() > 4, "{titles:#?}");
}

#[test]
fn a_wait_for_the_same_phase_again_is_named() {
    for (plant, phase) in [
        (PhaseNotAdvanced, "phase 0 of `ready["),
        (ReleasePhaseNotAdvanced, "the phase before the first of `free["),
    ] {
        let title = format!("error: a wait for a phase that is over already: {phase}");
        titles(plant).iter().for_each(|text| assert!(text.starts_with(&title), "{text}"));
    }
}

#[test]
fn a_refill_without_a_wait_is_named() {
    for title in titles(NotReleased) {
        let is_named = title.starts_with("error: no wait for warp ");
        assert!(is_named && title.contains(" is before the arrival at `ready["), "{title}");
    }
    let text = run(NotReleased, 0, 1).unwrap_err().to_string();
    let help = "help: let warp 0 arrive at another barrier when it has used the stage";
    assert!(text.contains(help), "{text}");
}

#[test]
fn an_early_arrival_is_a_race() {
    for (plant, race) in [(EarlyRelease, "write"), (EarlyReady, "read")] {
        let title = format!("error: race: {race} of `rows[");
        titles(plant).iter().for_each(|text| assert!(text.starts_with(&title), "{text}"));
    }
}

#[test]
fn a_sync_of_the_block_in_the_reader_is_named() {
    for title in titles(SyncOfBlock) {
        assert!(title.contains("at a `sync` that not all warps reach"), "{title}");
    }
}

#[test]
fn a_stage_that_is_released_twice_is_named() {
    let title = "error: `free[0]` gets too many arrivals: 1 more phase ended before warp 1 waits \
                 for phase 0";
    titles(ReleasedTwice).iter().for_each(|text| assert_eq!(text, title));
}
