//! The simulator ends a kernel with a misuse, and names the misuse, the line, the block, the warp
//! and the lane. It accepts kernels that come close to a misuse without being one.

mod accumulators;
mod async_stores;
mod asynchronous;
mod atomic_reductions;
mod atomics;
mod attention_mistakes;
mod bank_conflicts;
mod barrier;
mod barrier_memory;
mod box_parts;
mod bulk;
mod check;
mod cluster;
mod cluster_memory;
mod cluster_reductions;
mod cluster_ring;
mod copies;
mod copies_at_barriers;
mod determinism;
mod divergence;
mod findings;
mod gallery;
mod global;
mod global_unwritten;
mod handovers;
mod im2col;
mod kernel_instances;
mod kernel_params;
mod lane_order;
mod launch;
mod limits;
mod mbarrier;
mod mbarrier_waits;
mod message;
mod nested;
mod operands;
mod panic;
mod phase_order;
mod planted;
mod planted_more;
mod polling;
mod profile;
mod race;
mod raw_bytes;
mod raw_forms;
mod raw_memory;
mod raw_mma;
mod raw_rows;
mod registers;
mod same_value;
mod shared_fetch;
mod sparse;
mod store_ring;
mod stores_in_flight;
mod tensor;
mod tile;
mod trace;
mod unwritten;
mod vector;
mod wgmma;
mod wgmma_sparse;

use ptx_matrix::lane::Grid;
use ptx_matrix::sim::{Place, SimError};
use std::panic::Location;
use std::path::Path;

/// The line of the test's own file that ends with the comment `// <- marker`; the line before a
/// comment that stands alone.
#[track_caller]
fn line_of(marker: &str) -> (String, u32) {
    let file = Location::caller().file();
    let source =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file))
            .unwrap();
    let comment = format!("// <- {marker}");
    let lines: Vec<u32> = (1..)
        .zip(source.lines())
        .filter(|(_, line)| line.ends_with(&comment))
        .map(|(number, line)| if line.trim() == comment { number - 1 } else { number })
        .collect();
    let [line] = lines[..] else { panic!("`{comment}` must end one line, not lines {lines:?}") };
    (file.to_owned(), line)
}

/// Asserts that the error is on the marked line, in this block and warp, and in one lane. The seed
/// decides which lane is elected.
#[track_caller]
fn assert_elected_at(error: &SimError, marker: &str, block: impl Into<Grid>, warp: usize) {
    assert!(error.lane.is_some(), "{error}");
    assert_at(error, marker, block, warp, error.lane);
}

/// Asserts that the error is on the marked line, in this block, warp and lane.
#[track_caller]
fn assert_at(
    error: &SimError,
    marker: &str,
    block: impl Into<Grid>,
    warp: impl Into<Option<usize>>,
    lane: Option<usize>,
) {
    let expected = (Some(line_of(marker)), Some(block.into()), warp.into(), lane);
    let Place { file, line, .. } = error.place.clone().expect("a place");
    assert_eq!((Some((file, line)), error.block, error.warp, error.lane), expected, "{error}");
}
