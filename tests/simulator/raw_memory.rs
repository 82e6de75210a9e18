//! Raw loads, stores and copies, with the same checks as the typed ones.

use crate::{assert_at, line_of};
use ptx_matrix::copy::CpAsync;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{AccessKind, Agent, Memory, Misuse, SHARED_BASE, SimError, Simulator};
use ptx_matrix::{raw, sim};

/// 128 bytes of shared memory.
type Tile = SharedTile<u32, 2, 16>;

#[kernel(threads = 32)]
fn load(block: &Block, #[shared] tile: Tile, of_lane_3: u32) {
    let warp = block.warp();
    tile.fill(warp, |_, _| 1);
    warp.sync();
    warp.each(|lane| {
        let address = if lane.id() == 3 { of_lane_3 } else { tile.address() };
        // SAFETY: None. This is the bug under test.
        unsafe { raw::ld_shared_b32(address) } // <- load
    });
}

#[kernel(threads = 32)]
fn store(block: &Block, #[shared] tile: Tile, of_lane_3: u32) {
    block.warp().each(|lane| {
        let address = if lane.id() == 3 { of_lane_3 } else { tile.address() };
        // SAFETY: None. This is the bug under test.
        unsafe { raw::st_shared_b64(address, 1) }; // <- store
    });
}

#[test]
fn misaligned_address_is_an_error() {
    let error = load::simulate(1, SHARED_BASE + 6).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::SharedMisaligned { access: AccessKind::Read, address: SHARED_BASE + 6, bytes: 4 }
    );
    assert_at(&error, "load", (0, 0, 0), 0, Some(3));
    let error = store::simulate(1, SHARED_BASE + 4).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::SharedMisaligned { access: AccessKind::Write, address: SHARED_BASE + 4, bytes: 8 }
    );
    assert_at(&error, "store", (0, 0, 0), 0, Some(3));
    load::simulate(1, SHARED_BASE + 4).unwrap();
}

#[test]
fn address_outside_shared_memory_is_an_error() {
    for address in [0, SHARED_BASE - 8, SHARED_BASE + 128, u32::MAX - 7] {
        let misuse =
            |access, bytes| Misuse::SharedOutOfBounds { access, address, bytes, size: 128 };
        let error = load::simulate(1, address).unwrap_err();
        assert_eq!(error.misuse, misuse(AccessKind::Read, 4));
        assert_at(&error, "load", (0, 0, 0), 0, Some(3));
        let error = store::simulate(1, address).unwrap_err();
        assert_eq!(error.misuse, misuse(AccessKind::Write, 8));
        assert_at(&error, "store", (0, 0, 0), 0, Some(3));
    }
    load::simulate(1, SHARED_BASE + 124).unwrap();
    store::simulate(1, SHARED_BASE + 120).unwrap();
}

#[kernel(threads = 64)]
fn exchange(block: &Block, #[shared] tile: SharedTile<u32, 1, 64>, d: GlobalMut<u32>, synced: u32) {
    let warp = block.warp();
    warp.each(|_| {
        // SAFETY: This is in a lane closure.
        let thread = unsafe { raw::index::thread() };
        // SAFETY: The addresses are elements of the tile. All lanes reach the barrier together.
        unsafe {
            raw::st_shared_b32(tile.address() + thread * 4, thread); // <- written
            if synced == 1 {
                raw::bar_sync();
            }
            d.set(thread as usize, raw::ld_shared_b32(tile.address() + (63 - thread) * 4));
            // <- read
        }
    });
}

#[test]
fn race_and_unwritten_read_are_errors() {
    for seed in 0..8 {
        let simulator = sim::Simulator::new(seed);
        // The first warp reads unwritten memory. The race explains that.
        let error = exchange::launch(&simulator, 1, &mut [0; 64], 0).unwrap_err();
        let Misuse::Race {
            access: AccessKind::Write,
            other_access: AccessKind::Read,
            other_place,
            ..
        } = &error.misuse
        else {
            panic!("{error}")
        };
        assert_eq!((error.findings().len(), other_place.line), (1, line_of("read").1), "{error}");
        assert_at(&error, "written", (0, 0, 0), error.warp, Some(0));
        exchange::launch(&simulator, 1, &mut [0; 64], 1).unwrap().check().unwrap();
    }
}

#[kernel(threads = 64)]
fn two_writers(block: &Block, #[shared] tile: Tile) {
    let warp = block.warp().index() as u32;
    // SAFETY: The address is an element of the tile.
    block.warp().each(|_| unsafe { raw::st_shared_b32(tile.address(), warp) }); // <- two writers
}

