//! Bulk copies: accesses before they complete, missing fences, and bytes that no phase expects.

use crate::{assert_at, assert_elected_at, line_of};
use ptx_matrix::copy::reduction;
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{
    AccessKind, Agent, Awaited, BarrierMisuse, Memory, Misuse, Place, SHARED_BASE, SimError,
    Simulator,
};

type Tile = SharedTile<u32, 4, 32>;

const A: [u32; 128] = {
    let mut a = [0; 128];
    let mut i = 0;
    while i < 128 {
        a[i] = i as u32 + 1000;
        i += 1;
    }
    a
};

fn seeds() -> impl Iterator<Item = Simulator> {
    (0..8).map(Simulator::new)
}

#[track_caller]
fn assert_place(place: &Place, marker: &str) {
    assert_eq!((place.file.clone(), place.line), line_of(marker));
}

/// Warp 0 loads a tile with two copies, and tells the barrier to expect `expected` bytes. The other
/// warps read it.
#[kernel(threads = 96, target = "sm_90")]
fn load(
    block: &Block,
    #[shared] tiles: [Tile; 2],
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    d: GlobalMut<u32>,
    expected: u32,
    wait: u32,
) {
    let full = full.init(block, 1);
    let (warp, index) = (block.warp(), block.warp().index());
    if index == 0 {
        warp.elect(|lane| {
            full.arrive_expecting(lane, expected); // <- expected
            for tile in tiles {
                tile.load_tma(lane, a.bulk(0), full); // <- loaded
            }
        });
    }
    if wait == 1 || (wait == 2 && index == 0) {
        full.wait(warp, Phase::FIRST); // <- waited for
    }
    if index == 2 {
        warp.each(|lane| {
            let sum = |row| {
                tiles[0]
                    .get(lane, (row, lane.id()))
                    .wrapping_add(tiles[1].get(lane, (row, 31 - lane.id())))
            };
            (0..4).for_each(|row| d.set(row * 32 + lane.id(), sum(row)));
        });
    }
}

fn run_load(simulator: Simulator, expected: u32, wait: u32) -> Result<[u32; 128], SimError> {
    let mut d = [0; 128];
    load::launch(&simulator, 1, &A, &mut d, expected, wait)
        .and_then(|report| report.check())
        .map(|_| d)
}

#[test]
fn loaded_values_are_visible_after_the_wait() {
    let expected = core::array::from_fn(|i| A[i] + A[i / 32 * 32 + 31 - i % 32]);
    seeds().for_each(|simulator| assert_eq!(run_load(simulator, 1024, 1).unwrap(), expected));
}

#[test]
fn read_before_the_wait_is_an_error() {
    for simulator in seeds() {
        let error = run_load(simulator, 1024, 0).unwrap_err();
        // The read comes before the copy's start, after it, or without a copy that lands: a race, a
        // copy in flight, or unwritten memory.
        for finding in error.findings() {
            match &finding.misuse {
                Misuse::CopyInFlight { place, .. } => assert_place(place, "loaded"),
                Misuse::Race { .. } | Misuse::SharedUnwritten { .. } | Misuse::BulkUnfinished => {}
                other => panic!("{other:?}"),
            }
        }
        // Another warp has waited, but the reading warp has not.
        let error = run_load(simulator, 1024, 2).unwrap_err();
        let early = |misuse: &Misuse| match misuse {
            Misuse::CopyInFlight { .. } | Misuse::SharedUnwritten { .. } => true,
            Misuse::Race { other, .. } => {
                matches!(other, Agent::Asynchronous | Agent::WarpOfBlock(_))
            }
            _ => false,
        };
        assert!(error.findings().iter().all(|finding| early(&finding.misuse)), "{error}");
    }
}

