//! `wgmma` and its misuses, each with its correction.

use ptx_matrix::copy::CpAsync;
use ptx_matrix::mma::{DenseA, GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{AccessKind, Agent, Awaited, EndedWarp, Misuse};

type TileA = SharedTile<bf16, 64, 64, Swizzle128>;
type TileB = SharedTile<bf16, 64, 32, Swizzle128, ColMajor>;
type Multiply = Wgmma<32, bf16, bf16, f32>;

/// The matrices of the tests, 64 x 64 and 64 x 32, and their product. The numbers are small, so
/// sums are exact.
fn matrices() -> (Vec<bf16>, Vec<bf16>, Vec<f32>) {
    let number = |i: usize, m: usize| bf16::from_f32((i % m) as f32 - 3.0);
    let a: Vec<bf16> = (0..64 * 64).map(|i| number(i, 7)).collect();
    let b: Vec<bf16> = (0..64 * 32).map(|i| number(i, 11)).collect();
    let sum = |row: usize, col: usize| {
        (0..64).map(|k| a[row * 64 + k].to_f32() * b[k * 32 + col].to_f32()).sum()
    };
    let d = (0..64 * 32).map(|i| sum(i / 32, i % 32)).collect();
    (a, b, d)
}

fn load(group: WarpGroup<'_>, tile_a: TileA, tile_b: TileB, a: Global<bf16>, b: Global<bf16>) {
    tile_a.fill(group, |row, k| a.get(row * 64 + k));
    tile_b.fill(group, |k, col| b.get(k * 32 + col));
}

/// `misuse` selects one misuse; 0 is none.
#[kernel(threads = 128, target = "sm_90a")]
fn typed(
    block: &Block,
    #[shared] tile_a: TileA,
    #[shared] tile_b: TileB,
    misuse: u32,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
) {
    let group = block.warp_group();
    let own_row = 8 * group.warp_rank();
    load(group, tile_a, tile_b, a, b);
    if misuse != 1 {
        group.warp().fence_for_bulk();
    }
    if misuse != 2 {
        group.sync();
    }
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    if misuse != 3 || group.warp_rank() != 2 {
        Multiply::issue(group, &mut acc, |issue| {
            for k in 0..4 {
                issue.accumulate(tile_a.matrix_a((0, k * 16)), tile_b.matrix_b((k * 16, 0)));
            }
        });
    }
    if misuse == 4 {
        group.warp().each(|lane| tile_b.set((own_row, lane.id()), bf16::ZERO));
    }
    let acc = acc.finish(group);
    if misuse == 0 {
        // After the wait and a `sync`, the tile may be written again.
        group.sync();
        group.warp().each(|lane| tile_b.set((own_row, lane.id()), bf16::ZERO));
    }
    acc.for_each(group, |row, col, value| d.set(row * 32 + col, value));
}

fn run_typed(misuse: u32) -> Result<(), Misuse> {
    let (a, b, expected) = matrices();
    let mut d = vec![0.0; 64 * 32];
    typed::simulate(1, misuse, &a, &b, &mut d)
        .map_err(|error| error.findings()[0].misuse.clone())?;
    assert_eq!(d, expected);
    Ok(())
}

#[test]
fn result_is_right_and_tiles_are_free_after_the_wait() {
    run_typed(0).unwrap();
}

#[test]
fn stores_to_a_tile_need_a_proxy_fence() {
    assert!(matches!(run_typed(1), Err(Misuse::ProxyFence { .. })));
}

#[test]
fn wgmma_on_tiles_still_being_filled_is_a_race() {
    let (a, b, _) = matrices();
    let error = typed::simulate(1, 2, &a, &b, &mut [0.0; 64 * 32]).unwrap_err();
    assert!(
        error.findings().iter().any(|finding| matches!(finding.misuse, Misuse::Race { .. })),
        "{error}"
    );
}

/// B is one run of adjacent chunks. A warp starts a copy to the first one, and writes the last one
/// without a `sync`.
#[kernel(threads = 128, target = "sm_90a")]
fn copied_and_written(
    block: &Block,
    #[shared] tile_a: SharedTile<bf16, 64, 16, Swizzle32>,
    #[shared] tile_b: SharedTile<bf16, 16, 8, Swizzle32, ColMajor>,
    b: Global<bf16>,
) {
    let group = block.warp_group();
    tile_a.fill(group, |_, _| bf16::ONE);
    tile_b.fill(group, |_, _| bf16::ONE);
    group.warp().fence_for_bulk();
    group.sync();
    let rank = group.warp_rank();
    group.warp().each(|lane| {
        if (rank, lane.id()) == (0, 0) {
            CpAsync::<16>::copy(lane, &tile_b, (0, 0), b, 0);
            tile_b.set((8, 7), bf16::ZERO);
        }
    });
    let mut acc = GroupAccumulator::<8, f32>::zero().begin(group);
    Wgmma::<8, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
        issue.multiply(tile_a.matrix_a((0, 0)), tile_b.matrix_b((0, 0)));
    });
    let _ = acc.finish(group);
}

