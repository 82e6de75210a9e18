//! `fill` and `for_each` visit every element once, by a warp and by a block, for all sizes,
//! swizzles and orders of tiles.

use ptx_matrix::fragment::Order;
use ptx_matrix::memory::Swizzle;
use ptx_matrix::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A distinct value for every element.
fn distinct<T: Element>(row: usize, col: usize) -> T {
    let bytes = (row * 256 + col + 1).to_le_bytes();
    bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])
}

/// Fills the tile and reads it back: each element must have its value. Counts the reads in
/// `visits`, and marks the elements in `seen`.
fn round_trip<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
    threads: impl Threads,
    block: &Block,
    tile: SharedTile<T, ROWS, COLS, S, O>,
    seen: GlobalMut<u8>,
    visits: &'static Visits,
) {
    tile.fill(threads, distinct::<T>);
    block.sync();
    tile.for_each(threads, |row, col, value| {
        assert_eq!(bytemuck::bytes_of(&value), bytemuck::bytes_of(&distinct::<T>(row, col)));
        seen.set(row * COLS + col, 1);
        visits.count();
    });
}

/// A counter that lane closures may capture, for the host.
struct Visits(AtomicUsize);

impl Visits {
    fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// For each tile type: a kernel that fills it by block, one that fills it by warp, and a test of
/// both.
macro_rules! tiles {
    ($($name:ident: $element:ty, $rows:literal x $cols:literal, $($order:ident)?;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn unswizzled() {
                test_tile!($element, $rows, $cols, Unswizzled $(, $order)?);
            }
            #[test]
            fn swizzle_32() {
                test_tile!($element, $rows, $cols, Swizzle32 $(, $order)?);
            }
            #[test]
            fn swizzle_64() {
                test_tile!($element, $rows, $cols, Swizzle64 $(, $order)?);
            }
            #[test]
            fn swizzle_128() {
                test_tile!($element, $rows, $cols, Swizzle128 $(, $order)?);
            }
        }
    )*};
}

macro_rules! test_tile {
    ($element:ty, $rows:literal, $cols:literal, $($parameter:ident),+) => {{
        static VISITS: Visits = Visits(AtomicUsize::new(0));

        #[kernel(threads = 96)]
        fn by_block(
            block: &Block,
            #[shared] tile: SharedTile<$element, $rows, $cols, $($parameter),+>,
            seen: GlobalMut<u8>,
        ) {
            round_trip(block, block, tile, seen, &VISITS);
        }

        #[kernel(threads = 32)]
        fn by_warp(
            block: &Block,
            #[shared] tile: SharedTile<$element, $rows, $cols, $($parameter),+>,
            seen: GlobalMut<u8>,
        ) {
            round_trip(block.warp(), block, tile, seen, &VISITS);
        }

        let mut seen = [0; $rows * $cols];
        by_block::simulate(1, &mut seen).unwrap();
        assert_eq!(seen, [1; $rows * $cols]);
        assert_eq!(VISITS.0.swap(0, Ordering::Relaxed), $rows * $cols);

        let mut seen = [0; $rows * $cols];
        by_warp::simulate(1, &mut seen).unwrap();
        assert_eq!(seen, [1; $rows * $cols]);
        assert_eq!(VISITS.0.load(Ordering::Relaxed), $rows * $cols);
    }};
}

tiles! {
    one_row_of_16_bytes: u16, 1 x 8, ;
    one_column_of_16_bytes: u16, 8 x 1, ColMajor;
    fewer_elements_than_lanes: f64, 3 x 2, ;
    odd_rows: bf16, 7 x 40, ;
    odd_columns: bf16, 40 x 7, ColMajor;
    rows_of_128_bytes: f16, 17 x 64, ;
    columns_of_128_bytes: f16, 64 x 17, ColMajor;
    rows_of_384_bytes: f32, 9 x 96, ;
    columns_of_384_bytes: f32, 96 x 9, ColMajor;
    bytes: u8, 5 x 48, ;
    bytes_by_column: i8, 48 x 5, ColMajor;
    eight_bytes: u64, 33 x 6, ;
    eight_bytes_by_column: i64, 6 x 33, ColMajor;
}
