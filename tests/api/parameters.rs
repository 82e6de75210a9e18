//! Numbers and slices as kernel parameters, and their order.

use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Report, Simulator};

#[kernel(threads = 32)]
fn numbers(
    _: &Block,
    a: u8,
    b: i8,
    c: u16,
    d: i16,
    e: u32,
    f: i32,
    g: u64,
    h: i64,
    i: usize,
    j: isize,
    k: f32,
    l: f64,
    integers: GlobalMut<i64>,
    floats: GlobalMut<f64>,
) {
    let all = [
        a as i64,
        b.into(),
        c.into(),
        d.into(),
        e.into(),
        f.into(),
        g as i64,
        h,
        i as i64,
        j as i64,
    ];
    for (index, value) in all.into_iter().enumerate() {
        integers.set(index, value);
    }
    floats.set(0, k.into());
    floats.set(1, l);
}

#[test]
fn passes_each_number_type() {
    let (mut integers, mut floats) = ([0; 10], [0.0; 2]);
    numbers::simulate(
        1,
        u8::MAX,
        i8::MIN,
        u16::MAX,
        i16::MIN,
        u32::MAX,
        i32::MIN,
        i64::MAX as u64,
        i64::MIN,
        123,
        -123,
        0.1,
        0.2,
        &mut integers,
        &mut floats,
    )
    .unwrap();
    let expected =
        [255, -128, 65535, -32768, 4294967295, -2147483648, i64::MAX, i64::MIN, 123, -123];
    assert_eq!((integers, floats), (expected, [f64::from(0.1_f32), 0.2]));
}

#[kernel(threads = 32)]
fn interleaved(
    _: &Block,
    factor: f32,
    a: Global<f32>,
    #[shared] _tile: SharedTile<u8, 1, 16>,
    d: GlobalMut<f32>,
    term: f32,
) {
    for index in 0..a.len() {
        d.set(index, a.get(index) * factor + term);
    }
}

#[test]
fn numbers_and_slices_in_any_order() {
    let mut d = [0.0; 3];
    interleaved::launch(&Simulator::default(), 1, 2.0, &[1.0, 2.0, 3.0], &mut d, 0.5).unwrap();
    assert_eq!(d, [2.5, 4.5, 6.5]);
}

#[kernel(threads = 32)]
fn lengths(_: &Block, a: Global<u64>, b: GlobalMut<u8>, d: GlobalMut<u64>) {
    d.set(0, a.len() as u64);
    d.set(1, b.len() as u64);
    d.set(2, u64::from(a.is_empty()));
    d.set(3, u64::from(b.is_empty()));
}

#[test]
fn passes_empty_slices() {
    let mut d = [9; 4];
    lengths::simulate(1, &[], &mut [1, 2, 3], &mut d).unwrap();
    assert_eq!(d, [0, 3, 1, 0]);
}

#[kernel(threads = 64)]
fn index_of_each_block(block: &Block, d: GlobalMut<u32>) {
    let (index, grid) = (block.index(), block.grid());
    let rank = ((index.z * grid.y + index.y) * grid.x + index.x) as usize;
    let warp = block.warp().index();
    let values =
        [index.x, index.y, index.z, warp as u32, block.warps() as u32, block.threads() as u32];
    for (offset, value) in values.into_iter().enumerate() {
        d.set((rank * 2 + warp) * values.len() + offset, value);
    }
}

#[test]
fn launches_three_dimensional_grid() {
    let mut d = [u32::MAX; 2 * 3 * 4 * 2 * 6];
    let report = index_of_each_block::simulate((2, 3, 4), &mut d).unwrap();
    assert_eq!(
        report,
        Report { gpu: None, blocks: 24, warps: 48, warnings: vec![], profile: None, trace: None }
    );
    let mut of_each = d.chunks(6);
    for z in 0..4 {
        for y in 0..3 {
            for x in 0..2 {
                for warp in 0..2 {
                    assert_eq!(of_each.next().unwrap(), [x, y, z, warp, 2, 64]);
                }
            }
        }
    }
}
