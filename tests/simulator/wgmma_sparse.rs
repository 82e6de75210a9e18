//! `wgmma` with a sparse A, and its additional misuses.

use ptx_matrix::element::Bits16;
use ptx_matrix::forms::{self, WgmmaMatrices, WgmmaOptions};
use ptx_matrix::fragment::FragmentSparseA;
use ptx_matrix::mma::{
    Among, Compressed, GroupAccumulator, IssueSparse, Metadata, Plain, Selector, SelectorsBelow,
    SparseA, WgmmaSparse,
};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{AccessKind, Agent, Misuse, Simulator};
use ptx_matrix::target::{Arch, BuildTarget};

type TileA = SharedTile<bf16, 64, 32, Swizzle64>;
type TileB = SharedTile<bf16, 64, 16, Swizzle128, ColMajor>;
type Multiply = WgmmaSparse<16, bf16, bf16, f32>;

/// The matrices of the tests, 64 x 64 with two of each four elements of a row, and 64 x 16, and
/// their product. The numbers are small, so sums are exact.
fn matrices() -> (Compressed<bf16>, Vec<bf16>, Vec<f32>) {
    let number = |i: usize, m: usize| bf16::from_f32((i % m) as f32 + 1.0);
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let is_there = |row: usize, k: usize| {
        let (first, second) = pairs[(row * 5 + k / 4 * 7 + row * (k / 4)) % 6];
        k % 4 == first || k % 4 == second
    };
    let element = |i: usize| if is_there(i / 64, i % 64) { number(i, 7) } else { bf16::ZERO };
    let dense: Vec<bf16> = (0..64 * 64).map(element).collect();
    let b: Vec<bf16> = (0..64 * 16).map(|i| number(i, 11)).collect();
    let sum = |row: usize, col: usize| {
        (0..64).map(|k| dense[row * 64 + k].to_f32() * b[k * 16 + col].to_f32()).sum()
    };
    let d = (0..64 * 16).map(|i| sum(i / 16, i % 16)).collect();
    (Compressed::of(&dense, 64, 64).unwrap(), b, d)
}

/// A function, so that all selectors have the same line.
fn accumulate<const SELECTOR: u32>(
    issue: &mut IssueSparse<'_, 16, bf16, bf16, f32, Plain, BuildTarget>,
    (tile_a, k): (TileA, usize),
    tile_b: TileB,
    metadata: &Metadata<Bits16>,
) where
    Selector<SELECTOR>: Among<SelectorsBelow<2>>,
{
    issue.accumulate::<SELECTOR>(tile_a.matrix_a((0, k)), tile_b.matrix_b((2 * k, 0)), metadata);
}

/// `misuse` selects one misuse; 0 is none. The first 32 columns of A are in shared memory, the
/// others in registers.
#[kernel(threads = 128, target = "sm_90a")]
fn typed(
    block: &Block,
    #[shared] tile_a: TileA,
    #[shared] tile_b: TileB,
    misuse: u32,
    values: Global<bf16>,
    words: Global<u32>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
) {
    let group = block.warp_group();
    let (warp, rank) = (group.warp(), group.warp_rank());
    tile_a.fill(group, |row, k| values.get(row * 32 + k));
    tile_b.fill(group, |k, col| b.get(k * 16 + col));
    warp.fence_for_bulk();
    group.sync();
    let metadata = Metadata::load(warp, words, rank);
    let rows = FragmentSparseA::from_fn(warp, |row, k| values.get((16 * rank + row) * 32 + 16 + k));
    let mut acc = GroupAccumulator::<16, f32>::zero().begin(group);
    Multiply::issue(group, &mut acc, |issue| {
        if misuse == 1 && rank == 3 {
            accumulate::<1>(issue, (tile_a, 0), tile_b, &metadata);
        } else {
            accumulate::<0>(issue, (tile_a, 0), tile_b, &metadata);
        }
        issue.accumulate_registers::<1>(&rows, tile_b.matrix_b((32, 0)), &metadata);
    });
    if misuse == 2 {
        // The last rows of B, which half of K would leave out.
        warp.each(|lane| tile_b.set((60 + rank, lane.id() % 16), bf16::ZERO));
    }
    acc.finish(group).for_each(group, |row, col, value| d.set(row * 16 + col, value));
}

