//! More mistakes planted in pipelines: the report has one finding, and its title names the mistake.
//! The correct kernels have none.

use ptx_matrix::launch::Tensor;
use ptx_matrix::memory::RingIndex;
use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{SimError, Simulator};

type Row = SharedTile<u32, 1, 64>;

/// The mistakes. Each kernel has some of them.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Plant {
    Nothing,
    MissingWait,
    /// The wait is missing from the fourth round on.
    LaterMissingWait,
    PhaseBefore,
    PhaseNotAdvanced,
    Refill,
    /// The producer waits for its own copies instead of `empty`.
    RefillBehindFull,
    /// The producer waits for the same phase as the consumer, from the first round on.
    PhaseOfConsumer,
    /// The producer neither loads nor arrives.
    MissingLoad,
    /// Each lane of the producer arrives and loads.
    EachLane,
    EarlyRelease,
    ReleasedTwice,
    TooFewArrivals,
    TooManyArrivals,
    ReadBeforeLoad,
    MissingWarpSync,
    SwappedCoordinates,
    MissingFence,
    MissingSync,
    MissingBlockSync,
    MissingFirstSync,
    MissingLastSync,
    NoSwizzle,
    OtherSwizzle,
    OtherSwizzleOfRows,
}

use Plant::*;

fn is(plant: u32, which: Plant) -> bool {
    plant == which as u32
}

/// Warp 1 loads rows through three stages. Warp 0 stores them.
#[kernel(threads = 64, target = "sm_90")]
fn ring(
    block: &Block,
    #[shared] rows: SharedRing<Row, 3>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, 3>, SharedRing<BarrierMemory, 3>),
    a: Global<u32>,
    d: GlobalMut<u32>,
    plant: u32,
) {
    let count = if is(plant, TooManyArrivals) { 2 } else { 1 };
    let (full, empty) = (full.init(block, 1), empty.init(block, count));
    let warp = block.warp();
    let mut state = PipelineState::<3>::FIRST;
    for round in 0..8 {
        let stage = state.index();
        let (row, full, empty) = (rows.stage(stage), full.stage(stage), empty.stage(stage));
        if warp.index() == 1 {
            if is(plant, PhaseOfConsumer) {
                empty.wait(warp, state.phase());
            } else if !is(plant, Refill) && !is(plant, RefillBehindFull) {
                empty.wait(warp, state.prev_phase());
            }
            let load = |lane: Lane<'_>| {
                full.arrive_expecting(lane, 256);
                row.load_tma(lane, a.bulk(round * 64), full);
            };
            if is(plant, EachLane) {
                warp.each(load);
            } else if !is(plant, MissingLoad) {
                warp.elect(load);
            }
            if is(plant, RefillBehindFull) {
                full.wait(warp, state.phase());
            }
        } else {
            let is_missing = is(plant, MissingWait) || is(plant, LaterMissingWait) && round >= 3;
            if !is_missing {
                let phase = if is(plant, PhaseBefore) {
                    state.prev_phase()
                } else if is(plant, PhaseNotAdvanced) {
                    Phase::FIRST
                } else {
                    state.phase()
                };
                full.wait(warp, phase);
            }
            let release = || {
                warp.sync();
                warp.elect(|lane| _ = empty.arrive(lane));
            };
            if is(plant, EarlyRelease) {
                release();
            }
            for half in [0, 32] {
                warp.each(|lane| {
                    d.set(round * 64 + half + lane.id(), row.get(lane, (0, half + lane.id())))
                });
            }
            if !is(plant, EarlyRelease) {
                release();
            }
            if is(plant, ReleasedTwice) {
                release();
            }
        }
        state = state.next();
    }
}

fn run_ring(plant: Plant, seed: u64) -> Result<(), SimError> {
    let a: Vec<u32> = (0..512).collect();
    let mut d = vec![0; 512];
    ring::launch(&Simulator::new(seed), 1, &a, &mut d, plant as u32)?.check()?;
    assert_eq!(d, a);
    Ok(())
}

