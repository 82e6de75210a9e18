//! Loads and stores of fragments, for all roles, shapes, swizzles and orders, at every legal
//! coordinate.

use ptx_matrix::element::{Bits16, Bits32};
use ptx_matrix::fragment::{Fragment, FragmentShape, Order, Role, RoleA, RoleB, RoleC};
use ptx_matrix::memory::Swizzle;
use ptx_matrix::mma::CountOf;
use ptx_matrix::prelude::*;

/// The distinct bits of the element at (row, col) of a tile.
fn bits(row: usize, col: usize) -> u16 {
    (row * 100 + col) as u16
}

/// The value of elements outside of a store.
const UNTOUCHED: u16 = 0xffff;

/// Every legal coordinate of a fragment in a tile.
fn coordinates<O: Order>(
    (tile_rows, tile_cols): (usize, usize),
    (rows, cols): (usize, usize),
    chunk: usize,
) -> impl Iterator<Item = (usize, usize)> {
    let (down, right) = if O::ROW_MAJOR { (1, chunk) } else { (chunk, 1) };
    let lefts = move || (0..=tile_cols - cols).step_by(right);
    (0..=tile_rows - rows).step_by(down).flat_map(move |row| lefts().map(move |col| (row, col)))
}

/// A tile of 16-bit elements and one of 32-bit elements.
type Tiles<const ROWS: usize, const COLS: usize, S, O> =
    (SharedTile<u16, ROWS, COLS, S, O>, SharedTile<u32, ROWS, COLS, S, O>);

/// `load` and `load_elements` load the tile's elements into the lanes of the layout.
fn loads<R: Role, F, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
    warp: Warp,
    tile: SharedTile<u16, ROWS, COLS, S, O>,
) where
    F: FragmentShape<R, Bits16>,
    F::Registers: CountOf,
{
    let size = (Fragment::<R, F, u16>::ROWS, Fragment::<R, F, u16>::COLS);
    warp.sync();
    tile.fill(warp, bits);
    warp.sync();
    for (top, left) in coordinates::<O>((ROWS, COLS), size, 8) {
        let loaded = Fragment::<R, F, u16>::load(warp, &tile, (top, left));
        loaded.for_each(warp, |row, col, value| assert_eq!(value, bits(top + row, left + col)));
        let by_element = Fragment::<R, F, u16>::load_elements(warp, &tile, (top, left));
        let elements = Fragment::<R, F, u16>::LAYOUT.elements();
        warp.each(|lane| {
            for index in 0..elements {
                let (row, col) = Fragment::<R, F, u16>::position(lane.id(), index);
                assert_eq!(Fragment::<R, F, u16>::owner(row, col), (lane.id(), index));
                assert_eq!(loaded.get(lane, index), bits(top + row, left + col));
                assert_eq!(by_element.get(lane, index), bits(top + row, left + col));
            }
        });
    }
}

/// `store` and `store_matrix` write the elements of the fragment and no others.
fn stores<R: Role, F, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
    warp: Warp,
    tile: SharedTile<u16, ROWS, COLS, S, O>,
) where
    F: FragmentShape<R, Bits16>,
    F::Registers: CountOf,
{
    let (rows, cols) = (Fragment::<R, F, u16>::ROWS, Fragment::<R, F, u16>::COLS);
    let fragment = Fragment::<R, F, u16>::from_fn(warp, bits);
    for (top, left) in coordinates::<O>((ROWS, COLS), (rows, cols), 8) {
        for by_matrix in [false, true] {
            warp.sync();
            tile.fill(warp, |_, _| UNTOUCHED);
            warp.sync();
            if by_matrix {
                fragment.store_matrix(warp, &tile, (top, left));
            } else {
                fragment.store(warp, &tile, (top, left));
            }
            warp.sync();
            tile.for_each(warp, |row, col, value| {
                let inside = (top..top + rows).contains(&row) && (left..left + cols).contains(&col);
                let expected = if inside { bits(row - top, col - left) } else { UNTOUCHED };
                assert_eq!(value, expected, "({row}, {col}), with the fragment at ({top}, {left})");
            });
        }
    }
}

/// Accumulators with 32-bit elements are moved element by element.
fn wide_accumulators<F, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
    warp: Warp,
    tile: SharedTile<u32, ROWS, COLS, S, O>,
) where
    F: FragmentShape<RoleC, Bits32>,
{
    let fragment = Accumulator::<F, u32>::from_fn(warp, |row, col| bits(row, col).into());
    for (top, left) in coordinates::<O>((ROWS, COLS), (16, 8), 4) {
        warp.sync();
        tile.fill(warp, |_, _| u32::MAX);
        warp.sync();
        fragment.store(warp, &tile, (top, left));
        warp.sync();
        tile.for_each(warp, |row, col, value| {
            let inside = (top..top + 16).contains(&row) && (left..left + 8).contains(&col);
            let expected = if inside { bits(row - top, col - left).into() } else { u32::MAX };
            assert_eq!(value, expected, "({row}, {col}), with the fragment at ({top}, {left})");
        });
        let loaded = Accumulator::<F, u32>::load_elements(warp, &tile, (top, left));
        loaded.for_each(warp, |row, col, value| assert_eq!(value, bits(row, col).into()));
    }
}

