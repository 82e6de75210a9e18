//! `ldmatrix`, `stmatrix` and `movmatrix`: kernels for each form.

use super::{ROUND, WARPS, time};
use core::array::from_fn;
use ptx_matrix::mma::{B16, MovMatrix, Trans};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;

/// Matrix rows of a warp: one for each lane, up to 128 bytes apart.
pub type Rows = SharedTile<u16, { 32 * 8 }, 8>;

/// Bytes from a lane's row to the next lane's, and the number of a matrix's eight rows that then
/// share banks.
pub const STRIDES: [(u32, u32); 4] = [(16, 1), (32, 2), (64, 4), (128, 8)];

/// Calls a macro with the load forms: the latency kernel, the throughput kernel, the function, its
/// PTX, and whether it transposes.
#[macro_export]
macro_rules! timed_loads {
    ($with:ident) => {
        $with! {
            latency_ld_x1 time_ld_x1 ldmatrix_sync_aligned_m8n8_x1_shared_b16
                "ldmatrix.sync.aligned.m8n8.x1.shared.b16" false;
            latency_ld_x2 time_ld_x2 ldmatrix_sync_aligned_m8n8_x2_shared_b16
                "ldmatrix.sync.aligned.m8n8.x2.shared.b16" false;
            latency_ld_x4 time_ld_x4 ldmatrix_sync_aligned_m8n8_x4_shared_b16
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16" false;
            latency_ld_x1_trans time_ld_x1_trans ldmatrix_sync_aligned_m8n8_x1_trans_shared_b16
                "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16" true;
            latency_ld_x2_trans time_ld_x2_trans ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16
                "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16" true;
            latency_ld_x4_trans time_ld_x4_trans ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16" true;
        }
    };
}

/// Calls a macro with the store forms: a kernel that loads back its stores, the throughput kernel,
/// both functions, the PTX of the store, and its matrices.
#[macro_export]
macro_rules! timed_stores {
    ($with:ident) => {
        $with! {
            latency_st_x1 time_st_x1 stmatrix_sync_aligned_m8n8_x1_shared_b16
                ldmatrix_sync_aligned_m8n8_x1_shared_b16
                "stmatrix.sync.aligned.m8n8.x1.shared.b16" 1;
            latency_st_x2 time_st_x2 stmatrix_sync_aligned_m8n8_x2_shared_b16
                ldmatrix_sync_aligned_m8n8_x2_shared_b16
                "stmatrix.sync.aligned.m8n8.x2.shared.b16" 2;
            latency_st_x4 time_st_x4 stmatrix_sync_aligned_m8n8_x4_shared_b16
                ldmatrix_sync_aligned_m8n8_x4_shared_b16
                "stmatrix.sync.aligned.m8n8.x4.shared.b16" 4;
            latency_st_x1_trans time_st_x1_trans stmatrix_sync_aligned_m8n8_x1_trans_shared_b16
                ldmatrix_sync_aligned_m8n8_x1_trans_shared_b16
                "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16" 1;
            latency_st_x2_trans time_st_x2_trans stmatrix_sync_aligned_m8n8_x2_trans_shared_b16
                ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16
                "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16" 2;
            latency_st_x4_trans time_st_x4_trans stmatrix_sync_aligned_m8n8_x4_trans_shared_b16
                ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16
                "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16" 4;
        }
    };
}

macro_rules! loads {
    ($($latency:ident $throughput:ident $load:ident $ptx:literal $trans:literal;)*) => {$(
        #[doc = concat!(
            "A warp loads by `", $ptx, "`, each time from where the matrix that it has loaded last \
             says."
        )]
        #[kernel(threads = 32, target = "sm_90a")]
        pub fn $latency(
            block: &Block,
            #[shared] rows: Rows,
            clocks: GlobalMut<u64>,
            out: GlobalMut<u32>,
            rounds: u32,
            stride: u32,
        ) {
            point_to_themselves(block.warp(), rows, stride, $trans);
            time(block, clocks, |warp, first| {
                warp.each(|lane| {
                    let start = rows.row((0, 0)).address();
                    let mut address = start + lane.id() as u32 * stride;
                    for _ in 0..rounds {
                        for _ in 0..ROUND {
                            // SAFETY: all lanes call it together, with the address of a row of the
                            // tile.
                            [address, ..] = unsafe { raw::$load(address) };
                        }
                    }
                    out.set(first + lane.id(), address - start);
                });
            });
        }

        #[doc = concat!("Each warp loads by `", $ptx, "`, several at a time.")]
        #[kernel(threads = 256, target = "sm_90a")]
        pub fn $throughput(
            block: &Block,
            #[shared] rows: SharedRing<Rows, WARPS>,
            clocks: GlobalMut<u64>,
            out: GlobalMut<u32>,
            rounds: u32,
            stride: u32,
            vary: u32,
        ) {
            let rows = rows.part(block.warp().index());
            rows.fill(block.warp(), |_, _| 0);
            time(block, clocks, |warp, first| {
                warp.each(|lane| {
                    let mut address = rows.row((0, 0)).address() + lane.id() as u32 * stride;
                    let mut all = 0;
                    for _ in 0..rounds {
                        // SAFETY: all lanes call it together, with the address of a row of the
                        // tile.
                        let loaded: [_; ROUND] =
                            from_fn(|i| unsafe { raw::$load(address + i as u32 * vary) });
                        for register in loaded.as_flattened() {
                            all ^= register;
                        }
                        address ^= vary;
                    }
                    out.set(first + lane.id(), all);
                });
            });
        }
    )*};
}
timed_loads!(loads);