#[test]
fn accesses_of_two_warps_race() {
    let error = two_writers::simulate(1).unwrap_err();
    let Misuse::Race { other_place, memory, .. } = &error.misuse else { panic!("{error}") };
    assert_eq!(
        (other_place.line, memory),
        (line_of("two writers").1, &Memory::Shared { address: SHARED_BASE })
    );
    assert_at(&error, "two writers", (0, 0, 0), error.warp, Some(0));
}

#[kernel(threads = 32, target = "sm_80")]
fn copy(block: &Block, #[shared] tile: Tile, a: Global<u16>, element: usize, some: u32, to: u32) {
    block.warp().each(|lane| {
        if lane.id() == 5 {
            let (to, from) = (tile.address() + to, a.as_ptr().wrapping_add(element).cast());
            // SAFETY: None. This is the bug under test.
            unsafe { raw::cp_async_ca_shared_global_8_src(to, from, some) }; // <- copy
        }
    });
}

#[track_caller]
fn copy_error(element: usize, some: u32, to: u32) -> SimError {
    let error = copy::simulate(1, &[0; 10], element, some, to).unwrap_err();
    assert_at(&error, "copy", (0, 0, 0), 0, Some(5));
    error
}

#[test]
fn copy_from_or_to_an_invalid_address_is_an_error() {
    let beyond =
        |index| Misuse::GlobalOutOfBounds { access: AccessKind::Copy, name: "a", index, len: 10 };
    assert_eq!(copy_error(8, 5, 0).misuse, beyond(10));
    assert_eq!(copy_error(8, 8, 0).misuse, beyond(11));
    assert_eq!(
        copy_error(12, 8, 0).misuse,
        Misuse::OutsideOfSlices { access: AccessKind::Copy, bytes: 8 }
    );
    assert_eq!(
        copy_error(2, 8, 0).misuse,
        Misuse::GlobalMisaligned { access: AccessKind::Copy, name: "a", index: 2, bytes: 8 }
    );
    assert_eq!(copy_error(0, 9, 0).misuse, Misuse::CopyTooLong { some: 9, bytes: 8 });
    let misaligned =
        Misuse::SharedMisaligned { access: AccessKind::Copy, address: SHARED_BASE + 4, bytes: 8 };
    assert_eq!(copy_error(0, 8, 4).misuse, misaligned);
    let beyond = Misuse::SharedOutOfBounds {
        access: AccessKind::Copy,
        address: SHARED_BASE + 128,
        bytes: 8,
        size: 128,
    };
    assert_eq!(copy_error(0, 8, 128).misuse, beyond);
    copy::simulate(1, &[0; 10], 4, 8, 120).unwrap();
    copy::simulate(1, &[0; 10], 8, 4, 0).unwrap();
    copy::simulate(1, &[0; 10], 1000, 0, 0).unwrap();
}

#[kernel(threads = 64, target = "sm_80")]
fn copy_written_elements(
    block: &Block,
    #[shared] tile: SharedTile<u32, 2, 32>,
    d: GlobalMut<u32>,
    by_itself: u32,
) {
    let warp = block.warp().index();
    block.warp().each(|lane| {
        if warp == 0 {
            d.set(lane.id(), 1); // <- set
        }
        if warp == 1 - by_itself as usize {
            // SAFETY: The addresses are an element of the slice and one of the tile.
            unsafe {
                raw::cp_async_ca_shared_global_4(
                    tile.address() + lane.id() as u32 * 4,
                    d.as_ptr().add(lane.id()).cast(),
                );
            }
        }
    });
}

#[test]
fn copy_from_another_warps_write_is_a_race() {
    for seed in 0..8 {
        let error = copy_written_elements::launch(&sim::Simulator::new(seed), 1, &mut [0; 32], 0)
            .unwrap_err();
        let Misuse::Race { memory, other, .. } = &error.misuse else { panic!("{error}") };
        assert_eq!(*memory, Memory::Global { name: "d", index: 0 });
        assert!(matches!(other, Agent::WarpOfBlock(_)));
        copy_written_elements::launch(&sim::Simulator::new(seed), 1, &mut [0; 32], 1).unwrap();
    }
}

#[kernel(threads = 32, target = "sm_80")]
fn groups_of_lanes(
    block: &Block,
    #[shared] tile: SharedTile<u32, 2, 32>,
    a: Global<u32>,
    d: GlobalMut<u32>,
    late: usize,
) {
    block.warp().each(|lane| {
        for row in 0..2 {
            CpAsync::<4>::copy(lane, &tile, (row, lane.id()), a, lane.id()); // <- started
            raw::cp_async_commit_group();
        }
        if lane.id() == late {
            raw::cp_async_wait_group::<1>();
        } else {
            raw::cp_async_wait_group::<0>();
        }
        d.set(lane.id(), tile.get(lane, (0, lane.id())));
        d.set(lane.id(), tile.get(lane, (1, lane.id()))); // <- in flight
    });
}