#[test]
fn wrong_byte_count_is_a_deadlock_or_an_error() {
    for simulator in seeds() {
        let error = run_load(simulator, 1040, 1).unwrap_err();
        let Misuse::Deadlock { waiting, .. } = &error.misuse else { panic!("{error}") };
        let awaited = Awaited::Barrier {
            address: SHARED_BASE + 1024,
            phase: 0,
            of: 1,
            arrivals: 0,
            bytes: 16,
        };
        assert!(waiting.iter().all(|waiting| waiting.awaited == awaited), "{error}");
        assert_elected_at(&error, "expected", (0, 0, 0), 0);
        // The first copy that lands completes the phase.
        let error = run_load(simulator, 512, 1).unwrap_err();
        let misuse = BarrierMisuse::UnexpectedBytes { bytes: 512 };
        assert_eq!(error.misuse, Misuse::Barrier { address: SHARED_BASE + 1024, misuse });
        assert_elected_at(&error, "expected", (0, 0, 0), 0);
        let error = run_load(simulator, 1000, 1).unwrap_err();
        let misuse = BarrierMisuse::UnexpectedBytes { bytes: 24 };
        assert_eq!(error.misuse, Misuse::Barrier { address: SHARED_BASE + 1024, misuse });
    }
}

/// Fills a tile, which is then stored or loaded. `fence` says which warp executes the fence: the
/// filling warp (1), the warp that starts the copy (2), the wrong warp (3), or none (0).
#[kernel(threads = 64, target = "sm_90")]
fn fences(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    d: GlobalMut<u32>,
    fence: u32,
    load: u32,
) {
    let full = full.init(block, 1);
    let (warp, index) = (block.warp(), block.warp().index());
    if index == 1 {
        tile.fill(warp, |row, col| (row * 32 + col) as u32); // <- filled
    }
    if (fence == 1 && index == 1) || (fence == 3 && index == 0) {
        warp.fence_for_bulk();
    }
    block.sync();
    if index == 0 {
        if fence == 2 {
            warp.fence_for_bulk();
        }
        warp.elect(|lane| {
            if load == 1 {
                full.arrive_expecting(lane, Tile::BULK_BYTES);
                tile.load_tma(lane, a.bulk(0), full); // <- loaded to
            } else {
                tile.store_tma(lane, d.bulk(0)); // <- stored
                BulkGroup::commit(lane);
                BulkGroup::wait_read::<0>(lane);
            }
        });
        if load == 1 {
            full.wait(warp, Phase::FIRST);
        }
    }
}

#[test]
fn copy_after_stores_needs_a_fence() {
    for (load, marker) in [(0, "stored"), (1, "loaded to")] {
        for simulator in seeds() {
            let mut d = [7; 128];
            for fence in [1, 2] {
                fences::launch(&simulator, 1, &A, &mut d, fence, load).check();
                assert_eq!(
                    d,
                    if load == 1 { [7; 128] } else { core::array::from_fn(|i| i as u32) }
                );
            }
            for fence in [0, 3] {
                let error =
                    fences::launch(&simulator, 1, &A, &mut [7; 128], fence, load).unwrap_err();
                let Misuse::ProxyFence { place, .. } = &error.misuse else { panic!("{error}") };
                assert_place(place, "filled");
                assert_elected_at(&error, marker, (0, 0, 0), 0);
            }
        }
    }
}

/// Stores a tile, and accesses its source or destination after the waits that `wait` selects.
#[kernel(threads = 32, target = "sm_90")]
fn touched(block: &Block, #[shared] tile: Tile, d: GlobalMut<u32>, wait: u32, touch: u32) {
    let warp = block.warp();
    tile.fill(warp, |row, col| (row * 32 + col) as u32);
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        tile.store_tma(lane, d.bulk(0)); // <- started
        if wait > 0 {
            BulkGroup::commit(lane);
        }
        match wait {
            2 => BulkGroup::wait_read::<0>(lane),
            3 => BulkGroup::wait::<0>(lane),
            4 => BulkGroup::wait::<1>(lane),
            _ => {}
        }
    });
    warp.sync();
    warp.each(|lane| match touch {
        1 => tile.set((0, lane.id()), 1),  // <- overwritten
        2 => drop(d.get(lane, lane.id())), // <- read back
        _ => drop(tile.get(lane, (0, lane.id()))),
    });
}

