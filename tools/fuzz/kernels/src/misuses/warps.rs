//! Conflicts between the warps of a block, without a `block.sync` between the accesses.

use super::{Matrix, Row, load, misuses, rows};
use ptx_matrix::mma::{B16, NoTrans, StMatrix, X4};
use ptx_matrix::prelude::*;

misuses! {
    /// Each warp reads elements that the other has written.
    warps_read_after_write(64, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let (warp, first) = (block.warp(), block.warp().index() * 32);
        warp.each(|lane| row.set((0, first + lane.id()), lane.id() as u32));
        if mended {
            block.sync();
        }
        warp.each(|lane| d.set(first + lane.id(), row.get(lane, (0, 63 - first - lane.id()))));
    }

    /// The same with a `sync` of the warp, which does not order the other warp.
    warp_sync_between_warps(64, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let (warp, first) = (block.warp(), block.warp().index() * 32);
        warp.each(|lane| row.set((0, first + lane.id()), lane.id() as u32));
        if mended {
            block.sync();
        } else {
            warp.sync();
        }
        warp.each(|lane| d.set(first + lane.id(), row.get(lane, (0, 63 - first - lane.id()))));
    }

    /// Each warp writes elements that the other has read.
    warps_write_after_read(64, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let (warp, first) = (block.warp(), block.warp().index() * 32);
        row.fill(block, |_, col| col as u32);
        block.sync();
        let read = warp.each(|lane| row.get(lane, (0, 63 - first - lane.id())));
        if mended {
            block.sync();
        }
        warp.each(|lane| row.set((0, first + lane.id()), lane.get(&read) + 100));
        block.sync();
        row.for_each(block, |_, col, value| d.set(col, value));
    }

    /// Both warps write the same elements; with `mended`, one after the other.
    warps_write_after_write(64, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let warp = block.warp();
        let number = warp.index() as u32;
        if number == 0 {
            row.fill(warp, |_, _| number);
        }
        if mended {
            block.sync();
        }
        if number == 1 {
            row.fill(warp, |_, _| number);
        }
        block.sync();
        row.for_each(block, |_, col, value| d.set(col, value));
    }

    /// A loop reuses one buffer without a second barrier: the next round's writes race with this
    /// round's reads.
    second_barrier(64, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let (warp, first) = (block.warp(), block.warp().index() * 32);
        for round in 0..4 {
            warp.each(|lane| row.set((0, first + lane.id()), (first + lane.id()) as u32 + round));
            block.sync();
            warp.each(|lane| d.set(first + lane.id(), row.get(lane, (0, 63 - first - lane.id()))));
            if mended {
                block.sync();
            }
        }
    }

    /// A tree sum by halves, without a barrier between the halves.
    sum_by_halves(128, "sm_80", mended, block, row: SharedTile<u32, 1, 128>, a, d, _nothing) {
        let (warp, first) = (block.warp(), block.warp().index() * 32);
        row.fill(block, |_, col| a.get(col));
        block.sync();
        for half in [64, 32] {
            warp.each(|lane| {
                let thread = first + lane.id();
                if thread < half {
                    row.set(
                        (0, thread),
                        row.get(lane, (0, thread)) + row.get(lane, (0, thread + half)),
                    );
                }
            });
            if mended {
                block.sync();
            }
        }
        if warp.index() == 0 {
            warp.each(|lane| d.set(lane.id(), row.get(lane, (0, lane.id()))));
        }
    }

    /// `ldmatrix` loads a tile that another warp fills.
    ldmatrix_of_another_warp(64, "sm_80", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        if warp.index() == 0 {
            tile.fill(warp, |row, col| (row * 16 + col) as u16);
        }
        if mended {
            block.sync();
        }
        if warp.index() == 1 {
            load(warp, tile, d);
        }
    }

    /// A warp reads a tile that another has stored with `stmatrix`.
    read_of_anothers_stmatrix(64, "sm_90", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        if warp.index() == 0 {
            StMatrix::<X4, NoTrans, B16>::store(
                warp,
                rows(warp, tile),
                PerLane::splat([1, 2, 3, 4]),
            );
        }
        if mended {
            block.sync();
        }
        if warp.index() == 1 {
            warp.each(|lane| d.set(lane.id(), tile.get(lane, (lane.id() % 16, 3)).into()));
        }
    }

    /// A warp stores with `stmatrix` to a tile that another loads with `ldmatrix`.
    stmatrix_over_anothers_ldmatrix(64, "sm_90", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        tile.fill(block, |row, col| (row * 16 + col) as u16);
        block.sync();
        if warp.index() == 0 {
            load(warp, tile, d);
        }
        if mended {
            block.sync();
        }
        if warp.index() == 1 {
            StMatrix::<X4, NoTrans, B16>::store(
                warp,
                rows(warp, tile),
                PerLane::splat([1, 2, 3, 4]),
            );
        }
    }

    /// Two warps store to one tile with `stmatrix`.
    stmatrix_over_anothers_stmatrix(64, "sm_90", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        for writer in 0..2 {
            if warp.index() == writer {
                let registers = PerLane::splat([writer as u32; 4]);
                StMatrix::<X4, NoTrans, B16>::store(warp, rows(warp, tile), registers);
            }
            if mended {
                block.sync();
            }
        }
        block.sync();
        tile.for_each(block, |row, col, value| d.set(row * 16 + col, value.into()));
    }

    /// Each warp reads elements of global memory that the other has written.
    warps_read_after_write_global(64, "sm_80", mended, block, _row: Row, _a, d, _nothing) {
        let (warp, first) = (block.warp(), block.warp().index() * 32);
        warp.each(|lane| d.set(first + lane.id(), lane.id() as u32));
        if mended {
            block.sync();
        }
        warp.each(|lane| d.set(64 + first + lane.id(), d.get(lane, 63 - first - lane.id())));
    }
}
