//! The layout of shared memory. Structs, arrays and tuples of tiles, and several `#[shared]`
//! parameters, do not overlap, and have the alignment of their swizzles.

use ptx_matrix::memory::Swizzle;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::SHARED_BASE;

/// 48 bytes, so that the next part needs padding.
type Odd = SharedTile<u16, 3, 8>;
type Swizzled = SharedTile<u16, 8, 64, Swizzle128>;
type Wide = SharedTile<f64, 5, 2>;

/// Writes `value` to all elements of a tile.
fn put<T: Element, const R: usize, const C: usize, S: Swizzle>(
    block: &Block,
    tile: SharedTile<T, R, C, S>,
    value: T,
) {
    tile.fill(block, |_, _| value);
}

/// All elements of a tile are still `value`.
fn check<T: Element + PartialEq, const R: usize, const C: usize, S: Swizzle>(
    block: &Block,
    tile: SharedTile<T, R, C, S>,
    value: T,
) {
    assert!(tile.address().is_multiple_of(S::ALIGN as u32));
    tile.for_each(block, |_, _, found| assert!(found == value, "overwritten by another part"));
}

#[derive(SharedLayout)]
struct Stage<S: Swizzle> {
    a: Odd,
    b: SharedTile<u16, 8, 64, S>,
}

#[derive(SharedLayout)]
struct Parts {
    first: Odd,
    stages: [Stage<Swizzle128>; 2],
    mixed: (Odd, Wide, Odd),
    none: (),
    last: [Odd; 3],
}

#[kernel(threads = 64)]
fn a_struct(block: &Block, #[shared] parts: Parts) {
    let Parts { first, stages, mixed, none: (), last } = parts;
    put(block, first, 1);
    for (i, stage) in (0..).zip(&stages) {
        put(block, stage.a, 10 + i);
        put(block, stage.b, 20 + i);
    }
    put(block, mixed.0, 30);
    put(block, mixed.1, 31.0);
    put(block, mixed.2, 32);
    for (i, tile) in (0..).zip(last) {
        put(block, tile, 40 + i);
    }
    block.sync();
    check(block, first, 1);
    for (i, stage) in (0..).zip(&stages) {
        check(block, stage.a, 10 + i);
        check(block, stage.b, 20 + i);
    }
    check(block, mixed.0, 30);
    check(block, mixed.1, 31.0);
    check(block, mixed.2, 32);
    for (i, tile) in (0..).zip(last) {
        check(block, tile, 40 + i);
    }
}

#[test]
fn struct_fields_do_not_overlap() {
    a_struct::simulate(1).unwrap();
    assert_eq!(a_struct::INFO.shared_align as usize, Swizzle128::ALIGN);
}

#[kernel(threads = 64)]
fn several(
    block: &Block,
    #[shared] first: Odd,
    a: Global<u16>,
    #[shared] stage: Stage<Swizzle64>,
    #[shared] tiles: [Odd; 2],
    b: Global<u16>,
    #[shared] (left, right): (Odd, Swizzled),
) {
    put(block, first, a.get(0));
    put(block, stage.a, a.get(1));
    put(block, stage.b, a.get(2));
    put(block, tiles[0], b.get(0));
    put(block, tiles[1], b.get(1));
    put(block, left, b.get(2));
    put(block, right, b.get(3));
    block.sync();
    check(block, first, a.get(0));
    check(block, stage.a, a.get(1));
    check(block, stage.b, a.get(2));
    check(block, tiles[0], b.get(0));
    check(block, tiles[1], b.get(1));
    check(block, left, b.get(2));
    check(block, right, b.get(3));
}

#[test]
fn several_shared_parameters() {
    several::simulate(1, &[1, 2, 3], &[4, 5, 6, 7]).unwrap();
}

#[kernel(threads = 32)]
fn addresses(
    _: &Block,
    #[shared] first: Odd,
    #[shared] stages: [Stage<Swizzle32>; 2],
    d: GlobalMut<u32>,
) {
    let [one, two] = stages;
    let of_all =
        [first.address(), one.a.address(), one.b.address(), two.a.address(), two.b.address()];
    for (index, address) in of_all.into_iter().enumerate() {
        d.set(index, address);
    }
}

/// A struct has the strictest alignment of its parts.
#[test]
fn parts_are_packed_at_their_alignments() {
    let mut d = [0; 5];
    addresses::simulate(1, &mut d).unwrap();
    let from_start = d.map(|address| address - SHARED_BASE);
    let (stage, b) = (256, 256);
    let two = (stage + b + 1024_u32).next_multiple_of(stage);
    assert_eq!(from_start, [0, stage, stage + b, two, two + b]);
    assert_eq!(addresses::INFO.shared_bytes, two + b + 1024);
    assert_eq!(addresses::INFO.shared_align, 256);
}

#[test]
fn sizes() {
    assert_eq!((<() as SharedLayout>::BYTES, <() as SharedLayout>::ALIGN), (0, 1));
    assert_eq!(<[Odd; 0] as SharedLayout>::BYTES, 0);
    assert_eq!(<[Odd; 3] as SharedLayout>::BYTES, 3 * 48);
    assert_eq!(<(Odd, Odd, Odd, Odd, Odd, Wide) as SharedLayout>::BYTES, 5 * 48 + 80);
    // A swizzle permutes chunks within its whole span, so the tile occupies all of it.
    assert_eq!(<SharedTile<u16, 3, 8, Swizzle128> as SharedLayout>::BYTES, 128);
    assert_eq!(<SharedTile<u16, 8, 9, Swizzle32, ColMajor> as SharedLayout>::ALIGN, 256);
}

#[kernel(threads = 32)]
fn large_last(
    _: &Block,
    #[shared] row: SharedTile<u32, 1, 32>,
    #[shared] (left, right): (SharedTile<u32, 1, 32>, SharedTile<u32, 1, 32>),
    #[shared] tile: SharedTile<u32, 8, 32, Swizzle128>,
    d: GlobalMut<u32>,
) {
    let addresses = [row.address(), left.address(), right.address(), tile.address()];
    for (index, address) in addresses.into_iter().enumerate() {
        d.set(index, address);
    }
}

/// A parameter of large alignment moves none of those before it.
#[test]
fn parameters_are_packed_at_their_alignments() {
    let mut d = [0; 4];
    large_last::simulate(1, &mut d).unwrap();
    assert_eq!(d.map(|address| address - SHARED_BASE), [0, 128, 256, 1024]);
    assert_eq!(large_last::INFO.shared_bytes, 2048);
    assert_eq!(large_last::INFO.shared_align, 1024);
}
