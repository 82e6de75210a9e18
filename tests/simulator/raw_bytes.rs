//! `ldmatrix` and `stmatrix` with one-byte elements, as raw functions. They do the same as the
//! typed instructions, and misuses are found.

use crate::assert_at;
use ptx_matrix::mma::{B4x16P64, B6x16P32, B8, LdMatrix, NoTrans, StMatrix, Trans, X1, X2, X4};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{AccessKind, Misuse, SHARED_BASE, SimError};
use ptx_matrix::{ldmatrix_forms, raw, stmatrix_forms};

/// 32 rows of 16 bytes.
type Tile = SharedTile<u8, 32, 16>;

fn number(lane: usize, register: usize) -> u32 {
    (lane as u32 * 16 + register as u32 + 1).wrapping_mul(0x9e37_79b9).rotate_left(13)
}

/// For each form, a kernel that runs it raw, then typed.
macro_rules! loads {
    ($($name:ident $ptx:literal $count:ident $trans:ident $element:ident ($($r:ident)+)
        $arrangement:tt $needs:ident $version:literal $nature:ident;)*) => {
        $(loads! { @$element $name $count $trans [[$(stringify!($r)),+].len()] })*
    };
    // `raw_forms.rs` has these.
    (@B16 $($row:tt)*) => {};
    (@$element:ident $name:ident $count:ident $trans:ident [$n:expr]) => {
        #[test]
        fn $name() {
            #[kernel(threads = 32, target = "sm_100a or sm_120a")]
            fn both(
                block: &Block,
                #[shared] tile: Tile,
                raw: GlobalMut<u32>,
                typed: GlobalMut<u32>,
            ) {
                let warp = block.warp();
                tile.fill(warp, |row, col| (row * 37 + col * 11 + 5) as u8);
                warp.sync();
                warp.each(|lane| {
                    // SAFETY: All lanes reach this together, with rows of the tile.
                    let registers = unsafe { raw::$name(tile.row((31 - lane.id(), 0)).address()) };
                    registers
                        .iter()
                        .enumerate()
                        .for_each(|(i, &register)| raw.set(lane.id() * $n + i, register));
                });
                let rows = warp.each(|lane| tile.row((31 - lane.id(), 0)));
                let registers = LdMatrix::<$count, $trans, $element>::load(warp, rows);
                warp.each(|lane| {
                    for (i, register) in lane.get(&registers).into_iter().enumerate() {
                        typed.set(lane.id() * $n + i, register);
                    }
                });
            }
            let (mut raw, mut typed) = ([0; 32 * $n], [0; 32 * $n]);
            both::simulate(1, &mut raw, &mut typed).check();
            assert_eq!(raw, typed);
            assert!(raw.iter().any(|register| *register != raw[0]));
        }
    };
}
ldmatrix_forms!(loads);

macro_rules! stores {
    ($($name:ident $ptx:literal $count:ident $trans:ident $element:ident ($($r:ident)+)
        $arrangement:tt $needs:ident $version:literal $nature:ident;)*) => {
        $(stores! { @$element $name $count $trans [[$(stringify!($r)),+].len()] })*
    };
    // `raw_forms.rs` has these.
    (@B16 $($row:tt)*) => {};
    (@$element:ident $name:ident $count:ident $trans:ident [$n:expr]) => {
        #[test]
        fn $name() {
            #[kernel(threads = 32, target = "sm_100a or sm_120a")]
            fn both(
                block: &Block,
                #[shared] tiles: [Tile; 2],
                raw: GlobalMut<u8>,
                typed: GlobalMut<u8>,
            ) {
                let warp = block.warp();
                tiles.iter().for_each(|tile| tile.fill(warp, |_, _| 7));
                warp.sync();
                warp.each(|lane| {
                    let row = tiles[0].row((31 - lane.id(), 0)).address();
                    // SAFETY: All lanes reach this together, with rows of the tile.
                    unsafe { raw::$name(row, core::array::from_fn(|i| number(lane.id(), i))) }
                });
                let rows = warp.each(|lane| tiles[1].row((31 - lane.id(), 0)));
                let registers = warp.each(|lane| core::array::from_fn(|i| number(lane.id(), i)));
                StMatrix::<$count, $trans, $element>::store(warp, rows, registers);
                warp.sync();
                tiles[0].for_each(warp, |row, col, value| raw.set(row * 16 + col, value));
                tiles[1].for_each(warp, |row, col, value| typed.set(row * 16 + col, value));
            }
            let (mut raw, mut typed) = ([0; 512], [0; 512]);
            both::simulate(1, &mut raw, &mut typed).check();
            assert_eq!(raw, typed);
            let (kept, stored) = raw.split_at(512 - 128 * $n);
            assert!(
                kept.iter().all(|byte| *byte == 7) && stored.iter().any(|byte| *byte != stored[0])
            );
        }
    };
}
stmatrix_forms!(stores);

