//! In the simulator, the raw functions return the same as the typed instructions.

use ptx_matrix::copy::CpAsync;
use ptx_matrix::mma::{B16, LdMatrix, MovMatrix, NoTrans, StMatrix, Trans, X1, X2, X4};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{Simulator, Trace};

/// Unrelated numbers; `salt` selects others.
fn numbers(salt: u32, lane: usize, register: usize) -> u32 {
    (salt * 4096 + lane as u32 * 16 + register as u32 + 1).wrapping_mul(0x9e37_79b9).rotate_left(13)
}

fn registers<const N: usize>(salt: u32, lane: usize) -> [u32; N] {
    core::array::from_fn(|register| numbers(salt, lane, register))
}

type Tile = SharedTile<u16, 32, 8>;

/// For each form of `ldmatrix` and `stmatrix`, kernels that run it raw, then typed.
macro_rules! moves {
    ($($load:ident $load_raw:ident $store:ident $store_raw:ident $count:ident $trans:ident
        $n:literal;)*) => {
        $(
            #[kernel(threads = 32)]
            fn $load(
                block: &Block,
                #[shared] tile: Tile,
                d: GlobalMut<u32>,
                expected: GlobalMut<u32>,
            ) {
                let warp = block.warp();
                tile.fill(warp, |row, col| (row * 8 + col) as u16);
                warp.sync();
                warp.each(|lane| {
                    // SAFETY: All lanes reach this together, with rows of the tile.
                    let registers = unsafe { raw::$load_raw(tile.row((lane.id(), 0)).address()) };
                    registers
                        .iter()
                        .enumerate()
                        .for_each(|(i, &register)| d.set(lane.id() * $n + i, register));
                });
                let rows = warp.each(|lane| tile.row((lane.id(), 0)));
                let registers = LdMatrix::<$count, $trans, B16>::load(warp, rows);
                warp.each(|lane| {
                    for (i, register) in lane.get(&registers).into_iter().enumerate() {
                        expected.set(lane.id() * $n + i, register);
                    }
                });
            }

            #[kernel(threads = 32, target = "sm_90")]
            fn $store(
                block: &Block,
                #[shared] tiles: [Tile; 2],
                d: GlobalMut<u16>,
                expected: GlobalMut<u16>,
            ) {
                let warp = block.warp();
                tiles.iter().for_each(|tile| tile.fill(warp, |_, _| 7));
                warp.sync();
                warp.each(|lane| {
                    let row = tiles[0].row((lane.id(), 0)).address();
                    // SAFETY: All lanes reach this together, with rows of the tile.
                    unsafe { raw::$store_raw(row, registers(4, lane.id())) }
                });
                let rows = warp.each(|lane| tiles[1].row((lane.id(), 0)));
                StMatrix::<$count, $trans, B16>::store(
                    warp,
                    rows,
                    warp.each(|lane| registers(4, lane.id())),
                );
                warp.sync();
                tiles[0].for_each(warp, |row, col, value| d.set(row * 8 + col, value));
                tiles[1].for_each(warp, |row, col, value| expected.set(row * 8 + col, value));
            }
        )*

        #[test]
        fn every_ldmatrix() {
            $(
                let (mut d, mut expected) = ([0; 32 * $n], [0; 32 * $n]);
                $load::simulate(1, &mut d, &mut expected).unwrap().check().unwrap();
                assert_eq!(d, expected, stringify!($load_raw));
                assert_ne!(d, [0; 32 * $n]);
            )*
        }

        #[test]
        fn every_stmatrix() {
            $(
                let (mut d, mut expected) = ([0; 256], [0; 256]);
                $store::simulate(1, &mut d, &mut expected).unwrap().check().unwrap();
                assert_eq!(d, expected, stringify!($store_raw));
                assert_eq!(d.iter().filter(|&&element| element == 7).count(), 256 - 64 * $n);
            )*
        }
    };
}

moves! {
    ld_x1 ldmatrix_sync_aligned_m8n8_x1_shared_b16
        st_x1 stmatrix_sync_aligned_m8n8_x1_shared_b16 X1 NoTrans 1;
    ld_x2 ldmatrix_sync_aligned_m8n8_x2_shared_b16
        st_x2 stmatrix_sync_aligned_m8n8_x2_shared_b16 X2 NoTrans 2;
    ld_x4 ldmatrix_sync_aligned_m8n8_x4_shared_b16
        st_x4 stmatrix_sync_aligned_m8n8_x4_shared_b16 X4 NoTrans 4;
    ld_x1_trans ldmatrix_sync_aligned_m8n8_x1_trans_shared_b16
        st_x1_trans stmatrix_sync_aligned_m8n8_x1_trans_shared_b16 X1 Trans 1;
    ld_x2_trans ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16
        st_x2_trans stmatrix_sync_aligned_m8n8_x2_trans_shared_b16 X2 Trans 2;
    ld_x4_trans ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16
        st_x4_trans stmatrix_sync_aligned_m8n8_x4_trans_shared_b16 X4 Trans 4;
}

