//! Mistakes planted in warp-specialized pipelines. The first finding names each mistake with its
//! line and the correction.
//!
//! The expected texts are in `tests/simulator/planted/`, a file for each mistake. There, `{marker}`
//! stands for the place of the line with this marker here.

use ptx_matrix::launch::Tensor;
use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{SimError, Simulator};
use std::path::Path;

type Tile = SharedTile<u32, 8, 32, Swizzle128>;

const STAGES: usize = 2;

/// The mistakes in [`pipeline`].
#[derive(Debug, Clone, Copy, PartialEq)]
enum Plant {
    Nothing,
    /// Consumers do not wait for `full`.
    MissingWait,
    /// Consumers wait for the phase before the one that they need.
    WrongPhase,
    /// Consumers wait for the first phase in each round.
    PhaseNotAdvanced,
    /// The producer does not wait for `empty`.
    RefillWithoutWait,
    /// The producer waits for the first phase of `empty` in each round after the first.
    ProducerPhaseNotAdvanced,
    /// `arrive` instead of `arrive_expecting`.
    BytesNotExpected,
    /// The phase expects two tiles.
    TooManyBytes,
    /// The phase expects half a tile.
    TooFewBytes,
    /// Consumers release a stage before they read it.
    EarlyRelease,
    /// A lane releases a stage for its warp, and no `sync` orders the reads of the others before.
    ReleaseWithoutSync,
    /// `empty` has a count of three arrivals, for two consumers.
    TooManyArrivals,
    /// `empty` has a count of one arrival.
    TooFewArrivals,
    /// Consumers do not release the stages.
    MissingRelease,
    /// A lane tests again and again for a phase that does not complete.
    Polling,
    /// The coordinates of the boxes are swapped.
    SwappedCoordinates,
    /// The producer loads the tile of the other stage.
    WrongStage,
}

use Plant::*;

/// Warp 0 loads 8 rows in each round, through two stages. Warps 1 and 2 add up their columns.
#[kernel(threads = 96, target = "sm_90")]
fn pipeline(
    block: &Block,
    #[shared] tiles: SharedRing<Tile, STAGES>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, STAGES>, SharedRing<BarrierMemory, STAGES>),
    a: TensorMap<Tile, 2>,
    d: GlobalMut<u32>,
    plant: u32,
) {
    let is = |which: Plant| plant == which as u32;
    let readers = if is(TooManyArrivals) {
        3
    } else if is(TooFewArrivals) {
        1
    } else {
        2
    };
    let (full, empty) = (full.init(block, 1), empty.init(block, readers)); // <- initialise
    let (warp, index) = (block.warp(), block.warp().index());
    let mut state = PipelineState::FIRST;
    let mut acc = PerLane::splat(0);
    for round in 0..6 {
        let stage = state.index();
        let (tile, full, empty) = (tiles.stage(stage), full.stage(stage), empty.stage(stage));
        if index == 0 {
            let late = is(ProducerPhaseNotAdvanced) && round >= STAGES as i32;
            let phase = if late { Phase::FIRST } else { state.prev_phase() };
            if !is(RefillWithoutWait) {
                empty.wait(warp, phase); // <- wait for empty
            }
            warp.elect(|lane| {
                if is(BytesNotExpected) {
                    full.arrive(lane); // <- arrive
                } else {
                    let bytes = if is(TooManyBytes) {
                        2048
                    } else if is(TooFewBytes) {
                        512
                    } else {
                        Tile::BOX_BYTES
                    };
                    full.arrive_expecting(lane, bytes); // <- expect
                }
                let at = if is(SwappedCoordinates) { [8 * round, 0] } else { [0, 8 * round] };
                let tile = if is(WrongStage) { tiles.stage(stage.next()) } else { tile };
                tile.load_tma(lane, a.at(at), full); // <- load
            });
        } else {
            if is(Polling) {
                warp.elect(|lane| while !empty.is_over(lane, state.phase()) {}); // <- poll
            }
            let phase = if is(WrongPhase) {
                state.prev_phase()
            } else if is(PhaseNotAdvanced) {
                Phase::FIRST
            } else {
                state.phase()
            };
            if !is(MissingWait) {
                full.wait(warp, phase); // <- wait for full
            }
            if is(EarlyRelease) {
                warp.sync();
                warp.elect(|lane| _ = empty.arrive(lane)); // <- early release
            }
            acc = warp.each(|lane| {
                let column = (0..4).map(|row| tile.get(lane, (4 * (index - 1) + row, lane.id())));
                // <- read
                column.fold(lane.get(&acc), u32::wrapping_add)
            });
            if !is(EarlyRelease) && !is(MissingRelease) {
                if !is(ReleaseWithoutSync) {
                    warp.sync();
                }
                warp.elect(|lane| _ = empty.arrive(lane)); // <- release
            }
        }
        state = state.next();
    }
    if index > 0 {
        warp.each(|lane| d.set(32 * (index - 1) + lane.id(), lane.get(&acc)));
    }
}

