//! Instruction timings: kernels of one instruction each, between two readings of the clock.
//!
//! Latency: one warp, in which each instruction waits for the one before. Throughput: several warps
//! with several instructions in flight. The operands change from one instruction to the next by a
//! number that only the host knows (it is zero). So the compiler can neither remove an instruction
//! nor move its operands out of the loop.
//!
//! The forms that are timed are those of sm_90a. The ceilings of `mma.sync` are from sm_80 on.

#![no_std]
// A build for an older GPU leaves out kernels, and the items that only they use.
#![cfg_attr(target_arch = "nvptx64", allow(unused))]

pub mod ceiling;
pub mod matrices;
pub mod multiply;

use ptx_matrix::prelude::*;

/// Warps of a throughput block: two for each of an SM's four partitions.
pub const WARPS: usize = 8;
/// Instructions per warp and round.
pub const ROUND: usize = 8;
/// Words of `clocks`: for each warp, the clock at its start and at its end.
pub const CLOCKS: usize = 2 * WARPS;

/// Runs `work` twice in each warp of the block; the first run loads the instruction cache. `clocks`
/// gets the start and end of the second run, for each warp. `work` gets the number, within the
/// block, of the warp's first lane.
#[inline]
fn time(block: &Block, clocks: GlobalMut<u64>, mut work: impl FnMut(Warp<'_>, usize)) {
    let warp = block.warp();
    let index = warp.index();
    for _ in 0..2 {
        block.sync();
        let start = warp.each(|lane| lane.clock());
        work(warp, index * LANES);
        warp.each(|lane| {
            let end = lane.clock();
            if lane.id() == 0 {
                clocks.set(2 * index, lane.get(&start));
                clocks.set(2 * index + 1, end);
            }
        });
    }
}
