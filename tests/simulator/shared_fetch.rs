//! `SharedTile::fetch`: other warps run before it.

use ptx_matrix::copy::reduction::{Add, Or};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Memory, Misuse, Simulator};

type Row = SharedTile<u32, 1, 32>;
type Counter = SharedTile<u32, 1, 4>;

/// Four warps take tiles by a counter, and each needs a buffer of its own. With `shared` they have
/// one.
#[kernel(threads = 128)]
fn tickets(
    block: &Block,
    #[shared] next: Counter,
    #[shared] stages: [Row; 4],
    d: GlobalMut<u32>,
    shared: bool,
) {
    let warp = block.warp();
    let stage = stages[if shared { 0 } else { warp.index() }];
    if warp.index() == 0 {
        warp.each(|lane| {
            if lane.id() == 0 {
                next.set((0, 0), 0);
            }
        });
    }
    block.sync();
    loop {
        let ticket =
            warp.each(|lane| if lane.id() == 0 { next.fetch(lane, Add, (0, 0), 1) } else { 0 });
        let tile = warp.broadcast(&ticket) as usize;
        if tile >= 16 {
            break;
        }
        warp.each(|lane| stage.set((0, lane.id()), (tile * 100 + lane.id()) as u32));
        warp.sync();
        warp.each(|lane| d.set(tile * 32 + lane.id(), stage.get(lane, (0, 31 - lane.id()))));
        warp.sync();
    }
}

#[test]
fn warps_take_tiles_in_turn() {
    let mut d = [0; 512];
    tickets::launch(&Simulator::new(0).schedules(16), 1, &mut d, false).check();
    assert!((0..512).all(|i| d[i] as usize == i / 32 * 100 + 31 - i % 32));
    let error = tickets::launch(&Simulator::new(0), 1, &mut d, true).unwrap_err();
    assert!(matches!(error.misuse, Misuse::Race { memory: Memory::Shared { .. }, .. }), "{error}");
}

/// Warp 1 waits for a flag that warp 0 sets, or that nobody sets.
#[kernel(threads = 64)]
fn poll(block: &Block, #[shared] flag: Counter, d: GlobalMut<u32>, sets: bool) {
    let warp = block.warp();
    if warp.index() == 0 {
        warp.each(|lane| {
            if lane.id() == 0 {
                flag.set((0, 0), 0);
            }
        });
    }
    block.sync();
    if warp.index() == 1 {
        warp.each(|lane| {
            if lane.id() == 0 {
                while flag.fetch(lane, Or, (0, 0), 0) == 0 {}
                d.set(0, 1);
            }
        });
    } else if sets {
        warp.each(|lane| {
            if lane.id() == 0 {
                flag.reduce(lane, Or, (0, 0), 1);
            }
        });
    }
}

#[test]
fn lane_may_poll_by_fetch() {
    let mut d = [0];
    poll::launch(&Simulator::new(0).schedules(64), 1, &mut d, true).check();
    assert_eq!(d, [1]);
    let error = poll::launch(&Simulator::new(0), 1, &mut d, false).unwrap_err();
    assert!(matches!(error.misuse, Misuse::Polling { memory: Memory::Shared { .. } }), "{error}");
}
