//! Exact numbers, and rounding to a format.

use crate::data::Float;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use std::ops::Add;

/// A number: an integer times `2^place`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    pub integer: BigInt,
    pub place: i64,
}

/// The signed significand of a finite number, and the place of its last bit.
fn parts(value: f64) -> (i64, i64) {
    let bits = value.abs().to_bits();
    let field = (bits >> 52) as i64;
    let significand = if field == 0 { bits } else { bits & ((1 << 52) - 1) | 1 << 52 } as i64;
    (if value < 0.0 { -significand } else { significand }, field.max(1) - 1023 - 52)
}

/// Converts a finite number.
impl From<f64> for Exact {
    fn from(value: f64) -> Self {
        let (significand, place) = parts(value);
        Exact { integer: significand.into(), place }
    }
}

impl Exact {
    /// The product of two finite numbers.
    pub fn product(a: f64, b: f64) -> Self {
        let [(a, place_a), (b, place_b)] = [a, b].map(parts);
        Exact { integer: (i128::from(a) * i128::from(b)).into(), place: place_a + place_b }
    }

    /// The number as a multiple of `2^place`. No bit of it is below `2^place`.
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

/// The sum of finite numbers, each truncated toward zero to a multiple of `2^place`. No number is
/// larger than `2^64` of these multiples.
pub fn sum_of_cut(terms: &[f64], place: i64) -> Exact {
    let cut = |term: f64| {
        let (significand, last) = parts(term);
        if last < place {
            let kept = (significand.unsigned_abs() >> (place - last).min(63)) as i64;
            i128::from(if significand < 0 { -kept } else { kept })
        } else {
            i128::from(significand) << (last - place)
        }
    };
    let integer: i128 = terms.iter().filter(|&&term| term != 0.0).map(|&term| cut(term)).sum();
    Exact { integer: integer.into(), place }
}

/// The rounding of a number that a format does not have.
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

/// Rounds a number to a format. A zero is positive.
pub fn round<C: Float>(value: &Exact, rounding: Rounding) -> C {
    const {
        assert!(
            matches!((C::EXPONENT, C::FRACTION), (5, 10) | (8, 7) | (8, 23) | (11, 52)),
            "`round` knows f16, bf16, f32 and f64: an infinity is next to the largest number"
        );
    }
    let Exact { integer, place } = value;
    let magnitude = integer.magnitude();
    if magnitude.is_zero() {
        return C::from_code(0);
    }
    // The first 64 bits, and whether a lower bit is set. No format keeps more than 53 bits.
    let behind = magnitude.bits().saturating_sub(64);
    let others = magnitude.trailing_zeros() < Some(behind);
    let first = if behind == 0 { magnitude.to_u64() } else { (magnitude >> behind).to_u64() };
    let first = first.expect("at most 64 bits");
    let place = place + behind as i64;
    let fraction = i64::from(C::FRACTION);
    let least = 2 - (1 << (C::EXPONENT - 1));
    let exponent = (i64::from(first.ilog2()) + place).max(least);
    // The unit in the last place is 2^(exponent - fraction). The integer reaches down to it, or
    // lower.
    let unit = exponent - fraction - place;
    let first = u128::from(first) << (-unit).max(0);
    // `first` is below 2^64. With a unit of 2^66 it rounds as with any larger unit.
    let unit = unit.clamp(0, 66);
    let significand = (first >> unit) as u64;
    let remainder = first & ((1 << unit) - 1);
    let half = 1 << (unit - 1).max(0);
    let is_exact = remainder == 0 && !others;
    let away = match rounding {
        Rounding::Nearest => {
            remainder > half || remainder == half && (others || significand % 2 == 1)
        }
        Rounding::Cut | Rounding::Zero => false,
        Rounding::Down => integer.is_negative() && !is_exact,
        Rounding::Up => integer.is_positive() && !is_exact,
    };
    let infinity = ((1 << C::EXPONENT) - 1) << C::FRACTION;
    let code =
        (((exponent - least) as u64) << fraction).saturating_add(significand + u64::from(away));
    let beyond = match rounding {
        Rounding::Zero => infinity - 1,
        Rounding::Down if integer.is_positive() => infinity - 1,
        Rounding::Up if integer.is_negative() => infinity - 1,
        Rounding::Nearest | Rounding::Cut | Rounding::Down | Rounding::Up => infinity,
    };
    let code = if code >= infinity { beyond } else { code };
    // A value that rounds to zero loses its sign, as in the tensor cores.
    let negative = integer.is_negative() && code != 0;
    C::from_code(code | u64::from(negative) << (C::EXPONENT + C::FRACTION))
}

/// The exponent of a number, for a significand with one bit before the point. All subnormals have
/// the least exponent.
pub fn exponent<F: Float>(value: F) -> i64 {
    let bias = (1 << (F::EXPONENT - 1)) - 1;
    let field = value.code() >> F::FRACTION & ((1 << F::EXPONENT) - 1);
    field.max(1) as i64 - bias
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;
    use std::fmt::Debug;

    /// Compares with a cast, which rounds to nearest: halves of the last place plus or minus a
    /// little, at every exponent.
    fn rounds_as<C: Float + PartialEq + Debug>(cast: fn(f64) -> C, little: f64) {
        for exponent in -200..200 {
            for halves in 0..8 {
                let middle = 1.0 + f64::from(halves) * 0.5f64.powi(C::FRACTION as i32 + 1);
                for value in [middle, middle + little, middle - little] {
                    let value = -value * 2f64.powi(exponent);
                    assert_eq!(
                        round::<C>(&value.into(), Rounding::Nearest),
                        cast(value),
                        "{value:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn numbers_are_rounded_as_by_casts() {
        rounds_as(|value| value as f32, 0.5f64.powi(50));
        // `half` ignores the bits after 20 bits of the fraction.
        rounds_as(f16::from_f64, 0.5f64.powi(20));
    }

    /// Bits far below the kept ones decide, too: for a number half-way between two, and for a
    /// number of the format.
    #[test]
    fn distant_bits_decide_rounding() {
        let far = || Exact { integer: 1.into(), place: -900 };
        let sum = |value: f64, rounding| round::<f64>(&(Exact::from(value) + far()), rounding);
        assert_eq!(sum(1.0, Rounding::Up), 1f64.next_up());
        assert_eq!(sum(1.0, Rounding::Down), 1.0);
        assert_eq!(sum(-1.0, Rounding::Down), -1.0);
        assert_eq!(sum(-1.0, Rounding::Up), (-1f64).next_up());
        assert_eq!(sum(-1.0, Rounding::Zero), (-1f64).next_up());
        let tie = || Exact::from(1.0) + Exact { integer: 1.into(), place: -53 };
        assert_eq!(round::<f64>(&tie(), Rounding::Nearest), 1.0);
        assert_eq!(round::<f64>(&(tie() + far()), Rounding::Nearest), 1f64.next_up());
    }

    #[test]
    fn terms_are_cut_toward_zero() {
        assert_eq!(
            sum_of_cut(&[1.75, -1.75, -2.75, 1e-300, -1e-300], -1),
            Exact { integer: (-5).into(), place: -1 }
        );
        assert_eq!(sum_of_cut(&[3.0, -2f64.powi(64), 2f64.powi(64)], 0).integer, 3.into());
    }
}
