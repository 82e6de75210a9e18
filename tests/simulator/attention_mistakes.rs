//! Mistakes in the barriers of an attention kernel: a producer warp, two warpgroups that share the
//! tiles of keys and values, and softmax in registers.

use ptx_matrix::launch::Tensor;
use ptx_matrix::math::ex2_approx;
use ptx_matrix::mma::{GroupAccumulator, RowParts, RowValues, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{SimError, Simulator};

/// Queries of a warpgroup, keys of a tile, and features.
const SIDE: usize = 64;
const STAGES: usize = 2;
type Queries = SharedTile<f16, SIDE, SIDE, Swizzle128>;
/// K transposed: a column is a key.
type Keys = SharedTile<f16, SIDE, SIDE, Swizzle128, ColMajor>;
type Values = SharedTile<f16, SIDE, SIDE, Swizzle128>;
type Barriers = SharedRing<BarrierMemory, STAGES>;

/// The mistakes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Plant {
    Nothing,
    QueriesNotWaited,
    KeysNotWaited,
    KeysPhaseNotAdvanced,
    ValuesNotWaited,
    /// The values are waited for with the barrier of the keys.
    ValuesByBarrierOfKeys,
    ValuesPhaseNotAdvanced,
    /// The copy of the values signals the barrier of the keys.
    ValuesSignalKeys,
    /// The keys are released before the wait for the `wgmma` that reads them.
    KeysReleasedInFlight,
    ValuesReleasedInFlight,
    KeysNotReleased,
    /// The values are released by an arrival at the barrier of the keys.
    ValuesReleasedAsKeys,
    KeysReleasedTwice,
    CountTooSmall,
    CountTooLarge,
    /// One warpgroup waits at a `sync` of the block in each step.
    SyncOfBlock,
    /// One warpgroup does not advance its pipeline in one step.
    StateNotAdvanced,
    /// The producer loads a tile that nobody waits for.
    OneTileMore,
    OneTileFewer,
    /// The producer does not wait for the release of the keys.
    KeysRefilled,
    /// The producer waits for the phase of the readers.
    RefillPhase,
    /// The barrier of the keys expects half of the bytes.
    HalfBytes,
    QueriesHalfBytes,
    EachLaneReleases,
    OneGroupReleases,
    /// Both warpgroups compute the same queries.
    RowsOfOtherGroup,
}
use Plant::*;