#[test]
fn access_to_a_store_in_flight_is_an_error() {
    let run = |wait, touch| {
        let mut d = [7; 128];
        touched::simulate(1, &mut d, wait, touch).and_then(|report| report.check()).map(|_| d)
    };
    let stored = core::array::from_fn(|i| i as u32);
    for (wait, touch) in [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)] {
        assert_eq!(run(wait, touch).unwrap(), stored, "{wait} {touch}");
    }
    for wait in [0, 1, 4] {
        let error = run(wait, 1).unwrap_err();
        let Misuse::CopySourceInFlight { place, .. } = &error.misuse else { panic!("{error}") };
        assert_place(place, "started");
        assert_at(&error, "overwritten", (0, 0, 0), 0, Some(0));
        assert_eq!(error.findings()[1].misuse, Misuse::BulkUnfinished);
    }
    for wait in [1, 2] {
        let error = run(wait, 2).unwrap_err();
        let Misuse::StoreInFlight { access: AccessKind::Read, place, has_read, .. } = &error.misuse
        else {
            panic!("{error}")
        };
        assert_place(place, "started");
        assert_at(&error, "read back", (0, 0, 0), 0, Some(0));
        assert_eq!(*has_read, wait == 2, "the lane has waited by `wait_read`");
        assert_eq!(error.to_string().contains("use `wait`"), wait == 2, "{error}");
    }
    let error = run(1, 0).unwrap_err();
    assert_eq!(error.misuse, Misuse::BulkUnfinished);
    assert_elected_at(&error, "started", (0, 0, 0), 0);
}

/// A stage is loaded again and again, each time after a wait for its readers.
#[kernel(threads = 96, target = "sm_90")]
fn again(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    a: Global<u32>,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, 64));
    let (warp, index) = (block.warp(), block.warp().index());
    let (mut filled, mut emptied) = (Phase::FIRST, Phase::BEFORE_FIRST);
    for _ in 0..3 {
        if index == 0 {
            emptied = empty.wait(warp, emptied);
            warp.elect(|lane| {
                full.arrive_expecting(lane, Tile::BULK_BYTES);
                tile.load_tma(lane, a.bulk(0), full);
            });
        } else {
            filled = full.wait(warp, filled);
            tile.for_each(warp, |_, _, _| ());
            warp.each(|lane| empty.arrive(lane));
        }
    }
}

#[test]
fn stage_is_reloaded_after_all_reads() {
    seeds().for_each(|simulator| drop(again::launch(&simulator, 1, &A).check()));
}

/// Warp 1 reads a tile that warp 0 then loads, without waiting for the read.
#[kernel(threads = 64, target = "sm_90")]
fn read_and_loaded(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    a: Global<u32>,
    wait: u32,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, 32));
    let (warp, index) = (block.warp(), block.warp().index());
    tile.fill(block, |_, _| 0);
    warp.fence_for_bulk();
    block.sync();
    if index == 1 {
        tile.for_each(warp, |_, _, _| ());
        warp.each(|lane| empty.arrive(lane));
    } else {
        if wait == 1 {
            empty.wait(warp, Phase::FIRST);
        }
        warp.elect(|lane| {
            full.arrive_expecting(lane, Tile::BULK_BYTES);
            tile.load_tma(lane, a.bulk(0), full);
        });
        full.wait(warp, Phase::FIRST);
    }
}

#[test]
fn load_during_another_warps_read_is_an_error() {
    for simulator in seeds() {
        read_and_loaded::launch(&simulator, 1, &A, 1).check();
        let error = read_and_loaded::launch(&simulator, 1, &A, 0).unwrap_err();
        let is_it =
            |misuse: &Misuse| matches!(misuse, Misuse::Race { .. } | Misuse::CopyInFlight { .. });
        assert!(error.findings().iter().all(|finding| is_it(&finding.misuse)), "{error}");
    }
}

