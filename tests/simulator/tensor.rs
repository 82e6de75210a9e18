//! TMA copies of boxes: invalid arguments, and accesses before they complete.

use crate::{assert_at, assert_elected_at, line_of};
use ptx_matrix::copy::reduction;
use ptx_matrix::launch::{Im2colTensor, Tensor};
use ptx_matrix::memory::Unswizzled128;
use ptx_matrix::prelude::*;
use ptx_matrix::raw::{
    self, cp_async_bulk_tensor_2d_shared_cluster_global_tile_mbarrier_complete_tx_bytes as load_2d,
    cp_async_bulk_tensor_3d_shared_cluster_global_tile_mbarrier_complete_tx_bytes as load_3d,
};
use ptx_matrix::sim::{
    AccessKind, Awaited, BarrierMisuse, Misuse, Place, SHARED_BASE, SimError, Simulator,
};

type Tile = SharedTile<u32, 8, 32, Swizzle128>;

fn numbers() -> [u32; 256] {
    core::array::from_fn(|i| i as u32 + 1000)
}

#[track_caller]
fn assert_place(place: &Place, marker: &str) {
    assert_eq!((place.file.clone(), place.line), line_of(marker));
}

/// Loads a box with a barrier that expects `expected` bytes, and reads it, after a wait (1) or
/// without one (0).
#[kernel(threads = 64, target = "sm_90")]
fn load(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    a: TensorMap<Tile, 2>,
    d: GlobalMut<u32>,
    expected: u32,
    wait: u32,
) {
    let full = full.init(block, 1);
    let (warp, index) = (block.warp(), block.warp().index());
    if index == 0 {
        warp.elect(|lane| {
            full.arrive_expecting(lane, expected); // <- box expected
            tile.load_tma(lane, a.at([-4, 2]), full); // <- box loaded
        });
    }
    if wait == 1 {
        full.wait(warp, Phase::FIRST); // <- box waited for
    }
    if index == 0 {
        tile.for_each(warp, |row, col, value| d.set(row * 32 + col, value)); // <- box read
    }
}

fn run_load(seed: u64, expected: u32, wait: u32) -> Result<[u32; 256], SimError> {
    let (device, a, mut d) = (Simulator::new(seed), numbers(), [7; 256]);
    let map = Tensor::<Tile, 2>::new([32, 8]).map(&device, &a[..]).unwrap();
    load::launch(&device, 1, &map, &mut d, expected, wait)
        .and_then(|report| report.check())
        .map(|_| d)
}

#[test]
fn loaded_box_is_visible_after_the_wait() {
    let a = numbers();
    let beyond = |row: usize, col: usize| row + 2 >= 8 || col < 4;
    let expected = core::array::from_fn(|i| {
        if beyond(i / 32, i % 32) { 0 } else { a[(i / 32 + 2) * 32 + i % 32 - 4] }
    });
    (0..8).for_each(|seed| assert_eq!(run_load(seed, Tile::BOX_BYTES, 1).unwrap(), expected));
}

#[test]
fn read_before_the_wait_is_an_error() {
    for seed in 0..8 {
        let error = run_load(seed, Tile::BOX_BYTES, 0).unwrap_err();
        let Misuse::CopyInFlight { access: AccessKind::Read, place, .. } = &error.misuse else {
            panic!("{error}")
        };
        assert_place(place, "box loaded");
        assert_at(&error, "box read", (0, 0, 0), 0, Some(0));
        // The block ends before the copy has landed. This follows from the finding, and is not
        // reported separately.
        assert_eq!(error.findings().len(), 1, "{error}");
    }
}

/// Loads two boxes to one tile.
#[kernel(threads = 32, target = "sm_90")]
fn load_twice(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    a: TensorMap<Tile, 2>,
    d: GlobalMut<u32>,
) {
    let (full, warp) = (full.init(block, 1), block.warp());
    warp.elect(|lane| {
        full.arrive_expecting(lane, 2 * Tile::BOX_BYTES);
        tile.load_tma(lane, a.at([0, 0]), full); // <- first box loaded
        tile.load_tma(lane, a.at([0, 0]), full); // <- second box loaded
    });
    full.wait(warp, Phase::FIRST);
    tile.for_each(warp, |row, col, value| d.set(row * 32 + col, value));
}

