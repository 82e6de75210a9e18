//! Conflicts between blocks, accesses out of bounds, reads of unwritten memory, and barriers that
//! some warps do not reach.

use super::{Matrix, Row, load, misuses};
use ptx_matrix::copy::CpAsync;
use ptx_matrix::fragment::RowAddr;
use ptx_matrix::mma::{B16, LdMatrix, NoTrans, StMatrix, X1, X4};
use ptx_matrix::prelude::*;

misuses! {
    /// All blocks write one element; with `mended`, each block its own.
    blocks_write_one_element(32, "sm_80", mended, block, _row: Row, _a, d, _nothing) {
        let number = block.index().x;
        let to = if mended { number as usize } else { 0 };
        block.warp().each(|lane| {
            if lane.id() == 0 {
                d.set(to, number);
            }
        });
    }

    /// Each block reads an element that the next block writes; with `mended`, its own.
    blocks_read_anothers(32, "sm_80", mended, block, _row: Row, _a, d, _nothing) {
        let number = block.index().x as usize;
        let from = if mended { number } else { (number + 1) % 4 };
        block.warp().each(|lane| {
            if lane.id() == 0 {
                d.set(number, number as u32);
                d.set(64 + number, d.get(lane, from));
            }
        });
    }

    /// A read of unwritten shared memory.
    unwritten_shared(32, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let warp = block.warp();
        if mended {
            row.fill(warp, |_, col| col as u32);
        }
        warp.sync();
        warp.each(|lane| d.set(lane.id(), row.get(lane, (0, lane.id()))));
    }

    /// `ldmatrix` loads unwritten shared memory.
    unwritten_ldmatrix(32, "sm_80", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        if mended {
            tile.fill(warp, |row, col| (row * 16 + col) as u16);
        }
        warp.sync();
        load(warp, tile, d);
    }

    /// A read of unwritten global memory.
    unwritten_global(32, "sm_80", mended, block, _row: Row, a, d, nothing) {
        let from = if mended { a } else { nothing };
        block.warp().each(|lane| d.set(lane.id(), from.get(lane.id())));
    }

    /// A copy of unwritten global memory to shared memory.
    unwritten_copy(32, "sm_80", mended, block, row: Row, a, d, nothing) {
        let warp = block.warp();
        row.copy_async(warp, if mended { a } else { nothing }, |_, col| col);
        CpAsync::<16>::commit(warp);
        CpAsync::<16>::wait::<0>(warp);
        warp.sync();
        row.for_each(warp, |_, col, value| d.set(col, value));
    }

    /// A handmade row address of `ldmatrix` is beyond the block's shared memory.
    ldmatrix_out_of_bounds(32, "sm_80", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        tile.fill(warp, |row, col| (row * 16 + col) as u16);
        warp.sync();
        let beyond = if mended { 0 } else { 1 << 19 };
        let rows = warp.each(|lane| {
            // SAFETY: None. This is the misuse; a GPU faults.
            unsafe {
                RowAddr::from_address(tile.address() + if lane.id() == 5 { beyond } else { 0 })
            }
        });
        let registers = LdMatrix::<X4, NoTrans, B16>::load(warp, rows);
        warp.each(|lane| d.set(lane.id(), lane.get(&registers)[0]));
    }

    /// A handmade row address of `stmatrix` is just after the block's shared memory.
    stmatrix_out_of_bounds(32, "sm_90", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        tile.fill(warp, |row, col| (row * 16 + col) as u16);
        warp.sync();
        let beyond = if mended { 496 } else { 512 };
        let rows = warp.each(|lane| {
            // SAFETY: None. This is the misuse. The memory after the block's own belongs to no
            // other block.
            unsafe {
                RowAddr::from_address(
                    tile.address() + if lane.id() == 5 { beyond } else { lane.id() as u32 * 16 },
                )
            }
        });
        StMatrix::<X1, NoTrans, B16>::store(warp, rows, PerLane::splat([1]));
        warp.sync();
        warp.each(|lane| d.set(lane.id(), tile.get(lane, (0, lane.id() % 16)).into()));
    }

    /// A handmade row address of `ldmatrix` is not a multiple of 16.
    ldmatrix_misaligned(32, "sm_80", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        tile.fill(warp, |row, col| (row * 16 + col) as u16);
        warp.sync();
        let off = if mended { 0 } else { 8 };
        let rows = warp.each(|lane| {
            // SAFETY: None. This is the misuse; a GPU faults.
            unsafe { RowAddr::from_address(tile.address() + if lane.id() == 5 { off } else { 0 }) }
        });
        let registers = LdMatrix::<X4, NoTrans, B16>::load(warp, rows);
        warp.each(|lane| d.set(lane.id(), lane.get(&registers)[0]));
    }

    /// A handmade tile is beyond the block's shared memory, and a lane writes to it.
    element_out_of_bounds(32, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let warp = block.warp();
        let beyond = if mended { 0 } else { 1 << 19 };
        // SAFETY: None. This is the misuse; a GPU faults.
        let elsewhere = unsafe { Row::from_address(row.address() + beyond) };
        warp.each(|lane| elsewhere.set((0, lane.id()), 1));
        warp.sync();
        warp.each(|lane| d.set(lane.id(), elsewhere.get(lane, (0, lane.id()))));
    }

    /// Unchecked reads beyond a slice.
    global_out_of_bounds(32, "sm_80", mended, block, _row: Row, a, d, _nothing) {
        let beyond = if mended { 0 } else { a.len() };
        block.warp().each(|lane| {
            // SAFETY: None. This is the misuse.
            d.set(lane.id(), unsafe { a.get_unchecked(lane.id() + beyond) });
        });
    }

    /// A warp ends without reaching the `sync` at which the other warp waits.
    sync_not_reached(64, "sm_80", mended, block, _row: Row, _a, d, _nothing) {
        let warp = block.warp();
        if mended || warp.index() == 0 {
            block.sync();
        }
        d.set(512 + warp.index(), 1);
    }

    /// A warp reaches one `sync` more than the other.
    sync_too_often(64, "sm_80", mended, block, _row: Row, _a, d, _nothing) {
        let warp = block.warp();
        let often = if mended { 2 } else { 1 + warp.index() };
        for round in 0..often {
            d.set(warp.index() * 8 + round, 1);
            block.sync();
        }
    }
}