#[test]
fn copy_in_flight_hides_no_race_in_the_same_tile() {
    let b = vec![bf16::ONE; 8];
    let error = copied_and_written::simulate(1, &b).unwrap_err();
    let finds = |misuse: fn(&Misuse) -> bool| {
        assert!(error.findings().iter().any(|finding| misuse(&finding.misuse)), "{error}");
    };
    finds(|misuse| matches!(misuse, Misuse::CopyInFlight { access: AccessKind::Read, .. }));
    finds(|misuse| matches!(misuse, Misuse::Race { access: AccessKind::Read, .. }));
}

#[test]
fn missing_warp_is_a_deadlock() {
    let Err(Misuse::Deadlock { waiting, ended, .. }) = run_typed(3) else {
        panic!("a warp does not come")
    };
    assert!(waiting.iter().all(|waiting| waiting.awaited == Awaited::WarpGroup { group: 0 }));
    assert_eq!((waiting.len(), ended), (3, vec![EndedWarp { warp: 2, block: None }]));
}

#[test]
fn write_to_a_tile_before_the_wait_is_an_error() {
    let Err(Misuse::Race {
        access: AccessKind::Write, other_access: AccessKind::Read, other, ..
    }) = run_typed(4)
    else {
        panic!("a race")
    };
    assert_eq!(other, Agent::WarpGroup);
}

/// The same through functions of `raw`, with 16 columns of K.
#[kernel(threads = 128, target = "sm_90a")]
fn raw_multiply(
    block: &Block,
    #[shared] tile_a: TileA,
    #[shared] tile_b: TileB,
    misuse: u32,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
) {
    use raw::wgmma_mma_async_sync_aligned_m64n32k16_f32_bf16_bf16_ss as multiply;
    let group = block.warp_group();
    load(group, tile_a, tile_b, a, b);
    group.warp().fence_for_bulk();
    group.sync();
    let (left, right) = (
        tile_a.matrix_a((0, 0)).descriptor(),
        tile_b.matrix_b::<32, DenseA, _>((0, 0)).descriptor(),
    );
    let first = group.warp_rank() * 32;
    group.warp().each(|lane| {
        // SAFETY: All lanes of the four warps reach this, and the descriptors are those of tiles.
        // The tests select misuses.
        unsafe {
            let mut acc = [0; 16];
            if misuse != 1 {
                raw::wgmma_fence_sync_aligned();
            }
            let right = if misuse == 4 { right | 1 << 49 } else { right };
            let right = if misuse == 5 && lane.id() == 7 { right + 2 } else { right };
            acc = multiply::<false, false, false, false>(acc, left, right, true);
            if misuse == 2 {
                d.set(first + lane.id(), f32::from_bits(acc[3]));
            }
            if misuse == 3 {
                acc[3] = 0;
            }
            raw::wgmma_commit_group_sync_aligned();
            if misuse != 6 {
                raw::wgmma_wait_group_sync_aligned::<0>();
                acc = raw::wgmma_registers(acc);
                for (index, register) in acc.into_iter().enumerate() {
                    let (row, col) =
                        GroupAccumulator::<32, f32>::position(first + lane.id(), index);
                    d.set(row * 32 + col, f32::from_bits(register));
                }
            }
        }
    });
}

fn run_raw(misuse: u32) -> Result<(), Misuse> {
    let (a, b, _) = matrices();
    let mut d = vec![0.0; 64 * 32];
    raw_multiply::simulate(1, misuse, &a, &b, &mut d)
        .map_err(|error| error.findings()[0].misuse.clone())?;
    let sum = |row: usize, col: usize| {
        (0..16).map(|k| a[row * 64 + k].to_f32() * b[k * 32 + col].to_f32()).sum()
    };
    assert_eq!(d, (0..64 * 32).map(|i| sum(i / 32, i % 32)).collect::<Vec<f32>>());
    Ok(())
}

#[test]
fn raw_functions_equal_the_typed_ones() {
    run_raw(0).unwrap();
}

#[test]
fn registers_need_a_fence() {
    assert!(matches!(
        run_raw(1),
        Err(Misuse::WgmmaUnfenced { form }) if form.ends_with("m64n32k16.f32.bf16.bf16")
    ));
}

