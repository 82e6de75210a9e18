//! `cp.async` with completion on an mbarrier.

use crate::line_of;
use ptx_matrix::copy::CpAsync;
use ptx_matrix::prelude::*;
use ptx_matrix::sim;
use ptx_matrix::sim::{AccessKind, BarrierMisuse, BarrierState, Misuse, SimError, Simulator};

type Row = SharedTile<u32, 1, 128>;

/// Warp 0 copies a row, and warp 1 writes it to `d`. `how` selects a variant or a mistake.
#[kernel(threads = 64, target = "sm_90")]
fn copy(
    block: &Block,
    #[shared] rows: [Row; 2],
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let full = full.init(block, if how == 1 { 31 } else { 32 });
    let warp = block.warp();
    let [row, other] = rows;
    if warp.index() == 0 {
        if how == 2 {
            warp.each(|lane| full.arrive_when_copied(lane)); // Too early: there is no copy yet.
        }
        row.copy_async(warp, a, |_, col| col);
        match how {
            2 => {}
            3 => {
                warp.each(|lane| {
                    full.hold_until_copied(lane);
                    full.arrive(lane);
                });
            }
            4 => {
                // The copying warp also waits for its groups.
                CpAsync::<16>::commit(warp);
                warp.each(|lane| full.arrive_when_copied(lane));
                other.copy_async(warp, a, |_, col| col);
                CpAsync::<16>::commit(warp);
                CpAsync::<16>::wait::<1>(warp);
                warp.each(|lane| d.set(128 + lane.id() * 4, row.get(lane, (0, lane.id() * 4))));
                CpAsync::<16>::wait::<0>(warp);
            }
            5 => {
                // The copying warp arrives, but does not wait.
                warp.each(|lane| full.arrive_when_copied(lane));
                warp.each(|lane| d.set(128 + lane.id() * 4, row.get(lane, (0, lane.id() * 4))));
            }
            // Nobody arrives.
            6 => {
                warp.each(|lane| full.hold_until_copied(lane)); // <- hold
            }
            _ => {
                warp.each(|lane| full.arrive_when_copied(lane));
            }
        }
        return;
    }
    if how != 7 {
        full.wait(warp, Phase::FIRST);
    }
    if how == 9 {
        warp.fence_for_bulk();
        warp.sync();
    }
    if matches!(how, 8 | 9) {
        warp.elect(|lane| {
            row.store_tma(lane, d.bulk(0));
            BulkGroup::commit(lane);
            BulkGroup::wait::<0>(lane);
        });
    } else {
        row.for_each(warp, |_, col, value| d.set(col, value));
    }
}

fn run(simulator: &Simulator, how: u32, d: &mut [u32]) -> Result<sim::Report, SimError> {
    let a: Vec<u32> = (0..128).map(|i| i * i).collect();
    copy::launch(simulator, 1, &a, d, how)
}

#[test]
fn waiter_reads_the_copied_values() {
    for how in [0, 3, 4, 9] {
        let mut d = [0; 256];
        run(&Simulator::new(0).schedules(64), how, &mut d).check();
        assert!((0..128).all(|i| d[i] as usize == i * i), "{how}");
        assert!(how != 4 || (0..32).all(|i| d[128 + 4 * i] as usize == 16 * i * i), "{how}");
    }
}

#[test]
fn each_mistake_is_found() {
    let find = |how, is_it: fn(&Misuse) -> bool| {
        for seed in 0..16 {
            let error =
                run(&Simulator::new(seed), how, &mut [0; 256]).expect_err("something is wrong");
            assert!(is_it(&error.misuse), "{how}: {error}");
        }
    };
    // The phase completes without the copies of one lane.
    find(1, |misuse| matches!(misuse, Misuse::CopyInFlight { access: AccessKind::Read, .. }));
    find(2, |misuse| matches!(misuse, Misuse::CopyInFlight { access: AccessKind::Read, .. }));
    find(5, |misuse| {
        matches!(
            misuse,
            Misuse::CopyInFlight { access: AccessKind::Read, .. } | Misuse::Race { .. }
        )
    });
    find(6, |misuse| {
        let Misuse::Deadlock { barriers, .. } = misuse else { return false };
        let [BarrierState { arrivals, held: Some(held), .. }] = &barriers[..] else { return false };
        arrivals.is_empty() && held.place.line == line_of("hold").1
    });
    find(7, |misuse| {
        matches!(
            misuse,
            Misuse::CopyInFlight { access: AccessKind::Read, .. }
                | Misuse::Race { .. }
                | Misuse::SharedUnwritten { .. }
        )
    });
    find(8, |misuse| matches!(misuse, Misuse::ProxyFence { .. }));
}