/// Neither copy is an ordinary store, so no missing fence is reported.
#[test]
fn second_load_to_the_same_tile_is_an_error() {
    let (device, a, mut d) = (Simulator::default(), numbers(), [0; 256]);
    let map = Tensor::<Tile, 2>::new([32, 8]).map(&device, &a[..]).unwrap();
    let error =
        load_twice::launch(&device, 1, &map, &mut d).and_then(|report| report.check()).unwrap_err();
    let Misuse::CopyInFlight { access: AccessKind::Copy, place, .. } = &error.misuse else {
        panic!("{error}")
    };
    assert_place(place, "first box loaded");
    assert_elected_at(&error, "second box loaded", (0, 0, 0), 0);
    assert_eq!(error.findings().len(), 1, "{error}");
}

#[test]
fn byte_count_includes_elements_outside_the_tensor() {
    for seed in 0..8 {
        // This part of the box is in the tensor.
        let error = run_load(seed, 28 * 6 * 4, 1).unwrap_err();
        let misuse = BarrierMisuse::UnexpectedBytes { bytes: 1024 - 28 * 6 * 4 };
        assert_eq!(error.misuse, Misuse::Barrier { address: SHARED_BASE + 1024, misuse });
        assert_elected_at(&error, "box expected", (0, 0, 0), 0);
        let error = run_load(seed, 1040, 1).unwrap_err();
        let Misuse::Deadlock { waiting, .. } = &error.misuse else { panic!("{error}") };
        let awaited = Awaited::Barrier {
            address: SHARED_BASE + 1024,
            phase: 0,
            of: 1,
            arrivals: 0,
            bytes: 16,
        };
        assert!(waiting.iter().all(|waiting| waiting.awaited == awaited), "{error}");
        assert_elected_at(&error, "box expected", (0, 0, 0), 0);
    }
}

/// Stores a box, with or without a fence before, and with or without a wait before the next write.
#[kernel(threads = 32, target = "sm_90")]
fn store(
    block: &Block,
    #[shared] tile: Tile,
    d: TensorMapMut<Tile, 2>,
    e: GlobalMut<u32>,
    fence: u32,
    wait: u32,
) {
    let warp = block.warp();
    tile.fill(warp, |row, col| (row * 32 + col) as u32); // <- tile filled
    if fence == 1 {
        warp.fence_for_bulk();
    }
    warp.sync();
    warp.elect(|lane| {
        tile.store_tma(lane, d.at([4, 2])); // <- box stored
        BulkGroup::commit(lane);
        if wait == 1 {
            BulkGroup::wait_read::<0>(lane);
        }
    });
    warp.sync();
    warp.each(|lane| tile.set((1, lane.id()), 1)); // <- tile filled again
    e.set(0, 1);
}

fn run_store(fence: u32, wait: u32) -> Result<[u32; 256], SimError> {
    let (device, mut d) = (Simulator::default(), [7; 256]);
    let mut map = Tensor::<Tile, 2>::new([32, 8]).map_mut(&device, &mut d[..]).unwrap();
    store::launch(&device, 1, map.by_ref(), &mut [0], fence, wait)
        .and_then(|report| report.check())?;
    Ok(d)
}

#[test]
fn elements_outside_the_tensor_are_not_stored() {
    let inside = |row: usize, col: usize| row >= 2 && col >= 4;
    let expected = core::array::from_fn(|i| {
        let (row, col) = (i / 32, i % 32);
        if inside(row, col) { ((row - 2) * 32 + col - 4) as u32 } else { 7 }
    });
    assert_eq!(run_store(1, 1).unwrap(), expected);
}

#[test]
fn store_without_a_fence_or_a_wait_is_an_error() {
    let error = run_store(0, 1).unwrap_err();
    let Misuse::ProxyFence { place, .. } = &error.misuse else { panic!("{error}") };
    assert_place(place, "tile filled");
    assert_elected_at(&error, "box stored", (0, 0, 0), 0);
    let error = run_store(1, 0).unwrap_err();
    let Misuse::CopySourceInFlight { place, .. } = &error.misuse else { panic!("{error}") };
    assert_place(place, "box stored");
    assert_at(&error, "tile filled again", (0, 0, 0), 0, Some(0));
}

