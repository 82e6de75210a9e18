//! What D has to be, from sums in f64.

use ptx_matrix::Rounded;
use rayon::prelude::*;

use super::draw::Data;
use super::{Trial, Values, index};
use crate::gemm::GemmElement;

/// Compares D, and what is around it.
///
/// Integers have to be exact. Of other sums, each of the K products and at most as many additions is off by at most 2^-23 of what is added
/// up to there (the tensor cores cut what does not fit, where rounding would be off by half of that), so that a sum is off by at
/// most (K + 32) 2^-23 sum |a b|: 32 for the additions of parts. Factors and C then round a few times in f32, and D's own type once.
pub(super) fn compare<T: GemmElement + num_traits::FromPrimitive>(
    trial: &Trial,
    data: &Data<T>,
    d: &[T],
) -> Result<(), String> {
    let Trial { m, n, batches, .. } = *trial;
    let mut is_of_d = vec![false; d.len()];
    for batch in 0..batches {
        let (a, b) = factors(trial, data, batch);
        let wrong = (0..m).into_par_iter().find_map_first(|row| {
            (0..n).find_map(|col| {
                let at = index(trial.d, batch, row, col);
                let (expected, tolerance) = expect(trial, data, &a, &b, (batch, row, col));
                let got = f64::from(d[at].widen());
                let right = if !expected.is_finite() {
                    got == expected || got.is_nan() && expected.is_nan()
                } else if trial.values == Values::Integers {
                    got == f64::from(T::from_f64(expected)?.widen())
                } else {
                    (got - expected).abs()
                        <= tolerance + unit::<T>() * (expected.abs() + tolerance) + f64::from(SMALLEST)
                };
                (!right).then(|| {
                    format!(
                        "D[{row}, {col}] of product {batch} is {got}, not {expected} (give or take {tolerance:.2e})"
                    )
                })
            })
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        for row in 0..m {
            for col in 0..n {
                is_of_d[index(trial.d, batch, row, col)] = true;
            }
        }
    }
    let same = |i: usize| bytemuck::bytes_of(&d[i]) == bytemuck::bytes_of(&data.poisoned[i]);
    let touched = (0..d.len()).find(|&i| !is_of_d[i] && !same(i));
    touched.map_or(Ok(()), |i| Err(format!("element {i} of the buffer is not D's, and was written")))
}

/// Half the least f16.
const SMALLEST: f32 = 3e-8;

/// What rounding to T is off by: half of a number's last bit.
fn unit<T: Rounded>() -> f64 {
    if T::NAME == "bf16" { 2f64.powi(-8) } else { 2f64.powi(-11) }
}

/// A's rows and B's columns, each without gaps.
fn factors<T: GemmElement>(trial: &Trial, data: &Data<T>, batch: usize) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let Trial { m, n, k, .. } = *trial;
    let number = |element: T| f64::from(element.widen());
    let row = |row| (0..k).map(|i| number(data.a[index(trial.a, batch, row, i)])).collect();
    let col = |col| (0..k).map(|i| number(data.b[index(trial.b, batch, i, col)])).collect();
    ((0..m).map(row).collect(), (0..n).map(col).collect())
}

/// An element, and how far off it may be before it is rounded to D's type.
fn expect<T: GemmElement>(
    trial: &Trial,
    data: &Data<T>,
    a: &[Vec<f64>],
    b: &[Vec<f64>],
    (batch, row, col): (usize, usize, usize),
) -> (f64, f64) {
    let (alpha, beta) = (f64::from(trial.alpha), f64::from(trial.beta));
    let (mut value, mut size, mut of_sum) = (0.0, 0.0, 0.0);
    if alpha != 0.0 {
        let (mut sum, mut sizes) = (0.0, 0.0);
        for (a, b) in a[row].iter().zip(&b[col]) {
            sum += a * b;
            sizes += (a * b).abs();
        }
        value = alpha * sum;
        size = alpha.abs() * sizes;
        of_sum = (trial.k + 32) as f64 * 2f64.powi(-23) * size;
    }
    if beta != 0.0 {
        let c = beta * f64::from(data.c[index(trial.d, batch, row, col)].widen());
        value += c;
        size += c.abs();
    }
    if trial.bias {
        let bias = f64::from(data.bias[col].widen());
        value += bias;
        size += bias.abs();
    }
    let value = if trial.relu && value < 0.0 { 0.0 } else { value };
    (value, of_sum + 4.0 * 2f64.powi(-24) * size)
}
