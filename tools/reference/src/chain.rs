//! Multiplications that are no sums of the tensor cores: chains of steps, each of them rounded.

use super::number::{Exact, Rounding, round};
use super::tensor_core::Sum;
use crate::data::Float;
use half::f16;
use num_traits::{Signed, Zero};

/// f64: adds one product after another to C. Each step rounds once.
pub fn fused_chain(a: &[f64], b: &[f64], c: f64, rounding: Rounding) -> f64 {
    a.iter().zip(b).fold(c, |c, (&a, &b)| {
        let quiet = |nan: f64| f64::from_bits(nan.to_bits() | 1 << 51);
        // Priority of NaNs: first that of B, then that of the sum, then that of A.
        match [b, c, a].into_iter().find(|value| value.is_nan()) {
            Some(nan) => quiet(nan),
            None => fused_multiply_add(a, b, c, rounding).unwrap_or(f64::from_bits(0xfff8 << 48)),
        }
    })
}

/// `a * b + c` of numbers of one format; `None` if the result is NaN.
fn fused_multiply_add<F: Float>(a: F, b: F, c: F, rounding: Rounding) -> Option<F> {
    let (x, y, z) = (a.to_f64(), b.to_f64(), c.to_f64());
    if x.is_nan() || y.is_nan() || z.is_nan() {
        return None;
    }
    if !(x.is_finite() && y.is_finite()) {
        let sum = x * y + z;
        return (!sum.is_nan()).then(|| F::from_f64(sum));
    }
    // A product of finite numbers does not change an infinite C, even if the product overflows f64.
    if !z.is_finite() {
        return Some(c);
    }
    let sum = Exact::product(x, y) + z.into();
    let rounded: F = round(&sum, rounding);
    // IEEE 754 on the sign of zero. A result that rounds to zero keeps its sign. An exact zero has
    // the sign of both terms if it is the same; otherwise it is negative only when rounding down.
    let product_negative = x.is_sign_negative() != y.is_sign_negative();
    let negative = match sum.integer.is_zero() {
        false => sum.integer.is_negative(),
        true if product_negative == z.is_sign_negative() => product_negative,
        true => rounding == Rounding::Down,
    };
    let sign = 1 << (F::EXPONENT + F::FRACTION);
    Some(F::from_code(rounded.code() & (sign - 1) | if negative { sign } else { 0 }))
}

/// `a * b + c` of 16-bit floats, rounded once. Each NaN is `0x7fff`.
pub fn fused<F: Float>(a: F, b: F, c: F) -> F {
    fused_multiply_add(a, b, c, Rounding::Nearest).unwrap_or(F::from_code(0x7fff))
}

/// The same in f32. All NaNs count as the same NaN.
fn step(a: f32, b: f32, c: f32) -> f32 {
    fused_multiply_add(a, b, c, Rounding::Nearest).unwrap_or(f32::from_code(f32::NAN_CODE))
}

/// An accumulator of `m8n8k4` with f16, which ptxas turns into additions of f32.
pub trait Additions: Sum {
    fn sum(a: &[f32], b: &[f32], c: Self) -> Self;
}

impl Additions for f32 {
    /// The products are added one after another, starting from zero; then C.
    fn sum(a: &[f32], b: &[f32], c: f32) -> f32 {
        step(1.0, a.iter().zip(b).fold(0.0, |sum, (&a, &b)| step(a, b, sum)), c)
    }
}

impl Additions for f16 {
    /// C, plus the first two products, plus the last two.
    fn sum(a: &[f32], b: &[f32], c: f16) -> f16 {
        let pair = |k: usize| step(a[k + 1], b[k + 1], step(a[k], b[k], -0.0));
        let sum = step(1.0, pair(2), step(1.0, pair(0), f32::from(c)));
        match sum {
            _ if sum.is_nan() => f16::from_code(Self::NAN_CODE),
            _ if sum.is_infinite() || sum == 0.0 => f16::from_f32(sum),
            _ => {
                let rounded: f16 = round(&Exact::from(f64::from(sum)), Rounding::Nearest);
                f16::from_code(rounded.code() & 0x7fff | u64::from(sum < 0.0) << 15)
            }
        }
    }
}

pub fn additions<C: Additions>(a: &[f16], b: &[f16], c: C) -> C {
    assert_eq!(
        (a.len(), b.len()),
        (4, 4),
        "the reference knows additions of 4 products: extend `Additions::sum` \
         (tools/reference/src/chain.rs)"
    );
    let widened =
        |operands: &[f16]| operands.iter().map(|&operand| f32::from(operand)).collect::<Vec<f32>>();
    C::sum(&widened(a), &widened(b), c)
}