type Columns32 = SharedTile<bf16, 16, 32, Swizzle32, ColMajor>;

/// Two `wgmma`s with A in registers, which change between them, or of different shapes. `fences`
/// says whether a fence is between them.
#[kernel(threads = 128, target = "sm_90a")]
fn multiply_twice(
    block: &Block,
    #[shared] tile_b: Columns32,
    how: u32,
    fences: bool,
    d: GlobalMut<f32>,
) {
    use raw::{
        wgmma_mma_async_sync_aligned_m64n32k8_f32_tf32_tf32_rs as of_tf32,
        wgmma_mma_async_sync_aligned_m64n32k16_f32_bf16_bf16_rs as of_bf16,
    };
    let group = block.warp_group();
    tile_b.fill(group, |_, _| bf16::ZERO);
    group.warp().fence_for_bulk();
    group.sync();
    let b = tile_b.matrix_b::<32, DenseA, _>((0, 0)).descriptor();
    let first = group.warp_rank() * 32;
    group.warp().each(|lane| {
        let a = [0x3f80_3f80; 4];
        let changed = [0x4000_4000 + lane.id() as u32; 4];
        // SAFETY: all lanes of the warpgroup come here together. The simulator checks the fences.
        let acc = unsafe {
            raw::wgmma_fence_sync_aligned();
            let mut acc = of_bf16::<false, false, false>([0; 16], a, b, true);
            if how == 3 {
                acc = of_bf16::<false, false, false>(acc, changed, b, true);
            }
            if how != 2 {
                raw::wgmma_commit_group_sync_aligned();
                raw::wgmma_wait_group_sync_aligned::<0>();
                acc = raw::wgmma_registers(acc);
            }
            if fences {
                raw::wgmma_fence_sync_aligned();
            }
            acc = match how {
                0 | 3 => of_bf16::<false, false, false>(acc, a, b, true),
                1 => of_bf16::<false, false, false>(acc, changed, b, true),
                _ => of_tf32::<false, false>(acc, a, b, true),
            };
            raw::wgmma_commit_group_sync_aligned();
            raw::wgmma_wait_group_sync_aligned::<0>();
            raw::wgmma_registers(acc)
        };
        d.set(first + lane.id(), f32::from_bits(acc[0]));
    });
}

#[test]
fn changed_registers_and_other_shapes_need_a_fence_between() {
    let run = |how, fences| {
        let report = multiply_twice::simulate(1, how, fences, &mut [0.0; 128]);
        report.and_then(|report| report.check())
    };
    run(0, false).unwrap();
    // Two fragments of A take turns.
    run(3, false).unwrap();
    for how in [1, 2] {
        let error = run(how, false).unwrap_err();
        assert!(matches!(error.misuse, Misuse::WgmmaUnfenced { .. }), "{how}: {error}");
        run(how, true).unwrap();
    }
}

#[test]
fn read_of_an_accumulator_in_flight_is_an_error() {
    assert!(matches!(
        run_raw(2),
        Err(Misuse::AccumulatorInFlight { access: AccessKind::Read, .. })
    ));
}

#[test]
fn write_to_an_accumulator_in_flight_is_an_error() {
    assert!(matches!(
        run_raw(3),
        Err(Misuse::AccumulatorInFlight { access: AccessKind::Write, .. })
    ));
}

#[test]
fn invalid_descriptor_is_an_error() {
    assert!(matches!(run_raw(4), Err(Misuse::MatrixDescriptor { operand: 'B', .. })));
}

#[test]
fn different_descriptors_in_a_warp_are_an_error() {
    assert!(matches!(run_raw(5), Err(Misuse::OperandsDiffer { .. })));
}

#[test]
fn block_that_ends_before_the_wait_is_an_error() {
    assert_eq!(run_raw(6), Err(Misuse::WgmmaUnfinished));
}

/// Two `wgmma` groups; the first or the second one is treated as the older.
#[kernel(threads = 128, target = "sm_90a")]
fn two_in_flight(
    block: &Block,
    #[shared] tile_a: TileA,
    #[shared] tile_b: TileB,
    takes_second: u32,
    d: GlobalMut<f32>,
) {
    let group = block.warp_group();
    tile_a.fill(group, |_, _| bf16::ONE);
    tile_b.fill(group, |_, _| bf16::ONE);
    group.warp().fence_for_bulk();
    group.sync();
    let mut acc: [_; 2] =
        core::array::from_fn(|_| GroupAccumulator::<32, f32>::zero().begin(group));
    for (count, acc) in acc.iter_mut().enumerate() {
        Wgmma::<32, bf16, bf16, f32>::issue(group, acc, |issue| {
            for _ in 0..=count {
                issue.accumulate(tile_a.matrix_a((0, 0)), tile_b.matrix_b((0, 0)));
            }
        });
    }
    let [first, second] = acc;
    let (one, other) = if takes_second == 0 { (first, second) } else { (second, first) };
    let one = one.finish_behind::<1>(group);
    one.for_each(group, |row, col, value| d.set(row * 32 + col, value));
    other.finish(group).for_each(group, |row, col, value| d.set(64 * 32 + row * 32 + col, value));
}

