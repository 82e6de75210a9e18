//! The floating-point formats of the tensor cores' operands and results.

use crate::element::{InByte, e2m1, e2m3, e3m2, tf32, ue4m3};
use bytemuck::Zeroable;
use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};

/// A floating-point format.
pub(super) trait Float: Copy {
    /// Fraction bits of the significand.
    const FRACTION: i32;
    /// Bits of the exponent.
    const EXPONENT: i32;
    /// The smallest exponent of a normal number.
    const MIN_EXPONENT: i32 = 2 - (1 << (Self::EXPONENT - 1));
    /// The meaning of the largest exponent field.
    const SPECIAL: Special = Special::InfinityAndNan;

    /// Its bits, right-aligned in 32.
    fn bits(self) -> u32;

    /// Its value.
    fn number(self) -> Number {
        let bits = self.bits();
        let negative = bits >> (Self::FRACTION + Self::EXPONENT) & 1 == 1;
        let fraction = i64::from(bits) & ((1 << Self::FRACTION) - 1);
        let field = (bits >> Self::FRACTION) as i32 & ((1 << Self::EXPONENT) - 1);
        if field == (1 << Self::EXPONENT) - 1 {
            match Self::SPECIAL {
                Special::InfinityAndNan if fraction == 0 => return Number::Infinite { negative },
                Special::InfinityAndNan => return Number::Nan,
                Special::Nan if fraction == (1 << Self::FRACTION) - 1 => return Number::Nan,
                Special::Nan | Special::None => {}
            }
        }
        if field == 0 {
            return Number::Finite {
                negative,
                significand: fraction,
                exponent: Self::MIN_EXPONENT,
            };
        }
        let significand = fraction | 1 << Self::FRACTION;
        Number::Finite { negative, significand, exponent: field + Self::MIN_EXPONENT - 1 }
    }
}

/// The meaning of the largest exponent field of a format.
pub(super) enum Special {
    /// Infinity and NaN.
    InfinityAndNan,
    /// Numbers; NaN if all bits are one.
    Nan,
    /// Numbers.
    None,
}

/// A format of accumulators.
pub(super) trait AccumulatorFloat: Float + Zeroable {
    /// `sum * 2^exponent`, rounded like the tensor cores do.
    fn round(sum: i64, exponent: i32) -> Self;
    /// Truncates an f32 to `bits` fraction bits; returns an f16 unchanged.
    fn cut_to(self, bits: i32) -> Self;
    /// Infinity with this sign.
    fn infinity(negative: bool) -> Self;
    /// The NaN that the tensor cores return.
    fn nan() -> Self;
}

/// A finite number is `(-1)^negative * significand * 2^(exponent - fraction)`. Its significand has
/// the leading one at bit `fraction` unless the number is subnormal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Finite { negative: bool, significand: i64, exponent: i32 },
    Infinite { negative: bool },
    Nan,
}

impl Number {
    /// The same number in f16, from a format that f16 contains. A subnormal number of the smaller
    /// format may be normal in f16.
    pub(super) fn in_f16(self, fraction: i32) -> Number {
        match self {
            Number::Finite { negative, significand, exponent } if significand != 0 => {
                let leading = 63 - significand.leading_zeros() as i32;
                let normal = (exponent - fraction + leading).max(f16::MIN_EXPONENT);
                let significand = significand << (exponent - fraction - normal + f16::FRACTION);
                Number::Finite { negative, significand, exponent: normal }
            }
            other => other,
        }
    }
}

/// One row for each format: bits of the exponent and the fraction, and the conversion of its bits
/// to 32.
macro_rules! formats {
    (
        $(
            $format:ty, $exponent:literal $fraction:literal $special:ident
                |$value:ident| $bits:expr;
        )*
    ) => {$(
        impl Float for $format {
            const FRACTION: i32 = $fraction;
            const EXPONENT: i32 = $exponent;
            const SPECIAL: Special = Special::$special;

            fn bits(self) -> u32 {
                let $value = self;
                $bits
            }
        }
    )*};
}

formats! {
    f32, 8 23 InfinityAndNan |value| value.to_bits();
    // The 19 bits of a tf32 are the upper ones of 32.
    tf32, 8 10 InfinityAndNan |value| value.to_bits() >> 13;
    bf16, 8 7 InfinityAndNan |value| value.to_bits().into();
    f16, 5 10 InfinityAndNan |value| value.to_bits().into();
    F8E5M2, 5 2 InfinityAndNan |value| value.to_bits().into();
    F8E4M3, 4 3 Nan |value| value.to_bits().into();
    // The higher bits of the byte are ignored.
    e3m2, 3 2 None |value| value.to_bits().into();
    e2m3, 2 3 None |value| value.to_bits().into();
    e2m1, 2 1 None |value| value.to_bits().into();
    InByte<e2m1>, 2 1 None |value| e2m1::from(value).to_bits().into();
    ue4m3, 4 3 Nan |value| value.to_bits().into();
}

/// `sum * 2^exponent`, truncated to a format: sign, significand with `fraction` fraction bits, and
/// exponent. `rest` compares the truncated part with half a unit in the last place.
struct Cut {
    significand: i64,
    exponent: i32,
    rest: std::cmp::Ordering,
}

