//! Handmade row addresses.

use crate::assert_at;
use ptx_matrix::fragment::RowAddr;
use ptx_matrix::mma::{B16, LdMatrix, NoTrans, StMatrix, Trans, X1, X2};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{AccessKind, Misuse, SHARED_BASE};

/// 128 bytes of shared memory.
type Tile = SharedTile<u16, 8, 8>;

#[kernel(threads = 32)]
fn load(block: &Block, #[shared] tile: Tile, of_lane_3: u32) {
    let warp = block.warp();
    tile.fill(warp, |_, _| 1);
    let rows = warp.each(|lane| {
        let address = if lane.id() == 3 { of_lane_3 } else { tile.address() };
        // SAFETY: The tests say which arguments are valid.
        unsafe { RowAddr::from_address(address) }
    });
    LdMatrix::<X1, NoTrans, B16>::load(warp, rows); // <- load
}

#[kernel(threads = 32)]
fn store(block: &Block, #[shared] tile: Tile, of_lane_13: u32) {
    let warp = block.warp();
    let rows = warp.each(|lane| {
        let address = if lane.id() == 13 { of_lane_13 } else { tile.address() };
        // SAFETY: The tests say which arguments are valid.
        unsafe { RowAddr::from_address(address) }
    });
    StMatrix::<X2, Trans, B16>::store(warp, rows, PerLane::splat([0, 0])); // <- store
}

#[test]
fn misaligned_row_is_an_error() {
    let address = SHARED_BASE + 8;
    let error = load::simulate(1, address).unwrap_err();
    assert_eq!(error.misuse, Misuse::RowMisaligned { address });
    assert_at(&error, "load", (0, 0, 0), 0, Some(3));
    let error = store::simulate(1, address).unwrap_err();
    assert_eq!(error.misuse, Misuse::RowMisaligned { address });
    assert_at(&error, "store", (0, 0, 0), 0, Some(13));
}

#[test]
fn row_outside_shared_memory_is_an_error() {
    for address in [0, SHARED_BASE - 16, SHARED_BASE + 128, u32::MAX - 15] {
        let misuse = |access| Misuse::SharedOutOfBounds { access, address, bytes: 16, size: 128 };
        let error = load::simulate(1, address).unwrap_err();
        assert_eq!(error.misuse, misuse(AccessKind::Read));
        assert_at(&error, "load", (0, 0, 0), 0, Some(3));
        let error = store::simulate(1, address).unwrap_err();
        assert_eq!(error.misuse, misuse(AccessKind::Write));
        assert_at(&error, "store", (0, 0, 0), 0, Some(13));
    }
}

#[test]
fn last_row_of_shared_memory_is_valid() {
    load::simulate(1, SHARED_BASE + 112).unwrap();
    store::simulate(1, SHARED_BASE + 112).unwrap();
}

#[kernel(threads = 32)]
fn load_with_address_of_lane_8(block: &Block, #[shared] tile: Tile, of_lane_8: u32) {
    let warp = block.warp();
    tile.fill(warp, |_, _| 1);
    // SAFETY: The tests say which arguments are valid.
    let rows = warp.each(|lane| unsafe {
        RowAddr::from_address(if lane.id() < 8 { tile.address() } else { of_lane_8 })
    });
    LdMatrix::<X1, NoTrans, B16>::load(warp, rows); // <- x1
}

/// sm_75 requires a valid address in every lane, also for rows that are not loaded.
#[test]
fn row_address_of_an_unused_lane_must_be_valid() {
    let error = load_with_address_of_lane_8::simulate(1, SHARED_BASE + 8).unwrap_err();
    assert_at(&error, "x1", (0, 0, 0), 0, Some(8));
}

/// Addresses that no tile has made. From sm_80 on, those that the form does not read may have any
/// value.
#[kernel(threads = 32, target = "sm_80")]
fn raw_loads(
    block: &Block,
    #[shared] tile: SharedTile<u16, 16, 8>,
    d: GlobalMut<u32>,
    spare: u32,
    bad: usize,
) {
    let warp = block.warp();
    tile.fill(warp, |row, col| (row * 8 + col) as u16);
    warp.sync();
    warp.each(|lane| {
        let row = |count: usize| {
            let is_read = lane.id() < count && lane.id() != bad;
            if is_read { tile.address() + (lane.id() % 16 * 16) as u32 } else { spare }
        };
        // SAFETY: The lanes whose addresses are read have rows of the tile.
        unsafe {
            let [one] = raw::ldmatrix_sync_aligned_m8n8_x1_shared_b16(row(8)); // <- one matrix
            let [two, other] = raw::ldmatrix_sync_aligned_m8n8_x2_shared_b16(row(16));
            assert_eq!(one, two);
            d.set(lane.id(), other);
        }
    });
}

#[test]
fn unread_raw_addresses_are_not_checked() {
    for spare in [0, 8, SHARED_BASE + 8, SHARED_BASE + 256, u32::MAX] {
        let mut d = [0; 32];
        raw_loads::simulate(1, &mut d, spare, 32).check();
        assert_eq!((d[0], d[31]), (65 << 16 | 64, 127 << 16 | 126));
        let error = raw_loads::simulate(1, &mut d, spare, 5).unwrap_err();
        assert!(
            matches!(error.misuse, Misuse::RowMisaligned { .. } | Misuse::SharedOutOfBounds { .. }),
            "{error}"
        );
        assert_at(&error, "one matrix", (0, 0, 0), 0, Some(5));
    }
}