/// Raw copies with wrong addresses, sizes or barriers.
#[kernel(threads = 32, target = "sm_90")]
fn raw_copy(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] place: SharedTile<u64, 1, 2>,
    a: Global<u32>,
    how: u32,
) {
    let barrier = place.address();
    block.warp().elect(|lane| {
        let _ = lane;
        // SAFETY: The address is memory for a barrier.
        unsafe { raw::mbarrier_init_shared_cta_b64(barrier, 1) }
        match how {
            0 => raw::fence_mbarrier_init_release_cluster(),
            1 => raw::fence_proxy_async_shared_cta(),
            _ => {}
        }
        let (offset, bytes) = match how {
            3 => (0, 24),
            4 => (8, 16),
            5 => (496, 32),
            _ => (0, 32),
        };
        let to = tile.address() + if how == 6 { 8 } else { 0 };
        let from = a.as_ptr().cast::<u8>().wrapping_add(offset);
        // SAFETY: None, except for the first two.
        unsafe {
            raw::mbarrier_arrive_expect_tx_shared_cta_b64(barrier, bytes);
            raw::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(
                to, from, bytes, barrier,
            );
            while !raw::mbarrier_test_wait_parity_shared_cta_b64(barrier, 0) {}
        }
    });
}

/// A lane initialises a barrier for a copy. `how` selects the lane that executes the fence for it,
/// and the time.
#[kernel(threads = 64, target = "sm_90")]
fn fence_of_another(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] place: SharedTile<u64, 1, 2>,
    a: Global<u32>,
    how: u32,
) {
    let (barrier, warp, index) = (place.address(), block.warp(), block.warp().index());
    if index == 0 {
        warp.each(|lane| {
            if lane.id() == 5 {
                // SAFETY: The address is memory for a barrier.
                unsafe { raw::mbarrier_init_shared_cta_b64(barrier, 1) }
            }
        });
    }
    if how == 3 {
        block.sync();
    }
    let fences = match how {
        // The lane itself (0), each lane of its warp (1), another lane of its warp (2).
        0..3 => index == 0,
        // A lane of another warp, after (3) or before (4) it knows of the barrier.
        _ => index == 1,
    };
    if fences {
        warp.each(|lane| {
            if how == 1 || lane.id() == if how == 0 { 5 } else { 6 } {
                raw::fence_mbarrier_init_release_cluster();
            }
        });
    }
    block.sync();
    if index == 0 {
        warp.elect(|_| {
            // SAFETY: None, if there is no fence after the initialisation. Otherwise the barrier
            // completes when the copy has landed.
            unsafe {
                raw::mbarrier_arrive_expect_tx_shared_cta_b64(barrier, 32);
                let (to, from) = (tile.address(), a.as_ptr().cast());
                raw::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(
                    // <- unfenced
                    to, from, 32, barrier,
                );
                while !raw::mbarrier_try_wait_parity_shared_cta_b64(barrier, 0) {}
            }
        });
    }
}

#[test]
fn init_fence_covers_only_its_threads_barriers() {
    for simulator in seeds() {
        for how in [0, 1, 3] {
            fence_of_another::launch(&simulator, 1, &A, how).check();
        }
        for how in [2, 4] {
            let error = fence_of_another::launch(&simulator, 1, &A, how).unwrap_err();
            let misuse = Misuse::Barrier {
                address: SHARED_BASE + Tile::BULK_BYTES,
                misuse: BarrierMisuse::Unfenced,
            };
            assert_eq!(error.misuse, misuse, "{how}: {error}");
            assert_elected_at(&error, "unfenced", (0, 0, 0), 0);
        }
    }
}

#[test]
fn invalid_raw_copy_is_an_error() {
    raw_copy::simulate(1, &A, 0).check();
    raw_copy::simulate(1, &A, 1).check();
    let misuse = |how| raw_copy::simulate(1, &A, how).unwrap_err().misuse.clone();
    let barrier = SHARED_BASE + Tile::BULK_BYTES;
    assert_eq!(misuse(2), Misuse::Barrier { address: barrier, misuse: BarrierMisuse::Unfenced });
    assert!(matches!(misuse(3), Misuse::BulkSize { bytes: 24 }));
    assert!(matches!(misuse(4), Misuse::BulkMisaligned { index: 2, beyond: 8, .. }));
    assert!(matches!(
        misuse(5),
        Misuse::GlobalOutOfBounds { access: AccessKind::Copy, index: 131, len: 128, .. }
    ));
    assert!(matches!(
        misuse(6),
        Misuse::SharedMisaligned { access: AccessKind::Copy, bytes: 16, .. }
    ));
}

