//! Checks a result: some elements against sums in f64, and all elements against another
//! contestant's result.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::data::get;
use super::{Element, Problem, Shape};

/// The number of elements of D that are recomputed in f64.
const SAMPLES: usize = 1024;

/// The largest allowed error of an element of D.
///
/// Let each step of a sum of K terms have a relative error of at most u. The error of the sum is
/// then at most 4 sqrt(K) u sum |a b|, except for one in thousands of sums (N. Higham and T. Mary,
/// A new approach to probabilistic rounding error analysis, 2019). The sum of |a b| is at most |a|
/// |b|, the norms of the row of A and of the column of B (Cauchy and Schwarz). Then the sum is
/// rounded to the type of D.
pub(super) struct Tolerance {
    /// The norms of the rows of A, times 4 sqrt(K) u, and the norms of the columns of B. Both are
    /// for all GEMMs: the columns of one B after those of another.
    rows: Vec<f64>,
    cols: Vec<f64>,
    /// The end of the rows of each GEMM.
    ends: Vec<u32>,
    output: f64,
    /// The absolute rounding error of D's type near zero.
    smallest: f64,
}

impl Tolerance {
    pub(super) fn of(problem: &Problem, a: &[u8], b: &[u8]) -> Self {
        let Shape { n, k, .. } = problem.shape;
        let input = problem.ty.input();
        // The tensor cores truncate, which doubles the error of a step compared with rounding. For
        // 8-bit floats they keep 13 bits.
        let step = match input {
            Element::S8 => 0.0,
            Element::F64 => 2f64.powi(-52),
            Element::E4m3 | Element::E5m2 => 2f64.powi(-13),
            _ => 2f64.powi(-23),
        };
        let (output, smallest) = match problem.ty.output() {
            Element::Bf16 => (2f64.powi(-8), 0.0),
            Element::F16 => (2f64.powi(-10), 2f64.powi(-24)),
            Element::S32 => (0.0, 0.0),
            Element::F64 => (2f64.powi(-52), 0.0),
            _ => (2f64.powi(-23), 0.0),
        };
        let length = |bytes: &[u8], start: usize, stride: usize| {
            (0..k).map(|i| get(input, bytes, start + i * stride).powi(2)).sum::<f64>().sqrt()
        };
        let scale = 4.0 * (k as f64).sqrt() * step;
        let ((_, a_col), (b_row, b_col)) = (problem.a_strides(), problem.b_strides());
        Tolerance {
            rows: (0..problem.rows())
                .into_par_iter()
                .map(|row| scale * length(a, problem.row_of_a(row), a_col))
                .collect(),
            cols: (0..problem.gemms.count() * n)
                .into_par_iter()
                .map(|col| length(b, col / n * k * n + col % n * b_col, b_row))
                .collect(),
            ends: problem.ends(),
            output,
            smallest,
        }
    }

    fn at(&self, row: usize, col: usize, value: f64) -> f64 {
        let col = self.gemm_of(row) * (self.cols.len() / self.ends.len()) + col;
        self.rows[row] * self.cols[col] + self.output * value.abs() + self.smallest
    }

    /// The index of the GEMM that a row belongs to.
    fn gemm_of(&self, row: usize) -> usize {
        self.ends.partition_point(|&end| end as usize <= row)
    }
}

/// Compares some elements of D, the corners included, with sums in f64. The error is one line.
pub(super) fn with_reference(
    problem: &Problem,
    tolerance: &Tolerance,
    a: &[u8],
    b: &[u8],
    d: &[u8],
) -> Result<(), String> {
    let (m, Shape { n, k, .. }) = (problem.rows(), problem.shape);
    let (input, output) = (problem.ty.input(), problem.ty.output());
    let ((_, a_col), (b_row, b_col)) = (problem.a_strides(), problem.b_strides());
    let mut random = SmallRng::seed_from_u64(0);
    let corners = [(0, 0), (0, n - 1), (m - 1, 0), (m - 1, n - 1)];
    let sampled = (0..SAMPLES).map(|_| (random.random_range(0..m), random.random_range(0..n)));
    let places: Vec<(usize, usize)> = corners.into_iter().chain(sampled).collect();
    first_wrong(places.par_iter().copied(), |row, col| {
        let start = tolerance.gemm_of(row) * k * n + col * b_col;
        let term =
            |i| get(input, a, problem.row_of_a(row) + i * a_col) * get(input, b, start + i * b_row);
        let exact: f64 = (0..k).map(term).sum();
        (get(output, d, row * n + col), exact, tolerance.at(row, col, exact))
    })
}

/// Compares all elements of D with the result of another contestant.
pub(super) fn with_other(
    problem: &Problem,
    tolerance: &Tolerance,
    d: &[u8],
    other: &[u8],
) -> Result<(), String> {
    let (m, n) = (problem.rows(), problem.shape.n);
    let output = problem.ty.output();
    first_wrong((0..m * n).into_par_iter().map(|i| (i / n, i % n)), |row, col| {
        let (value, expected) = (get(output, d, row * n + col), get(output, other, row * n + col));
        // Both may have errors, in opposite directions.
        (value, expected, 2.0 * tolerance.at(row, col, expected))
    })
}

