//! Functions whose closures get the lane, and so can read and write shared memory.

use ptx_matrix::mma::{GroupAccumulator, RowValues};
use ptx_matrix::prelude::*;

/// D = 2 A + the row's number, by way of fragments and shared tiles.
#[kernel(threads = 32)]
fn through_fragments(
    block: &Block,
    #[shared] [from, copy, to]: [SharedTile<f32, 16, 8>; 3],
    a: Global<f32>,
    d: GlobalMut<f32>,
) {
    let warp = block.warp();
    from.fill(warp, |row, col| a.get(row * 8 + col));
    warp.sync();
    copy.fill_with_lane(warp, |lane, row, col| from.get(lane, (row, col)));
    warp.sync();
    let numbers = Accumulator::<M16N8K8, f32>::from_fn_with_lane(warp, |lane, row, col| {
        copy.get(lane, (row, col))
    });
    let doubled =
        numbers.map_with_lane(warp, |lane, row, col, number| number + copy.get(lane, (row, col)));
    doubled.for_each_with_lane(warp, |_, row, col, number| to.set((row, col), number));
    warp.sync();
    to.for_each_with_lane(warp, |_, row, col, number| d.set(row * 8 + col, number + row as f32));
}

/// The same with 64 x 16 numbers in a warpgroup.
#[kernel(threads = 128, target = "sm_80")]
fn through_group(
    block: &Block,
    #[shared] [from, to]: [SharedTile<f32, 64, 16>; 2],
    #[shared] rows: SharedTile<f32, 1, 64>,
    a: Global<f32>,
    d: GlobalMut<f32>,
) {
    let group = block.warp_group();
    from.fill(group, |row, col| a.get(row * 16 + col));
    rows.fill(group, |_, row| row as f32);
    group.sync();
    let numbers = GroupAccumulator::<16, f32>::from_fn_with_lane(group, |lane, row, col| {
        from.get(lane, (row, col))
    });
    let doubled =
        numbers.map_with_lane(group, |lane, row, col, number| number + from.get(lane, (row, col)));
    let of_rows = RowValues::from_fn_with_lane(group, |lane, row| rows.get(lane, (0, row)));
    of_rows.for_each_with_lane(group, |lane, row, value| {
        assert_eq!(rows.get(lane, (0, row)), value);
    });
    let registers = doubled.registers();
    let doubled = GroupAccumulator::<16, f32>::from_registers(registers);
    let first = group.warp_rank() * 32;
    group.warp().each(|lane| {
        for index in 0..GroupAccumulator::<16, f32>::ELEMENTS {
            let (row, col) = GroupAccumulator::<16, f32>::position(first + lane.id(), index);
            assert_eq!(doubled.get(lane, index), 2.0 * from.get(lane, (row, col)));
        }
    });
    doubled
        .map_rows(group, &of_rows, |number, row| number + row)
        .for_each_with_lane(group, |_, row, col, number| to.set((row, col), number));
    group.sync();
    to.for_each(group, |row, col, number| d.set(row * 16 + col, number));
}

#[test]
fn closures_with_a_lane_access_shared_memory() {
    let a: Vec<f32> = (0..1024).map(|i| (i * 7 % 31) as f32).collect();
    let expected = |cols: usize, i: usize| 2.0 * a[i] + (i / cols) as f32;
    let mut d = [0.0; 128];
    through_fragments::simulate(1, &a[..128], &mut d).check();
    assert_eq!(d, core::array::from_fn(|i| expected(8, i)));
    let mut d = [0.0; 1024];
    through_group::simulate(1, &a, &mut d).check();
    assert_eq!(d, core::array::from_fn(|i| expected(16, i)));
}