/// A warp loads the row of the next round while it stores the row of this round.
#[kernel(threads = 32, target = "sm_90")]
fn prefetch(
    block: &Block,
    #[shared] rows: SharedRing<Row, 2>,
    #[shared] full: SharedRing<BarrierMemory, 2>,
    a: Global<u32>,
    d: GlobalMut<u32>,
    plant: u32,
) {
    let full = full.init(block, 1);
    let warp = block.warp();
    let load = |round: usize, stage: RingIndex<2>| {
        warp.elect(|lane| {
            full.stage(stage).arrive_expecting(lane, 256);
            rows.stage(stage).load_tma(lane, a.bulk(round * 64), full.stage(stage));
        });
    };
    let (mut state, mut ahead) = (PipelineState::<2>::FIRST, PipelineState::<2>::FIRST);
    let store = |round: usize, stage: RingIndex<2>| {
        for half in [0, 32] {
            warp.each(|lane| {
                let value = rows.stage(stage).get(lane, (0, half + lane.id()));
                d.set(round * 64 + half + lane.id(), value);
            });
        }
    };
    if is(plant, ReadBeforeLoad) {
        store(0, state.index());
    }
    load(0, ahead.index());
    for round in 0..6 {
        ahead = ahead.next();
        if round < 5 {
            load(round + 1, ahead.index());
        }
        if !is(plant, MissingWait) {
            let phase = if is(plant, PhaseNotAdvanced) { Phase::FIRST } else { state.phase() };
            full.stage(state.index()).wait(warp, phase);
        }
        store(round, state.index());
        if !is(plant, MissingWarpSync) {
            warp.sync();
        }
        state = state.next();
    }
}

fn run_prefetch(plant: Plant, seed: u64) -> Result<(), SimError> {
    let a: Vec<u32> = (0..384).collect();
    let mut d = vec![0; 384];
    prefetch::launch(&Simulator::new(seed), 1, &a, &mut d, plant as u32)?.check()?;
    assert_eq!(d, a);
    Ok(())
}

type TileA = SharedTile<bf16, 64, 64, Swizzle128>;
type TileB = SharedTile<bf16, 64, 32, Swizzle64, RowMajor>;

/// A GEMM whose operands have a barrier each. Warp 4 loads them.
#[kernel(threads = 160, target = "sm_90a")]
fn gemm(
    block: &Block,
    #[shared] (tiles_a, tiles_b): (SharedRing<TileA, 2>, SharedRing<TileB, 2>),
    #[shared] (full_a, full_b): (SharedRing<BarrierMemory, 2>, SharedRing<BarrierMemory, 2>),
    #[shared] empty: SharedRing<BarrierMemory, 2>,
    a: TensorMap<TileA, 2>,
    b: TensorMap<TileB, 2>,
    d: GlobalMut<f32>,
    plant: u32,
) {
    let (full_a, full_b) = (full_a.init(block, 1), full_b.init(block, 1));
    let empty = empty.init(block, if is(plant, TooFewArrivals) { 1 } else { 4 });
    let warp = block.warp();
    let mut state = PipelineState::<2>::FIRST;
    if warp.index() == 4 {
        for step in 0..5 {
            let stage = state.index();
            if !is(plant, Refill) {
                empty.stage(stage).wait(warp, state.prev_phase());
            }
            let at = [0, 64 * step];
            let of_b = if is(plant, SwappedCoordinates) { [at[1], at[0]] } else { at };
            warp.elect(|lane| {
                full_a.stage(stage).arrive_expecting(lane, TileA::BOX_BYTES);
                tiles_a.stage(stage).load_tma(lane, a.at([at[1], at[0]]), full_a.stage(stage));
                full_b.stage(stage).arrive_expecting(lane, TileB::BOX_BYTES);
                tiles_b.stage(stage).load_tma(lane, b.at(of_b), full_b.stage(stage));
            });
            state = state.next();
        }
        return;
    }
    let group = block.warp_group();
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    for _ in 0..5 {
        let stage = state.index();
        full_a.stage(stage).wait(warp, state.phase());
        if !is(plant, MissingWait) {
            let phase = if is(plant, PhaseBefore) { state.prev_phase() } else { state.phase() };
            full_b.stage(stage).wait(warp, phase);
        }
        let (tile_a, tile_b) = (tiles_a.stage(stage), tiles_b.stage(stage));
        Wgmma::<32, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
            for k in 0..4 {
                issue.accumulate(tile_a.matrix_a((0, k * 16)), tile_b.matrix_b((k * 16, 0)));
            }
        });
        if !is(plant, EarlyRelease) {
            acc.wait::<0>(group);
        }
        group.sync();
        warp.elect(|lane| _ = empty.stage(stage).arrive(lane));
        state = state.next();
    }
    acc.finish(group).for_each(group, |row, col, value| d.set(row * 32 + col, value));
}