/// Raw instructions with invalid tensor maps, maps of another rank, or unaligned shared memory.
#[kernel(threads = 32, target = "sm_90")]
fn raw_box(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    a: TensorMap<Tile, 2>,
    e: Global<u32>,
    how: u32,
) {
    let full = full.init(block, 1);
    block.warp().elect(|lane| {
        full.arrive_expecting(lane, Tile::BOX_BYTES);
        let (map, to, barrier) = (a.as_ptr(), tile.address(), full.address());
        // SAFETY: None, except for the first one.
        unsafe {
            match how {
                0 => load_2d(to, map, [0; 2], barrier),
                1 => load_2d(to, e.as_ptr().cast(), [0; 2], barrier),
                2 => load_3d(to, map, [0; 3], barrier),
                3 => load_2d(to + 64, map, [0; 2], barrier),
                4 => raw::prefetch_tensormap(e.as_ptr().cast()),
                5 => {
                    raw::cp_async_bulk_tensor_2d_global_shared_cta_tile_bulk_group(map, [0; 2], to)
                }
                6 => raw::cp_async_bulk_prefetch_tensor_2d_L2_global_tile(map, [-3, 0]),
                _ => {
                    raw::cp_async_bulk_tensor_2d_global_shared_cta_tile_bulk_group(map, [4, -1], to)
                }
            }
        }
    });
    full.wait(block.warp(), Phase::FIRST);
}

#[test]
fn invalid_raw_box_copy_is_an_error() {
    let run = |how| {
        let (device, a) = (Simulator::default(), numbers());
        let map = Tensor::<Tile, 2>::new([32, 8]).map(&device, &a[..]).unwrap();
        raw_box::launch(&device, 1, &map, &[0; 32], how).map(|report| report.check())
    };
    run(0).unwrap().unwrap();
    let misuse = |how| run(how).unwrap_err().misuse.clone();
    assert_eq!(misuse(1), Misuse::NoTensorMap);
    assert_eq!(misuse(2), Misuse::TensorRank { map: 2, instruction: 3 });
    assert_eq!(
        misuse(3),
        Misuse::SharedMisaligned {
            access: AccessKind::Copy,
            address: SHARED_BASE + 64,
            bytes: 128
        }
    );
    assert_eq!(misuse(4), Misuse::NoTensorMap);
    assert_eq!(misuse(6), Misuse::BoxStart { bytes: -12 });
    assert_eq!(misuse(7), Misuse::BoxBefore { dimension: 1, coordinate: -1 });
    let error = run(5).unwrap_err();
    assert_eq!(
        error.findings()[0].misuse,
        Misuse::SharedUnwritten { address: SHARED_BASE, bytes: 1024 }
    );
    assert_eq!(
        error.findings()[1].misuse,
        Misuse::OutsideOfSlices { access: AccessKind::Copy, bytes: 128 }
    );
}

/// Copies a box to row 3 of a tile of the same pattern, and from row 5 back.
#[kernel(threads = 32, target = "sm_90")]
fn box_within_a_tile(
    block: &Block,
    #[shared] tile: SharedTile<u32, 16, 32, Swizzle128>,
    #[shared] full: BarrierMemory,
    a: TensorMap<Tile, 2>,
    d: TensorMapMut<Tile, 2>,
    e: GlobalMut<u32>,
) {
    let (full, warp) = (full.init(block, 1), block.warp());
    warp.elect(|lane| {
        full.arrive_expecting(lane, Tile::BOX_BYTES);
        // SAFETY: eight rows from row 3 on are in the tile.
        unsafe { load_2d(tile.address() + 3 * 128, a.as_ptr(), [0; 2], full.address()) }
    });
    full.wait(warp, Phase::FIRST);
    warp.each(|lane| {
        let col = lane.id();
        (0..8).for_each(|row| e.set(row * 32 + col, tile.get(lane, (3 + row, col))));
        (0..8).for_each(|row| tile.set((5 + row, col), (row * 32 + col) as u32));
    });
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        let from = tile.address() + 5 * 128;
        // SAFETY: eight rows from row 5 on are in the tile.
        unsafe {
            raw::cp_async_bulk_tensor_2d_global_shared_cta_tile_bulk_group(d.as_ptr(), [0; 2], from)
        }
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
}

