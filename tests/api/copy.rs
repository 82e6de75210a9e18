//! `copy_to` stores the elements of a tile that lie in the matrix, and nothing else. The matrix
//! starts at any alignment, and the tile crosses its edges. Also tests `for_each_together`.

use ptx_matrix::memory::GlobalMatrixMut;
use ptx_matrix::prelude::*;

/// A kernel that copies a tile to (row, col) of a matrix with a row stride of `stride`, by all
/// threads or by one warp.
macro_rules! copies {
    ($($copy:ident $element:ty, $rows:literal x $cols:literal $swizzle:ty,
        $order:ty;)*) => {$(mod $copy {
        use super::*;

        #[kernel(threads = 64)]
        fn copy(
            block: &Block,
            #[shared] tile: SharedTile<$element, $rows, $cols, $swizzle, $order>,
            d: GlobalMut<$element>,
            skip: usize,
            size_rows: usize,
            size_cols: usize,
            stride: usize,
            row: usize,
            col: usize,
            by_warp: u32,
        ) {
            tile.fill(block, |row, col| (row * $cols + col + 1) as $element);
            block.sync();
            let matrix =
                GlobalMatrixMut::<_, $order>::new(d.skip(skip), size_rows, size_cols, stride);
            if by_warp == 0 {
                tile.copy_to(block, matrix, (row, col));
            } else if block.warp().index() == 1 {
                tile.copy_to(block.warp(), matrix, (row, col));
            }
        }

        #[test]
        fn only_elements_inside_the_matrix_are_written() {
            let (rows, cols) = ($rows + 9, $cols + 9);
            let is_by_row = std::any::type_name::<$order>().ends_with("RowMajor");
            // The start of the matrix, the gap between its rows, and the tile's coordinates.
            let places = [
                // Multiples of 16 or of 8 bytes.
                (0, 7, (0, 0)),
                (0, 7, (8, 8)),
                // Multiples of fewer bytes.
                (0, 1, (2, 2)),
                (2, 1, (4, 2)),
                (1, 0, (1, 1)),
                (0, 7, (3, 3)),
                // Partly or completely outside of the matrix.
                (3, 2, (9, 9)),
                (0, 7, (10, 10)),
                (0, 0, (17, 20)),
                // Coordinates whose sum overflows.
                (0, 0, (usize::MAX - 2, 0)),
                (0, 0, (0, usize::MAX - 2)),
                (0, 7, (usize::MAX, usize::MAX)),
            ];
            for (skip, padding, (row, col)) in places {
                for by_warp in [0, 1] {
                    let (outer_size, length) = if is_by_row { (rows, cols) } else { (cols, rows) };
                    let stride = length + padding;
                    let mut d = vec![0 as $element; skip + outer_size * stride];
                    copy::simulate(1, &mut d, skip, rows, cols, stride, row, col, by_warp).unwrap();
                    let mut expected = vec![0 as $element; d.len()];
                    for (i, j) in (0..$rows).flat_map(|i| (0..$cols).map(move |j| (i, j))) {
                        if row.checked_add(i).is_some_and(|row| row < rows)
                            && col.checked_add(j).is_some_and(|col| col < cols)
                        {
                            let (outer, along) =
                                if is_by_row { (row + i, col + j) } else { (col + j, row + i) };
                            expected[skip + outer * stride + along] =
                                (i * $cols + j + 1) as $element;
                        }
                    }
                    assert_eq!(d, expected, "to ({row}, {col}), {stride} apart, from {skip} on");
                }
            }
        }
    })*};
}

copies! {
    bytes u8, 8 x 32 Unswizzled, RowMajor;
    halves u16, 16 x 16 Swizzle32, RowMajor;
    halves_of_a_strip u16, 16 x 64 Swizzle128, RowMajor;
    halves_by_column u16, 32 x 16 Swizzle64, ColMajor;
    // Too few elements for several pieces of each thread.
    few_halves u16, 3 x 8 Unswizzled, RowMajor;
    words u32, 16 x 32 Swizzle128, RowMajor;
    doubles f64, 16 x 8 Swizzle64, RowMajor;
}

/// A thread has a whole row at once, or a part of one.
#[kernel(threads = 32)]
fn together(
    block: &Block,
    #[shared] wide: SharedTile<u32, 4, 64>,
    #[shared] high: SharedTile<u32, 16, 8>,
    d: GlobalMut<u32>,
) {
    wide.fill(block, |row, col| (row * 64 + col) as u32);
    high.fill(block, |row, col| (256 + row * 8 + col) as u32);
    block.sync();
    wide.for_each_together::<4>(block, |places, values| {
        for ((row, col), value) in places.into_iter().zip(values) {
            d.set(row * 64 + col, value);
        }
    });
    high.for_each_together::<2>(block, |places, values| {
        for ((row, col), value) in places.into_iter().zip(values) {
            d.set(256 + row * 8 + col, value);
        }
    });
}

#[test]
fn for_each_together_visits_every_element() {
    let mut d = [9999; 384];
    together::simulate(1, &mut d).unwrap();
    assert!(d.into_iter().eq(0..384));
}

#[kernel(threads = 32)]
fn too_many_together(block: &Block, #[shared] tile: SharedTile<u32, 3, 32>) {
    tile.fill(block, |_, _| 0);
    block.sync();
    tile.for_each_together::<2>(block, |_, _| {});
}

#[test]
fn elements_not_divisible_among_threads_are_an_error() {
    let error = too_many_together::simulate(1).unwrap_err().to_string();
    assert!(
        error.contains(
            "the tile's elements do not divide evenly: each thread takes a multiple of `N` of them"
        ),
        "{error}"
    );
}