fn run_gemm(plant: Plant, seed: u64) -> Result<(), SimError> {
    let device = Simulator::new(seed);
    let (a, b) = (vec![bf16::ONE; 64 * 320], vec![bf16::ONE; 320 * 32]);
    let a = Tensor::<TileA, 2>::new([320, 64]).map(&device, &a[..]).unwrap();
    let b = Tensor::<TileB, 2>::new([32, 320]).map(&device, &b[..]).unwrap();
    let mut d = vec![0.0; 64 * 32];
    gemm::launch(&device, 1, &a, &b, &mut d, plant as u32)?.check()?;
    assert!(d.iter().all(|&sum| sum == 320.0));
    Ok(())
}

/// Threads write tiles that `wgmma` reads.
#[kernel(threads = 128, target = "sm_90a")]
fn written(block: &Block, #[shared] (a, b): (TileA, TileB), d: GlobalMut<f32>, plant: u32) {
    let (group, warp) = (block.warp_group(), block.warp());
    a.fill(block, |_, _| bf16::ONE);
    b.fill(block, |_, _| bf16::ONE);
    if !is(plant, MissingFence) {
        warp.fence_for_bulk();
    }
    if !is(plant, MissingBlockSync) {
        block.sync();
    }
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    Wgmma::<32, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
        for k in 0..4 {
            issue.accumulate(a.matrix_a((0, k * 16)), b.matrix_b((k * 16, 0)));
        }
    });
    if is(plant, MissingSync) {
        a.fill(block, |_, _| bf16::ZERO);
    }
    acc.wait::<0>(group);
    acc.finish(group).for_each(group, |row, col, value| d.set(row * 32 + col, value));
}

fn run_written(plant: Plant, seed: u64) -> Result<(), SimError> {
    let mut d = vec![0.0; 64 * 32];
    written::launch(&Simulator::new(seed), 1, &mut d, plant as u32)?.check()?;
    assert!(d.iter().all(|&sum| sum == 64.0));
    Ok(())
}

/// Block 0 of a pair loads rows for both.
#[kernel(threads = 64, cluster = 2, target = "sm_90")]
fn multicast(
    block: &ClusterBlock<2>,
    #[shared] rows: SharedRing<Row, 2>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, 2>, SharedRing<BarrierMemory, 2>),
    a: Global<u32>,
    d: GlobalMut<u32>,
    plant: u32,
) {
    let count = if is(plant, TooFewArrivals) { 1 } else { 2 };
    let (full, empty) = (full.init(block, 1), empty.init(block, count));
    let (warp, cluster) = (block.warp(), block.cluster());
    let (rank, all) = (cluster.rank(), cluster.all());
    if !is(plant, MissingFirstSync) {
        cluster.sync();
    }
    let mut state = PipelineState::<2>::FIRST;
    for round in 0..4 {
        let stage = state.index();
        let (row, full) = (rows.stage(stage), full.stage(stage));
        if warp.index() == 0 {
            if rank == 0 && !is(plant, Refill) {
                empty.stage(stage).wait(warp, state.prev_phase());
            }
            warp.elect(|lane| {
                full.arrive_expecting(lane, 256);
                if rank == 0 {
                    row.load_tma(lane, a.bulk(round * 64).multicast(all), full);
                }
            });
            if rank == 1 {
                full.wait(warp, state.phase());
            }
        } else {
            if !is(plant, MissingWait) {
                full.wait(warp, state.phase());
            }
            warp.each(|lane| {
                d.set(rank * 128 + round * 32 + lane.id(), row.get(lane, (0, lane.id())))
            });
            warp.sync();
            let leader = empty.stage(stage).of(cluster.peer(0));
            warp.elect(|lane| leader.arrive_having_read(lane));
        }
        state = state.next();
    }
    if !is(plant, MissingLastSync) {
        cluster.sync();
    }
}

fn run_multicast(plant: Plant, seed: u64) -> Result<(), SimError> {
    let a: Vec<u32> = (0..256).collect();
    let mut d = vec![0; 256];
    multicast::launch(&Simulator::new(seed), 2, &a, &mut d, plant as u32)?.check()?;
    assert_eq!(d, core::array::from_fn::<u32, 256, _>(|i| (i % 128 / 32 * 64 + i % 32) as u32));
    Ok(())
}

type Swizzled = SharedTile<bf16, 16, 64, Swizzle128>;