/// Writes a tile by the view of a type, or by the tile's own type, and stores it.
#[kernel(threads = 32, target = "sm_90")]
fn staged(block: &Block, #[shared] tiles: SharedRing<Tile, 1>, d: TensorMapMut<Tile, 2>, by: u32) {
    type Rows64 = SharedTile<u32, 16, 16, Swizzle64>;
    type Halves = SharedTile<f16, 16, 32, Swizzle64>;
    let (warp, tile) = (block.warp(), tiles.stage(PipelineState::FIRST.index()));
    match by {
        0 => tiles.reuse::<SharedTile<u32, 8, 32>>().fill(warp, |_, col| col as u32),
        1 | 3 => tiles.reuse::<Rows64>().fill(warp, |_, col| col as u32), // <- 64 bytes
        _ => tile.fill(warp, |_, col| col as u32),
    }
    warp.sync();
    if by == 2 {
        let elements = Accumulator::<M16N8K16, f16>::zero();
        elements.store_matrix(warp, &tiles.reuse::<Halves>(), (0, 0)); // <- matrices
    }
    if by == 3 {
        tile.fill(warp, |_, col| col as u32);
    }
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        tile.store_tma(lane, d.at([0, 0])); // <- staged store
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
}

#[test]
fn store_of_a_tile_that_was_written_with_another_swizzle() {
    let run = |by| {
        let mut d = [0; 256];
        let mut to =
            Tensor::<Tile, 2>::new([32, 8]).map_mut(&Simulator::new(0), &mut d[..]).unwrap();
        staged::launch(&Simulator::new(0), 1, to.by_ref(), by)
    };
    assert!(run(3).unwrap().warnings.is_empty(), "it is written again");
    assert!(run(4).unwrap().warnings.is_empty());
    // A kernel may apply the swizzle itself.
    let report = run(0).unwrap();
    let [warning] = &report.warnings[..] else { panic!("{:?}", report.warnings) };
    let title = "wrong swizzle: the copy reads `tiles[0] row 1, column 7` with a 128-byte swizzle, \
                 and a tile with no swizzle wrote it\n";
    assert!(warning.to_string().contains(title), "{warning}");
    for (by, marker, place) in [
        (1, "64 bytes", "`tiles[0] row 4, column 19`"),
        (2, "matrices", "`tiles[0] row 4, column 16`"),
    ] {
        let error = run(by).unwrap_err();
        let finding = &error.findings()[0];
        let Misuse::WrongStoredSwizzle { read: 3, place: written, .. } = &finding.misuse else {
            panic!("{error}")
        };
        assert_place(written, marker);
        assert_place(finding.place.as_ref().unwrap(), "staged store");
        assert!(error.to_string().contains(place), "{error}");
    }
}

/// An H200 gives these places too: bits 7 to 9 of the address choose a row's pattern.
#[test]
fn swizzle_of_a_copy_goes_by_the_address() {
    let (device, a, mut d, mut e) = (Simulator::default(), numbers(), [0; 256], [0; 256]);
    let from = Tensor::<Tile, 2>::new([32, 8]).map(&device, &a[..]).unwrap();
    let mut to = Tensor::<Tile, 2>::new([32, 8]).map_mut(&device, &mut d[..]).unwrap();
    box_within_a_tile::launch(&device, 1, &from, to.by_ref(), &mut e).unwrap().check().unwrap();
    assert_eq!(e, a);
    assert_eq!(d, core::array::from_fn(|i| i as u32));
}

/// A raw reduction of an element type that has none.
#[kernel(threads = 32, target = "sm_90")]
fn raw_reduction(
    block: &Block,
    #[shared] tile: SharedTile<u16, 8, 64, Swizzle128>,
    d: TensorMapMut<SharedTile<u16, 8, 64, Swizzle128>, 2>,
) {
    let warp = block.warp();
    tile.fill(warp, |_, _| 1);
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|_| {
        let (map, from) = (d.as_ptr(), tile.address());
        // SAFETY: None. This is the bug under test.
        unsafe {
            raw::cp_reduce_async_bulk_tensor_2d_global_shared_cta_add_tile_bulk_group(
                // <- of what has no sum
                map, [0; 2], from,
            );
        }
    });
}

#[test]
fn rejects_raw_reduction_of_16_bit_integers() {
    let (device, mut d) = (Simulator::default(), [0; 512]);
    let mut map = Tensor::<SharedTile<u16, 8, 64, Swizzle128>, 2>::new([64, 8])
        .map_mut(&device, &mut d[..])
        .unwrap();
    let error = raw_reduction::launch(&device, 1, map.by_ref()).unwrap_err();
    assert_eq!(error.misuse, Misuse::TensorReduction);
    assert_elected_at(&error, "of what has no sum", (0, 0, 0), 0);
}

