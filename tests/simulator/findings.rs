//! Several findings in one run. Each is reported once.

use crate::line_of;
use ptx_matrix::copy::CpAsync;
use ptx_matrix::prelude::*;
use ptx_matrix::sim;
use ptx_matrix::sim::{Finding, Misuse, SimError, Simulator};

type Tile = SharedTile<u32, 1, 64>;

/// Executes the misuses whose bits are set, many times.
#[kernel(threads = 64, target = "sm_80")]
fn misuse(
    block: &Block,
    #[shared] tiles: [Tile; 3],
    a: Global<u32>,
    d: GlobalMut<u32>,
    which: u32,
) {
    let warp = block.warp();
    let [raced, hole, copied] = tiles;
    let (first, index) = (warp.index() * 32, block.index().x as usize * 64);
    for _ in 0..3 {
        if which & 1 != 0 {
            warp.each(|lane| raced.set((0, lane.id()), 1)); // <- by both warps
        }
        if which & 2 != 0 {
            warp.each(|lane| hole.get(lane, (0, lane.id()))); // <- unwritten
        }
        if which & 4 != 0 {
            warp.each(|lane| {
                if first + lane.id() == 0 {
                    CpAsync::<16>::copy(lane, &copied, (0, 0), a, 0); // <- copied
                }
            });
            warp.each(|lane| {
                if first + lane.id() == 0 {
                    copied.get(lane, (0, 0)); // <- in flight
                }
            });
            CpAsync::<16>::commit(warp);
            CpAsync::<16>::wait::<0>(warp);
            block.sync();
        }
        if which & 8 != 0 {
            warp.each(|lane| d.set(first + lane.id(), index as u32)); // <- by all blocks
        }
        block.sync();
    }
    if which & 16 != 0 && block.index().x % 2 == 1 {
        assert_eq!(warp.index(), 2, "no such warp"); // <- panics
    }
}

fn run(which: u32) -> Result<sim::Report, SimError> {
    misuse::launch(&Simulator::new(5), 4, &[1; 4], &mut [0; 64], which)
}

/// The findings and their lines.
fn found(error: &SimError) -> Vec<(&'static str, u32, Option<u32>)> {
    let of = |Finding { misuse, place, .. }: &Finding| {
        let line = place.as_ref().expect("a place").line;
        match misuse {
            Misuse::Race { other_place, .. } => ("race", line, Some(other_place.line)),
            Misuse::SharedUnwritten { .. } => ("unwritten", line, None),
            Misuse::CopyInFlight { place, .. } => ("in flight", line, Some(place.line)),
            Misuse::Panic { .. } => ("panic", line, None),
            _ => panic!("{misuse}"),
        }
    };
    error.findings().iter().map(of).collect()
}

#[test]
fn each_finding_is_reported_once_with_the_others() {
    run(0).unwrap();
    let line = |marker| line_of(marker).1;
    let expected = |which: u32| {
        let mut all = Vec::new();
        if which & 1 != 0 {
            all.push(("race", line("by both warps"), Some(line("by both warps"))));
        }
        if which & 2 != 0 {
            all.push(("unwritten", line("unwritten"), None));
        }
        if which & 4 != 0 {
            all.push(("in flight", line("in flight"), Some(line("copied"))));
        }
        if which & 16 != 0 {
            all.push(("panic", line("panics"), None));
        }
        if which & 8 != 0 {
            all.push(("race", line("by all blocks"), Some(line("by all blocks"))));
        }
        all.sort_unstable();
        all
    };
    for which in 1..32 {
        let error = run(which).unwrap_err();
        let mut found = found(&error);
        found.sort_unstable();
        assert_eq!(found, expected(which), "{which}: {error}");
    }
}

#[test]
fn findings_are_listed_with_their_count() {
    let error = run(2 | 16).unwrap_err();
    let text = error.to_string();
    let findings: Vec<String> = error.findings().iter().map(ToString::to_string).collect();
    assert_eq!(text, format!("{}\n\nerror: 2 findings in kernel `misuse`", findings.join("\n\n")));
    assert_eq!(format!("{error:?}").trim_start(), text);
    assert_eq!(run(2).unwrap_err().findings().len(), 1);
    assert!(!run(2).unwrap_err().to_string().contains("findings in kernel"));
}

#[test]
fn findings_are_deterministic() {
    for which in [1, 8, 31] {
        assert_eq!(run(which).unwrap_err(), run(which).unwrap_err());
    }
}

#[test]
fn failed_run_has_a_report() {
    let simulator = Simulator::new(5).profiled().traced();
    let error = misuse::launch(&simulator, 4, &[1; 4], &mut [0; 64], 2 | 16).unwrap_err();
    let report = error.report();
    assert_eq!((report.blocks, report.warps), (4, 8));
    let profile = report.profile.as_ref().unwrap();
    assert_eq!(profile.warps("ld.shared.b32"), 4 * 2 * 3);
    assert!(report.trace.as_ref().unwrap().events().any(|event| event.block.x == 3));
}

#[kernel(threads = 32)]
fn store_in_both(block: &Block, one: GlobalMut<u32>, another: GlobalMut<u32>) {
    let number = block.index().x;
    block.warp().each(|lane| {
        one.set(lane.id(), number);
        another.set(lane.id(), number);
    });
}

/// The allocator decides which slice has the lower address.
#[test]
fn findings_do_not_depend_on_addresses() {
    let mut memory = [0; 64];
    let (low, high) = memory.split_at_mut(32);
    let simulator = Simulator::new(0);
    let error = store_in_both::launch(&simulator, 2, &mut *low, &mut *high).unwrap_err();
    let exchanged = store_in_both::launch(&simulator, 2, high, low).unwrap_err();
    assert_eq!(error.findings().len(), 2, "{error}");
    assert_eq!(error.findings(), exchanged.findings());
}
