//! Launches that no GPU would accept.

use ptx_matrix::sim::{Misuse, SimError};
use ptx_matrix::*;

#[track_caller]
fn message(error: &SimError) -> &str {
    assert_eq!((&error.place, error.block, error.warp, error.lane), (&None, None, None, None));
    let Misuse::Launch { message } = &error.misuse else { panic!("{error}") };
    message
}

#[kernel(threads = 32)]
fn nothing(_: &Block) {}

#[test]
fn an_empty_grid() {
    for grid in [(0, 1, 1), (1, 0, 1), (1, 1, 0)] {
        let error = nothing::simulate(grid).unwrap_err();
        let message = message(&error);
        assert!(message.contains(&format!("a grid of {grid:?} has no blocks")), "{message}");
    }
    assert_eq!(nothing::simulate((1, 1, 1)).unwrap().blocks, 1);
}

#[kernel(threads = 32)]
fn all_shared_memory(_: &Block, #[shared] _tile: SharedTile<u8, { 227 * 64 }, 16>) {}

#[test]
fn a_block_with_all_the_shared_memory_there_is() {
    all_shared_memory::simulate(1).unwrap();
}