#[kernel(threads = 32, target = "sm_90")]
fn raw_minimum(
    block: &Block,
    #[shared] tile: SharedTile<f32, 8, 32, Swizzle128>,
    d: TensorMapMut<SharedTile<f32, 8, 32, Swizzle128>, 2>,
) {
    let warp = block.warp();
    tile.fill(warp, |_, _| 3.0);
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|_| {
        let (map, from) = (d.as_ptr(), tile.address());
        // SAFETY: None. This is the bug under test.
        unsafe {
            raw::cp_reduce_async_bulk_tensor_2d_global_shared_cta_min_tile_bulk_group(
                // <- of what has no minimum
                map, [0; 2], from,
            );
        }
    });
}

/// On an H200 it is an illegal instruction.
#[test]
fn rejects_raw_minimum_of_floats() {
    let (device, mut d) = (Simulator::default(), [5.0; 256]);
    let mut map = Tensor::<SharedTile<f32, 8, 32, Swizzle128>, 2>::new([32, 8])
        .map_mut(&device, &mut d[..])
        .unwrap();
    let error = raw_minimum::launch(&device, 1, map.by_ref()).unwrap_err();
    assert_eq!(error.misuse, Misuse::TensorReduction);
    assert_elected_at(&error, "of what has no minimum", (0, 0, 0), 0);
}

/// Two blocks write boxes that overlap. `reduce` says how many of them reduce.
#[kernel(threads = 32, target = "sm_90")]
fn overlapping(block: &Block, #[shared] tile: Tile, d: TensorMapMut<Tile, 2>, reduce: u32) {
    let (warp, index) = (block.warp(), block.index().x);
    tile.fill(warp, |_, _| index + 1);
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        let at = [0, index as i32 * 7];
        if reduce > index {
            tile.reduce_tma(lane, reduction::Add, d.at(at));
        } else {
            tile.store_tma(lane, d.at(at));
        }
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
}

#[test]
fn overlapping_stores_race_and_reductions_do_not() {
    let run = |reduce| {
        let (device, mut d) = (Simulator::default(), [10; 32 * 15]);
        let mut map = Tensor::<Tile, 2>::new([32, 15]).map_mut(&device, &mut d[..]).unwrap();
        overlapping::launch(&device, 2, map.by_ref(), reduce).and_then(|report| report.check())?;
        Ok::<_, SimError>(d)
    };
    let expected = |row| {
        if row < 7 {
            11
        } else if row == 7 {
            13
        } else {
            12
        }
    };
    assert_eq!(run(2).unwrap(), core::array::from_fn(|i| expected(i / 32)));
    for reduce in [0, 1] {
        let error = run(reduce).unwrap_err();
        assert!(matches!(error.misuse, Misuse::Race { access: AccessKind::Write, .. }), "{error}");
        assert!(error.to_string().contains("element 224 of `d`"), "{error}");
    }
}