#[kernel(threads = 32)]
fn transpose(block: &Block, d: GlobalMut<u32>, expected: GlobalMut<u32>) {
    let warp = block.warp();
    warp.each(|lane| {
        // SAFETY: All lanes reach this together.
        let register =
            unsafe { raw::movmatrix_sync_aligned_m8n8_trans_b16(numbers(5, lane.id(), 0)) };
        d.set(lane.id(), register);
    });
    let transposed =
        MovMatrix::<Trans, B16>::transpose(warp, warp.each(|lane| numbers(5, lane.id(), 0)));
    warp.each(|lane| expected.set(lane.id(), lane.get(&transposed)));
}

#[test]
fn movmatrix() {
    let (mut d, mut expected) = ([0; 32], [0; 32]);
    transpose::simulate(1, &mut d, &mut expected).unwrap();
    assert_eq!(d, expected);
    assert_ne!(d, [0; 32]);
}

/// For each width, elements that are stored raw and loaded typed, and the reverse.
macro_rules! elements {
    ($($kernel:ident $element:ident $moved:ident $load:ident $store:ident;)*) => {
        $(
            #[kernel(threads = 32)]
            fn $kernel(
                block: &Block,
                #[shared] tiles: [SharedTile<$element, 2, 16>; 2],
                d: GlobalMut<$element>,
                e: GlobalMut<$element>,
            ) {
                let value = |lane: usize| numbers(6, lane, 0) as $element;
                let at = |lane: usize| (lane / 16, lane % 16);
                let address = |lane: usize| (lane * size_of::<$element>()) as u32;
                block.warp().each(|lane| {
                    let id = lane.id();
                    // SAFETY: The address is an element of the tile.
                    unsafe { raw::$store(tiles[0].address() + address(id), value(id) as $moved) };
                    d.set(id, tiles[0].get(lane, at(id)));
                    tiles[1].set(at(id), value(id));
                    // SAFETY: The address is an element of the tile.
                    e.set(id, unsafe { raw::$load(tiles[1].address() + address(id)) } as $element);
                });
            }
        )*

        #[test]
        #[allow(clippy::unnecessary_cast, reason = "one of the widths is that of the numbers")]
        fn every_element() {
            $(
                let (mut d, mut e) = ([0; 32], [0; 32]);
                $kernel::simulate(1, &mut d, &mut e).unwrap();
                let expected = core::array::from_fn(|lane| numbers(6, lane, 0) as $element);
                assert_eq!(d, expected, stringify!($store));
                assert_eq!(e, expected, stringify!($load));
            )*
        }
    };
}

elements! {
    bytes u8 u16 ld_shared_u8 st_shared_u8;
    words_of_16 u16 u16 ld_shared_b16 st_shared_b16;
    words_of_32 u32 u32 ld_shared_b32 st_shared_b32;
    words_of_64 u64 u64 ld_shared_b64 st_shared_b64;
}

/// For each size of copy, full and partial, 32 lanes copy raw and typed.
macro_rules! copies {
    ($($kernel:ident $copy:ident $copy_some:ident $bytes:literal;)*) => {
        $(
            #[kernel(threads = 32, target = "sm_80")]
            fn $kernel(
                block: &Block,
                #[shared] tiles: [SharedTile<u8, 32, 16>; 4],
                a: Global<u8>,
                d: GlobalMut<u8>,
            ) {
                let warp = block.warp();
                tiles.iter().for_each(|tile| tile.fill(warp, |_, _| 0xee));
                warp.sync();
                warp.each(|lane| {
                    let (row, from) = (lane.id(), lane.id() * $bytes);
                    let to = |tile: usize| tiles[tile].address() + row as u32 * 16;
                    // SAFETY: The addresses are within the slice, and the tile is read after the
                    // wait.
                    unsafe {
                        raw::$copy(to(0), a.as_ptr().add(from));
                        raw::$copy_some(to(1), a.as_ptr().add(from), 3);
                    }
                    CpAsync::<$bytes>::copy(lane, &tiles[2], (row, 0), a, from);
                    CpAsync::<$bytes>::copy_some(lane, &tiles[3], (row, 0), a, from, 3);
                    raw::cp_async_commit_group();
                    raw::cp_async_wait_group::<0>();
                });
                warp.sync();
                for (i, tile) in tiles.into_iter().enumerate() {
                    tile.for_each(warp, |row, col, value| d.set(i * 512 + row * 16 + col, value));
                }
            }
        )*

        #[test]
        fn every_copy() {
            $(
                let a: [u8; 32 * $bytes] = core::array::from_fn(|i| (i % 251) as u8 + 1);
                let mut d = [0; 4 * 512];
                $kernel::simulate(1, &a, &mut d).unwrap().check().unwrap();
                assert_eq!(d[..1024], d[1024..], stringify!($copy));
                assert_eq!(d[16..16 + $bytes], a[$bytes..2 * $bytes]);
                assert_eq!(d[512 + 16..][..4], [a[$bytes], a[$bytes + 1], a[$bytes + 2], 0]);
            )*
        }
    };
}

