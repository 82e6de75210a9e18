//! Numbers as integers of any size, and back.

use crate::data::Float;
use num_bigint::{BigInt, BigUint};
use num_traits::{Signed, ToPrimitive, Zero};

/// Bits behind the point of the fixed-point integers here: more than any product of subnormals, cut to 35 bits, has, and
/// any product of subnormal f64.
pub const SCALE: i64 = 2200;

/// Where a number goes that a format has not got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest, ties to even; to infinity, if it is too large.
    Nearest,
    /// Toward zero; to infinity, if it is too large.
    Cut,
    /// Toward zero.
    Zero,
    /// To the next smaller.
    Down,
    /// To the next larger.
    Up,
}

/// `value * 2^-SCALE` in a format. A zero is positive.
pub fn round<C: Float>(value: &BigInt, rounding: Rounding) -> C {
    let magnitude = value.magnitude();
    if magnitude.is_zero() {
        return C::from_code(0);
    }
    let fraction = i64::from(C::FRACTION);
    let least = 2 - (1 << (C::EXPONENT - 1));
    let exponent = (magnitude.bits() as i64 - 1 - SCALE).max(least);
    // One unit in the last place is 2^(exponent - fraction).
    let unit = exponent - fraction + SCALE;
    let quotient = magnitude >> unit;
    let remainder = magnitude - (&quotient << unit);
    let significand = quotient.to_u64().expect("at most fraction + 1 bits");
    let half = BigUint::from(1u8) << (unit - 1).max(0);
    let away = match rounding {
        Rounding::Nearest => remainder > half || remainder == half && significand % 2 == 1,
        Rounding::Cut | Rounding::Zero => false,
        Rounding::Down => value.is_negative() && !remainder.is_zero(),
        Rounding::Up => value.is_positive() && !remainder.is_zero(),
    };
    let infinity = ((1 << C::EXPONENT) - 1) << C::FRACTION;
    let code = (((exponent - least) as u64) << fraction).saturating_add(significand + u64::from(away));
    let beyond = match rounding {
        Rounding::Zero => infinity - 1,
        Rounding::Down if value.is_positive() => infinity - 1,
        Rounding::Up if value.is_negative() => infinity - 1,
        _ => infinity,
    };
    let code = if code >= infinity { beyond } else { code };
    // What is rounded to zero loses its sign, as the tensor cores do it.
    let negative = value.is_negative() && code != 0;
    C::from_code(code | u64::from(negative) << (C::EXPONENT + C::FRACTION))
}

/// A finite number times `2^SCALE`.
pub fn fixed(value: f64) -> BigInt {
    let bits = value.abs().to_bits();
    let field = (bits >> 52) as i64;
    let significand = if field == 0 { bits } else { bits & ((1 << 52) - 1) | 1 << 52 };
    let magnitude = BigInt::from(significand) << (field.max(1) - 1023 - 52 + SCALE);
    if value < 0.0 { -magnitude } else { magnitude }
}

/// Toward zero to a multiple of `2^place`.
pub fn cut(term: &BigInt, place: i64) -> BigInt {
    let magnitude: BigInt = (term.abs() >> place) << place;
    if term.is_negative() { -magnitude } else { magnitude }
}

/// The exponent that a number's significand has, written with one bit before the point: that of a subnormal is the least.
pub fn exponent<F: Float>(value: F) -> i64 {
    let bias = (1 << (F::EXPONENT - 1)) - 1;
    let field = value.code() >> F::FRACTION & ((1 << F::EXPONENT) - 1);
    field.max(1) as i64 - bias
}