/// Fills each lane's row, `stride` bytes after the previous lane's, as part of a matrix of
/// addresses. So the first register that `ldmatrix` returns to a lane is the address from which the
/// lane has loaded.
#[inline]
fn point_to_themselves(warp: Warp<'_>, rows: Rows, stride: u32, trans: bool) {
    rows.fill(warp, |_, _| 0);
    warp.sync();
    warp.each(|lane| {
        let address = rows.row((0, 0)).address() + lane.id() as u32 * stride;
        for half in 0..2 {
            let (line, place) = (lane.id() / 4, lane.id() % 4 * 2 + half);
            let (row, col) = if trans { (place, line) } else { (line, place) };
            rows.set((row * stride as usize / 16, col), (address >> (16 * half)) as u16);
        }
    });
    warp.sync();
}

macro_rules! stores {
    ($($latency:ident $throughput:ident $store:ident $load:ident $ptx:literal
        $matrices:literal;)*) => {$(
        #[doc = concat!(
            "A warp stores by `", $ptx, "`, each time what it has loaded back of the last time."
        )]
        #[kernel(threads = 32, target = "sm_90a")]
        pub fn $latency(
            block: &Block,
            #[shared] rows: Rows,
            clocks: GlobalMut<u64>,
            out: GlobalMut<u32>,
            rounds: u32,
            stride: u32,
        ) {
            time(block, clocks, |warp, first| {
                warp.each(|lane| {
                    let address = rows.row((0, 0)).address() + lane.id() as u32 * stride;
                    let mut registers: [_; $matrices] = from_fn(|i| (lane.id() + i * LANES) as u32);
                    for _ in 0..rounds {
                        for _ in 0..ROUND {
                            // SAFETY: all lanes call it together, with the address of a row of the
                            // tile.
                            unsafe {
                                raw::$store(address, registers);
                                raw::bar_warp_sync();
                                registers = raw::$load(address);
                                raw::bar_warp_sync();
                            }
                        }
                    }
                    out.set(
                        first + lane.id(),
                        registers.into_iter().fold(0, |all, register| all ^ register),
                    );
                });
            });
        }

        #[doc = concat!("Each warp stores by `", $ptx, "`, several times in a row.")]
        #[kernel(threads = 256, target = "sm_90a")]
        pub fn $throughput(
            block: &Block,
            #[shared] rows: SharedRing<Rows, WARPS>,
            clocks: GlobalMut<u64>,
            out: GlobalMut<u32>,
            rounds: u32,
            stride: u32,
            vary: u32,
        ) {
            let rows = rows.part(block.warp().index());
            time(block, clocks, |warp, first| {
                warp.each(|lane| {
                    let mut address = rows.row((0, 0)).address() + lane.id() as u32 * stride;
                    let registers: [_; $matrices] = from_fn(|i| (lane.id() + i * LANES) as u32);
                    for _ in 0..rounds {
                        for i in 0..ROUND {
                            // SAFETY: all lanes call it together, with the address of a row of the
                            // tile.
                            unsafe { raw::$store(address + i as u32 * vary, registers) };
                        }
                        address ^= vary;
                    }
                    out.set(first + lane.id(), address - rows.row((0, 0)).address());
                });
            });
        }
    )*};
}
timed_stores!(stores);

/// A warp transposes by `movmatrix.sync.aligned.m8n8.trans.b16`; each result is the next operand.
#[kernel(threads = 32, target = "sm_90a")]
pub fn latency_mov_trans(block: &Block, clocks: GlobalMut<u64>, out: GlobalMut<u32>, rounds: u32) {
    time(block, clocks, |warp, first| {
        let mut register = warp.each(|lane| lane.id() as u32);
        for _ in 0..rounds {
            for _ in 0..ROUND {
                register = MovMatrix::<Trans, B16>::transpose(warp, register);
            }
        }
        warp.each(|lane| out.set(first + lane.id(), lane.get(&register)));
    });
}

/// Each warp transposes by `movmatrix.sync.aligned.m8n8.trans.b16`, several matrices in flight.
#[kernel(threads = 256, target = "sm_90a")]
pub fn time_mov_trans(block: &Block, clocks: GlobalMut<u64>, out: GlobalMut<u32>, rounds: u32) {
    time(block, clocks, |warp, first| {
        let mut registers: [_; ROUND] =
            from_fn(|i| warp.each(|lane| (lane.id() + i * LANES) as u32));
        for _ in 0..rounds {
            for register in &mut registers {
                *register = MovMatrix::<Trans, B16>::transpose(warp, *register);
            }
        }
        warp.each(|lane| {
            let all = registers.iter().fold(0, |all, register| all ^ lane.get(register));
            out.set(first + lane.id(), all);
        });
    });
}
