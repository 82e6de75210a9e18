//! Limits of a GPU: a thread's local memory, and stacks that overflow.

use crate::assert_at;
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{AccessKind, Misuse, Simulator};
use std::hint::black_box;
use std::process::{Command, Output};

/// Each lane has some KiB of local memory, and writes to it.
macro_rules! arrays {
    ($($name:ident $kib:literal;)*) => {$(
        #[kernel(threads = 32)]
        fn $name(block: &Block, d: GlobalMut<u32>) {
            block.warp().each(|lane| {
                let mut array = [0_u8; $kib << 10];
                black_box(&mut array)[lane.id()] = 7;
                d.set(lane.id(), array[lane.id()].into());
            });
        }
    )*};
}
arrays! {
    small 200;
    large 1000;
    too_large 4096;
}

#[test]
fn too_much_local_memory_is_an_error() {
    for seed in 0..4 {
        let mut d = [0; 32];
        small::launch(&Simulator::new(seed), 1, &mut d).check();
        assert_eq!(d, [7; 32]);
        let error = large::launch(&Simulator::new(seed), 1, &mut d).unwrap_err();
        let Misuse::LocalMemory { bytes } = error.misuse else { panic!("{error}") };
        assert!((1_000_000..2_000_000).contains(&bytes), "{error}");
        assert_eq!((error.findings().len(), error.warp, error.lane), (1, Some(0), Some(0)));
    }
    let text = large::simulate(1, &mut [0; 32]).unwrap_err().to_string();
    assert!(text.contains("and a thread of a GPU at most 512 KiB"), "{text}");
}

/// Calls itself `times` times.
#[inline(never)]
fn depth(times: u64) -> u64 {
    let here = [times; 8];
    if times == 0 { 0 } else { black_box(&here)[3].min(1) + depth(times - 1) }
}

/// A recursion in lane 5 of warp 1, or in warp 1 at warp scope.
#[kernel(threads = 64)]
fn recurse(block: &Block, d: GlobalMut<u32>, times: u64, at_warp_scope: u32) {
    let warp = block.warp();
    if warp.index() == 1 {
        if at_warp_scope == 1 {
            black_box(depth(times));
        } else {
            warp.each(|lane| {
                if lane.id() == 5 {
                    d.set(0, depth(times) as u32);
                }
            });
        }
    }
}

#[test]
fn finite_recursion_runs() {
    let mut d = [0];
    recurse::simulate(1, &mut d, 100, 0).check();
    assert_eq!(d, [100]);
    recurse::simulate(1, &mut d, 100, 1).check();
}

/// The variable that selects the kernel of the test below, which runs in its own process.
const WHICH: &str = "PTX_MATRIX_TEST_OVERFLOW";

#[test]
#[ignore = "it ends the program: the test after it runs it in another"]
fn overflows() {
    match std::env::var(WHICH).as_deref() {
        Ok("lane") => drop(recurse::simulate(1, &mut [0], u64::MAX, 0)),
        Ok("warp") => drop(recurse::simulate(1, &mut [0], u64::MAX, 1)),
        Ok("array") => drop(too_large::simulate(1, &mut [0; 32])),
        // Other threads of the test have their own stacks, so the message is the system's.
        Ok("thread") => drop(black_box(depth(u64::MAX))),
        Ok("before") => {
            recurse::simulate(1, &mut [0], 100, 0).check();
            black_box(depth(u64::MAX));
        }
        // SAFETY: None. The fault must be the system's.
        Ok("other fault") => unsafe {
            recurse::simulate(1, &mut [0], 100, 0).check();
            black_box(std::ptr::without_provenance::<u8>(8)).read_volatile();
        },
        _ => {}
    }
}

fn overflow(which: &str) -> (Output, String) {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args([
        "--exact",
        "limits::overflows",
        "--include-ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    let output = command.env(WHICH, which).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, text)
}

#[cfg(unix)]
#[test]
fn stack_overflow_in_a_lane_is_reported() {
    let (output, text) = overflow("lane");
    assert!(!output.status.success());
    assert!(
        text.contains("error: the stack of a lane overflows: a recursion without end"),
        "{text}"
    );
    assert!(text.contains("   = in kernel `recurse`, block (0, 0, 0), warp 1, lane 5\n"), "{text}");
    assert!(text.contains("   = help: end the recursion"), "{text}");
    let (_, text) = overflow("warp");
    assert!(text.contains("error: the stack of a warp overflows"), "{text}");
    assert!(text.contains("   = in kernel `recurse`, block (0, 0, 0), warp 1\n"), "{text}");
    let (_, text) = overflow("array");
    assert!(text.contains("error: the stack of a lane overflows"), "{text}");
    assert!(
        text.contains("   = in kernel `too_large`, block (0, 0, 0), warp 0, lane 0\n"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn other_faults_reach_the_earlier_handler() {
    for which in ["thread", "before"] {
        let (output, text) = overflow(which);
        assert!(!output.status.success());
        assert!(text.contains("has overflowed its stack"), "{which}: {text}");
        assert!(!text.contains("the stack of a lane"), "{which}: {text}");
    }
    let (output, text) = overflow("other fault");
    assert!(!output.status.success() && !text.contains("the stack of"), "{text}");
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(output.status.signal(), Some(11), "{text}");
}

/// A kernel that catches the panic that should stop it.
#[kernel(threads = 32)]
fn caught(block: &Block, a: Global<u32>, d: GlobalMut<u32>, how: u32) {
    let warp = block.warp();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        warp.each(|lane| match how {
            0 => d.set(lane.id(), a.get(lane.id())),
            1 => d.set(lane.id(), a.get(lane.id() + 31)), // <- beyond
            2 => assert!(lane.id() < 9, "so many lanes"), // <- too many
            _ => raw::trap(),                             // <- trapped
        });
    }));
    assert_eq!(caught.is_err(), how > 0);
}

#[test]
fn caught_panic_is_still_an_error() {
    for seed in 0..4 {
        let run = |how| caught::launch(&Simulator::new(seed), 1, &[1; 32], &mut [0; 32], how);
        run(0).unwrap().check().unwrap();
        let error = run(1).unwrap_err();
        assert_eq!(
            error.misuse,
            Misuse::GlobalOutOfBounds { access: AccessKind::Read, name: "a", index: 32, len: 32 }
        );
        assert_at(&error, "beyond", (0, 0, 0), 0, Some(1));
        let error = run(2).unwrap_err();
        assert_eq!(error.misuse, Misuse::Panic { message: "so many lanes".into() });
        assert_at(&error, "too many", (0, 0, 0), 0, Some(9));
        let error = run(3).unwrap_err();
        assert_eq!(error.misuse, Misuse::Trap);
        assert_at(&error, "trapped", (0, 0, 0), 0, Some(0));
        assert_eq!(error.findings().len(), 1, "{error}");
    }
}
