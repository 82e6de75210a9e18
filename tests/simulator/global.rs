//! Slices in global memory.

use crate::assert_at;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::Misuse;

#[kernel(threads = 64)]
fn copy(block: &Block, a: Global<u32>, d: GlobalMut<u32>) {
    let first = block.index().x as usize * 64 + block.warp().index() * 32;
    block.warp().each(|lane| {
        let value = a.get(first + lane.id()); // <- read
        d.set(first + lane.id(), value); // <- write
    });
}

#[test]
fn read_beyond_a_slice_is_an_error() {
    let error = copy::simulate(2, &[1; 127], &mut [0; 128]).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::GlobalOutOfBounds { access: "read", name: "a", index: 127, len: 127 }
    );
    assert_at(&error, "read", (1, 0, 0), 1, Some(31));
}

#[test]
fn write_beyond_a_slice_is_an_error() {
    let error = copy::simulate(2, &[1; 128], &mut [0; 100]).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::GlobalOutOfBounds { access: "write", name: "d", index: 100, len: 100 }
    );
    assert_at(&error, "write", (1, 0, 0), 1, Some(4));
}

#[test]
fn whole_slice_is_copied() {
    let mut d = [0; 128];
    copy::simulate(2, &[1; 128], &mut d).unwrap();
    assert_eq!(d, [1; 128]);
}

#[kernel(threads = 32)]
fn read_at_warp_scope(_: &Block, a: Global<u32>) {
    a.get(a.len()); // <- uniform read
}

#[test]
fn at_warp_scope_no_lane_is_to_blame() {
    let error = read_at_warp_scope::simulate(1, &[1, 2]).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::GlobalOutOfBounds { access: "read", name: "a", index: 2, len: 2 }
    );
    assert_at(&error, "uniform read", (0, 0, 0), 0, None);
}

#[kernel(threads = 32)]
fn read_back(block: &Block, d: GlobalMut<u32>) {
    block.warp().each(|lane| d.get(lane, lane.id())); // <- read back
}

#[test]
fn read_beyond_a_mutable_slice_is_an_error() {
    let error = read_back::simulate(1, &mut [0; 20]).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::GlobalOutOfBounds { access: "read", name: "d", index: 20, len: 20 }
    );
    assert_at(&error, "read back", (0, 0, 0), 0, Some(20));
    read_back::simulate(1, &mut [0; 32]).unwrap();
}

#[kernel(threads = 32)]
fn unchecked(block: &Block, a: Global<u32>, d: GlobalMut<u32>) {
    block.warp().each(|lane| {
        // SAFETY: The tests say which arguments are valid.
        let value = unsafe { a.get_unchecked(lane.id()) }; // <- unchecked read
        // SAFETY: The tests say which arguments are valid.
        unsafe { d.set_unchecked(lane.id(), value) } // <- unchecked write
    });
}

#[test]
fn unchecked_access_is_checked_on_the_simulator() {
    let error = unchecked::simulate(1, &[1; 31], &mut [0; 32]).unwrap_err();
    assert_at(&error, "unchecked read", (0, 0, 0), 0, Some(31));
    let error = unchecked::simulate(1, &[1; 32], &mut [0; 31]).unwrap_err();
    assert_at(&error, "unchecked write", (0, 0, 0), 0, Some(31));
    unchecked::simulate(1, &[1; 32], &mut [0; 32]).unwrap();
}