#[kernel(threads = 384, target = "sm_90a")]
fn attend(
    block: &Block,
    #[shared] queries: SharedRing<Queries, 2>,
    #[shared] (keys, values): (SharedRing<Keys, STAGES>, SharedRing<Values, STAGES>),
    #[shared] queries_full: BarrierMemory,
    #[shared] (keys_full, keys_empty): (Barriers, Barriers),
    #[shared] (values_full, values_empty): (Barriers, Barriers),
    q: TensorMap<Queries, 2>,
    k: TensorMap<Keys, 2>,
    v: TensorMap<Values, 2>,
    d: GlobalMut<f32>,
    steps: usize,
    plant: u32,
) {
    let is = |which: Plant| plant == which as u32;
    let count = if is(CountTooSmall) {
        1
    } else if is(CountTooLarge) {
        3
    } else {
        2
    };
    let queries_full = queries_full.init(block, 1);
    let (keys_full, keys_empty) = (keys_full.init(block, 1), keys_empty.init(block, count));
    let (values_full, values_empty) = (values_full.init(block, 1), values_empty.init(block, 2));
    let (group, warp) = (block.warp_group(), block.warp());
    let mut state = PipelineState::<STAGES>::FIRST;
    if group.index() == 0 {
        if warp.index() != 0 {
            return;
        }
        warp.elect(|lane| {
            let bytes = if is(QueriesHalfBytes) { 1 } else { 2 } * Queries::BOX_BYTES;
            queries_full.arrive_expecting(lane, bytes);
            for part in 0..2 {
                queries.part(part).load_tma(lane, q.at([0, (part * SIDE) as i32]), queries_full);
            }
        });
        let steps = if is(OneTileMore) {
            steps + 1
        } else if is(OneTileFewer) {
            steps - 1
        } else {
            steps
        };
        for step in 0..steps {
            let s = state.index();
            let first = (step * SIDE) as i32;
            let phase = if is(RefillPhase) { state.phase() } else { state.prev_phase() };
            if !is(KeysRefilled) {
                keys_empty.stage(s).wait(warp, phase);
            }
            warp.elect(|lane| {
                let bytes = if is(HalfBytes) { Keys::BOX_BYTES / 2 } else { Keys::BOX_BYTES };
                keys_full.stage(s).arrive_expecting(lane, bytes);
                keys.stage(s).load_tma(lane, k.at([0, first]), keys_full.stage(s));
            });
            values_empty.stage(s).wait(warp, state.prev_phase());
            warp.elect(|lane| {
                let full = if is(ValuesSignalKeys) { keys_full } else { values_full };
                values_full.stage(s).arrive_expecting(lane, Values::BOX_BYTES);
                values.stage(s).load_tma(lane, v.at([0, first]), full.stage(s));
            });
            state = state.next();
        }
        return;
    }
    let index = group.index() - 1;
    if !is(QueriesNotWaited) {
        queries_full.wait(warp, Phase::FIRST);
    }
    let queries = queries.part(if is(RowsOfOtherGroup) { 0 } else { index });
    let mut out = GroupAccumulator::<SIDE, f32>::zero();
    let mut largest = RowValues::splat(f32::NEG_INFINITY);
    let mut sums = RowParts::splat(0.0f32);
    for step in 0..steps {
        let s = state.index();
        let (keys, values) = (keys.stage(s), values.stage(s));
        let release = |at: Barrier, when: bool| {
            let releases = group.warp_rank() == 0 && !(is(OneGroupReleases) && index == 1);
            if when && releases {
                if is(EachLaneReleases) {
                    warp.each(|lane| _ = at.arrive(lane));
                } else {
                    warp.elect(|lane| _ = at.arrive(lane));
                }
            }
        };
        if is(KeysPhaseNotAdvanced) {
            keys_full.stage(s).wait(warp, Phase::FIRST);
        } else if !is(KeysNotWaited) {
            keys_full.stage(s).wait(warp, state.phase());
        }
        if is(SyncOfBlock) && index == 1 {
            block.sync();
        }
        let mut scores = GroupAccumulator::<SIDE, f32>::zero().begin(group);
        Wgmma::<SIDE, f16, f16, f32>::issue(group, &mut scores, |issue| {
            for k in (0..SIDE).step_by(16) {
                issue.accumulate(queries.matrix_a((0, k)), keys.matrix_b((k, 0)));
            }
        });
        release(keys_empty.stage(s), is(KeysReleasedInFlight));
        let scores = scores.finish(group);
        release(keys_empty.stage(s), !is(KeysReleasedInFlight) && !is(KeysNotReleased));
        release(keys_empty.stage(s), is(KeysReleasedTwice));
        // Softmax.
        let parts = scores.fold_rows(group, &RowParts::splat(f32::NEG_INFINITY), f32::max);
        let new = parts.combine(warp, f32::max).zip(warp, &largest, f32::max);
        let scale = largest.zip(warp, &new, |old, new| ex2_approx(old - new));
        largest = new;
        let powers = scores.map_rows(group, &largest, |score, of_row| ex2_approx(score - of_row));
        let scaled = sums.zip(warp, &scale, |sum, scale| sum * scale);
        sums = powers.fold_rows(group, &scaled, |sum, power: f32| sum + power);
        out = out.map_rows(group, &scale, |value, scale| value * scale);
        let powers = powers.round::<f16>(group);
        let a: [_; SIDE / 16] = core::array::from_fn(|i| powers.operand_a(i));
        if is(ValuesByBarrierOfKeys) {
            keys_full.stage(s).wait(warp, state.phase());
        } else if is(ValuesPhaseNotAdvanced) {
            values_full.stage(s).wait(warp, Phase::FIRST);
        } else if !is(ValuesNotWaited) {
            values_full.stage(s).wait(warp, state.phase());
        }
        let mut acc = out.begin(group);
        Wgmma::<SIDE, f16, f16, f32>::issue(group, &mut acc, |issue| {
            for (i, a) in a.iter().enumerate() {
                issue.accumulate_registers(a, values.matrix_b((16 * i, 0)));
            }
        });
        let empty = if is(ValuesReleasedAsKeys) { keys_empty } else { values_empty };
        release(empty.stage(s), is(ValuesReleasedInFlight));
        out = acc.finish(group);
        release(empty.stage(s), !is(ValuesReleasedInFlight));
        if !(is(StateNotAdvanced) && index == 1 && step == 1) {
            state = state.next();
        }
    }
    let sums = sums.combine(warp, |sum, other| sum + other);
    let out = out.map_rows(group, &sums, |value, sum| value / sum);
    let first = if is(RowsOfOtherGroup) { 0 } else { index * SIDE };
    out.for_each(group, |row, col, value| d.set((first + row) * SIDE + col, value));
}

