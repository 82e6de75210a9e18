//! Counts of executed instructions and moved bytes.

use crate::line_of;
use ptx_matrix::copy::CpAsync;
use ptx_matrix::launch::Tensor;
use ptx_matrix::mma::{B16, MovMatrix, StMatrix, Trans, X1};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{BytesMoved, Executed, Profile, Simulator};

const PROFILED: Simulator = Simulator::new(0).profiled();

/// The instructions, each with the number of executions by warps and by lanes.
fn instructions(profile: &Profile) -> Vec<(&'static str, u64, u64)> {
    profile
        .instructions
        .iter()
        .map(|(&form, &Executed { warps, lanes })| (form, warps, lanes))
        .collect()
}

#[kernel(threads = 64, target = "sm_90")]
fn collectives(block: &Block, #[shared] tile: SharedTile<f16, 16, 16>) {
    let warp = block.warp();
    tile.fill(block, |_, _| f16::ONE);
    block.sync();
    let a = FragmentA::<M16N8K16, f16>::load(warp, &tile, (0, 0));
    let b = FragmentB::<M16N8K16, f16>::load(warp, &tile, (0, 0));
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    for _ in 0..3 {
        Mma::<M16N8K16, f16, f16, f32>::accumulate(warp, &mut acc, &a, &b);
    }
    let mut half = Accumulator::<M16N8K16, f16>::zero();
    Mma::<M16N8K16, f16, f16, f16>::accumulate(warp, &mut half, &a, &b);
    MovMatrix::<Trans, B16>::transpose(warp, PerLane::splat(0));
    warp.sync();
    block.sync();
    if warp.index() == 1 {
        a.store_matrix(warp, &tile, (0, 0));
        warp.sync();
        StMatrix::<X1, Trans, B16>::store(
            warp,
            PerLane::splat(tile.row((0, 0))),
            PerLane::splat([0]),
        );
    }
}

