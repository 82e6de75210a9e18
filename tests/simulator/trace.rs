//! The steps of each warp, in the format of a trace viewer.

use crate::line_of;
use ptx_matrix::lane::Grid;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Report, Simulator, TraceEvent};
use serde_json::{Value, json};

/// Warp 0 writes and waits. Warp 1 has more work before.
#[kernel(threads = 64)]
fn wait_for_the_other(block: &Block, #[shared] tile: SharedTile<u32, 2, 32>, a: Global<u32>) {
    let warp = block.warp();
    let row = warp.index();
    warp.each(|lane| tile.set((row, lane.id()), a.get(lane.id()))); // <- first
    if row == 1 {
        for _ in 0..3 {
            warp.sync(); // <- more to do
        }
    }
    block.sync(); // <- wait
    warp.each(|lane| {
        if lane.id() < 5 {
            tile.get(lane, (1 - row, lane.id())); // <- read
        }
    });
}

fn run(seed: u64) -> Report {
    wait_for_the_other::launch(&Simulator::new(seed).traced(), (1, 2), &[1; 32]).unwrap()
}

/// The events of a warp: (instruction, step, steps, lanes, line).
fn expected(warp: usize) -> Vec<(&'static str, u64, u64, usize, u32)> {
    let [first, more, wait, read] =
        ["first", "more to do", "wait", "read"].map(|marker| line_of(marker).1);
    let begin = [("ld.global.b32", 0, 1, 32, first), ("st.shared.b32", 1, 1, 32, first)];
    let more = (2..5).map(|step| ("bar.warp.sync", step, 1, 32, more)).filter(|_| warp == 1);
    let (step, steps) = if warp == 0 { (2, 4) } else { (5, 1) };
    let end = [("bar.sync", step, steps, 32, wait), ("ld.shared.b32", 6, 1, 5, read)];
    begin.into_iter().chain(more).chain(end).collect()
}

#[test]
fn each_warp_counts_its_own_steps() {
    let trace = run(0).trace.unwrap();
    for block in [Grid { x: 0, y: 0, z: 0 }, Grid { x: 0, y: 1, z: 0 }] {
        for warp in 0..2 {
            let events = trace.events().filter(|event| (event.block, event.warp) == (block, warp));
            let found: Vec<_> = events
                .map(|&TraceEvent { instruction, step, steps, lanes, location, .. }| {
                    (instruction, step, steps, lanes, location.line())
                })
                .collect();
            assert_eq!(found, expected(warp));
        }
    }
    assert_eq!(trace.events().len(), 2 * (4 + 7));
}

#[test]
fn trace_ignores_seed() {
    for seed in 1..8 {
        assert_eq!(run(seed).trace, run(0).trace);
    }
}

#[test]
fn written_file_is_a_chrome_trace() {
    let path = std::env::temp_dir().join(format!("ptx-matrix-trace-{}.json", std::process::id()));
    run(0).trace.unwrap().write_chrome(&path).unwrap();
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();

    let name = |name, pid, tid: Option<usize>, value: String| {
        let mut event = json!({ "name": name, "ph": "M", "pid": pid, "args": { "name": value } });
        if let Some(tid) = tid {
            event["tid"] = tid.into();
        }
        event
    };
    let file = line_of("wait").0;
    let mut events = Vec::new();
    for (pid, block) in ["block (0, 0, 0)", "block (0, 1, 0)"].into_iter().enumerate() {
        events.push(name("process_name", pid, None, block.into()));
        for tid in 0..2 {
            events.push(name("thread_name", pid, Some(tid), format!("warp {tid}")));
            for (instruction, step, steps, lanes, line) in expected(tid) {
                events.push(json!({
                    "name": instruction, "ph": "X", "pid": pid, "tid": tid, "ts": step,
                    "dur": steps,
                    "args": { "source": format!("{file}:{line}"), "lanes": lanes },
                }));
            }
        }
    }
    let Value::Array(found) = &written["traceEvents"] else { panic!("{written}") };
    let without_columns: Vec<Value> = found
        .iter()
        .map(|event| {
            let mut event = event.clone();
            if let Some(source) = event["args"].get_mut("source") {
                let line = source.as_str().unwrap().rsplit_once(':').unwrap().0.to_owned();
                *source = line.into();
            }
            event
        })
        .collect();
    assert_eq!(without_columns, events);
}

#[kernel(threads = 32)]
fn nothing(_: &Block) {}

#[test]
fn empty_trace_is_written_and_invalid_path_is_an_error() {
    let trace = nothing::launch(&Simulator::new(0).traced(), 2).unwrap().trace.unwrap();
    assert_eq!(trace.events().len(), 0);
    let directory = std::env::temp_dir();
    assert!(trace.write_chrome(&directory).is_err(), "a directory");
    let path = directory.join(format!("ptx-matrix-no-trace-{}.json", std::process::id()));
    trace.write_chrome(&path).unwrap();
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(written, json!({ "traceEvents": [] }));
}
