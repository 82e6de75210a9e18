//! Lanes that wait by reading memory.

use crate::assert_at;
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{Memory, Misuse, SHARED_BASE, Simulator};

#[kernel(threads = 64)]
fn wait_for_a_flag(block: &Block, #[shared] flag: SharedTile<u8, 1, 16>) {
    let warp = block.warp();
    flag.fill(block, |_, _| 0);
    block.sync();
    let waits = warp.index() == 0;
    warp.each(|lane| {
        if !waits {
            flag.set((0, 0), 1);
        }
        while waits && flag.get(lane, (0, 0)) == 0 {} // <- shared
    });
}

/// If the other warp comes first, there is a race instead.
#[test]
fn polling_a_flag_in_shared_memory_is_an_error() {
    let memory = Memory::Shared { address: SHARED_BASE };
    let found = (0..8).find_map(|seed| {
        let error =
            wait_for_a_flag::launch(&Simulator::new(seed).patience(1 << 16), 1).unwrap_err();
        matches!(error.misuse, Misuse::Polling { .. }).then_some(error)
    });
    let error = found.expect("an order in which the first warp comes first");
    assert_eq!(error.misuse, Misuse::Polling { memory });
    assert_at(&error, "shared", (0, 0, 0), 0, Some(0));
    let report = error.to_string();
    assert!(
        report.starts_with("error: deadlock: `flag row 0, column 0` is read again and again"),
        "{report}"
    );
}

#[kernel(threads = 32)]
fn wait_for_another_block(block: &Block, d: GlobalMut<u32>) {
    let index = block.index().x;
    block.warp().each(|lane| {
        if index == 1 {
            d.set(0, 1);
        }
        while index == 0 && d.get(lane, 0) == 0 {} // <- global
    });
}

#[test]
fn polling_a_flag_in_global_memory_is_an_error() {
    let error = wait_for_another_block::launch(&Simulator::new(0).patience(1 << 16), 2, &mut [0])
        .unwrap_err();
    assert_eq!(error.misuse, Misuse::Polling { memory: Memory::Global { name: "d", index: 0 } });
    assert_at(&error, "global", (0, 0, 0), 0, Some(0));
}

/// Waits by other means than one element, or does other things in the meantime.
#[kernel(threads = 32)]
fn wait_otherwise(block: &Block, a: Global<u32>, d: GlobalMut<u32>, how: u32) {
    let warp = block.warp();
    match how {
        0 => while a.get(0) == 0 {},
        1 => drop(warp.each(|lane| while d.get(lane, 0) + d.get(lane, 1) == 0 {})),
        2 => drop(warp.each(|lane| {
            while d.get(lane, 0) == 0 {
                d.set(2 + lane.id(), d.get(lane, 2 + lane.id()) + 1);
            }
        })),
        // SAFETY: All lanes reach this equally often.
        3 => drop(warp.each(|lane| {
            while d.get(lane, 0) == 0 {
                unsafe { raw::bar_warp_sync() }
            }
        })),
        // This takes long, but it ends.
        _ => drop(warp.each(|lane| (0..1000).map(|_| d.get(lane, 0)).max())),
    }
}

#[test]
fn endless_polling_is_an_error() {
    let run = |how| {
        let simulator = Simulator::new(0).patience(1 << 16);
        wait_otherwise::launch(&simulator, 1, &[0], &mut [0; 34], how)
    };
    for how in 0..4 {
        let error = run(how).unwrap_err();
        assert_eq!(error.misuse, Misuse::Endless { accesses: 1 << 16 }, "{how}: {error}");
    }
    run(4).unwrap();
}
