//! `mbarrier`: every form by a script; rows passed through a pipeline; and every way to wait.
//! `bar`: rows passed through named barriers.

use ptx_matrix::prelude::*;
use ptx_matrix::raw;

/// A step of a script. Its operand is a count or a number of bytes.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// [`Barrier::arrive`].
    Arrive,
    /// [`Barrier::arrive_times`].
    ArriveTimes,
    /// [`Barrier::arrive_expecting`].
    ArriveExpecting,
    /// [`Barrier::arrive_drop`].
    Leave,
    /// [`Barrier::arrive_drop_times`].
    LeaveTimes,
    /// [`Barrier::arrive_drop_expecting`].
    LeaveExpecting,
    /// [`Barrier::expect`].
    Expect,
    /// [`Barrier::complete`].
    Complete,
}

impl Step {
    /// All steps, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Arrive,
        Self::ArriveTimes,
        Self::ArriveExpecting,
        Self::Leave,
        Self::LeaveTimes,
        Self::LeaveExpecting,
        Self::Expect,
        Self::Complete,
    ];
}

/// The output for a step without an arrival.
pub const NO_ARRIVAL: u32 = u32::MAX;

/// One lane executes a script on a barrier that expects `count` arrivals: pairs of a [`Step`] and
/// its operand. For each step it writes the arrivals that were pending before it, and whether the
/// last even phase (bit 0) and the last odd phase (bit 1) are complete.
#[kernel(threads = 32, target = "sm_90")]
pub fn barrier_script(
    block: &Block,
    #[shared] memory: BarrierMemory,
    script: Global<u32>,
    count: u32,
    out: GlobalMut<u32>,
) {
    let barrier = memory.init(block, count);
    block.warp().elect(|lane| {
        for step in 0..script.len() / 2 {
            let (code, operand) = (script.get(step * 2), script.get(step * 2 + 1));
            let pending = match code {
                0 => barrier.arrive(lane).pending(),
                1 => barrier.arrive_times(lane, operand).pending(),
                2 => barrier.arrive_expecting(lane, operand).pending(),
                3 => barrier.arrive_drop(lane).pending(),
                4 => barrier.arrive_drop_times(lane, operand).pending(),
                5 => barrier.arrive_drop_expecting(lane, operand).pending(),
                6 => {
                    barrier.expect(lane, operand);
                    NO_ARRIVAL
                }
                _ => {
                    barrier.complete(lane, operand);
                    NO_ARRIVAL
                }
            };
            out.set(step * 2, pending);
            // SAFETY: it is an initialised barrier.
            let over = [0, 1].map(|parity| unsafe {
                u32::from(raw::mbarrier_test_wait_parity_shared_cta_b64(barrier.address(), parity))
            });
            out.set(step * 2 + 1, over[0] | over[1] << 1);
        }
    });
}

/// Pipeline stages: rows in flight.
const STAGES: usize = 3;

/// One warp reads a matrix of 64 columns row by row. Three warps wait for each row, and each writes
/// a row of its own: the row times the warp's number.
#[kernel(threads = 128, target = "sm_90")]
pub fn barrier_stages(
    block: &Block,
    #[shared] rows: SharedRing<SharedTile<u32, 1, 64>, STAGES>,
    #[shared] full: SharedRing<BarrierMemory, STAGES>,
    #[shared] empty: SharedRing<BarrierMemory, STAGES>,
    #[shared] all: BarrierMemory,
    a: Global<u32>,
    out: GlobalMut<u32>,
) {
    let (full, empty, all) = (full.init(block, 32), empty.init(block, 3), all.init(block, 128));
    let (warp, number) = (block.warp(), block.warp().index());
    let count = a.len() / 64;
    let mut pipeline = PipelineState::FIRST;
    for row in 0..count {
        let (stage, full, empty) = (
            rows.stage(pipeline.index()),
            full.stage(pipeline.index()),
            empty.stage(pipeline.index()),
        );
        if number == 0 {
            empty.wait(warp, pipeline.prev_phase());
            warp.each(|lane| {
                for col in [lane.id(), lane.id() + 32] {
                    stage.set((0, col), a.get(row * 64 + col));
                }
                full.arrive(lane);
            });
        } else {
            full.wait(warp, pipeline.phase());
            let first = (row * 3 + number - 1) * 64;
            // Elements of other lanes, so that a missing order shows.
            stage
                .for_each(warp, |_, col, value| out.set(first + (col ^ 33), value * number as u32));
            warp.sync();
            warp.elect(|lane| {
                empty.arrive(lane);
            });
        }
        pipeline = pipeline.next();
    }
    // A barrier of all threads: the kernel ends after all have arrived.
    let arrivals = warp.each(|lane| all.arrive(lane));
    all.wait_behind(warp, &arrivals);
    all.invalidate(block);
}