#[test]
fn collectives_by_their_form() {
    let report = collectives::launch(&PROFILED, 3).unwrap();
    let profile = report.profile.unwrap();
    let expected = [
        ("bar.sync", 12, 384),
        ("bar.warp.sync", 9, 288),
        ("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 6, 192),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", 6, 192),
        ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 6, 192),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 18, 576),
        ("movmatrix.sync.aligned.m8n8.trans.b16", 6, 192),
        ("st.shared.b16", 24, 768),
        ("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16", 3, 96),
        ("stmatrix.sync.aligned.m8n8.x4.shared.b16", 3, 96),
    ];
    assert_eq!(instructions(&profile), expected);
    let shared_read = 6 * (512 + 256);
    let shared_written = 3 * (512 + 512 + 128);
    assert_eq!(profile.bytes, BytesMoved { shared_read, shared_written, ..Default::default() });
    assert_eq!(profile.warps("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), 18);
    assert_eq!(profile.warps("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"), 0);
}

#[test]
fn profile_and_trace_are_off_by_default() {
    let report = collectives::simulate(3).unwrap();
    assert_eq!((report.blocks, report.warps, report.profile, report.trace), (3, 6, None, None));
    assert_eq!(collectives::launch(&PROFILED, 3).unwrap().trace, None);
    assert_eq!(collectives::launch(&Simulator::new(0).traced(), 3).unwrap().profile, None);
}

#[test]
fn profile_ignores_seed() {
    let of = |seed| collectives::launch(&Simulator::new(seed).profiled(), 3).unwrap().profile;
    for seed in 1..8 {
        assert_eq!(of(seed), of(0));
    }
}

#[kernel(threads = 32)]
fn move_elements(
    block: &Block,
    #[shared] small: SharedTile<u8, 2, 32>,
    #[shared] large: SharedTile<f64, 2, 32>,
    a: Global<u8>,
    b: Global<f64>,
    c: GlobalMut<i16>,
) {
    let warp = block.warp();
    small.fill(warp, |row, col| a.get(row * 32 + col));
    large.fill(warp, |row, col| b.get(row * 32 + col));
    warp.sync();
    small.for_each(warp, |_, col, _| c.set(col, 1));
    warp.each(|lane| {
        c.set(lane.id(), large.get(lane, (0, lane.id())) as i16 + c.get(lane, lane.id()));
    });
}

#[test]
fn elements_by_their_width() {
    let report = move_elements::launch(&PROFILED, 1, &[1; 64], &[1.0; 64], &mut [0; 32]).unwrap();
    let profile = report.profile.unwrap();
    let expected = [
        ("bar.warp.sync", 1, 32),
        ("ld.global.b16", 1, 32),
        ("ld.global.b64", 2, 64),
        ("ld.global.b8", 2, 64),
        ("ld.shared.b64", 1, 32),
        ("ld.shared.u8", 2, 64),
        ("st.global.b16", 3, 96),
        ("st.shared.b64", 2, 64),
        ("st.shared.u8", 2, 64),
    ];
    assert_eq!(instructions(&profile), expected);
    let bytes = BytesMoved {
        global_read: 64 + 64 * 8 + 64,
        global_written: 3 * 64,
        shared_read: 32 * 8 + 64,
        shared_written: 64 + 64 * 8,
        copied: 0,
        stored: 0,
    };
    assert_eq!(profile.bytes, bytes);
}

#[kernel(threads = 32, target = "sm_80")]
fn copy(block: &Block, #[shared] tile: SharedTile<u32, 32, 12>, a: Global<u32>) {
    let warp = block.warp();
    warp.each(|lane| {
        CpAsync::<16>::copy(lane, &tile, (lane.id(), 0), a, lane.id() * 4);
        CpAsync::<8>::copy(lane, &tile, (lane.id(), 4), a, lane.id() * 2);
        if lane.id() % 2 == 0 {
            CpAsync::<4>::copy(lane, &tile, (lane.id(), 6), a, lane.id());
        }
        CpAsync::<16>::copy_some(lane, &tile, (lane.id(), 8), a, 0, lane.id() % 4);
    });
    CpAsync::<16>::commit(warp);
    CpAsync::<16>::wait::<0>(warp);
}

#[test]
fn copies_by_their_size() {
    let report = copy::launch(&PROFILED, 1, &vec![1; 128]).unwrap();
    let profile = report.profile.unwrap();
    let expected = [
        ("cp.async.ca.shared.global 4", 1, 16),
        ("cp.async.ca.shared.global 8", 1, 32),
        ("cp.async.cg.shared.global 16", 2, 64),
        ("cp.async.commit_group", 1, 32),
        ("cp.async.wait_group", 1, 32),
    ];
    assert_eq!(instructions(&profile), expected);
    // The last sixteen bytes are 0, 1, 2 or 3 elements, and zeros.
    let copied = 32 * 16 + 32 * 8 + 16 * 4 + 8 * (4 + 8 + 12);
    assert_eq!(profile.bytes, BytesMoved { copied, ..Default::default() });
    assert!(profile.shared.is_empty());
}

#[kernel(threads = 32)]
fn diverge(block: &Block, #[shared] tile: SharedTile<u32, 1, 32>, d: GlobalMut<u32>) {
    let warp = block.warp();
    // Lane 31 executes this as often as all lanes together, lane 0 never.
    warp.each(|lane| {
        for time in 0..lane.id() % 4 {
            tile.set((0, lane.id()), time as u32);
        }
    });
    // One lane each, but in two closures: two instructions.
    for first in [1, 2] {
        warp.each(|lane| {
            if lane.id() == first {
                tile.set((0, 0), 7);
            }
        });
    }
    // All lanes.
    tile.set((0, 1), 8);
    d.set(0, 9);
}

#[test]
fn diverged_accesses_count_separately() {
    let profile = diverge::launch(&PROFILED, 1, &mut [0]).unwrap().profile.unwrap();
    let expected = [("st.global.b32", 1, 32), ("st.shared.b32", 3 + 2 + 1, 24 + 16 + 8 + 2 + 32)];
    assert_eq!(instructions(&profile), expected);
    assert_eq!(profile.bytes.shared_written, 4 * (24 + 16 + 8 + 2 + 32));
    let of_each: Vec<_> =
        profile.shared.iter().map(|site| (site.accesses, site.wavefronts)).collect();
    assert_eq!(of_each, [(3, 3), (2, 2), (1, 1)]);
}

#[kernel(threads = 32)]
fn fails(block: &Block, d: GlobalMut<u32>) {
    block.warp().each(|lane| d.set(lane.id(), 1));
}

#[test]
fn failed_run_adds_nothing_to_the_next_profile() {
    let error = fails::launch(&PROFILED, 1, &mut [0; 20]).unwrap_err();
    assert_eq!(error.lane, Some(20));
    let profile = fails::launch(&PROFILED, 1, &mut [0; 32]).unwrap().profile.unwrap();
    assert_eq!(instructions(&profile), [("st.global.b32", 1, 32)]);
}

#[kernel(threads = 32)]
fn two_lines(block: &Block, #[shared] tile: SharedTile<u32, 8, 32>) {
    let warp = block.warp();
    tile.fill(warp, |row, col| (row * 32 + col) as u32); // <- filled
    warp.each(|lane| tile.get(lane, (lane.id() % 2, 5))); // <- read
}

#[test]
fn profile_prints_as_a_table() {
    let profile = two_lines::launch(&PROFILED, 1).unwrap().profile.unwrap();
    let ((file, filled), (_, read)) = (line_of("filled"), line_of("read"));
    let lanes: Vec<_> = (0..32)
        .map(|lane| format!("{lane}:{}", if lane % 2 == 0 { "0x414" } else { "0x494" }))
        .collect();
    let expected = format!(
        "\
instruction                                        by warps       by lanes
ld.shared.b32                                             1             32
st.shared.b32                                             8            256

moved                                                 bytes
read from global memory                                   0
written to global memory                                  0
read from shared memory                                 128
written to shared memory                               1024
to shared memory, asynchronously                          0
from shared to global memory, asynchronously              0

shared memory                                      accesses  worst  average
{file}:{filled}:10
  st.shared.b32                                           8  1-way     1.00
{file}:{read}:27
  ld.shared.b32                                           1  2-way     2.00
    2 ways: {}
",
        lanes.join(" ")
    );
    // Trailing spaces do not matter.
    let printed: Vec<String> =
        profile.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    assert_eq!(printed.join("\n"), expected.trim_end());
}

type Strip = SharedTile<u32, 8, 32, Swizzle128>;

#[kernel(threads = 32, target = "sm_90")]
fn store(block: &Block, #[shared] strip: Strip, d: TensorMapMut<Strip, 2>) {
    let warp = block.warp();
    strip.fill(warp, |row, col| (row * 32 + col) as u32);
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        strip.store_tma(lane, d.at([0, 0]));
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}

/// Elements outside of the tensor are not stored.
#[test]
fn bulk_stores_are_no_copies_to_shared_memory() {
    for rows in [8, 5] {
        let mut d = vec![0; 32 * rows];
        let mut map = Tensor::<Strip, 2>::new([32, rows]).map_mut(&PROFILED, &mut d[..]).unwrap();
        let report = store::launch(&PROFILED, 1, map.by_ref()).check();
        let stored = 128 * rows as u64;
        let bytes = BytesMoved { shared_written: 1024, stored, ..Default::default() };
        assert_eq!(report.profile.unwrap().bytes, bytes);
    }
}
