//! Numbers exactly, and back.

use crate::data::Float;
use num_bigint::{BigInt, BigUint};
use num_traits::{Signed, ToPrimitive, Zero};
use std::ops::Add;

/// A number: an integer times `2^place`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    pub integer: BigInt,
    pub place: i64,
}

/// A finite number's significand, with its sign, and the place of its last bit.
fn parts(value: f64) -> (i64, i64) {
    let bits = value.abs().to_bits();
    let field = (bits >> 52) as i64;
    let significand = if field == 0 { bits } else { bits & ((1 << 52) - 1) | 1 << 52 } as i64;
    (if value < 0.0 { -significand } else { significand }, field.max(1) - 1023 - 52)
}

/// A finite number.
impl From<f64> for Exact {
    fn from(value: f64) -> Self {
        let (significand, place) = parts(value);
        Exact { integer: significand.into(), place }
    }
}

impl Exact {
    /// The product of finite numbers.
    pub fn product(a: f64, b: f64) -> Self {
        let [(a, place_a), (b, place_b)] = [a, b].map(parts);
        Exact { integer: (i128::from(a) * i128::from(b)).into(), place: place_a + place_b }
    }

    /// The integer of which the number is `2^place` times; no bit of it is below that.
    fn at(self, place: i64) -> BigInt {
        self.integer << (self.place - place)
    }
}

impl Add for Exact {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let place = self.place.min(other.place);
        Exact { integer: self.at(place) + other.at(place), place }
    }
}

/// The sum of finite numbers, each cut toward zero to a multiple of `2^place`; none is more than `2^64` times that.
pub fn sum_of_cut(terms: impl IntoIterator<Item = f64>, place: i64) -> Exact {
    let cut = |term: f64| {
        let (significand, last) = parts(term);
        let significand = i128::from(significand);
        if last < place {
            significand / (1_i128 << (place - last).min(64))
        } else {
            significand * (1_i128 << (last - place))
        }
    };
    let integer: i128 = terms.into_iter().filter(|&term| term != 0.0).map(cut).sum();
    Exact { integer: integer.into(), place }
}

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

/// A number in a format. A zero is positive.
pub fn round<C: Float>(value: &Exact, rounding: Rounding) -> C {
    let Exact { integer, place } = value;
    let magnitude = integer.magnitude();
    if magnitude.is_zero() {
        return C::from_code(0);
    }
    let fraction = i64::from(C::FRACTION);
    let least = 2 - (1 << (C::EXPONENT - 1));
    let exponent = (magnitude.bits() as i64 - 1 + place).max(least);
    // One unit in the last place is 2^(exponent - fraction), of which the integer has all bits or more.
    let unit = exponent - fraction - place;
    let magnitude = magnitude << (-unit).max(0);
    let unit = unit.max(0);
    let quotient = &magnitude >> unit;
    let remainder = magnitude - (&quotient << unit);
    let significand = quotient.to_u64().expect("at most fraction + 1 bits");
    let half = BigUint::from(1u8) << (unit - 1).max(0);
    let away = match rounding {
        Rounding::Nearest => remainder > half || remainder == half && significand % 2 == 1,
        Rounding::Cut | Rounding::Zero => false,
        Rounding::Down => integer.is_negative() && !remainder.is_zero(),
        Rounding::Up => integer.is_positive() && !remainder.is_zero(),
    };
    let infinity = ((1 << C::EXPONENT) - 1) << C::FRACTION;
    let code = (((exponent - least) as u64) << fraction).saturating_add(significand + u64::from(away));
    let beyond = match rounding {
        Rounding::Zero => infinity - 1,
        Rounding::Down if integer.is_positive() => infinity - 1,
        Rounding::Up if integer.is_negative() => infinity - 1,
        _ => infinity,
    };
    let code = if code >= infinity { beyond } else { code };
    // What is rounded to zero loses its sign, as the tensor cores do it.
    let negative = integer.is_negative() && code != 0;
    C::from_code(code | u64::from(negative) << (C::EXPONENT + C::FRACTION))
}

/// The exponent that a number's significand has, written with one bit before the point: that of a subnormal is the least.
pub fn exponent<F: Float>(value: F) -> i64 {
    let bias = (1 << (F::EXPONENT - 1)) - 1;
    let field = value.code() >> F::FRACTION & ((1 << F::EXPONENT) - 1);
    field.max(1) as i64 - bias
}