#[test]
fn invalid_map_is_refused() {
    type Small = SharedTile<u16, 8, 40, Unswizzled128>;
    let (device, buffer) = (Simulator::default(), vec![0u16; 1 << 16]);
    let refused =
        |tensor: Tensor<Small, 3>| tensor.map(&device, &buffer[..]).err().unwrap().to_string();
    let right = Tensor::<Small, 3>::new([40, 30, 20]);
    right.map(&device, &buffer[..]).unwrap();
    for (tensor, error) in [
        (
            Tensor::new([40, 0, 20]),
            "dimension 1 of a tensor has 0 elements: it must have from 1 to 2^32",
        ),
        (
            Tensor::new([40, 1 << 33, 1]).strides([1, 40, 40]),
            "dimension 1 of a tensor has 8589934592 elements: it must have from 1 to 2^32",
        ),
        (
            right.strides([2, 80, 2400]),
            "elements along dimension 0 of a tensor are 2 apart: they must be neighbours",
        ),
        (
            right.strides([1, 44, 2400]),
            "elements along dimension 1 of a tensor are 88 bytes apart: it must be a multiple of \
             16, less than 2^40",
        ),
        (
            right.strides([1, 40, 1 << 39]),
            "elements along dimension 2 of a tensor are 1099511627776 bytes apart: it must be a \
             multiple of 16, less than 2^40",
        ),
        (
            right.boxes([40, 512, 1]),
            "a box has 512 elements along dimension 1: it must have from 1 to 256",
        ),
        (
            right.boxes([40, 0, 8]),
            "a box has 0 elements along dimension 1: it must have from 1 to 256",
        ),
        (right.boxes([40, 4, 4]), "a box has 16 lines of 40 elements, and the tile 8 of 40"),
        (right.boxes([36, 8, 1]), "a line of a box has 72 bytes: it must be a multiple of 16"),
        (right.boxes([48, 8, 1]), "a box has 8 lines of 48 elements, and the tile 8 of 40"),
        (right.steps([1, 2, 1]), "a box has 4 lines of 40 elements, and the tile 8 of 40"),
        (
            right.steps([2, 1, 1]),
            "a box takes every 2th element along dimension 0: there it takes all",
        ),
        (
            right.steps([1, 1, 9]),
            "a box takes every 9th element along dimension 2: it must be from 1 to 8",
        ),
        (right.start(4), "a tensor starts at byte 8: it must be a multiple of 16"),
        (right.start(48_000), "a tensor spans 72000 elements, and the buffer has 65536"),
    ] {
        assert_eq!(refused(tensor), error);
    }
    type Swizzled = SharedTile<u16, 8, 64, Swizzle128>;
    let error = Tensor::<Swizzled, 2>::new([64, 8])
        .boxes([32, 16])
        .map(&device, &buffer[..])
        .err()
        .unwrap();
    assert_eq!(error.to_string(), "a line of a box has 64 bytes: swizzled, it must have 128");
}

#[test]
fn overlapping_mutable_tensor_is_refused() {
    type Rows = SharedTile<f32, 8, 32, Swizzle128>;
    let error = |sizes: [usize; 2], strides: [usize; 2]| {
        let (device, mut d) = (Simulator::default(), vec![0.0; 4096]);
        let tensor = Tensor::<Rows, 2>::new(sizes).strides(strides);
        tensor.map(&device, &d[..]).map(drop).unwrap();
        tensor.map_mut(&device, &mut d[..]).err().map(|error| error.to_string())
    };
    for (stride, needed) in [(0, 32), (16, 32), (28, 32)] {
        let text = error([32, 8], [1, stride]).unwrap();
        let expected = format!(
            "elements along dimension 1 of a tensor that is written are {stride} apart, and lie on \
             each other: they must be at least {needed} apart"
        );
        assert_eq!(text, expected);
    }
    for (sizes, stride) in [([32, 8], 32), ([32, 8], 36), ([32, 1], 0)] {
        assert_eq!(error(sizes, [1, stride]), None);
    }
    let error = |sizes: [usize; 3], strides: [usize; 3]| {
        let (device, mut d) = (Simulator::default(), vec![0.0; 4096]);
        let tensor = Tensor::<Rows, 3>::new(sizes).strides(strides).boxes([32, 4, 2]);
        tensor.map_mut(&device, &mut d[..]).err().map(|error| error.to_string())
    };
    // A batch whose matrices coincide; and matrices in the gaps between the rows of others, once
    // without and once with an overlap.
    let text = error([32, 4, 3], [1, 32, 0]).unwrap();
    assert!(
        text.contains("along dimension 2") && text.ends_with("they must be at least 128 apart"),
        "{text}"
    );
    assert_eq!(error([32, 2, 3], [1, 96, 32]), None);
    assert_eq!(error([16, 2, 3], [1, 48, 32]), None);
    assert!(error([16, 2, 3], [1, 40, 32]).unwrap().ends_with("they must be at least 80 apart"));
    assert_eq!(error([16, 4, 2], [1, 32, 16]), None);
    // Sizes that no tensor map has are refused before elements are compared.
    let text = error([32, usize::MAX, usize::MAX], [1, usize::MAX, usize::MAX]).unwrap();
    assert!(text.contains("dimension 1"), "{text}");
    // The same for images.
    let (device, mut d) = (Simulator::default(), vec![0; 4096]);
    let images = Im2colTensor::<SharedTile<u32, 16, 8, Unswizzled128>, 4>::new([8, 2, 3, 3])
        .strides([1, 8, 16, 32]);
    let text = images.map_mut(&device, &mut d[..]).err().unwrap().to_string();
    assert!(text.contains("dimension 3 of a tensor that is written are 32 apart"), "{text}");
}