/// Typed copies beyond a slice, and from an unaligned start.
#[kernel(threads = 32, target = "sm_90")]
fn typed_copy(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    index: usize,
) {
    let full = full.init(block, 1);
    block.warp().elect(|lane| {
        full.arrive_expecting(lane, Tile::BULK_BYTES);
        tile.load_tma(lane, a.bulk(index), full); // <- typed
    });
    full.wait(block.warp(), Phase::FIRST);
}

#[test]
fn misaligned_or_out_of_bounds_copy_is_an_error() {
    let a = [1; 256];
    typed_copy::simulate(1, &a, 128).check();
    let error = typed_copy::simulate(1, &a, 132).unwrap_err();
    assert!(
        matches!(
            error.misuse,
            Misuse::GlobalOutOfBounds { access: AccessKind::Copy, index: 259, .. }
        ),
        "{error}"
    );
    assert_elected_at(&error, "typed", (0, 0, 0), 0);
    let error = typed_copy::simulate(1, &a, 3).unwrap_err();
    assert!(matches!(error.misuse, Misuse::BulkMisaligned { index: 3, beyond: 12, .. }), "{error}");
    let text = error.to_string();
    let title = "error: misaligned: a bulk copy starts at element 3 of `a`, 12 bytes beyond a \
        multiple of 16\n";
    assert!(text.starts_with(title), "{text}");
    assert!(
        text.ends_with("help: the address and the size of a bulk copy are multiples of 16 bytes"),
        "{text}"
    );
}