/// TMA writes a tile, and lanes read it, by `get` or by `ldmatrix`.
#[kernel(threads = 32, target = "sm_90")]
fn swizzles(
    block: &Block,
    #[shared] tiles: SharedRing<Swizzled, 1>,
    #[shared] full: BarrierMemory,
    a: TensorMap<Swizzled, 2>,
    d: GlobalMut<bf16>,
    plant: u32,
) {
    let full = full.init(block, 1);
    let (warp, tile) = (block.warp(), tiles.part(0));
    warp.elect(|lane| {
        full.arrive_expecting(lane, Swizzled::BOX_BYTES);
        tile.load_tma(lane, a.at([0, 0]), full);
    });
    full.wait(warp, Phase::FIRST);
    let store = |lane: Lane<'_>, value: bf16| d.set(lane.id(), value);
    if is(plant, NoSwizzle) {
        let tile = tiles.reuse::<SharedTile<bf16, 16, 64>>();
        warp.each(|lane| store(lane, tile.get(lane, (5, lane.id()))));
    } else if is(plant, OtherSwizzle) {
        let tile = tiles.reuse::<SharedTile<bf16, 16, 64, Swizzle64>>();
        warp.each(|lane| store(lane, tile.get(lane, (5, lane.id()))));
    } else {
        let a = if is(plant, OtherSwizzleOfRows) {
            let tile = tiles.reuse::<SharedTile<bf16, 16, 64, Swizzle32>>();
            FragmentA::<M16N8K16, bf16>::load(warp, &tile, (0, 16))
        } else {
            FragmentA::<M16N8K16, bf16>::load(warp, &tile, (0, 16))
        };
        let registers = a.registers();
        warp.each(|lane| store(lane, bf16::from_bits(lane.get(&registers)[0] as u16)));
    }
}

fn run_swizzles(plant: Plant, seed: u64) -> Result<(), SimError> {
    let device = Simulator::new(seed);
    let a: Vec<bf16> = (0..16 * 64).map(bf16::from_bits).collect();
    let map = Tensor::<Swizzled, 2>::new([64, 16]).map(&device, &a[..]).unwrap();
    let mut d = vec![bf16::ZERO; 32];
    swizzles::launch(&device, 1, &map, &mut d, plant as u32)?.check()?;
    let register = |lane: usize| bf16::from_bits((lane / 4 * 64 + 16 + lane % 4 * 2) as u16);
    assert_eq!(d, (0..32).map(register).collect::<Vec<_>>());
    Ok(())
}