fn run(plant: Plant, seed: u64) -> Result<(), SimError> {
    let device = Simulator::new(seed);
    let a: Vec<u32> = (0..48 * 32).map(|i| i * 7 % 1009).collect();
    let map = Tensor::<Tile, 2>::new([32, 48]).map(&device, &a[..]).unwrap();
    let mut d = [0; 64];
    pipeline::launch(&device, 1, &map, &mut d, plant as u32)?.check()?;
    let sum = |i: usize| {
        (0..24).map(|row| a[(row / 4 * 8 + i / 32 * 4 + row % 4) * 32 + i % 32]).sum::<u32>()
    };
    assert_eq!(d, core::array::from_fn(sum));
    Ok(())
}

/// A GEMM with two steps of K. A producer loads the tiles, and `wgmma` reads them.
mod gemm {
    use super::*;

    type TileA = SharedTile<bf16, 64, 64, Swizzle128>;
    type TileB = SharedTile<bf16, 64, 32, Swizzle64, RowMajor>;

    /// The mistakes in [`multiply`].
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub enum Plant {
        Nothing,
        /// A stage is released before the wait for the `wgmma` that reads it.
        ReleasedInFlight,
        /// The consumer takes registers that the producer does not release.
        RegistersNotGiven,
        /// The consumer reads the stages of A as tiles of another swizzle.
        WrongSwizzle,
    }

    #[kernel(threads = 384, min_blocks = 1, target = "sm_90a")]
    fn multiply(
        block: &Block,
        #[shared] tiles_a: SharedRing<TileA, 1>,
        #[shared] tiles_b: SharedRing<TileB, 1>,
        #[shared] (full, empty): (SharedRing<BarrierMemory, 1>, SharedRing<BarrierMemory, 1>),
        a: TensorMap<TileA, 2>,
        b: TensorMap<TileB, 2>,
        d: GlobalMut<f32>,
        plant: u32,
    ) {
        let is = |which: Plant| plant == which as u32;
        let (full, empty) = (full.init(block, 1), empty.init(block, 1)); // <- gemm: initialise
        let (group, warp) = (block.warp_group(), block.warp());
        let mut state = PipelineState::FIRST;
        if group.index() == 0 {
            if !is(Plant::RegistersNotGiven) {
                group.give_registers::<40>();
            }
            for step in 0..if warp.index() == 0 { 3 } else { 0 } {
                empty.stage(state.index()).wait(warp, state.prev_phase());
                // <- gemm: wait for empty
                warp.elect(|lane| {
                    let full = full.stage(state.index());
                    full.arrive_expecting(lane, TileA::BOX_BYTES + TileB::BOX_BYTES);
                    tiles_a.stage(state.index()).load_tma(lane, a.at([64 * step, 0]), full);
                    // <- gemm: load a
                    tiles_b.stage(state.index()).load_tma(lane, b.at([0, 64 * step]), full);
                    // <- gemm: load b
                });
                state = state.next();
            }
        } else {
            group.take_registers::<232>(); // <- gemm: take
            if group.index() == 2 {
                return;
            }
            let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
            for _ in 0..3 {
                let stage = state.index();
                full.stage(stage).wait(warp, state.phase());
                let (tile_a, tile_b) = (tiles_a.stage(stage), tiles_b.stage(stage));
                Wgmma::<32, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
                    for k in 0..4 {
                        if is(Plant::WrongSwizzle) {
                            let tile_a = tiles_a.reuse::<SharedTile<bf16, 128, 32, Swizzle64>>();
                            let (a, b) = (
                                tile_a.matrix_a((k / 2 * 64, k % 2 * 16)),
                                tile_b.matrix_b((k * 16, 0)),
                            );
                            issue.accumulate(a, b); // <- gemm: wrong wgmma
                            continue;
                        }
                        issue
                            .accumulate(tile_a.matrix_a((0, k * 16)), tile_b.matrix_b((k * 16, 0)));
                        // <- gemm: wgmma
                    }
                });
                if !is(Plant::ReleasedInFlight) {
                    acc.wait::<0>(group);
                }
                group.sync();
                if group.warp_rank() == 0 {
                    warp.elect(|lane| _ = empty.stage(stage).arrive(lane)); // <- gemm: release
                }
                state = state.next();
            }
            let acc = acc.finish(group);
            acc.for_each(group, |row, col, sum| d.set(row * 32 + col, sum));
        }
    }

    pub fn run(plant: Plant, seed: u64) -> Result<(), SimError> {
        let device = Simulator::new(seed);
        let number = |i: usize, m: usize| bf16::from_f32((i % m) as f32 - 3.0);
        let a: Vec<bf16> = (0..64 * 192).map(|i| number(i, 7)).collect();
        let b: Vec<bf16> = (0..192 * 32).map(|i| number(i, 11)).collect();
        let of_a = Tensor::<TileA, 2>::new([192, 64]).map(&device, &a[..]).unwrap();
        let of_b = Tensor::<TileB, 2>::new([32, 192]).map(&device, &b[..]).unwrap();
        let mut d = vec![0.0; 64 * 32];
        multiply::launch(&device, 1, &of_a, &of_b, &mut d, plant as u32)?.check()?;
        let sum = |row: usize, col: usize| {
            (0..192).map(|k| a[row * 192 + k].to_f32() * b[k * 32 + col].to_f32()).sum()
        };
        assert_eq!(d, (0..64 * 32).map(|i| sum(i / 32, i % 32)).collect::<Vec<f32>>());
        Ok(())
    }
}

