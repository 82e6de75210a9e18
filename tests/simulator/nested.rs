//! Kernels that simulate other kernels.

use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{Misuse, Simulator};

#[kernel(threads = 64)]
fn inner(block: &Block, d: GlobalMut<u32>) {
    let first = block.warp().index() * 32;
    block.sync();
    // SAFETY: This is in a lane closure.
    block.warp().each(|lane| d.set(first + lane.id(), unsafe { raw::index::thread() }));
}

/// Each lane runs another kernel, then writes: its own element, or the same element as all lanes.
#[kernel(threads = 32)]
fn outer(block: &Block, d: GlobalMut<u32>, same: u32) {
    block.warp().each(|lane| {
        let mut result = [0; 64];
        inner::simulate(1, &mut result).unwrap();
        // SAFETY: This is in a lane closure.
        assert_eq!(unsafe { raw::index::thread() }, lane.id() as u32);
        // SAFETY: All lanes reach this.
        unsafe { raw::bar_warp_sync() };
        d.set(if same == 1 { 0 } else { lane.id() }, result[lane.id() + 1]);
    });
}

#[test]
fn outer_closure_continues_as_its_lane() {
    let mut d = [0; 32];
    outer::launch(&Simulator::new(0).strict(), 1, &mut d, 0).unwrap();
    assert_eq!(d[31], 32);
    let error = outer::simulate(1, &mut d, 1).unwrap_err();
    assert!(matches!(error.misuse, Misuse::Race { .. }), "{error}");
}