fn run(plant: Plant, seed: u64) -> Result<(), SimError> {
    const STEPS: usize = 5;
    let device = Simulator::new(seed);
    let values = |len: usize, of: usize| -> Vec<f16> {
        (0..len).map(|i| f16::from_f32((i * of % 13) as f32 / 8.0 - 0.75)).collect()
    };
    let (q, k, v) = (
        values(2 * SIDE * SIDE, 7),
        values(STEPS * SIDE * SIDE, 5),
        values(STEPS * SIDE * SIDE, 3),
    );
    let q_map = Tensor::<Queries, 2>::new([SIDE, 2 * SIDE]).map(&device, &q[..]).unwrap();
    let k_map = Tensor::<Keys, 2>::new([SIDE, STEPS * SIDE]).map(&device, &k[..]).unwrap();
    let v_map = Tensor::<Values, 2>::new([SIDE, STEPS * SIDE]).map(&device, &v[..]).unwrap();
    let mut d = vec![0.0; 2 * SIDE * SIDE];
    attend::launch(&device, 1, &q_map, &k_map, &v_map, &mut d, STEPS, plant as u32)?.check()?;
    // Powers of two, as in the kernel.
    for row in [0, 70, 127] {
        let score = |key: usize| -> f64 {
            let dot = (0..SIDE).map(|i| q[row * SIDE + i].to_f64() * k[key * SIDE + i].to_f64());
            dot.sum::<f64>()
        };
        let scores: Vec<f64> = (0..STEPS * SIDE).map(score).collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp2()).collect();
        let sum: f64 = weights.iter().sum();
        for col in [0, 33] {
            let of = |(key, weight): (usize, &f64)| weight / sum * v[key * SIDE + col].to_f64();
            let expected: f64 = weights.iter().enumerate().map(of).sum();
            let actual = f64::from(d[row * SIDE + col]);
            assert!((actual - expected).abs() < 2e-3, "{row}, {col}: {actual}, {expected}");
        }
    }
    Ok(())
}

/// Each mistake, and the titles of its reports, without the parts that differ between seeds.
const TITLES: [(Plant, &[&str]); 25] = [
    (QueriesNotWaited, &["no wait for phase 0 of `queries_full` is before"]),
    (KeysNotWaited, &["no wait for phase 0 of `keys_full[0]` is before"]),
    (KeysPhaseNotAdvanced, &["for a phase that is over already: phase 0 of `keys_full[0]`"]),
    (ValuesNotWaited, &["no wait for phase 0 of `values_full[0]` is before"]),
    (ValuesByBarrierOfKeys, &["no wait for phase 0 of `values_full[0]` is before"]),
    (ValuesPhaseNotAdvanced, &["for a phase that is over already: phase 0 of `values_full[0]`"]),
    (ValuesSignalKeys, &["phase 0 of `keys_full[0]` expects 8192 bytes, and the copies"]),
    (KeysReleasedInFlight, &["`keys[0] row 0, column 0` is released too early"]),
    (ValuesReleasedInFlight, &["`values[0] row 0, column 0` is released too early"]),
    (KeysNotReleased, &["nothing ends its phase 0: 2 of 2 arrivals missing"]),
    (ValuesReleasedAsKeys, &["warp 0 waits for `values_empty[0]`, and nothing ends its phase 0"]),
    (KeysReleasedTwice, &["`keys_empty[0]` gets too many arrivals"]),
    (CountTooSmall, &["for 1 arrival, ended without it", "for 1 arrival, and 2 warps arrive"]),
    (CountTooLarge, &["nothing ends its phase 0: 1 of 3 arrivals missing"]),
    (SyncOfBlock, &["warps 8 to 11 wait at a `sync` that not all warps reach"]),
    (StateNotAdvanced, &["for a phase that is over already: phase 0 of `keys_full[1]`"]),
    (OneTileMore, &["the block ends while a copy to or from its shared memory is in flight"]),
    (OneTileFewer, &["warps 4 to 11 wait for `keys_full[0]`, and nothing ends its phase 2"]),
    (KeysRefilled, &["refilled without a wait for `keys_empty[0]`"]),
    (RefillPhase, &["in the first round: warps wait for `keys_empty[0]` and `keys_full[0]`"]),
    (HalfBytes, &["phase 0 of `keys_full[0]` expects 4096 bytes, and the copies"]),
    (QueriesHalfBytes, &["phase 0 of `queries_full` expects 8192 bytes, and the copies"]),
    (EachLaneReleases, &["`keys_empty[0]` gets too many arrivals: 32 lanes of warp "]),
    (OneGroupReleases, &["nothing ends its phase 0: 1 of 2 arrivals missing"]),
    (RowsOfOtherGroup, &["race: write of element "]),
];

#[test]
fn each_mistake_is_named() {
    run(Nothing, 0).unwrap();
    for (plant, titles) in TITLES {
        for seed in 0..3 {
            let text = run(plant, seed).expect_err("a planted mistake").to_string();
            let title = text.lines().next().unwrap_or_default();
            assert!(titles.iter().any(|of| title.contains(of)), "{plant:?}, seed {seed}: {text}");
        }
    }
}