/// Warp 0 arrives at two mbarriers for one copy, with an optional wait for its groups in between.
/// Warps 1 and 2 wait for one mbarrier each.
#[kernel(threads = 96, target = "sm_90")]
fn copy_for_two(
    block: &Block,
    #[shared] row: Row,
    #[shared] full: [BarrierMemory; 2],
    a: Global<u32>,
    d: GlobalMut<u32>,
    waits: u32,
) {
    let full = full.map(|barrier| barrier.init(block, 32));
    let warp = block.warp();
    let Some(reader) = warp.index().checked_sub(1) else {
        row.copy_async(warp, a, |_, col| col);
        CpAsync::<16>::commit(warp);
        for barrier in full {
            warp.each(|lane| barrier.arrive_when_copied(lane));
        }
        if waits == 1 {
            CpAsync::<16>::wait::<0>(warp);
        }
        return;
    };
    full[reader].wait(warp, Phase::FIRST);
    row.for_each(warp, |_, col, value| d.set(reader * 128 + col, value));
}

#[test]
fn one_copy_arrives_at_two_mbarriers() {
    let a: Vec<u32> = (0..128).map(|i| i * i).collect();
    for waits in [0, 1] {
        let mut d = [0; 256];
        copy_for_two::launch(&Simulator::new(0).schedules(64), 1, &a, &mut d, waits).check();
        assert!((0..256).all(|i| d[i] == a[i % 128]));
    }
}

/// Lanes arrive after copies that are over, or after none, and the barrier ends.
#[kernel(threads = 32)]
fn invalidate_behind_copies(
    block: &Block,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    copies: bool,
) {
    let (warp, full) = (block.warp(), full.init(block, 32));
    if copies {
        row.copy_async(warp, a, |_, col| col);
        CpAsync::<16>::commit(warp);
        CpAsync::<16>::wait::<0>(warp);
    }
    warp.each(|lane| full.arrive_when_copied(lane));
    full.invalidate(block);
}

#[test]
fn arrival_behind_copies_that_are_over_does_not_outlive_its_barrier() {
    for copies in [true, false] {
        invalidate_behind_copies::simulate(1, &[1; 128], copies).check();
    }
}

/// The phase may end before `hold_until_copied` if a lane arrives first.
#[kernel(threads = 64, target = "sm_90")]
fn hold_late(
    block: &Block,
    #[shared] row: Row,
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    d: GlobalMut<u32>,
) {
    let (warp, full) = (block.warp(), full.init(block, 32));
    if warp.index() == 0 {
        row.copy_async(warp, a, |_, col| col);
        warp.each(|lane| {
            full.arrive(lane);
            full.hold_until_copied(lane);
        });
        return;
    }
    full.wait(warp, Phase::FIRST);
    row.for_each(warp, |_, col, value| d.set(col, value));
}

#[test]
fn hold_after_the_arrival_is_late() {
    let error = hold_late::simulate(1, &[1; 128], &mut [0; 128]).unwrap_err();
    let late =
        |misuse: &Misuse| matches!(misuse, Misuse::Barrier { misuse: BarrierMisuse::HeldLate, .. });
    assert!(late(&error.misuse), "{error}");
}

/// Warp 0 copies and waits for its own copies; nothing lets it wait for warp 1.
#[kernel(threads = 64, target = "sm_90")]
fn runs_ahead(
    block: &Block,
    #[shared] rows: [Row; 4],
    #[shared] full: BarrierMemory,
    a: Global<u32>,
    d: GlobalMut<u32>,
) {
    let (warp, full) = (block.warp(), full.init(block, 32));
    let mut phase = Phase::FIRST;
    for (i, row) in rows.into_iter().enumerate() {
        if warp.index() == 0 {
            row.copy_async(warp, a, |_, col| i * 128 + col);
            warp.each(|lane| full.arrive_when_copied(lane));
        }
        phase = full.wait(warp, phase);
        if warp.index() == 1 {
            warp.each(|lane| d.set(i * 32 + lane.id(), row.get(lane, (0, lane.id()))));
        }
    }
}

#[test]
fn phase_of_copies_that_may_end_before_a_wait_is_an_error() {
    let simulator = Simulator::new(0).schedules(16);
    let error = runs_ahead::launch(&simulator, 1, &[1; 512], &mut [0; 128]).unwrap_err();
    assert!(matches!(error.misuse, Misuse::PhaseMayEnd { .. } | Misuse::Barrier { .. }), "{error}");
}