/// Ordinary stores write elements of global memory. A bulk copy then reduces, overwrites or reads
/// them. There is no fence (0), or one for shared memory only (1), for global memory (2), or for
/// both (3).
#[kernel(threads = 32, target = "sm_90")]
fn global_fences(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    d: GlobalMut<u32>,
    fence: u32,
    copy: u32,
) {
    let full = full.init(block, 1);
    let warp = block.warp();
    tile.fill(warp, |_, _| 5);
    warp.fence_for_bulk();
    warp.sync();
    warp.each(|lane| (0..4).for_each(|row| d.set(row * 32 + lane.id(), 1))); // <- initialised
    match fence {
        1 => warp.fence_for_bulk(),
        2 => warp.fence_global_for_bulk(),
        3 => drop(warp.each(|_| raw::fence_proxy_async())),
        _ => {}
    }
    warp.sync();
    warp.elect(|lane| {
        match copy {
            0 => tile.reduce_tma(lane, reduction::Add, d.bulk(0)), // <- reduced
            1 => tile.store_tma(lane, d.bulk(0)),                  // <- replaced
            _ => {
                full.arrive_expecting(lane, Tile::BULK_BYTES);
                // SAFETY: The addresses are within the slice and the tile, and the barrier is
                // initialised.
                unsafe {
                    let (to, from) = (tile.address(), d.as_ptr().cast_const().cast());
                    raw::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(
                        // <- taken
                        to,
                        from,
                        512,
                        full.address(),
                    );
                }
            }
        }
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
    if copy == 2 {
        full.wait(warp, Phase::FIRST);
    } else {
        warp.elect(|lane| {
            // A copy sees the writes of the copy before it without a fence.
            tile.store_tma(lane, d.bulk(0));
            BulkGroup::commit(lane);
            BulkGroup::wait_read::<0>(lane);
        });
    }
}

#[test]
fn copy_after_global_stores_needs_a_fence() {
    for (copy, marker) in [(0, "reduced"), (1, "replaced"), (2, "taken")] {
        for fence in 0..4 {
            let run = global_fences::simulate(1, &mut [0; 128], fence, copy);
            if fence >= 2 {
                run.check();
                continue;
            }
            let error = run.unwrap_err();
            let Misuse::ProxyFence {
                memory: Memory::Global { name: "d", index: 0 }, place, ..
            } = &error.misuse
            else {
                panic!("{error}")
            };
            assert_place(place, "initialised");
            assert_elected_at(&error, marker, (0, 0, 0), 0);
        }
    }
}

/// Blocks reduce the same elements. Block 1 also accesses them; `how` selects the access.
#[kernel(threads = 32, target = "sm_90")]
fn reduce(block: &Block, #[shared] tile: Tile, d: GlobalMut<u32>, how: u32) {
    let (warp, index) = (block.warp(), block.index().x);
    if how != 0 && index == 1 {
        warp.each(|lane| match how {
            1 => d.set(lane.id(), 1),          // <- written beside
            _ => drop(d.get(lane, lane.id())), // <- read beside
        });
        return;
    }
    tile.fill(warp, |_, _| index + 1);
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        tile.reduce_tma(lane, reduction::Add, d.bulk(0));
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
    warp.sync();
}

#[test]
fn reductions_race_only_with_reads_and_writes() {
    let mut d: [u32; 128] = core::array::from_fn(|i| i as u32);
    reduce::simulate(4, &mut d, 0).check();
    assert_eq!(d, core::array::from_fn(|i| i as u32 + 1 + 2 + 3 + 4));
    for (how, marker, access) in
        [(1, "written beside", AccessKind::Write), (2, "read beside", AccessKind::Read)]
    {
        let error = reduce::simulate(2, &mut [0; 128], how).unwrap_err();
        let Misuse::Race { access: found, other_access: AccessKind::Reduction, .. } = &error.misuse
        else {
            panic!("{error}")
        };
        assert_eq!(*found, access);
        assert_at(&error, marker, (1, 0, 0), 0, Some(0));
    }
}

/// A block reads and writes the elements that it has reduced itself. They have 32 bits, or 16 bits
/// through `raw`.
#[kernel(threads = 32, target = "sm_90")]
fn reduce_and_touch(
    block: &Block,
    #[shared] tile: Tile,
    d: GlobalMut<u32>,
    e: GlobalMut<u32>,
    how: u32,
) {
    let warp = block.warp();
    tile.fill(warp, |_, _| 7);
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        if how == 1 {
            // SAFETY: The elements have another width. This is the bug under test.
            unsafe {
                raw::cp_reduce_async_bulk_global_shared_cta_bulk_group_add_f16(
                    // <- of halves
                    d.as_ptr().cast(),
                    tile.address(),
                    512,
                );
            }
        } else {
            tile.reduce_tma(lane, reduction::Max, d.bulk(0));
        }
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
    warp.sync();
    warp.each(|lane| e.set(lane.id(), d.get(lane, lane.id())));
    warp.each(|lane| {
        if lane.id() == 3 {
            d.set(3, 1)
        }
    });
}

#[test]
fn waited_reductions_are_visible_to_their_block() {
    let (mut d, mut e): ([u32; 128], _) = (core::array::from_fn(|i| i as u32), [0; 32]);
    reduce_and_touch::simulate(1, &mut d, &mut e, 0).check();
    assert_eq!(e, core::array::from_fn(|i| 7.max(i as u32)));
    assert_eq!(
        d,
        core::array::from_fn::<u32, 128, _>(|i| if i == 3 { 1 } else { 7.max(i as u32) })
    );
    let error = reduce_and_touch::simulate(1, &mut [0; 128], &mut [0; 32], 1).unwrap_err();
    assert_eq!(error.misuse, Misuse::ReductionWidth { name: "d", element: 4, bytes: 2 });
    assert_elected_at(&error, "of halves", (0, 0, 0), 0);
}

/// Loads a tile from a slice without its first elements.
#[kernel(threads = 32, target = "sm_90")]
fn load_from_further_on(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    skipped: usize,
) {
    let full = full.init(block, 1);
    block.warp().elect(|lane| {
        full.arrive_expecting(lane, Tile::BULK_BYTES);
        tile.load_tma(lane, a.skip(skipped).bulk(4), full); // <- from further on
    });
    full.wait(block.warp(), Phase::FIRST);
}

#[test]
fn skipped_elements_count_for_the_alignment() {
    let a = [0; 140];
    load_from_further_on::simulate(1, &a, 8).unwrap();
    let error = load_from_further_on::simulate(1, &a, 6).unwrap_err();
    assert!(matches!(error.misuse, Misuse::BulkMisaligned { index: 4, .. }), "{error}");
    assert_elected_at(&error, "from further on", (0, 0, 0), 0);
}

/// A copy is still writing to the source of a second copy.
#[kernel(threads = 32, target = "sm_90")]
fn from_where_to(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    d: GlobalMut<u32>,
) {
    let (full, warp) = (full.init(block, 1), block.warp());
    tile.fill(warp, |_, _| 1);
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        full.arrive_expecting(lane, Tile::BULK_BYTES);
        tile.load_tma(lane, a.bulk(0), full);
        tile.store_tma(lane, d.bulk(0));
        BulkGroup::commit(lane);
    });
    full.wait(warp, Phase::FIRST);
    warp.elect(|lane| BulkGroup::wait::<0>(lane));
}