fn run_typed(misuse: u32, words: impl Fn(&mut [u32])) -> Result<(), Misuse> {
    let (a, b, expected) = matrices();
    let (mut metadata, mut d) = (a.metadata(), vec![0.0; 64 * 16]);
    words(&mut metadata);
    typed::simulate(1, misuse, a.values(), &metadata, &b, &mut d)
        .map_err(|error| error.findings()[0].misuse.clone())?;
    assert_eq!(d, expected);
    Ok(())
}

#[test]
fn result_equals_the_dense_product() {
    run_typed(0, |_| ()).unwrap();
}

#[test]
fn different_selectors_between_warps_are_an_error() {
    assert!(matches!(run_typed(1, |_| ()), Err(Misuse::WarpGroupDiverges { warp: 3, .. })));
}

#[test]
fn write_to_b_before_the_wait_is_a_race() {
    let Err(Misuse::Race {
        access: AccessKind::Write, other_access: AccessKind::Read, other, ..
    }) = run_typed(2, |_| ())
    else {
        panic!("a race")
    };
    assert_eq!(other, Agent::WarpGroup);
}

#[test]
fn duplicate_metadata_index_is_an_error_with_its_row() {
    // Lane 13 of warp 2 has rows 3 and 11, columns 16 to 31.
    let twice = |words: &mut [u32]| words[2 * 32 + 13] = words[2 * 32 + 13] & !0xf00 | 0x500;
    let Err(Misuse::Metadata { form, code, row, cols, .. }) = run_typed(0, twice) else {
        panic!("a code")
    };
    assert_eq!(form, "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.bf16.bf16");
    assert_eq!((code, row, cols), (0b0101, 2 * 16 + 3, 24..=27));
}

/// A function, so that all selectors have the same line.
///
/// # Safety
/// As for the raw function.
unsafe fn multiply<const SELECTOR: u32>(
    acc: [u32; 8],
    a: [u32; 4],
    b: u64,
    metadata: u32,
) -> [u32; 8] {
    // SAFETY: The caller guarantees it.
    unsafe {
        raw::wgmma_mma_async_sp_sync_aligned_m64n16k32_f32_bf16_bf16_rs::<
            SELECTOR,
            false,
            false,
            false,
        >(acc, a, b, metadata, true)
    }
}

/// The second half of K, through functions of `raw`.
#[kernel(threads = 128, target = "sm_90a")]
fn raw_multiply(
    block: &Block,
    #[shared] tile_b: TileB,
    misuse: u32,
    values: Global<bf16>,
    words: Global<u32>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
) {
    let group = block.warp_group();
    let first = group.warp_rank() * 32;
    tile_b.fill(group, |k, col| b.get(k * 16 + col));
    group.warp().fence_for_bulk();
    group.sync();
    let rows = FragmentSparseA::<M16N8K32, bf16>::from_fn(group.warp(), |row, k| {
        values.get((first / 2 + row) * 32 + 16 + k)
    });
    let (rows, right) = (rows.registers(), tile_b.matrix_b::<16, SparseA, _>((32, 0)).descriptor());
    group.warp().each(|lane| {
        let (rows, word) = (lane.get(&rows), words.get(first + lane.id()));
        // SAFETY: All lanes of the four warps reach this, and the descriptor is that of a tile. The
        // tests select misuses.
        unsafe {
            raw::wgmma_fence_sync_aligned();
            let mut acc = if misuse == 1 && lane.id() == 7 {
                multiply::<0>([0; 8], rows, right, word)
            } else {
                multiply::<1>([0; 8], rows, right, word)
            };
            if misuse == 2 {
                multiply::<1>([0; 8], rows, right, acc[3]);
            }
            raw::wgmma_commit_group_sync_aligned();
            raw::wgmma_wait_group_sync_aligned::<0>();
            acc = raw::wgmma_registers(acc);
            for (index, register) in acc.into_iter().enumerate() {
                let (row, col) = GroupAccumulator::<16, f32>::position(first + lane.id(), index);
                d.set(row * 16 + col, f32::from_bits(register));
            }
        }
    });
}