/// Loads a matrix of sixteen rows, and stores it. Lane 9 gives the addresses `load_row` and
/// `store_row`. Rows from `unwritten` on are unwritten. Lanes from `lanes` on are missing.
#[kernel(threads = 32, target = "sm_100a or sm_120a")]
fn move_one(
    block: &Block,
    #[shared] tile: Tile,
    loaded: u32,
    stored: u32,
    unwritten: usize,
    lanes: usize,
) {
    let warp = block.warp();
    warp.each(|lane| {
        for col in 0..16 {
            if lane.id() < unwritten {
                tile.set((lane.id(), col), (lane.id() * 16 + col) as u8);
            }
        }
    });
    warp.sync();
    warp.each(|lane| {
        let address = |of_lane_9: u32| {
            if lane.id() == 9 { of_lane_9 } else { tile.row((lane.id(), 0)).address() }
        };
        // SAFETY: The tests say which arguments are valid.
        unsafe {
            let registers = raw::ldmatrix_sync_aligned_m16n16_x1_trans_shared_b8(address(loaded));
            // <- load
            raw::bar_warp_sync();
            if lane.id() < lanes {
                raw::stmatrix_sync_aligned_m16n8_x2_trans_shared_b8(address(stored), registers);
                // <- store
            }
        }
    });
}

const ROW_9: u32 = SHARED_BASE + 9 * 16;

fn moved(loaded: u32, stored: u32) -> Result<(), SimError> {
    move_one::simulate(1, loaded, stored, 32, 32).and_then(|report| report.check()).map(drop)
}

#[test]
fn valid_moves_run_clean() {
    moved(ROW_9, ROW_9).unwrap();
    // Row addresses of lanes after the sixteenth are not used.
    move_one::simulate(1, ROW_9, ROW_9, 16, 32).check();
}

#[test]
fn misaligned_or_outside_row_is_an_error() {
    for (loaded, stored, marker) in [(ROW_9 + 8, ROW_9, "load"), (ROW_9, ROW_9 + 8, "store")] {
        let error = moved(loaded, stored).unwrap_err();
        assert_eq!(error.misuse, Misuse::RowMisaligned { address: ROW_9 + 8 });
        assert_at(&error, marker, (0, 0, 0), 0, Some(9));
    }
    let address = SHARED_BASE + 512;
    for (loaded, stored, marker, access) in
        [(address, ROW_9, "load", AccessKind::Read), (ROW_9, address, "store", AccessKind::Write)]
    {
        let error = moved(loaded, stored).unwrap_err();
        assert_eq!(
            error.misuse,
            Misuse::SharedOutOfBounds { access, address, bytes: 16, size: 512 }
        );
        assert_at(&error, marker, (0, 0, 0), 0, Some(9));
    }
}

#[test]
fn load_of_an_unwritten_row_is_an_error() {
    let error = move_one::simulate(1, ROW_9, ROW_9, 12, 32).unwrap_err();
    assert_eq!(error.misuse, Misuse::SharedUnwritten { address: SHARED_BASE + 12 * 16, bytes: 16 });
    assert_at(&error, "load", (0, 0, 0), 0, Some(12));
}

#[test]
fn store_of_two_rows_to_one_address_is_a_race() {
    let error = moved(ROW_9, SHARED_BASE + 16).unwrap_err();
    assert!(matches!(error.misuse, Misuse::Race { .. }), "{error}");
    assert_at(&error, "store", (0, 0, 0), 0, Some(9));
}

#[test]
fn missing_lanes_diverge() {
    let error = move_one::simulate(1, ROW_9, ROW_9, 32, 16).unwrap_err();
    let Misuse::Divergence { waiting, ended } = &error.misuse else { panic!("{error}") };
    assert_eq!(waiting[0].form, "stmatrix.sync.aligned.m16n8.x2.trans.shared.b8");
    assert_eq!((waiting[0].lanes.len(), ended.len()), (16, 16));
    assert_at(&error, "store", (0, 0, 0), 0, None);
}
