//! The matrix products on the simulator, in strict mode, against sums of small integers, which are exact.

use ptx_matrix::sim::Simulator;
use ptx_matrix::{bf16, f16};
use ptx_matrix_kernels::gemm;

/// M, N and K, and what lies between lines beyond their length.
#[derive(Clone, Copy)]
struct Case {
    size: (usize, usize, usize),
    padding: usize,
    alpha: f32,
    beta: f32,
    bias: bool,
    relu: bool,
}

const PLAIN: Case = Case { size: (64, 64, 64), padding: 0, alpha: 1.0, beta: 0.0, bias: false, relu: false };

/// A lines x length matrix whose lines are rounded up to 16 bytes, and padded; what is between is not a number.
fn matrix<T>((lines, length): (usize, usize), padding: usize, seed: usize, from_f32: fn(f32) -> T) -> (Vec<T>, usize) {
    let stride = length.next_multiple_of(8) + padding;
    let value = |line: usize, along: usize| ((line * 31 + along * 17 + line * along * 7 + seed) % 9) as f32 - 4.0;
    let element = |i: usize| {
        let number = if i % stride < length { value(i / stride, i % stride) } else { f32::NAN };
        from_f32(number)
    };
    ((0..lines * stride).map(element).collect(), stride)
}

macro_rules! check {
    ($kernel:ident, $element:ident, a by $a:ident, b by $b:ident, $tile:expr, $case:expr) => {
        check!($kernel, $element, a by $a, b by $b, $tile, $case, 1 schedules)
    };
    ($kernel:ident, $element:ident, a by $a:ident, b by $b:ident, $tile:expr, $case:expr, $schedules:literal schedules) => {{
        let Case { size: (m, n, k), padding, alpha, beta, bias: with_bias, relu } = $case;
        let by_row = |name: &str| name == "row";
        let (row_a, row_b) = (by_row(stringify!($a)), by_row(stringify!($b)));
        let (a, lda) = matrix(if row_a { (m, k) } else { (k, m) }, padding, 1, $element::from_f32);
        let (b, ldb) = matrix(if row_b { (k, n) } else { (n, k) }, padding, 5, $element::from_f32);
        let (c, ldd) = matrix((m, n), padding, 7, $element::from_f32);
        let bias: Vec<$element> =
            if with_bias { (0..n).map(|col| $element::from_f32((col % 5) as f32)).collect() } else { Vec::new() };
        let mut d = vec![$element::from_f32(99.0); m * ldd];
        let grid = gemm::blocks(m, n, $tile);
        let (m32, n32, k32) = (m as u32, n as u32, k as u32);
        let strides = (lda as u32, ldb as u32, ldd as u32);
        gemm::$kernel::launch(
            &Simulator::new(0).schedules($schedules).strict(),
            grid,
            &a,
            &b,
            &c,
            &bias,
            &mut d,
            m32,
            n32,
            k32,
            strides.0,
            strides.1,
            strides.2,
            0,
            0,
            0,
            0,
            0,
            0,
            alpha,
            beta,
            relu as u32,
        )
        .unwrap();
        for row in 0..m {
            for col in 0..ldd {
                let got = d[row * ldd + col].to_f32();
                if col >= n {
                    assert_eq!(got, 99.0, "({row}, {col}) is beyond D");
                    continue;
                }
                let at = |matrix: &[$element], by_row: bool, stride: usize, row: usize, col: usize| {
                    matrix[if by_row { row * stride + col } else { col * stride + row }].to_f32()
                };
                let sum: f32 = (0..k).map(|i| at(&a, row_a, lda, row, i) * at(&b, row_b, ldb, i, col)).sum();
                let mut expected = alpha * sum;
                if beta != 0.0 {
                    expected += beta * c[row * ldd + col].to_f32();
                }
                if with_bias {
                    expected += bias[col].to_f32();
                }
                if relu {
                    expected = expected.max(0.0);
                }
                assert_eq!(got, $element::from_f32(expected).to_f32(), "({row}, {col})");
            }
        }
    }};
}

#[test]
fn whole_tiles() {
    check!(gemm_bf16_nn_64, bf16, a by row, b by row, (64, 64), Case { size: (128, 64, 320), ..PLAIN });
    check!(gemm_bf16_nt_64, bf16, a by row, b by col, (64, 64), Case { size: (64, 128, 256), ..PLAIN });
    check!(gemm_bf16_tn_64, bf16, a by col, b by row, (64, 64), Case { size: (64, 64, 192), ..PLAIN });
    check!(gemm_f16_tt_64, f16, a by col, b by col, (64, 64), Case { size: (64, 64, 128), ..PLAIN });
}

#[test]
fn few_steps() {
    for k in [8, 64, 128] {
        check!(gemm_bf16_nn_64, bf16, a by row, b by row, (64, 64), Case { size: (64, 64, k), ..PLAIN });
    }
}

#[test]
fn sizes_that_are_no_multiple_of_anything() {
    let odd = Case { size: (71, 83, 205), padding: 8, ..PLAIN };
    check!(gemm_bf16_nn_64, bf16, a by row, b by row, (64, 64), odd);
    check!(gemm_bf16_nt_64, bf16, a by row, b by col, (64, 64), odd);
    check!(gemm_bf16_tn_64, bf16, a by col, b by row, (64, 64), odd);
    check!(gemm_f16_tt_64, f16, a by col, b by col, (64, 64), odd);
    check!(gemm_bf16_nn_64, bf16, a by row, b by row, (64, 64), Case { size: (1, 3, 5), ..PLAIN });
}

/// However its warps follow each other, nothing is wrong.
#[test]
fn a_hundred_schedules() {
    let odd = Case { size: (40, 50, 260), bias: true, ..PLAIN };
    check!(gemm_bf16_nt_64, bf16, a by row, b by col, (64, 64), odd, 100 schedules);
    check!(gemm_f16_tt_64, f16, a by col, b by col, (64, 64), odd, 100 schedules);
    check!(gemm_bf16_nn, bf16, a by row, b by row, (128, 256), odd, 100 schedules);
}

#[test]
fn what_is_done_with_the_product() {
    let case = Case { size: (65, 40, 72), alpha: 0.5, beta: -2.0, bias: true, relu: true, ..PLAIN };
    check!(gemm_bf16_nt_64, bf16, a by row, b by col, (64, 64), case);
    check!(gemm_f16_tt_64, f16, a by col, b by col, (64, 64), Case { relu: false, ..case });
}

#[test]
fn large_tiles() {
    check!(gemm_bf16_nt, bf16, a by row, b by col, (128, 256), Case { size: (130, 264, 200), ..PLAIN });
    check!(gemm_bf16_tt, bf16, a by col, b by col, (128, 256), Case { size: (136, 250, 72), ..PLAIN });
    check!(gemm_bf16_nt_128, bf16, a by row, b by col, (128, 128), Case { size: (100, 128, 264), ..PLAIN });
}