#[test]
fn copy_to_the_source_of_another_copy_is_an_error() {
    let error = from_where_to::simulate(1, &[2; 128], &mut [0; 128]).unwrap_err();
    let landed = error
        .findings()
        .iter()
        .find(|finding| matches!(finding.misuse, Misuse::CopySourceInFlight { .. }));
    // The writer is no warp.
    assert!(landed.is_some_and(|finding| finding.warp.is_none()), "{error}");
}

/// A lane copies a tile and waits for the copy; then all lanes write the tile again. `how` selects
/// the lanes that start the copy and that wait.
#[kernel(threads = 64, target = "sm_90")]
fn by_elected(block: &Block, #[shared] tiles: [Tile; 2], d: GlobalMut<u32>, how: u32) {
    let (warp, index) = (block.warp(), block.warp().index());
    let tile = tiles[index];
    tile.fill(warp, |_, _| 1);
    warp.fence_for_bulk();
    warp.sync();
    let start = |lane: Lane<'_>| {
        tile.store_tma(lane, d.bulk(index * 128));
        BulkGroup::commit(lane); // <- committed
    };
    let wait = |lane: Lane<'_>| BulkGroup::wait_read::<0>(lane);
    match how {
        // The same lane, because it is elected both times.
        0 => {
            warp.elect(start);
            warp.elect(wait);
        }
        1 => {
            warp.each(|lane| {
                // SAFETY: All lanes reach this.
                if unsafe { raw::elect_sync() } {
                    start(lane);
                }
            });
            warp.elect(wait);
        }
        // The first lane is not the elected one.
        2 => {
            warp.elect(start);
            warp.each(|lane| {
                if lane.id() == 0 {
                    wait(lane)
                }
            });
        }
        _ => {
            warp.each(|lane| {
                if lane.id() == 0 {
                    start(lane)
                }
            });
            warp.elect(wait);
        }
    }
    warp.sync();
    tile.fill(warp, |_, _| 2); // <- filled again
}

#[test]
fn elected_lane_may_differ_from_the_first() {
    let run = |seed, how| by_elected::launch(&Simulator::new(seed), 1, &mut [0; 256], how);
    for seed in 0..16 {
        run(seed, 0).unwrap().check().unwrap();
        run(seed, 1).unwrap().check().unwrap();
    }
    for how in 2..4 {
        let found = (0..16).filter(|&seed| {
            let Err(error) = run(seed, how) else { return false };
            let is_it = |misuse: &Misuse| {
                matches!(misuse, Misuse::CopySourceInFlight { .. } | Misuse::BulkUnfinished)
            };
            assert!(error.findings().iter().all(|finding| is_it(&finding.misuse)), "{error}");
            true
        });
        // In a few seeds, both warps elect the first lane, which is legal.
        assert!(found.count() > 12, "{how}");
    }
}

/// Loads a tile from a slice that it writes, before the wait (`early`) or after it: by ordinary
/// stores, or by another copy.
#[kernel(threads = 32, target = "sm_90")]
fn load_and_write(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    d: GlobalMut<u32>,
    early: bool,
    by_copy: bool,
) {
    let full = full.init(block, 1);
    let warp = block.warp();
    warp.elect(|lane| {
        full.arrive_expecting(lane, Tile::BULK_BYTES);
        tile.load_tma(lane, d.bulk_source(0), full); // <- load of a GlobalMut
    });
    if early {
        warp.each(|lane| d.set(lane.id(), 5)); // <- write during the load
    }
    full.wait(warp, Phase::FIRST);
    if by_copy {
        warp.elect(|lane| {
            tile.store_tma(lane, d.bulk(128));
            BulkGroup::commit(lane);
            BulkGroup::wait::<0>(lane);
        });
    } else {
        warp.each(|lane| d.set(lane.id(), 1 + tile.get(lane, (0, lane.id()))));
    }
}