fn run_raw(misuse: u32) -> Result<(), Vec<Misuse>> {
    let (a, b, _) = matrices();
    let mut d = vec![0.0; 64 * 16];
    raw_multiply::simulate(1, misuse, a.values(), &a.metadata(), &b, &mut d).map_err(|error| {
        error.findings().iter().map(|finding| finding.misuse.clone()).collect::<Vec<_>>()
    })?;
    let dense = a.dense();
    let sum = |row: usize, col: usize| {
        (32..64).map(|k| dense[row * 64 + k].to_f32() * b[k * 16 + col].to_f32()).sum()
    };
    assert_eq!(d, (0..64 * 16).map(|i| sum(i / 16, i % 16)).collect::<Vec<f32>>());
    Ok(())
}

#[test]
fn raw_functions_equal_the_typed_ones() {
    run_raw(0).unwrap();
}

#[test]
fn different_selectors_in_a_warp_are_an_error() {
    assert!(matches!(run_raw(1).unwrap_err()[0], Misuse::OperandsDiffer { .. }));
}

#[test]
fn accumulator_in_flight_as_metadata_is_an_error() {
    let found = run_raw(2).unwrap_err();
    assert!(
        found
            .iter()
            .any(|of| matches!(of, Misuse::AccumulatorInFlight { access: AccessKind::Read, .. })),
        "{found:?}"
    );
}

const BY_NAME: &str = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16";

/// The finding for a word of metadata in thread 37, in an execution by name. That is lane 5 of warp
/// 1, which holds chunks of row 1.
fn found_by_name(selector: u32, word: u32) -> Option<Misuse> {
    let form = forms::all_wgmma().find(|form| form.ptx == BY_NAME).unwrap();
    let options = WgmmaOptions { selector, ..WgmmaOptions::default() };
    let memory = form.memory(&options);
    let mut metadata = vec![0x4444_4444; 128];
    metadata[37] = word;
    let (a, b, c) = (vec![0x3f80; 64 * 16], vec![0x4000; 32 * 8], vec![0; 64 * 8]);
    let input = memory.encode(&WgmmaMatrices { a, b, c, metadata });
    let execution = Simulator::default().execute_group(&form, &options, true, &input).unwrap();
    assert_eq!(execution.output, form.simulate(&options, true, &input));
    execution.found.map(|error| {
        assert!(error.to_string().contains("warp 1"), "{error}");
        error.misuse.clone()
    })
}

#[test]
fn other_gpus_have_no_wgmma_by_name() {
    let form = forms::all_wgmma().find(|form| form.ptx == BY_NAME).unwrap();
    let options = WgmmaOptions::default();
    let input = vec![0; form.memory(&options).input_bytes()];
    let on = |gpu| Simulator::default().gpu(gpu).execute_group(&form, &options, true, &input);
    assert!(on(Arch::SM_90).is_ok());
    for gpu in [Arch::SM_89, Arch::SM_100, Arch::SM_120] {
        let expected = format!("error: `{BY_NAME}` needs sm_90a, and {gpu} is simulated\n");
        assert!(on(gpu).unwrap_err().to_string().starts_with(&expected));
    }
}

#[test]
fn invalid_metadata_is_found_in_an_execution_by_name() {
    assert_eq!(found_by_name(0, 0x4444_4444), None);
    let found = found_by_name(0, 0x4444_444f);
    let Some(Misuse::Metadata { form: BY_NAME, code: 0b1111, row: 17, .. }) = found else {
        panic!("{found:?}")
    };
    // Lanes 4 i and 4 i + 1 have the metadata of selector 0, the others that of selector 1.
    assert_eq!(found_by_name(1, 0x4444_444f), None);
}