copies! {
    copy_4 cp_async_ca_shared_global_4 cp_async_ca_shared_global_4_src 4;
    copy_8 cp_async_ca_shared_global_8 cp_async_ca_shared_global_8_src 8;
    copy_16 cp_async_cg_shared_global_16 cp_async_cg_shared_global_16_src 16;
}

#[kernel(threads = 64)]
fn indices(block: &Block, d: GlobalMut<u32>) {
    let [x, y, z] = raw::index::block();
    let [width, height, _] = raw::index::grid();
    let first = ((z * height + y) * width + x) * 64;
    block.warp().each(|_| {
        // SAFETY: This is in a lane closure.
        let index = first + unsafe { raw::index::thread() };
        d.set(index as usize, index);
    });
}

#[test]
fn index_functions() {
    let mut d = [0; 2 * 3 * 2 * 64];
    indices::simulate((2, 3, 2), &mut d).unwrap();
    assert_eq!(d, core::array::from_fn(|i| i as u32));
}

#[kernel(threads = 64)]
fn rotate(block: &Block, #[shared] tile: SharedTile<u32, 1, 64>, d: GlobalMut<u32>) {
    block.warp().each(|lane| {
        // SAFETY: This is in a lane closure.
        let thread = unsafe { raw::index::thread() };
        // SAFETY: The addresses are elements of the tile. All lanes reach the barriers together.
        unsafe {
            raw::st_shared_b32(tile.address() + thread * 4, thread);
            raw::bar_warp_sync();
            let within = thread / 32 * 32 + (thread + 1) % 32;
            d.set(thread as usize, raw::ld_shared_b32(tile.address() + within * 4));
            raw::bar_sync();
            let across = (thread + 32) % 64;
            d.set(64 + thread as usize, raw::ld_shared_b32(tile.address() + across * 4));
        }
        assert_eq!(lane.id(), thread as usize % 32, "a lane goes on as itself");
    });
}

/// Both barriers order the accesses before them and after them, for the checks too.
#[test]
fn barriers() {
    for seed in 0..8 {
        let mut d = [0; 128];
        rotate::launch(&Simulator::new(seed), 1, &mut d).unwrap().check().unwrap();
        for thread in 0..64 {
            assert_eq!(d[thread], (thread / 32 * 32 + (thread + 1) % 32) as u32);
            assert_eq!(d[64 + thread], ((thread + 32) % 64) as u32);
        }
    }
}

/// The executed instructions of a warp, with their lanes.
fn executed(trace: &Trace) -> Vec<(&'static str, usize)> {
    trace
        .events()
        .filter(|event| event.warp == 0)
        .map(|event| (event.instruction, event.lanes))
        .collect()
}

/// The accesses of a closure are grouped up to each collective.
#[test]
fn trace_splits_closure_at_collectives() {
    let report =
        rotate::launch(&Simulator::default().traced().profiled(), 1, &mut [0; 128]).unwrap();
    let expected = [
        ("st.shared.b32", 32),
        ("bar.warp.sync", 32),
        ("ld.shared.b32", 32),
        ("st.global.b32", 32),
        ("bar.sync", 32),
        ("ld.shared.b32", 32),
        ("st.global.b32", 32),
    ];
    assert_eq!(executed(&report.trace.unwrap()), expected);
    assert_eq!(report.profile.unwrap().warps("bar.warp.sync"), 2);
}

#[kernel(threads = 32, target = "sm_80")]
fn wait_in_lanes(block: &Block, #[shared] tile: SharedTile<u32, 1, 32>, a: Global<u32>) {
    block.warp().each(|lane| {
        CpAsync::<4>::copy(lane, &tile, (0, lane.id()), a, lane.id());
        raw::cp_async_commit_group();
        raw::cp_async_wait_group::<0>();
    });
}

#[test]
fn trace_of_cp_async_groups_in_lanes() {
    let report = wait_in_lanes::launch(&Simulator::default().traced(), 1, &[1; 32]).unwrap();
    let expected = [
        ("cp.async.ca.shared.global 4", 32),
        ("cp.async.commit_group", 32),
        ("cp.async.wait_group", 32),
    ];
    assert_eq!(executed(&report.trace.unwrap()), expected);
}