/// One warp reads a matrix of 64 columns row by row. Three warps wait for each row, and each writes
/// a row of its own: the row times the warp's number. Two named barriers order them.
#[kernel(threads = 128)]
pub fn named_barriers(
    block: &Block,
    #[shared] row: SharedTile<u32, 1, 64>,
    a: Global<u32>,
    out: GlobalMut<u32>,
) {
    let (full, empty) = (NamedBarrier::new(0, 128), NamedBarrier::new(6, 128));
    let (warp, number) = (block.warp(), block.warp().index());
    for at in 0..a.len() / 64 {
        if number == 0 {
            row.fill(warp, |_, col| a.get(at * 64 + col));
            full.arrive(warp);
            empty.sync(warp);
        } else {
            full.sync(warp);
            let first = (at * 3 + number - 1) * 64;
            row.for_each(warp, |_, col, value| out.set(first + (col ^ 33), value * number as u32));
            empty.arrive(warp);
        }
    }
}

/// Ways to wait in `barrier_waits`.
pub const WAYS: usize = 5;

/// The suspend-time hint, in nanoseconds.
pub(crate) const HINT: u32 = 200;

/// One warp passes rows of 32 to another, which waits for each in another way.
#[kernel(threads = 64, target = "sm_90")]
pub fn barrier_waits(
    block: &Block,
    #[shared] row: SharedTile<u32, 1, 32>,
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    a: Global<u32>,
    out: GlobalMut<u32>,
) {
    // The waiting warp arrives too, and so has a state to wait with.
    let (full, empty) = (full.init(block, 64), empty.init(block, 32));
    let (warp, address) = (block.warp(), full.address());
    let (mut written, mut read) = (Phase::FIRST, Phase::BEFORE_FIRST);
    for round in 0..a.len() / 32 {
        if warp.index() == 0 {
            read = empty.wait_with_hint(warp, read, HINT);
            warp.each(|lane| {
                row.set((0, lane.id()), a.get(round * 32 + lane.id()));
                full.arrive(lane);
            });
        } else {
            // SAFETY: it is an initialised barrier.
            let states = warp.each(|_| unsafe { raw::mbarrier_arrive_shared_cta_b64(address) });
            let way = round % WAYS;
            if way == 0 {
                full.wait_with_hint(warp, written, HINT);
            }
            warp.each(|lane| {
                let state = lane.get(&states);
                // SAFETY: it is an initialised barrier.
                let is_over = || unsafe {
                    match way {
                        0 => true,
                        1 => full.try_wait(lane, written, HINT),
                        2 => raw::mbarrier_test_wait_shared_cta_b64(address, state),
                        3 => raw::mbarrier_try_wait_shared_cta_b64_hint(address, state, HINT),
                        _ => raw::mbarrier_try_wait_parity_shared_cta_b64_hint(
                            address,
                            written.parity(),
                            HINT,
                        ),
                    }
                };
                while !is_over() {}
                out.set(round * 32 + lane.id(), row.get(lane, (0, lane.id() ^ 9)));
                empty.arrive(lane);
            });
            written = written.next();
        }
    }
}
