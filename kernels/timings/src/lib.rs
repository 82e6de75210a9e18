//! How long the instructions take: kernels of nothing but one of them, between two readings of the
//! clock.
//!
//! A warp whose instructions each wait for the one before shows the latency; warps that have
//! several under way at a time show the throughput. What the instructions are given changes from
//! one to the next, by a number that only the host knows (it is zero): so the compiler can neither
//! leave one out nor move what belongs to it out of the loop.
//!
//! They are built for sm_90a alone, whose forms are in the table of them.

#![no_std]
#![feature(macro_metavar_expr_concat, stmt_expr_attributes)]
// A build for an older GPU leaves kernels out, and with them what only they use.
#![cfg_attr(target_arch = "nvptx64", allow(unused))]

pub mod ceiling;
pub mod matrices;
pub mod multiply;

use ptx_matrix::prelude::*;

/// Warps of a block that shows the throughput, two for each of a multiprocessor's four parts.
pub const WARPS: usize = 8;
/// Instructions of a warp in one round.
pub const ROUND: usize = 8;
/// Words of `clocks`: for each warp, when it began and when it had ended.
pub const CLOCKS: usize = 2 * WARPS;

/// Lets each warp of the block do `work`, twice, since the first time brings the instructions into
/// the cache; `clocks` is when it began and ended the second time, for each warp. `work` gets the
/// block's number of the warp's first lane.
#[inline(always)]
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