/// All tests for tiles of one size, swizzle and order.
fn round_trips<const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
    block: &Block,
    (tile, wide): Tiles<ROWS, COLS, S, O>,
) {
    let warp = block.warp();
    macro_rules! fragments {
        ($($role:ident $shape:ident;)*) => {$(
            loads::<$role, $shape, ROWS, COLS, S, O>(warp, tile);
            stores::<$role, $shape, ROWS, COLS, S, O>(warp, tile);
        )*};
    }
    fragments! {
        RoleA M16N8K8;
        RoleA M16N8K16;
        RoleB M16N8K8;
        RoleB M16N8K16;
        RoleC M16N8K8;
        RoleC M16N8K16;
    }
    wide_accumulators::<M16N8K8, ROWS, COLS, S, O>(warp, wide);
    wide_accumulators::<M16N8K16, ROWS, COLS, S, O>(warp, wide);
}

macro_rules! tiles {
    ($($name:ident: $rows:literal x $cols:literal, $swizzle:ident, $order:ident;)*) => {$(
        #[test]
        fn $name() {
            #[kernel(threads = 32)]
            fn run(block: &Block, #[shared] tiles: Tiles<$rows, $cols, $swizzle, $order>) {
                round_trips(block, tiles);
            }
            run::simulate(1).unwrap();
        }
    )*};
}

tiles! {
    unswizzled_rows: 17 x 24, Unswizzled, RowMajor;
    unswizzled_columns: 24 x 17, Unswizzled, ColMajor;
    swizzle_32_rows: 20 x 16, Swizzle32, RowMajor;
    swizzle_32_columns: 16 x 20, Swizzle32, ColMajor;
    swizzle_64_rows: 20 x 32, Swizzle64, RowMajor;
    swizzle_64_columns: 32 x 20, Swizzle64, ColMajor;
    swizzle_128_rows: 20 x 64, Swizzle128, RowMajor;
    swizzle_128_columns: 64 x 20, Swizzle128, ColMajor;
    swizzle_128_short_rows: 18 x 24, Swizzle128, RowMajor;
    swizzle_128_short_columns: 24 x 18, Swizzle128, ColMajor;
    swizzle_128_long_rows: 16 x 128, Swizzle128, RowMajor;
    swizzle_128_long_columns: 128 x 16, Swizzle128, ColMajor;
}

#[kernel(threads = 32)]
fn map(block: &Block) {
    let warp = block.warp();
    let fragment = Accumulator::<M16N8K16, f32>::from_fn(warp, |row, col| (row * 8 + col) as f32);
    fragment
        .map(warp, |row, col, value| {
            assert_eq!(value, (row * 8 + col) as f32);
            value * 2.0
        })
        .for_each(warp, |row, col, value| assert_eq!(value, (row * 16 + col * 2) as f32));
    // From one element in a register to two.
    fragment
        .map(warp, |_, _, value| f16::from_f32(value))
        .for_each(warp, |row, col, value| assert_eq!(value.to_f32(), (row * 8 + col) as f32));
    Accumulator::<M16N8K16, f32>::zero()
        .for_each(warp, |_, _, value| assert_eq!(value.to_bits(), 0));
}

#[test]
fn map_keeps_positions() {
    map::simulate(1).unwrap();
}

#[kernel(threads = 32)]
fn known_coordinates(block: &Block, #[shared] tile: SharedTile<u16, 24, 32, Swizzle64>) {
    let warp = block.warp();
    tile.fill(warp, bits);
    warp.sync();
    let known = FragmentA::<M16N8K16, u16>::load(warp, &tile, At::<8, 16>);
    known.for_each(warp, |row, col, value| assert_eq!(value, bits(8 + row, 16 + col)));
    let rows = FragmentB::<M16N8K16, u16>::rows(warp, &tile, At::<3, 24>);
    for _ in 0..2 {
        let loaded = FragmentB::load_rows(warp, rows);
        loaded.for_each(warp, |row, col, value| assert_eq!(value, bits(3 + row, 24 + col)));
        warp.sync();
        loaded.map(warp, |_, _, value| value + 1).store_rows(warp, rows);
        warp.sync();
        FragmentB::load_rows(warp, rows)
            .for_each(warp, |row, col, value| assert_eq!(value, bits(3 + row, 24 + col) + 1));
        warp.sync();
        loaded.store_rows(warp, rows);
        warp.sync();
    }
    warp.each(|lane| assert_eq!(tile.get(lane, At::<23, 31>), bits(23, 31)));
}

#[test]
fn coordinates_known_at_compile_time_and_addresses_kept() {
    known_coordinates::simulate(1).unwrap();
}
