//! The sum of the tensor cores, bit for bit, as found on an H200 (`docs/NUMERICS.md`).
//!
//! An element of D is one sum over all products and C. Products are exact. Every term is written with the largest exponent
//! among them, at least [`LEAST_EXPONENT`], and [`FRACTION_BITS`] bits behind the point, cut toward zero; the sum of those is
//! exact; it is cut toward zero to f32, or rounded to the nearest f16.

use super::format::{AccumulatorFloat, Number};

/// Bits behind the point that a term keeps, next to the largest one.
const FRACTION_BITS: i32 = 25;

/// The largest exponent is taken for this where it is less: only products have such exponents, where C is zero.
const LEAST_EXPONENT: i32 = -133;

fn product(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
        (Number::Infinite { negative }, other) | (other, Number::Infinite { negative }) => match other {
            Number::Finite { significand: 0, .. } | Number::Nan => Number::Nan,
            Number::Finite { negative: sign, .. } | Number::Infinite { negative: sign } => {
                Number::Infinite { negative: negative != sign }
            }
        },
        (
            Number::Finite { negative: x, significand: m, exponent: e },
            Number::Finite { negative: y, significand: n, exponent: f },
        ) => Number::Finite { negative: x != y, significand: m * n, exponent: e + f },
    }
}

/// One element of D: the fused sum of all `a[k] * b[k]`, whose significands have `fraction` bits behind the point, and `c`.
pub(super) fn fused_sum<C: AccumulatorFloat>(
    factors: impl Iterator<Item = (Number, Number)> + Clone,
    fraction: i32,
    c: C,
) -> C {
    let products = factors.map(|(a, b)| (product(a, b), fraction));
    let terms = products.chain([(c.number(), C::FRACTION)]);

    let mut infinity = None;
    let mut largest = LEAST_EXPONENT;
    for (term, _) in terms.clone() {
        match term {
            Number::Nan => return C::nan(),
            Number::Infinite { negative } if infinity.is_some_and(|other| other != negative) => return C::nan(),
            Number::Infinite { negative } => infinity = Some(negative),
            Number::Finite { significand: 0, .. } => {}
            Number::Finite { exponent, .. } => largest = largest.max(exponent),
        }
    }
    if let Some(negative) = infinity {
        return C::infinity(negative);
    }
    let sum = terms.map(|(term, fraction)| match term {
        Number::Finite { negative, significand, exponent } if significand != 0 => {
            let cut = shifted(significand, FRACTION_BITS - fraction - (largest - exponent));
            if negative { -cut } else { cut }
        }
        _ => 0,
    });
    C::round(sum.sum(), largest - FRACTION_BITS)
}

/// `value * 2^by`, cut toward zero.
fn shifted(value: i64, by: i32) -> i64 {
    if by >= 0 { value << by } else { value >> (-by).min(63) }
}