fn cut(magnitude: i64, exponent: i32, fraction: i32, min_exponent: i32) -> Cut {
    let leading = 63 - magnitude.leading_zeros() as i32;
    let result = (leading + exponent).max(min_exponent);
    let drop = result - fraction - exponent;
    if drop <= 0 {
        return Cut {
            significand: magnitude << -drop,
            exponent: result,
            rest: std::cmp::Ordering::Less,
        };
    }
    let drop = drop.min(63);
    let rest = i128::from(magnitude) & ((1 << drop) - 1);
    Cut { significand: magnitude >> drop, exponent: result, rest: rest.cmp(&(1 << (drop - 1))) }
}

impl Cut {
    /// The bits of the exponent and the fraction. A significand that is rounded up to 2, or from
    /// subnormal to 1, carries into the exponent.
    fn encode(&self, fraction: i32, min_exponent: i32) -> i64 {
        let field = i64::from(self.exponent - min_exponent);
        (field << fraction) + self.significand
    }
}

impl AccumulatorFloat for f32 {
    fn round(sum: i64, exponent: i32) -> f32 {
        if sum == 0 {
            return 0.0;
        }
        let cut = cut(sum.abs(), exponent, Self::FRACTION, Self::MIN_EXPONENT);
        match cut.encode(Self::FRACTION, Self::MIN_EXPONENT) {
            // A result that is truncated to zero loses its sign too.
            0 => 0.0,
            bits if bits >= i64::from(f32::INFINITY.to_bits()) => Self::infinity(sum < 0),
            bits => f32::from_bits(bits as u32 | u32::from(sum < 0) << 31),
        }
    }

    fn cut_to(self, bits: i32) -> f32 {
        if self.is_finite() {
            f32::from_bits(self.to_bits() & (u32::MAX << (Self::FRACTION - bits)))
        } else {
            self
        }
    }

    fn infinity(negative: bool) -> f32 {
        if negative { f32::NEG_INFINITY } else { f32::INFINITY }
    }

    fn nan() -> f32 {
        f32::from_bits(0x7fff_ffff)
    }
}

impl AccumulatorFloat for f16 {
    fn round(sum: i64, exponent: i32) -> f16 {
        if sum == 0 {
            return f16::ZERO;
        }
        let mut cut = cut(sum.abs(), exponent, Self::FRACTION, Self::MIN_EXPONENT);
        let odd = cut.significand & 1 == 1;
        if cut.rest.is_gt() || cut.rest.is_eq() && odd {
            cut.significand += 1;
        }
        match cut.encode(Self::FRACTION, Self::MIN_EXPONENT) {
            0 => f16::ZERO,
            bits if bits >= i64::from(f16::INFINITY.to_bits()) => Self::infinity(sum < 0),
            bits => f16::from_bits(bits as u16 | u16::from(sum < 0) << 15),
        }
    }

    fn cut_to(self, _: i32) -> f16 {
        self
    }

    fn infinity(negative: bool) -> f16 {
        if negative { f16::NEG_INFINITY } else { f16::INFINITY }
    }

    fn nan() -> f16 {
        f16::from_bits(0x7fff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<T: Float>(of: T) -> f64 {
        match of.number() {
            Number::Finite { negative, significand, exponent } => {
                let magnitude = significand as f64 * f64::from(exponent - T::FRACTION).exp2();
                if negative { -magnitude } else { magnitude }
            }
            Number::Infinite { negative } => {
                if negative {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                }
            }
            Number::Nan => f64::NAN,
        }
    }

    #[test]
    fn fp8_is_the_same_number_in_f16() {
        for bits in 0..=u8::MAX {
            let (e4m3, e5m2) = (F8E4M3::from_bits(bits), F8E5M2::from_bits(bits));
            for (number, value) in [
                (e4m3.number().in_f16(F8E4M3::FRACTION), e4m3.to_f32()),
                (e5m2.number().in_f16(F8E5M2::FRACTION), e5m2.to_f32()),
            ] {
                match f16::from_f32(value).number() {
                    // The exponent of a zero has no meaning.
                    Number::Finite { significand: 0, .. } => {
                        assert!(matches!(number, Number::Finite { significand: 0, .. }))
                    }
                    same => assert_eq!(number, same, "{bits:#x}"),
                }
            }
        }
    }

    #[test]
    fn every_code_of_the_small_formats_is_its_number() {
        let same = |ours: f64, theirs: f32| {
            ours.to_bits() == f64::from(theirs).to_bits() || ours.is_nan() && theirs.is_nan()
        };
        for bits in 0..=u8::MAX {
            let (e4m3, e5m2) = (F8E4M3::from_bits(bits), F8E5M2::from_bits(bits));
            assert!(same(value(e4m3), e4m3.to_f32()), "e4m3 {bits:#x}");
            assert!(same(value(e5m2), e5m2.to_f32()), "e5m2 {bits:#x}");
        }
        for bits in 0..=u16::MAX {
            let (f16, bf16) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert!(same(value(f16), f16.to_f32()), "f16 {bits:#x}");
            assert!(same(value(bf16), bf16.to_f32()), "bf16 {bits:#x}");
            let tf32 = tf32::from_bits(u32::from(bits) << 16);
            assert!(same(value(tf32), tf32.to_f32()), "tf32 {bits:#x}");
        }
    }
}
