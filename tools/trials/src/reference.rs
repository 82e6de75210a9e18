//! The expected D, from sums in f64.

use ptx_matrix_gemm::kernels::{Activation, Number, Output};
use rayon::prelude::*;
use std::ops::Range;

use super::draw::Data;
use super::element::TrialElement;
use super::{Trial, Values, index};

/// Compares D, and the elements around it, with the expectation.
///
/// Integers must be exact. For floating-point sums, let u = 2^-23. Each of the K products, and each
/// of at most as many additions, has an error of at most u times the magnitude summed so far. (The
/// tensor cores truncate; rounding would halve the error.) So a sum has an error of at most
/// `(K + 32) u sum |a b|`. The 32 is for the additions of split-K. For f64 the bound is the same
/// with u = 2^-52, because both this sum and the reference's are rounded. Alpha, beta and C then
/// round a few times, and the type of D once.
///
/// An activation with an exponential function changes by at most 1.2 times the change of its
/// argument. The exponent y has an error of a few u y. So x e^-y has an error of less than a few u;
/// 16 u covers this and the function itself.
///
/// For 8-bit floats, `wgmma` sums `at_once` products with 13 bits of fraction (docs/NUMERICS.md).
/// Each of 32 products, and the sum so far, has an error of at most 2^-13 times the largest of
/// them. Then the sums are promoted to f32, and added as above.
pub(super) fn compare<T: TrialElement, O: Output + TrialElement>(
    trial: &Trial,
    at_once: Option<usize>,
    data: &Data<T, O>,
    d: &[O],
) -> Result<(), String> {
    let Trial { n, k, .. } = *trial;
    let last_bit = if size_of::<O::Acc>() == 8 { 2f64.powi(-52) } else { 2f64.powi(-23) };
    let of_bytes =
        at_once.filter(|_| size_of::<T>() == 1).map_or(0, |at_once| at_once + at_once.div_ceil(32));
    let of_terms = 2f64.powi(-13) * of_bytes as f64 + last_bit * (k + 32) as f64;
    let mut is_of_d = vec![false; d.len()];
    for part in parts(trial) {
        let (a, b) = operands(trial, data, &part);
        let wrong = part.rows.clone().into_par_iter().find_map_first(|row| {
            (0..n).find_map(|col| {
                let (expected, tolerance) =
                    expect(trial, (last_bit, of_terms), data, (&a, &b), &part, (row, col));
                let got = d[index(trial.d, part.gemm, row, col)].number();
                let right = if !expected.is_finite() {
                    got == expected || got.is_nan() && expected.is_nan()
                } else if tolerance == 0.0 {
                    got == O::of(expected).number()
                } else if got.is_infinite() {
                    // The expected value exceeds the largest number of D's type, or is within the
                    // tolerance of it.
                    got == O::of(expected + tolerance.copysign(expected)).number()
                } else {
                    let (part, least) = O::ROUNDING;
                    (got - expected).abs()
                        <= tolerance + part * (expected.abs() + tolerance) + least
                };
                (!right).then(|| {
                    format!(
                        "D[{row}, {col}] of GEMM {}, with B {}, is {got}, not {expected} (give or \
                         take {tolerance:.2e})",
                        part.gemm, part.b
                    )
                })
            })
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        for row in part.rows {
            for col in 0..n {
                is_of_d[index(trial.d, part.gemm, row, col)] = true;
            }
        }
    }
    let same = |i: usize| bytemuck::bytes_of(&d[i]) == bytemuck::bytes_of(&data.poisoned[i]);
    let touched = (0..d.len()).find(|&i| !is_of_d[i] && !same(i));
    touched
        .map_or(Ok(()), |i| Err(format!("element {i} of the buffer is not D's, and was written")))
}

/// Rows of D that belong to one B.
struct Part {
    gemm: usize,
    rows: Range<usize>,
    b: usize,
}

/// The GEMMs of a batch, or the groups of rows.
fn parts(trial: &Trial) -> Vec<Part> {
    let Some(ends) = &trial.ends else {
        return (0..trial.batches).map(|gemm| Part { gemm, rows: 0..trial.m, b: gemm }).collect();
    };
    let mut first = 0;
    let part = |(b, &end): (usize, &u32)| {
        let rows = first..(end as usize).clamp(first, trial.m);
        first = rows.end;
        Part { gemm: 0, rows, b }
    };
    ends.iter().enumerate().map(part).collect()
}

/// The rows of A of this part, and the columns of B, each without gaps.
fn operands<T: TrialElement, O>(
    trial: &Trial,
    data: &Data<T, O>,
    part: &Part,
) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let Trial { n, k, .. } = *trial;
    let row = |row| (0..k).map(|i| data.a[index(trial.a, part.gemm, row, i)].operand()).collect();
    let col = |col| (0..k).map(|i| data.b[index(trial.b, part.b, i, col)].operand()).collect();
    (part.rows.clone().map(row).collect(), (0..n).map(col).collect())
}

/// The expected element, and its tolerance before it is rounded to D's type; zero if it must be
/// exact. `last_bit` is the relative error of a rounding, `of_terms` that of the sum of all
/// products.
fn expect<T: TrialElement, O: Output + TrialElement>(
    trial: &Trial,
    (last_bit, of_terms): (f64, f64),
    data: &Data<T, O>,
    (a, b): (&[Vec<f64>], &[Vec<f64>]),
    part: &Part,
    (row, col): (usize, usize),
) -> (f64, f64) {
    let (mut value, mut size, mut sizes) = (0.0, 0.0, 0.0);
    if trial.alpha != 0.0 {
        let mut sum = 0.0;
        for (a, b) in a[row - part.rows.start].iter().zip(&b[col]) {
            sum += a * b;
            sizes += (a * b).abs();
        }
        value = trial.alpha * sum;
        sizes *= trial.alpha.abs();
        size = sizes;
    }
    if trial.beta != 0.0 {
        let c = trial.beta * data.c[index(trial.d, part.gemm, row, col)].number();
        value += c;
        size += c.abs();
    }
    if trial.bias {
        let of_col = if trial.ends.is_some() { part.b * trial.n + col } else { col };
        let bias = data.bias[if trial.bias_per_row { row } else { of_col }].number();
        value += bias;
        size += bias.abs();
    }
    if !O::Acc::IS_FLOAT {
        // f64 holds every integer exactly up to this point.
        let wrapped = f64::from(value as i64 as i32);
        return (activate(trial.activation, wrapped), 0.0);
    }
    let tolerance = of_terms * sizes + last_bit * 4.0 * size;
    let activated = activate(trial.activation, value);
    match trial.activation {
        Activation::Identity | Activation::Relu if trial.values == Values::Integers => {
            (activated, 0.0)
        }
        Activation::Identity | Activation::Relu => (activated, tolerance),
        Activation::Gelu | Activation::Silu => {
            (activated, 1.2 * tolerance + 16.0 * last_bit * (1.0 + activated.abs()))
        }
    }
}

fn activate(activation: Activation, x: f64) -> f64 {
    // The limits, where the formulas would give NaN.
    if x == f64::NEG_INFINITY && activation != Activation::Identity {
        return 0.0;
    }
    match activation {
        Activation::Identity => x,
        Activation::Relu => {
            if x < 0.0 {
                0.0
            } else {
                x
            }
        }
        Activation::Gelu => {
            let y = (8.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            x / (1.0 + (-y).exp())
        }
        Activation::Silu => x / (1.0 + (-x).exp()),
    }
}