/// Asserts that each order of the warps gives one finding, whose title begins with `title`.
#[track_caller]
fn assert_title(plant: Plant, title: &str, run: fn(Plant, u64) -> Result<(), SimError>) {
    run(Nothing, 1).unwrap();
    for seed in 0..8 {
        let error = run(plant, seed).expect_err("a planted mistake");
        assert_eq!(error.findings().len(), 1, "{plant:?}, seed {seed}: {error}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("error: {title}")), "{plant:?}, seed {seed}: {text}");
    }
}

/// A test for each planted mistake.
macro_rules! titles {
    ($($test:ident: $run:path, $plant:expr, $title:literal;)*) => {$(
        #[test]
        fn $test() {
            assert_title($plant, $title, $run);
        }
    )*};
}

titles! {
    ring_missing_wait: run_ring, MissingWait,
        "`rows[0] row 0, column 0` is read before the copy to it has come: no wait for phase 0 of \
         `full[0]` is before\n";
    ring_later_missing_wait: run_ring, LaterMissingWait,
        "`rows[0] row 0, column 0` is read before the copy to it has come: no wait for phase 1 of \
         `full[0]` is before\n";
    ring_phase_before: run_ring, PhaseBefore,
        "a wait that waits for nothing: the phase before the first of `full[0]` is over from the \
         beginning\n";
    ring_phase_not_advanced: run_ring, PhaseNotAdvanced,
        "a wait for a phase that is over already: phase 0 of `full[0]`, and this warp has waited \
         for it before\n";
    ring_refill: run_ring, Refill,
        "the stage of `full[0]` is refilled without a wait for `empty[0]`: warp 1 arrives at \
         `full[0]` again, and its phase 0 is not over\n";
    ring_refill_behind_full: run_ring, RefillBehindFull,
        "`rows[0] row 0, column 0` is refilled while warp 0 may still read it: no wait for \
         `empty[0]` is before the copy\n";
    ring_phase_of_consumer: run_ring, PhaseOfConsumer,
        "deadlock in the first round: warps wait for `full[0]` and `empty[0]` before any arrival\n";
    ring_missing_load: run_ring, MissingLoad,
        "deadlock: warp 0 waits for `full[0]`, and nothing ends its phase 0: 1 of 1 arrivals \
         missing\n";
    ring_each_lane: run_ring, EachLane,
        "`full[0]` gets too many arrivals: 2 lanes of warp 1 arrive, and a phase has 1\n";
    ring_early_release: run_ring, EarlyRelease,
        "`rows[0] row 0, column 0` is released too early: warp 0 arrives at `empty[0]` before its \
         read is over\n";
    ring_released_twice: run_ring, ReleasedTwice,
        "`empty[0]` gets too many arrivals: 1 more phase ended before warp 1 waits for phase 0\n";
    ring_too_many_arrivals: run_ring, TooManyArrivals,
        "deadlock: warp 1 waits for `empty[0]`, and nothing ends its phase 0: 1 of 2 arrivals \
         missing\n";
    prefetch_missing_wait: run_prefetch, MissingWait,
        "`rows[0] row 0, column 0` is read before the copy to it has come: no wait for phase 0 of \
         `full[0]` is before\n";
    prefetch_phase_not_advanced: run_prefetch, PhaseNotAdvanced,
        "a wait for a phase that is over already: phase 0 of `full[0]`, and this warp has waited \
         for it before\n";
    prefetch_read_before_load: run_prefetch, ReadBeforeLoad,
        "`rows[0] row 0, column 0` is read before the copy to it has come: no wait for phase 0 of \
         `full[0]` is before\n";
    prefetch_missing_warp_sync: run_prefetch, MissingWarpSync,
        "`rows[0] row 0, column 0` is refilled while warp 0 may still read it: no wait for its \
         release is before the copy\n";
    gemm_missing_wait: run_gemm, MissingWait,
        "`tiles_b[0] row 0, column 0` is read before the copy to it has come: no wait for phase 0 \
         of `full_b[0]` is before\n";
    gemm_phase_before: run_gemm, PhaseBefore,
        "a wait that waits for nothing: the phase before the first of `full_b[0]` is over from the \
         beginning\n";
    gemm_refill: run_gemm, Refill,
        "the stage of `full_a[0]` is refilled without a wait for `empty[0]`: warp 4 arrives at \
         `full_a[0]` again, and its phase 0 is not over\n";
    gemm_released_in_flight: run_gemm, EarlyRelease,
        "`tiles_a[0] row 0, column 0` is released too early: warp 0 arrives at `empty[0]` before \
         its read is over\n";
    gemm_too_few_arrivals: run_gemm, TooFewArrivals,
        "`empty[0]` is initialised for 1 arrival, and ";
    gemm_swapped_coordinates: run_gemm, SwappedCoordinates,
        "a load of a box completely outside of its tensor is all zeros: coordinates [64, 0], box \
         [32, 64], tensor [32, 320]";
    written_missing_fence: run_written, MissingFence,
        "no proxy fence between a store to `b row 0, column 0` and a bulk copy or `wgmma`\n";
    written_missing_block_sync: run_written, MissingBlockSync,
        "race: write of `a row ";
    written_in_flight: run_written, MissingSync,
        "race: write of `a row ";
    multicast_missing_wait: run_multicast, MissingWait,
        "`rows[0] row 0, column 0` is read before the copy to it has come: no wait for phase 0 of \
         `full[0]` is before\n";
    multicast_refill: run_multicast, Refill,
        "the stage of `full[0]` is refilled without a wait for `empty[0]`: warp 0 of block (0, 0, \
         0) arrives at `full[0]` again";
    multicast_too_few_arrivals: run_multicast, TooFewArrivals,
        "`empty[0]` is initialised for 1 arrival, ";
    multicast_missing_first_sync: run_multicast, MissingFirstSync,
        "copy in shared memory of block (1, 0, 0), which may not have started yet\n";
    multicast_missing_last_sync: run_multicast, MissingLastSync,
        "arrival in shared memory of block (0, 0, 0), which may have ended before\n";
    swizzles_unswizzled: run_swizzles, NoSwizzle,
        "wrong swizzle: `tiles[0] row 5, column 40` is read by a tile with no swizzle, and the \
         copy wrote it with a 128-byte swizzle\n";
    swizzles_other: run_swizzles, OtherSwizzle,
        "wrong swizzle: `tiles[0] row 5, column 32` is read by a tile with a 64-byte swizzle, and \
         the copy wrote it with a 128-byte swizzle\n";
    swizzles_other_of_rows: run_swizzles, OtherSwizzleOfRows,
        "wrong swizzle: `tiles[0] row 2, column 0` is read by a tile with a 32-byte swizzle, and \
         the copy wrote it with a 128-byte swizzle\n";
}