/// Results that are stored by bulk copies.
mod results {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    pub enum Plant {
        Nothing,
        /// No fence between the stores to a tile and its copy.
        MissingFence,
        /// The tile is written again while the copy may still read it.
        ReadInFlight,
    }

    #[kernel(threads = 32, target = "sm_90")]
    fn store(block: &Block, #[shared] strip: Tile, d: TensorMapMut<Tile, 2>, plant: u32) {
        let is = |which: Plant| plant == which as u32;
        let warp = block.warp();
        for step in 0..2 {
            if !is(Plant::ReadInFlight) {
                warp.elect(|lane| BulkGroup::wait_read::<0>(lane));
            }
            warp.sync();
            strip.fill(warp, |row, col| step as u32 + (row * 32 + col) as u32); // <- results: fill
            if !is(Plant::MissingFence) {
                warp.fence_for_bulk();
            }
            warp.sync();
            warp.elect(|lane| {
                strip.store_tma(lane, d.at([0, 8 * step])); // <- results: store
                BulkGroup::commit(lane);
            });
        }
        warp.elect(|lane| BulkGroup::wait_read::<0>(lane));
    }

    pub fn run(plant: Plant, seed: u64) -> Result<(), SimError> {
        let (device, mut d) = (Simulator::new(seed), vec![0; 16 * 32]);
        let mut map = Tensor::<Tile, 2>::new([32, 16]).map_mut(&device, &mut d[..]).unwrap();
        store::launch(&device, 1, map.by_ref(), plant as u32)?.check()?;
        assert_eq!(d, (0..512).map(|i| i / 256 + i % 256).collect::<Vec<u32>>());
        Ok(())
    }
}

/// Blocks of a cluster that exchange rows.
mod pair {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    pub enum Plant {
        Nothing,
        /// The blocks do not wait until both run, and have initialised their barriers.
        MissingFirstSync,
        /// A block does not wait until the other has read its row.
        MissingLastSync,
    }

    #[kernel(threads = 32, cluster = 2, target = "sm_90")]
    fn exchange(
        block: &ClusterBlock<2>,
        #[shared] row: SharedTile<u32, 1, 32>,
        d: GlobalMut<u32>,
        plant: u32,
    ) {
        let is = |which: Plant| plant == which as u32;
        let (warp, cluster) = (block.warp(), block.cluster());
        let rank = cluster.rank();
        row.fill(warp, |_, col| (100 * rank + col) as u32); // <- pair: fill
        if !is(Plant::MissingFirstSync) {
            cluster.sync();
        }
        let other = row.of(cluster.peer(1 - rank));
        warp.each(|lane| d.set(32 * rank + lane.id(), other.get(lane, (0, lane.id()))));
        // <- pair: read
        if !is(Plant::MissingLastSync) {
            cluster.sync();
        }
    }