#[test]
fn older_accumulator_is_readable_with_the_newer_in_flight() {
    let mut d = vec![0.0; 2 * 64 * 32];
    two_in_flight::simulate(1, 0, &mut d).check();
    assert!(
        d[..64 * 32].iter().all(|&sum| sum == 16.0) && d[64 * 32..].iter().all(|&sum| sum == 32.0)
    );
}

#[test]
fn newer_accumulator_before_its_wait_is_an_error() {
    let error = two_in_flight::simulate(1, 1, &mut [0.0; 2 * 64 * 32]).unwrap_err();
    let found = error.findings();
    assert!(
        matches!(found[0].misuse, Misuse::AccumulatorInFlight { access: AccessKind::Read, .. }),
        "{error}"
    );
}

/// Warps that issue a `wgmma` of different matrices.
#[kernel(threads = 128, target = "sm_90a")]
fn different(block: &Block, #[shared] tile_a: TileA, #[shared] tile_b: TileB, different: u32) {
    let group = block.warp_group();
    tile_a.fill(group, |_, _| bf16::ONE);
    tile_b.fill(group, |_, _| bf16::ONE);
    group.warp().fence_for_bulk();
    group.sync();
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    let k = if group.warp_rank() == 3 { 16 * different as usize } else { 0 };
    Multiply::issue(group, &mut acc, |issue| {
        issue.accumulate(tile_a.matrix_a((0, k)), tile_b.matrix_b((k, 0)))
    });
    let _ = acc.finish(group);
}

#[test]
fn different_descriptors_between_warps_are_an_error() {
    different::simulate(1, 0).unwrap();
    let error = different::simulate(1, 1).unwrap_err();
    assert!(
        matches!(error.findings()[0].misuse, Misuse::WarpGroupDiverges { warp: 3, .. }),
        "{error}"
    );
}

/// M-major A and N-major B; operands that span several tiles; subtraction and overwriting; A in
/// registers.
#[kernel(threads = 128, target = "sm_90a")]
fn other_ways(
    block: &Block,
    #[shared] tiles_a: SharedRing<SharedTile<f16, 32, 32, Swizzle64, ColMajor>, 2>,
    #[shared] tiles_b: SharedRing<SharedTile<f16, 32, 64, Swizzle128>, 2>,
    a: Global<f16>,
    b: Global<f16>,
    d: GlobalMut<f32>,
) {
    let group = block.warp_group();
    for part in 0..2 {
        tiles_a.part(part).fill(group, |row, k| a.get((part * 32 + row) * 32 + k));
        tiles_b.part(part).fill(group, |k, col| b.get(k * 128 + part * 64 + col));
    }
    group.warp().fence_for_bulk();
    group.sync();
    let first = 16 * group.warp_rank();
    let rows =
        FragmentA::<M16N8K16, f16>::from_fn(group.warp(), |row, k| a.get((first + row) * 32 + k));
    let mut acc = GroupAccumulator::<104, f32>::from_fn(group, |_, _| f32::NAN).begin(group);
    Wgmma::<104, f16, f16, f32>::issue(group, &mut acc, |issue| {
        issue.multiply(tiles_a.matrix_a(At::<0, 0>), tiles_b.matrix_b(At::<0, 0>));
        issue.subtract(tiles_a.matrix_a(At::<0, 16>), tiles_b.matrix_b(At::<16, 0>));
    });
    acc.wait::<1>(group);
    Wgmma::<104, f16, f16, f32>::issue(group, &mut acc, |issue| {
        issue.accumulate_registers(&rows, tiles_b.matrix_b(At::<8, 0>));
    });
    acc.finish(group).for_each(group, |row, col, value| d.set(row * 104 + col, value));
}

