//! Lanes of one warp that diverge before a collective, through the `unsafe` functions of `raw`.

use super::{Row, leave, misuses};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;

misuses! {
    /// Half of a warp reaches the barrier of the block.
    block_barrier_for_half_a_warp(64, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let (warp, first) = (block.warp(), block.warp().index() * LANES);
        let read = warp.each(|lane| {
            row.set((0, first + lane.id()), lane.id() as u32);
            if mended || first + lane.id() >= 16 {
                // SAFETY: With `mended`, all lanes reach this.
                unsafe { raw::bar_sync() };
            }
            row.get(lane, (0, first + lane.id()))
        });
        leave(warp, d, read);
    }

    /// One half of each warp reaches one barrier, the other half another one.
    block_barrier_at_two_places(64, "sm_80", mended, block, row: Row, _a, d, _nothing) {
        let (warp, first) = (block.warp(), block.warp().index() * LANES);
        let read = warp.each(|lane| {
            if mended || lane.id() < 16 {
                row.set((0, first + lane.id()), 1);
                // SAFETY: With `mended`, all lanes reach this.
                unsafe { raw::bar_sync() };
            } else {
                row.set((0, first + lane.id()), 2);
                // SAFETY: With `mended`, no lane reaches this.
                unsafe { raw::bar_sync() };
            }
            row.get(lane, (0, first + lane.id()))
        });
        leave(warp, d, read);
    }

    /// Half of a warp reaches the barrier of the whole warp.
    warp_barrier_for_half_a_warp(32, "sm_80", mended, block, _row: Row, _a, d, _nothing) {
        let warp = block.warp();
        let numbers = warp.each(|lane| {
            if mended || lane.id() < 16 {
                // SAFETY: With `mended`, all lanes reach this.
                unsafe { raw::bar_warp_sync() };
            }
            lane.id() as u32
        });
        leave(warp, d, numbers);
    }

    /// Half of a warp executes an `mma`.
    product_by_half_a_warp(32, "sm_80", mended, block, _row: Row, _a, d, _nothing) {
        let warp = block.warp();
        let ones = u32::from(f16::ONE.to_bits()) * 0x1_0001;
        let acc = warp.each(|lane| {
            if mended || lane.id() < 16 {
                // SAFETY: With `mended`, all lanes reach this.
                unsafe {
                    raw::mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32(
                        [ones; 2],
                        [ones],
                        [lane.id() as u32; 4],
                    )[0]
                }
            } else {
                0
            }
        });
        leave(warp, d, acc);
    }
}
