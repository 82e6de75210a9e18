//! Reads of unwritten global memory.

use crate::{assert_at, line_of};
use ptx_matrix::copy::CpAsync;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Misuse, mark_unwritten};

/// Reads an element after writing the first `first` elements.
#[kernel(threads = 64)]
fn read_back(block: &Block, d: GlobalMut<u16>, first: usize, read: usize) {
    let warp = block.warp();
    let rank = warp.index() * 32;
    warp.each(|lane| {
        if rank + lane.id() < first {
            d.set(rank + lane.id(), 7);
        }
    });
    block.sync();
    warp.each(|lane| {
        if rank + lane.id() == 40 {
            d.get(lane, read); // <- read back
        }
    });
}

#[test]
fn read_before_the_kernels_write_is_an_error() {
    let mut d = [0; 64];
    read_back::simulate(1, &mut d, 20, 63).unwrap();
    mark_unwritten(&mut d);
    let error = read_back::simulate(1, &mut d, 20, 20).unwrap_err();
    assert_eq!(error.misuse, Misuse::GlobalUnwritten { name: "d", index: 20 });
    assert_at(&error, "read back", (0, 0, 0), 1, Some(8));
    read_back::simulate(1, &mut d, 20, 19).unwrap();
}

#[test]
fn writes_of_an_earlier_launch_count() {
    let mut d = [0; 64];
    mark_unwritten(&mut d);
    read_back::simulate(1, &mut d, 30, 29).unwrap();
    read_back::simulate(1, &mut d, 0, 29).unwrap();
    let error = read_back::simulate(1, &mut d, 0, 30).unwrap_err();
    assert_eq!(error.misuse, Misuse::GlobalUnwritten { name: "d", index: 30 });
}

#[kernel(threads = 32, target = "sm_80")]
fn constants(
    block: &Block,
    #[shared] tile: SharedTile<u32, 1, 4>,
    a: Global<u32>,
    by: u32,
    index: usize,
) {
    let warp = block.warp();
    match by {
        0 => drop(a.get(index)), // <- at warp scope
        1 => drop(warp.each(|lane| if lane.id() == 9 { a.get(index) } else { 0 })), // <- in a lane
        _ => drop(warp.each(|lane| {
            if lane.id() == 9 {
                CpAsync::<16>::copy(lane, &tile, (0, 0), a, index / 4 * 4); // <- by a copy
            }
        })),
    }
    CpAsync::<16>::commit(warp);
    CpAsync::<16>::wait::<0>(warp);
}

#[test]
fn read_of_an_unwritten_read_only_slice_is_an_error() {
    let mut a = [0; 16];
    mark_unwritten(&mut a);
    a[8..12].fill(5);
    for (by, marker, lane) in
        [(0, "at warp scope", None), (1, "in a lane", Some(9)), (2, "by a copy", Some(9))]
    {
        constants::simulate(1, &a, by, 8).unwrap();
        let error = constants::simulate(1, &a, by, 12).unwrap_err();
        assert_eq!(error.misuse, Misuse::GlobalUnwritten { name: "a", index: 12 });
        assert_at(&error, marker, (0, 0, 0), 0, lane);
    }
    a.fill(0);
    (0..3).for_each(|by| drop(constants::simulate(1, &a, by, 12).unwrap()));
}

#[test]
fn report_states_the_remedy() {
    let mut d = [0; 64];
    mark_unwritten(&mut d);
    let error = read_back::simulate(1, &mut d, 0, 3).unwrap_err();
    let (file, line) = line_of("read back");
    let expected = format!(
        "error: read of global memory that nothing wrote: element 3 of `d`
  --> {file}:{line}:15
   = in kernel `read_back`, block (0, 0, 0), warp 1, lane 8
   = help: write it before: on the host, or in an earlier launch"
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn copy_with_an_unwritten_first_part_is_an_error() {
    let mut a = [0; 16];
    mark_unwritten(&mut a[12..13]);
    mark_unwritten(&mut a[14..15]);
    a[14] = 1;
    let error = constants::simulate(1, &a, 2, 12).unwrap_err();
    assert_eq!(error.misuse, Misuse::GlobalUnwritten { name: "a", index: 12 });
}

#[test]
fn copy_of_a_later_unwritten_element_names_it() {
    let mut a = [0; 16];
    mark_unwritten(&mut a[14..16]);
    let error = constants::simulate(1, &a, 2, 12).unwrap_err();
    assert_eq!(error.misuse, Misuse::GlobalUnwritten { name: "a", index: 14 });
}
