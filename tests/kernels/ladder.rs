//! The kernels of the ladder on the simulator, with integers that are exact in every type.

use ptx_matrix::element::{bf16, f16};
use ptx_matrix::sim::Simulator;
use ptx_matrix_ladder::naive::*;

const SHAPES: [(usize, usize, usize); 4] = [(1, 1, 1), (8, 32, 4), (9, 33, 5), (3, 70, 0)];

/// A small integer that varies with the place.
fn value(row: usize, col: usize) -> i32 {
    ((row * 5 + col * 3) % 7) as i32 - 3
}

/// A matrix, row-major or column-major, with its strides.
fn matrix<T>(
    rows: usize,
    cols: usize,
    by_rows: bool,
    from: fn(f32) -> T,
) -> (Vec<T>, usize, usize) {
    let at = |i: usize| if by_rows { (i / cols, i % cols) } else { (i % rows, i / rows) };
    let elements = (0..rows * cols).map(|i| from(value(at(i).0, at(i).1) as f32)).collect();
    if by_rows { (elements, cols, 1) } else { (elements, 1, rows) }
}

macro_rules! check {
    ($($kernel:ident $input:ty, $from:expr, $output:ty, $to:expr;)*) => {$(
        #[test]
        fn $kernel() {
            for (m, n, k) in SHAPES {
                for layout in 0..4 {
                    let (a, a_row, a_col) = matrix::<$input>(m, k, layout & 1 == 0, $from);
                    // The rows and columns of B are swapped, so that A and B always differ.
                    let (b, b_col, b_row) = matrix::<$input>(n, k, layout & 2 == 0, $from);
                    let mut d = vec![<$output>::default(); m * n];
                    let grid = (n.div_ceil(BLOCK.1) as u32, m.div_ceil(BLOCK.0) as u32);
                    let simulator = Simulator::new(0).strict();
                    let (a, b) = (&a[..], &b[..]);
                    ptx_matrix_ladder::naive::$kernel::launch(
                        &simulator, grid, a, b, &mut d[..], m, n, k, a_row, a_col, b_row, b_col,
                    )
                    .unwrap();
                    for (i, &d) in d.iter().enumerate() {
                        let (row, col) = (i / n, i % n);
                        let expected: i32 = (0..k).map(|i| value(row, i) * value(col, i)).sum();
                        let to: fn($output) -> f64 = $to;
                        let expected = f64::from(expected);
                        let at = format!("{m}x{n}x{k}, layout {layout}, D[{row}, {col}]");
                        assert_eq!(to(d), expected, "{at}");
                    }
                }
            }
        }
    )*};
}

check! {
    naive_f16_f16 f16, f16::from_f32, f16, |d| d.to_f64();
    naive_f16_f32 f16, f16::from_f32, f32, f64::from;
    naive_bf16_bf16 bf16, bf16::from_f32, bf16, |d| d.to_f64();
    naive_bf16_f32 bf16, bf16::from_f32, f32, f64::from;
    naive_f32_f32 f32, |x| x, f32, f64::from;
    naive_f64_f64 f64, f64::from, f64, |d| d;
    naive_s8_s32 i8, |x| x as i8, i32, f64::from;
}