#[test]
fn source_of_a_copy_in_flight_is_not_written() {
    let run = |simulator: &Simulator, early, by_copy| {
        let mut d = [7; 256];
        load_and_write::launch(simulator, 1, &mut d, early, by_copy).map(|_| d)
    };
    for simulator in seeds() {
        let d = run(&simulator, false, false).unwrap();
        assert_eq!((d[31], d[32]), (8, 7));
        assert_eq!(run(&simulator, false, true).unwrap()[128], 7);
        let error = run(&simulator, true, true).unwrap_err();
        let Misuse::Race {
            access: AccessKind::Write,
            other_access: AccessKind::Read,
            other_place,
            other,
            ..
        } = &error.misuse
        else {
            panic!("{error}");
        };
        assert_place(other_place, "load of a GlobalMut");
        assert_eq!(*other, Agent::Asynchronous);
        assert_eq!(error.place.as_ref().map(|place| place.line), {
            Some(line_of("write during the load").1)
        });
    }
}

/// Warp 0 loads a tile of `d`, and warp 1 writes there after the wait. Block 1 writes at once.
#[kernel(threads = 64, target = "sm_90")]
fn load_for_another_warp(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    d: GlobalMut<u32>,
    waits: bool,
) {
    let full = full.init(block, 1);
    let warp = block.warp();
    if block.index().x == 1 {
        if warp.index() == 0 {
            warp.elect(|_| d.set(0, 1)); // <- write of another block
        }
        return;
    }
    if warp.index() == 0 {
        warp.elect(|lane| {
            full.arrive_expecting(lane, Tile::BULK_BYTES);
            tile.load_tma(lane, d.bulk_source(0), full);
        });
    } else {
        if waits {
            full.wait(warp, Phase::FIRST);
        }
        warp.each(|lane| d.set(lane.id(), 9)); // <- write of another warp
    }
    block.sync();
    full.wait(warp, Phase::FIRST);
}

#[test]
fn wait_for_a_load_orders_writes_of_its_source() {
    for simulator in seeds() {
        let run =
            |blocks, waits| load_for_another_warp::launch(&simulator, blocks, &mut [7; 128], waits);
        run(1, true).unwrap().check().unwrap();
        let error = run(1, false).unwrap_err();
        assert!(error.to_string().contains("error: race: "), "{error}");
        let error = run(2, true).unwrap_err();
        let Misuse::Race { other, .. } = &error.misuse else { panic!("{error}") };
        assert!(matches!(other, Agent::OtherBlock(_)), "{error}");
        assert_eq!(error.place.as_ref().map(|place| place.line), {
            Some(line_of("write of another block").1)
        });
    }
}

/// Adds to elements by `red`, and loads them by TMA.
#[kernel(threads = 32, target = "sm_90")]
fn load_of_reduced(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    d: GlobalMut<u32>,
    fences: bool,
) {
    let full = full.init(block, 1);
    let warp = block.warp();
    warp.each(|lane| d.reduce(lane, reduction::Add, lane.id(), 1)); // <- adds
    if fences {
        warp.fence_global_for_bulk();
    }
    warp.sync();
    warp.elect(|lane| {
        full.arrive_expecting(lane, Tile::BULK_BYTES);
        tile.load_tma(lane, d.bulk_source(0), full); // <- load of sums
    });
    full.wait(warp, Phase::FIRST);
    warp.each(|lane| d.set(lane.id(), tile.get(lane, (0, lane.id()))));
}

#[test]
fn load_of_reduced_elements_needs_a_fence() {
    let mut d = [7; 128];
    load_of_reduced::simulate(1, &mut d, true).check();
    assert_eq!((d[0], d[31], d[32]), (8, 8, 7));
    let error = load_of_reduced::simulate(1, &mut d, false).unwrap_err();
    let Misuse::ProxyFence { place, .. } = &error.misuse else { panic!("{error}") };
    assert_place(place, "adds");
}