/// The first wrong element. `compare` returns the value, the expected value and the tolerance.
fn first_wrong(
    places: impl ParallelIterator<Item = (usize, usize)>,
    compare: impl Fn(usize, usize) -> (f64, f64, f64) + Sync,
) -> Result<(), String> {
    let wrong = places.filter_map(|(row, col)| {
        let (value, expected, tolerance) = compare(row, col);
        // False for NaN.
        let right = (value - expected).abs() <= tolerance;
        (!right).then_some((row, col, value, expected, tolerance))
    });
    match wrong.min_by_key(|&(row, col, ..)| (row, col)) {
        None => Ok(()),
        Some((row, col, value, expected, tolerance)) => Err(format!(
            "D[{row}, {col}] is {value}, not {expected} (give or take {tolerance:.2e})"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::normal;
    use super::super::{Gemms, Layout, Problem, Shape, Type};
    use super::*;

    const SHAPE: Shape = Shape { m: 9, n: 7, k: 200 };

    /// A, B and D = A x B, summed in f32 and rounded to the type of D.
    fn computed(problem: &Problem) -> [Vec<u8>; 3] {
        let [a, b] = [0, 1].map(|i| normal(problem.ty.input(), problem.elements()[i], i as u64));
        let ((_, a_col), (b_row, b_col)) = (problem.a_strides(), problem.b_strides());
        let input = problem.ty.input();
        let ends = problem.ends();
        let mut d = Vec::new();
        for row in 0..problem.rows() {
            let group = ends.iter().take_while(|&&end| row >= end as usize).count();
            for col in 0..SHAPE.n {
                let start = group * SHAPE.k * SHAPE.n + col * b_col;
                let mut sum = 0.0_f32;
                for i in 0..SHAPE.k {
                    let term = get(input, &a, problem.row_of_a(row) + i * a_col)
                        * get(input, &b, start + i * b_row);
                    sum += term as f32;
                }
                match problem.ty.output() {
                    Element::Bf16 => d.extend(half::bf16::from_f32(sum).to_le_bytes()),
                    Element::S32 => d.extend((sum as i32).to_le_bytes()),
                    _ => d.extend(sum.to_le_bytes()),
                }
            }
        }
        [a, b, d]
    }

    #[test]
    fn one_wrong_element_makes_a_gemm_wrong() {
        for ty in [Type::Bf16, Type::Bf16F32, Type::Tf32, Type::S8, Type::E4m3F32] {
            for layout in [Layout::Nn, Layout::Nt, Layout::Tn, Layout::Tt] {
                let gemms = match ty {
                    Type::Bf16 => Gemms::Groups(3),
                    Type::S8 => Gemms::Batch(2),
                    _ => Gemms::One,
                };
                let problem = Problem { ty, layout, shape: SHAPE, gemms };
                let [a, b, d] = computed(&problem);
                let tolerance = Tolerance::of(&problem, &a, &b);
                assert_eq!(with_reference(&problem, &tolerance, &a, &b, &d), Ok(()), "{problem}");
                assert_eq!(with_other(&problem, &tolerance, &d, &d), Ok(()), "{problem}");

                // Two wrong results for the last element: the kernel does not write it, or writes
                // the value of its neighbour.
                let bytes = ty.output().bytes();
                let mut poisoned = d.clone();
                poisoned[d.len() - bytes..].fill(0xff);
                let mut shifted = d.clone();
                shifted.copy_within(d.len() - 2 * bytes..d.len() - bytes, d.len() - bytes);
                for wrong in [poisoned, shifted] {
                    let message = with_reference(&problem, &tolerance, &a, &b, &wrong).unwrap_err();
                    assert!(
                        message.starts_with(&format!("D[{}, 6] is ", problem.rows() - 1)),
                        "{message}"
                    );
                    assert!(with_other(&problem, &tolerance, &wrong, &d).is_err(), "{problem}");
                }
            }
        }
    }

    #[test]
    fn missing_term_of_a_dot_product_is_found() {
        let problem =
            Problem { ty: Type::Bf16F32, layout: Layout::Nn, shape: SHAPE, gemms: Gemms::One };
        let [a, b, mut d] = computed(&problem);
        let tolerance = Tolerance::of(&problem, &a, &b);
        let term = get(Element::Bf16, &a, 5) * get(Element::Bf16, &b, 5 * SHAPE.n);
        let less = get(Element::F32, &d, 0) - term;
        d[..4].copy_from_slice(&(less as f32).to_le_bytes());
        assert!(with_reference(&problem, &tolerance, &a, &b, &d).is_err());
    }
}