/// Each lane has its own groups: lane 9 waits for its first group only.
#[test]
fn each_lane_has_its_own_copy_groups() {
    let mut d = [0; 32];
    groups_of_lanes::simulate(1, &[7; 32], &mut d, 32).unwrap().check().unwrap();
    assert_eq!(d, [7; 32]);
    let error = groups_of_lanes::simulate(1, &[7; 32], &mut d, 9).unwrap_err();
    let Misuse::CopyInFlight { access: AccessKind::Read, place, warp: 0, .. } = &error.misuse
    else {
        panic!("{error}")
    };
    assert_eq!(place.line, line_of("started").1);
    assert_at(&error, "in flight", (0, 0, 0), 0, Some(9));
}

#[kernel(threads = 32, target = "sm_80")]
fn lanes_that_wait(
    block: &Block,
    #[shared] tile: SharedTile<u32, 1, 32>,
    a: Global<u32>,
    not_committing: usize,
    not_waiting: usize,
) {
    block.warp().each(|lane| {
        CpAsync::<4>::copy(lane, &tile, (0, lane.id()), a, lane.id());
        // SAFETY: All lanes reach the barriers together.
        unsafe { raw::bar_warp_sync() };
        if lane.id() != not_committing {
            raw::cp_async_commit_group();
        }
        // SAFETY: All lanes reach the barriers together.
        unsafe { raw::bar_warp_sync() };
        if lane.id() != not_waiting {
            raw::cp_async_wait_group::<0>();
        }
        // SAFETY: All lanes reach the barriers together.
        unsafe { raw::bar_warp_sync() };
        tile.get(lane, (0, lane.id())) // <- one in flight
    });
}

/// Commits and waits of other lanes do not help this lane.
#[test]
fn lane_without_commit_or_wait_is_an_error() {
    lanes_that_wait::simulate(1, &[7; 32], 32, 32).unwrap().check().unwrap();
    for (not_committing, not_waiting) in [(9, 32), (32, 9)] {
        let error =
            lanes_that_wait::simulate(1, &[7; 32], not_committing, not_waiting).unwrap_err();
        assert!(
            matches!(error.misuse, Misuse::CopyInFlight { access: AccessKind::Read, .. }),
            "{error}"
        );
        assert_at(&error, "one in flight", (0, 0, 0), 0, Some(9));
    }
}

#[kernel(threads = 32)]
fn stop(block: &Block, lane_that_stops: usize) {
    block.warp().each(|lane| {
        if lane.id() == lane_that_stops {
            raw::trap(); // <- trap
        }
    });
}

#[test]
fn trap_is_an_error_at_its_lane() {
    let error = stop::simulate(1, 12).unwrap_err();
    assert_eq!(error.misuse, Misuse::Trap);
    assert_at(&error, "trap", (0, 0, 0), 0, Some(12));
    stop::simulate(1, 32).unwrap();
}

/// Copies four bytes from the middle of an element of eight bytes, which the block has written.
#[kernel(threads = 64, target = "sm_80")]
fn copy_half_an_element(
    block: &Block,
    #[shared] tile: SharedTile<u32, 1, 4>,
    d: GlobalMut<f64>,
    o: GlobalMut<u32>,
    sync: u32,
) {
    let warp = block.warp();
    let second = warp.index() == 1;
    warp.each(|lane| {
        if second && lane.id() == 0 {
            d.set(1, 1.0)
        }
    });
    if sync == 1 {
        block.sync();
    }
    if !second {
        warp.each(|lane| {
            if lane.id() == 0 {
                // SAFETY: The addresses are the upper half of element 1, and four bytes of the
                // tile.
                unsafe {
                    raw::cp_async_ca_shared_global_4(
                        tile.address(),
                        d.as_ptr().cast::<u8>().add(12),
                    )
                };
            }
        });
        CpAsync::<4>::commit(warp);
        CpAsync::<4>::wait::<0>(warp);
        warp.each(|lane| {
            if lane.id() == 0 {
                o.set(0, tile.get(lane, (0, 0)))
            }
        });
    }
}

#[test]
fn copy_of_half_an_element() {
    let mut o = [0];
    let d = || [0.0; 2];
    copy_half_an_element::launch(&Simulator::new(0).schedules(20).strict(), 1, &mut d(), &mut o, 1)
        .unwrap();
    assert_eq!(o[0], (1.0f64.to_bits() >> 32) as u32);
    let error = copy_half_an_element::simulate(1, &mut d(), &mut o, 0).unwrap_err();
    let Misuse::Race { memory, .. } = &error.misuse else { panic!("{error}") };
    assert_eq!(*memory, Memory::Global { name: "d", index: 1 });
}
