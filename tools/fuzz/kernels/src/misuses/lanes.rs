//! Conflicts between the lanes of a warp, without a `warp.sync` between the accesses.

use super::{Matrix, Row, load, misuses, rows};
use ptx_matrix::mma::{B16, NoTrans, StMatrix, X4};
use ptx_matrix::prelude::*;

misuses! {
    /// Each lane reads an element that another lane has written.
    lanes_read_after_write(32, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let warp = block.warp();
        warp.each(|lane| row.set((0, lane.id()), lane.id() as u32));
        if mended {
            warp.sync();
        }
        warp.each(|lane| d.set(lane.id(), row.get(lane, (0, 31 - lane.id()))));
    }

    /// Each lane writes an element that another lane has read.
    lanes_write_after_read(32, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let warp = block.warp();
        warp.each(|lane| row.set((0, lane.id()), lane.id() as u32));
        warp.sync();
        let read = warp.each(|lane| row.get(lane, (0, 31 - lane.id())));
        if mended {
            warp.sync();
        }
        warp.each(|lane| row.set((0, lane.id()), lane.get(&read) + 100));
        warp.sync();
        warp.each(|lane| d.set(lane.id(), row.get(lane, (0, lane.id()))));
    }

    /// The lanes write different values to one element; with `mended`, one lane does.
    lanes_write_one_element(32, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let warp = block.warp();
        warp.each(|lane| {
            if !mended || lane.id() == 7 {
                row.set((0, 0), lane.id() as u32);
            }
        });
        warp.sync();
        warp.each(|lane| d.set(lane.id(), row.get(lane, (0, 0))));
    }

    /// The lanes write the same value to one element, which is defined.
    lanes_write_the_same(32, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let warp = block.warp();
        warp.each(|lane| {
            if !mended || lane.id() == 7 {
                row.set((0, 0), 7);
            }
        });
        warp.sync();
        warp.each(|lane| d.set(lane.id(), row.get(lane, (0, 0))));
    }

    /// All lanes write one value, then one of them another value.
    uniform_then_lane(32, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let warp = block.warp();
        row.set((0, 0), 1);
        if mended {
            warp.sync();
        }
        warp.each(|lane| {
            if lane.id() == 3 {
                row.set((0, 0), 2);
            }
        });
        warp.sync();
        warp.each(|lane| d.set(lane.id(), row.get(lane, (0, 0))));
    }

    /// `ldmatrix` loads elements that the lanes have just written.
    fill_then_ldmatrix(32, "sm_80", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        tile.fill(warp, |row, col| (row * 16 + col) as u16);
        if mended {
            warp.sync();
        }
        load(warp, tile, d);
    }

    /// The lanes overwrite elements that `ldmatrix` has just loaded.
    ldmatrix_then_fill(32, "sm_80", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        tile.fill(warp, |row, col| (row * 16 + col) as u16);
        warp.sync();
        load(warp, tile, d);
        if mended {
            warp.sync();
        }
        tile.fill(warp, |row, col| (row * 16 + col + 1000) as u16);
        warp.sync();
        warp.each(|lane| d.set(32 + lane.id(), tile.get(lane, (0, lane.id() % 16)).into()));
    }

    /// `ldmatrix` loads elements that `stmatrix` has just stored.
    stmatrix_then_ldmatrix(32, "sm_90", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        let registers = warp.each(|lane| [lane.id() as u32; 4]);
        StMatrix::<X4, NoTrans, B16>::store(warp, rows(warp, tile), registers);
        if mended {
            warp.sync();
        }
        load(warp, tile, d);
    }

    /// The lanes read elements that `stmatrix` has just stored.
    stmatrix_then_read(32, "sm_90", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        let registers = warp.each(|lane| [lane.id() as u32; 4]);
        StMatrix::<X4, NoTrans, B16>::store(warp, rows(warp, tile), registers);
        if mended {
            warp.sync();
        }
        warp.each(|lane| d.set(lane.id(), tile.get(lane, (lane.id() % 16, 3)).into()));
    }

    /// `stmatrix` stores to elements that the lanes have just written.
    fill_then_stmatrix(32, "sm_90", mended, block, tile: Matrix, _a, d, _nothing) {
        let warp = block.warp();
        tile.fill(warp, |row, col| (row * 16 + col + 1000) as u16);
        if mended {
            warp.sync();
        }
        let registers = warp.each(|lane| [lane.id() as u32; 4]);
        StMatrix::<X4, NoTrans, B16>::store(warp, rows(warp, tile), registers);
        warp.sync();
        warp.each(|lane| d.set(lane.id(), tile.get(lane, (lane.id() % 16, 3)).into()));
    }

    /// The result of an `mma` is stored to the tile that its next operand is loaded from.
    product_then_ldmatrix(
        32, "sm_80", mended, block, tile: SharedTile<bf16, 16, 16>, _a, d, _nothing
    ) {
        let warp = block.warp();
        tile.fill(warp, |row, col| bf16::from_f32((row + col) as f32));
        warp.sync();
        let a = FragmentA::<M16N8K16, bf16>::load(warp, &tile, At::<0, 0>);
        let b = FragmentB::<M16N8K16, bf16>::load(warp, &tile, At::<0, 0>);
        let mut acc = Accumulator::<M16N8K16, f32>::zero();
        Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &a, &b);
        warp.sync();
        acc.map(warp, |_, _, value| bf16::from_f32(value)).store(warp, &tile, (0, 8));
        if mended {
            warp.sync();
        }
        let a = FragmentA::<M16N8K16, bf16>::load(warp, &tile, At::<0, 0>);
        Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &a, &b);
        acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value.to_bits()));
    }

    /// Each lane reads an element of global memory that another lane has written.
    lanes_read_after_write_global(32, "sm_80", mended, block, _row: Row, _a, d, _nothing) {
        let warp = block.warp();
        warp.each(|lane| d.set(lane.id(), lane.id() as u32));
        if mended {
            warp.sync();
        }
        warp.each(|lane| d.set(64 + lane.id(), d.get(lane, 31 - lane.id())));
    }
}
