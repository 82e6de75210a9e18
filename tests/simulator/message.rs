//! Errors as users see them.

use crate::line_of;
use ptx_matrix::prelude::*;

#[kernel(threads = 64)]
fn gather(block: &Block, a: Global<f32>) {
    if block.warp().index() == 1 {
        block.warp().each(|lane| a.get(lane.id())); // <- gather
    }
}

#[test]
fn error_has_compiler_format() {
    let error = gather::simulate((2, 1, 3), &[0.0; 30]).unwrap_err();
    let (file, line) = line_of("gather");
    let expected = format!(
        "error: read out of bounds: element 30 of `a`, which has 30
  --> {file}:{line}:36
   = in kernel `gather`, block (0, 0, 0), warp 1, lane 30
   = help: pass a longer slice, or do not access it in these lanes"
    );
    assert_eq!(error.to_string(), expected);
    // So `unwrap()` in a test shows the error from the start of a line.
    assert_eq!(format!("{error:?}"), format!("\n{expected}"));
}

#[kernel(threads = 96)]
fn wait(block: &Block) {
    if block.warp().index() != 1 {
        block.sync(); // <- wait
    }
}

#[test]
fn deadlock_names_all_warps() {
    let error = wait::simulate(1).unwrap_err();
    let (file, line) = line_of("wait");
    let expected = format!(
        "error: deadlock: warps 0 and 2 wait at a `sync` that not all warps reach
  --> {file}:{line}:15
   = in kernel `wait`, block (0, 0, 0)
   = warps 0 and 2 wait at {file}:{line}:15
   = warp 1 has ended
   = help: every warp of a block must come to `sync` equally often; in a branch for the warps of a \
            warpgroup, take the `sync` of the warpgroup"
    );
    assert_eq!(error.to_string(), expected);
}