    pub fn run(plant: Plant, seed: u64) -> Result<(), SimError> {
        let mut d = [0; 64];
        exchange::launch(&Simulator::new(seed), 2, &mut d, plant as u32)?.check()?;
        assert_eq!(d, core::array::from_fn(|i| (100 * (1 - i / 32) + i % 32) as u32));
        Ok(())
    }
}

/// The text of a file, with its markers replaced by places here, without columns.
fn expected(file: &Path) -> String {
    let text =
        std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut parts = text.split('{');
    let mut expected = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (marker, rest) = part.split_once('}').expect("a marker ends");
        let (file, line) = crate::line_of(marker);
        expected += &format!("{file}:{line}{rest}");
    }
    expected.trim_end().to_owned()
}

/// The report without the columns of places, and without the seed.
fn without_columns(report: &str) -> String {
    let file = file!().rsplit('/').next().unwrap();
    let mut text = String::new();
    for (index, part) in report.split(&format!("{file}:")).enumerate() {
        if index == 0 {
            text += part;
            continue;
        }
        let line = part.chars().take_while(char::is_ascii_digit).count();
        let rest = part[line..]
            .strip_prefix(':')
            .map_or(&part[line..], |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        text += &format!("{file}:{}{rest}", &part[..line]);
    }
    let is_seed = |line: &&str| line.contains("which shows it again");
    text.lines().filter(|line| !is_seed(line)).collect::<Vec<_>>().join("\n")
}

/// Asserts that the report of seed 0 is the file's, and that the first finding of all other seeds
/// has the same title and place.
#[track_caller]
fn assert_planted(name: &str, run: impl Fn(u64) -> Result<(), SimError>) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file!());
    let file = directory.with_extension("").join(format!("{name}.txt"));
    let report = |seed: u64| without_columns(&run(seed).expect_err(name).to_string());
    let first = report(0);
    if std::env::var_os("SHOW_PLANTED").is_some() {
        println!("=== {name}\n{first}\n");
        for seed in 1..12 {
            let other = report(seed);
            if other.lines().take(2).ne(first.lines().take(2)) {
                println!("--- seed {seed}\n{other}\n");
            }
        }
        return;
    }
    assert_eq!(first, expected(&file), "{name}");
    for seed in 1..12 {
        let other = report(seed);
        // The schedule decides which consumer comes first, and so which stage.
        let place = |report: &str| report.lines().nth(1).map(str::to_owned);
        assert_eq!(place(&other), place(&first), "{name}, seed {seed}: {other}");
    }
}

#[test]
fn pipelines_without_a_mistake_run_clean() {
    for seed in 0..24 {
        run(Nothing, seed).unwrap();
        results::run(results::Plant::Nothing, seed).unwrap();
        pair::run(pair::Plant::Nothing, seed).unwrap();
    }
    (0..4).for_each(|seed| gemm::run(gemm::Plant::Nothing, seed).unwrap());
}

/// A test for each planted mistake.
macro_rules! planted {
    ($($test:ident: $run:path, $plant:expr;)*) => {$(
        #[test]
        fn $test() {
            assert_planted(stringify!($test), |seed| $run($plant, seed));
        }
    )*};
}

planted! {
    missing_wait: run, MissingWait;
    wrong_phase: run, WrongPhase;
    phase_not_advanced: run, PhaseNotAdvanced;
    refill_without_wait: run, RefillWithoutWait;
    producer_phase_not_advanced: run, ProducerPhaseNotAdvanced;
    bytes_not_expected: run, BytesNotExpected;
    too_many_bytes: run, TooManyBytes;
    too_few_bytes: run, TooFewBytes;
    early_release: run, EarlyRelease;
    release_without_sync: run, ReleaseWithoutSync;
    too_many_arrivals: run, TooManyArrivals;
    too_few_arrivals: run, TooFewArrivals;
    missing_release: run, MissingRelease;
    polling: run, Polling;
    swapped_coordinates: run, SwappedCoordinates;
    wrong_stage: run, WrongStage;
    released_in_flight: gemm::run, gemm::Plant::ReleasedInFlight;
    registers_not_given: gemm::run, gemm::Plant::RegistersNotGiven;
    wrong_swizzle: gemm::run, gemm::Plant::WrongSwizzle;
    missing_fence: results::run, results::Plant::MissingFence;
    read_in_flight: results::run, results::Plant::ReadInFlight;
    missing_first_sync: pair::run, pair::Plant::MissingFirstSync;
    missing_last_sync: pair::run, pair::Plant::MissingLastSync;
}