#[test]
fn operands_are_k_major_or_mn_major() {
    let a: Vec<f16> = (0..64 * 32).map(|i| f16::from_f32((i * 5 % 13) as f32 - 6.0)).collect();
    let b: Vec<f16> = (0..32 * 128).map(|i| f16::from_f32((i * 3 % 17) as f32 - 8.0)).collect();
    let mut d = vec![0.0; 64 * 104];
    other_ways::simulate(1, &a, &b, &mut d).check();
    for (row, col) in (0..64).flat_map(|row| (0..104).map(move |col| (row, col))) {
        let dot = |k: usize, with: usize| a[row * 32 + k].to_f32() * b[with * 128 + col].to_f32();
        let sum = |from: usize, with: usize| (0..16).map(|k| dot(from + k, with + k)).sum::<f32>();
        assert_eq!(d[row * 104 + col], sum(0, 0) - sum(16, 16) + sum(0, 8), "{row}, {col}");
    }
}

/// Five warps.
#[kernel(threads = 160, target = "sm_90a")]
fn not_of_warpgroups(block: &Block) {
    block.warp_group();
}

#[test]
fn warpgroups_are_of_128_threads() {
    assert!(matches!(
        not_of_warpgroups::simulate(1).unwrap_err().findings()[0].misuse,
        Misuse::Panic { .. }
    ));
}

/// Warps that synchronise or do not.
#[kernel(threads = 256)]
fn neighbours(
    block: &Block,
    #[shared] tiles: SharedRing<SharedTile<u32, 1, 128>, 2>,
    wait: u32,
    d: GlobalMut<u32>,
) {
    let group = block.warp_group();
    let (tile, first) = (tiles.part(group.index()), group.index() * 128);
    group.each_thread(|_, rank| tile.set((0, rank), rank as u32));
    if wait == 1 || wait == 2 && group.warp_rank() != 1 {
        group.sync();
    }
    group.each_thread(|lane, rank| d.set(first + rank, tile.get(lane, (0, (rank + 40) % 128))));
}

#[test]
fn warpgroup_sync_waits_for_own_warps() {
    let mut d = [0; 256];
    neighbours::simulate(1, 1, &mut d).check();
    assert_eq!((d[0], d[255]), (40, 39));
    let findings = |wait| neighbours::simulate(1, wait, &mut [0; 256]).unwrap_err();
    assert!(
        findings(0).findings().iter().any(|finding| matches!(finding.misuse, Misuse::Race { .. }))
    );
    assert!(
        findings(2)
            .findings()
            .iter()
            .any(|finding| matches!(finding.misuse, Misuse::Deadlock { .. }))
    );
}

/// Stores columns of accumulators to tiles of both orders, in 16 and 32 bits. The number of columns
/// is not always a multiple of 16.
#[kernel(threads = 128, target = "sm_90")]
fn store(
    block: &Block,
    #[shared] rows: SharedTile<bf16, 64, 32, Swizzle64>,
    #[shared] cols: SharedTile<bf16, 64, 32, Swizzle128, ColMajor>,
    #[shared] acc: SharedTile<f32, 64, 16, Swizzle128, ColMajor>,
    #[shared] few_rows: SharedTile<bf16, 64, 8>,
    #[shared] some_cols: SharedTile<bf16, 64, 40, Swizzle128, ColMajor>,
    d: GlobalMut<f32>,
) {
    let group = block.warp_group();
    let numbers = GroupAccumulator::<64, f32>::from_fn(group, |row, col| (row * 2 + col) as f32);
    let rounded = numbers.round::<bf16>(group);
    rounded.store(group, &rows, 16);
    rounded.store(group, &cols, 32);
    numbers.store(group, &acc, 48);
    rounded.store(group, &few_rows, 8);
    rounded.store(group, &some_cols, 24);
    group.sync();
    rows.for_each(group, |row, col, number| d.set(row * 128 + col, number.to_f32()));
    cols.for_each(group, |row, col, number| d.set(row * 128 + 32 + col, number.to_f32()));
    acc.for_each(group, |row, col, number| d.set(row * 128 + 64 + col, number));
    few_rows.for_each(group, |row, col, number| d.set(row * 128 + 80 + col, number.to_f32()));
    some_cols.for_each(group, |row, col, number| d.set(row * 128 + 88 + col, number.to_f32()));
}

#[test]
fn columns_are_stored_to_tiles_of_either_order() {
    let mut d = vec![0.0; 64 * 128];
    store::simulate(1, &mut d).check();
    // The columns of the matrix in each tile, one tile after another.
    let cols = (16..48).chain(32..64).chain(48..64).chain(8..16).chain(24..64);
    for (place, col) in cols.enumerate() {
        for row in 0..64 {
            assert_eq!(d[row * 128 + place], (row * 2 + col) as f32, "{row}, {col}");
        }
    }
}
