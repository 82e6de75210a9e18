//! Random data. Integers are distinct in every position, so a value in the wrong place is never
//! right by chance.

use half::{bf16, f16};
use ptx_matrix::element::{
    F8E4M3, F8E5M2, InByte, b1, e2m1, e2m3, e3m2, s4, tf32, u4, ue4m3, ue8m0,
};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};
use std::ops::RangeInclusive;

pub type Rng = rand_chacha::ChaCha8Rng;

/// `len` distinct numbers.
pub fn distinct(rng: &mut Rng, len: usize) -> Vec<u16> {
    let mut all: Vec<u16> = (0..=u16::MAX).collect();
    all.partial_shuffle(rng, len).0.to_vec()
}

/// `count` distinct numbers below `of`.
pub fn choose(rng: &mut Rng, count: usize, of: u32) -> Vec<u32> {
    let mut all: Vec<u32> = (0..of).collect();
    all.partial_shuffle(rng, count).0.to_vec()
}

/// The distribution of the elements of a multiplication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Small integers, whose sums are exact in any arithmetic.
    Integers,
    /// Integers of the whole range. C is near the ends of its range, so sums wrap around.
    Wrapping,
    /// Any code in A and B; C is normally distributed, or zero.
    Codes,
    /// Normally distributed.
    Normal,
    /// Exponents over the whole range in which products and sums stay finite.
    Wide,
    /// Zeros, subnormals, the largest numbers, infinities and NaNs among normal ones.
    Special,
    /// Zeros of both signs, and a few other numbers.
    Zeros,
    /// So small that products and sums are subnormal, or nearly so.
    Tiny,
    /// So small that products are below the least exponent of the format of their sum. C is mostly
    /// zero.
    Vanishing,
    /// So large that sums overflow, or nearly so.
    Huge,
    /// Few powers of two, with C around them. The sums lie between two numbers of D: exactly, or
    /// except for one much smaller bit.
    Ties,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Integers => "small integers",
            Kind::Wrapping => "wrapping integers",
            Kind::Codes => "any codes",
            Kind::Normal => "normal",
            Kind::Wide => "wide range",
            Kind::Special => "special values",
            Kind::Zeros => "zeros",
            Kind::Tiny => "tiny",
            Kind::Vanishing => "vanishing",
            Kind::Huge => "huge",
            Kind::Ties => "ties",
        }
    }
}

/// The matrix of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In A or B.
    Operand,
    /// In C.
    Accumulator,
}

/// An element type of random data.
pub trait Element: bytemuck::Pod {
    /// The distributions that make sense for the type.
    const KINDS: &[Kind];
    /// Draws an element.
    fn draw(rng: &mut Rng, kind: Kind, place: Place) -> Self;
    /// The element as an integer.
    fn to_integer(self) -> i64;
    /// Converts an integer: to the nearest number, or modulo the number of integers of the type.
    fn from_integer(integer: i64) -> Self;
}

/// Draws A or B.
pub fn operands<T: Element>(rng: &mut Rng, len: usize, kind: Kind) -> Vec<T> {
    (0..len).map(|_| T::draw(rng, kind, Place::Operand)).collect()
}

/// Draws C.
pub fn accumulators<T: Element>(rng: &mut Rng, len: usize, kind: Kind) -> Vec<T> {
    (0..len).map(|_| T::draw(rng, kind, Place::Accumulator)).collect()
}

/// Draws scales.
pub fn scales<S: Scale>(rng: &mut Rng, len: usize, kind: Kind) -> Vec<S> {
    (0..len).map(|_| S::draw(rng, kind)).collect()
}

/// A floating-point element. From the top, its code has the sign, the exponent, and the fraction,
/// which ends at bit 0.
pub trait Float: bytemuck::Pod {
    /// Bits of the fraction.
    const FRACTION: u32;
    /// Bits of the exponent.
    const EXPONENT: u32;
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn from_code(code: u64) -> Self;
    fn code(self) -> u64;
}

macro_rules! floats {
    ($($float:ident as $bits:ty: $fraction:literal $exponent:literal $unused:literal |$value:ident|
        $from_f64:expr;)*) => {$(
        impl Float for $float {
            const FRACTION: u32 = $fraction;
            const EXPONENT: u32 = $exponent;
            fn from_f64($value: f64) -> Self {
                $from_f64
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn from_code(code: u64) -> Self {
                <$float>::from_bits((code << $unused) as $bits)
            }
            fn code(self) -> u64 {
                u64::from(self.to_bits()) >> $unused
            }
        }

        impl Element for $float {
            const KINDS: &[Kind] =
                &[
                    Kind::Integers,
                    Kind::Normal,
                    Kind::Wide,
                    Kind::Special,
                    Kind::Zeros,
                    Kind::Tiny,
                    Kind::Vanishing,
                    Kind::Huge,
                    Kind::Ties,
                ];
            fn draw(rng: &mut Rng, kind: Kind, place: Place) -> Self {
                float(rng, kind, place)
            }
            fn to_integer(self) -> i64 {
                self.to_f64() as i64
            }
            fn from_integer(integer: i64) -> Self {
                <$float>::from_f64(integer as f64)
            }
        }
    )*};
}
// Bits of the fraction, bits of the exponent, and unused bits below them.
floats! {
    f64 as u64: 52 11 0 |value| value;
    f32 as u32: 23 8 0 |value| value as f32;
    tf32 as u32: 10 8 13 |value| tf32::from_f32(value as f32);
    f16 as u16: 10 5 0 |value| f16::from_f64(value);
    bf16 as u16: 7 8 0 |value| bf16::from_f64(value);
    F8E5M2 as u8: 2 5 0 |value| F8E5M2::from_f64(value);
    F8E4M3 as u8: 3 4 0 |value| F8E4M3::from_f64(value);
}

/// Formats of less than a byte, without infinity and NaN.
macro_rules! small_floats {
    ($($float:ty as $format:ident: $fraction:literal $exponent:literal;)*) => {$(
        impl Float for $float {
            const FRACTION: u32 = $fraction;
            const EXPONENT: u32 = $exponent;
            fn from_f64(value: f64) -> Self {
                $format::from_f64(value).into()
            }
            fn to_f64(self) -> f64 {
                $format::from(self).to_f64()
            }
            fn from_code(code: u64) -> Self {
                $format::from_bits(code as u8).into()
            }
            fn code(self) -> u64 {
                $format::from(self).to_bits().into()
            }
        }

        impl Element for $float {
            const KINDS: &[Kind] = &[Kind::Integers, Kind::Codes, Kind::Zeros];
            fn draw(rng: &mut Rng, kind: Kind, _: Place) -> Self {
                match kind {
                    // A range of integers that all these formats have.
                    Kind::Integers => Self::from_f64(f64::from(rng.random_range(-4..=4))),
                    Kind::Zeros if rng.random_range(0..16) > 0 => zero(rng),
                    _ => Self::from_code(rng.random_range(0..1 << (1 + $fraction + $exponent))),
                }
            }
            fn to_integer(self) -> i64 {
                self.to_f64() as i64
            }
            fn from_integer(integer: i64) -> Self {
                Self::from_f64(integer as f64)
            }
        }
    )*};
}
small_floats! {
    e3m2 as e3m2: 2 3;
    e2m3 as e2m3: 3 2;
    e2m1 as e2m1: 1 2;
    InByte<e2m1> as e2m1: 1 2;
}

/// An element of scales: near one, any, or rather large or small.
pub trait Scale: bytemuck::Pod {
    fn draw(rng: &mut Rng, kind: Kind) -> Self;
}

impl Scale for ue8m0 {
    fn draw(rng: &mut Rng, kind: Kind) -> Self {
        ue8m0::from_bits(match kind {
            Kind::Integers => 127,
            Kind::Zeros => rng.random(),
            _ => rng.random_range(107..=147),
        })
    }
}

impl Scale for ue4m3 {
    fn draw(rng: &mut Rng, kind: Kind) -> Self {
        match kind {
            Kind::Integers => ue4m3::ONE,
            _ if rng.random_range(0..100) == 0 => ue4m3::from_bits(0x7f),
            _ => ue4m3::from_bits(rng.random_range(0..0x7f)),
        }
    }
}

macro_rules! integers {
    ($($integer:ident: $small:expr;)*) => {$(
        impl Element for $integer {
            const KINDS: &[Kind] = &[Kind::Integers, Kind::Wrapping];
            fn draw(rng: &mut Rng, kind: Kind, place: Place) -> Self {
                match (kind, place) {
                    (Kind::Integers, _) => rng.random_range($small),
                    (_, Place::Operand) => rng.random(),
                    // As far from the ends of the range as sums of any elements reach.
                    (_, Place::Accumulator) => {
                        let reach = 1 << rng.random_range(3..=18);
                        ($integer::MIN as i64 + rng.random_range(-reach..=reach)) as Self
                    }
                }
            }
            fn to_integer(self) -> i64 {
                self.into()
            }
            fn from_integer(integer: i64) -> Self {
                integer as $integer
            }
        }
    )*};
}
// The range of small integers of each type.
integers! {
    i8: -8..=8;
    u8: 0..=8;
    i32: -8..=8;
}

macro_rules! small_integers {
    ($($integer:ident: $small:expr;)*) => {$(
        impl Element for $integer {
            const KINDS: &[Kind] = &[Kind::Integers, Kind::Wrapping];
            fn draw(rng: &mut Rng, kind: Kind, _: Place) -> Self {
                match kind {
                    Kind::Integers => Self::saturating(rng.random_range($small)),
                    _ => Self::from_bits(rng.random()),
                }
            }
            fn to_integer(self) -> i64 {
                i32::from(self).into()
            }
            fn from_integer(integer: i64) -> Self {
                Self::from_bits(integer as u8)
            }
        }
    )*};
}
small_integers! {
    s4: -4..=4;
    u4: 0..=4;
    b1: 0..=1;
}

/// Draws a number.
fn float<T: Float>(rng: &mut Rng, kind: Kind, place: Place) -> T {
    let largest = (1 << T::EXPONENT) - 1;
    let bias = largest / 2;
    // Formats with the exponent range of their accumulators. Their products have twice the
    // exponent.
    let full_range = T::EXPONENT >= 8;
    match kind {
        Kind::Integers | Kind::Wrapping => T::from_f64(f64::from(rng.random_range(-8..=8))),
        Kind::Codes if place == Place::Operand => {
            T::from_code(rng.random_range(0..1 << (1 + T::EXPONENT + T::FRACTION)))
        }
        Kind::Codes if rng.random_range(0..8) == 0 => zero(rng),
        Kind::Normal | Kind::Codes => T::from_f64(StandardNormal.sample(rng)),
        // A third of the exponents, around one. The sum of two such exponents is an exponent of the
        // accumulator.
        Kind::Wide => {
            let reach = (bias / 3).max(4);
            with_exponent(rng, bias - reach..=bias + reach)
        }
        // Most elements are ordinary, so one special value decides a sum.
        Kind::Special => match rng.random_range(0..24) {
            0..4 => zero(rng),
            4..6 => with_exponent(rng, 0..=0),
            6 => with_exponent(rng, 1..=1),
            7 => with_exponent(rng, largest - 1..=largest - 1),
            8 if rng.random_range(0..6) == 0 => {
                T::from_f64(if rng.random() { f64::INFINITY } else { f64::NEG_INFINITY })
            }
            // NaN for all fractions but one.
            9 if rng.random_range(0..8) == 0 => with_exponent(rng, largest..=largest),
            // Any code of an 8-bit format.
            10..14 if T::EXPONENT + T::FRACTION == 7 => T::from_code(rng.random_range(0..=0xff)),
            10..14 => with_exponent(rng, 0..=largest - 1),
            _ => float(rng, Kind::Normal, place),
        },
        Kind::Zeros => match rng.random_range(0..16) {
            0 => float(rng, Kind::Special, place),
            _ => zero(rng),
        },
        Kind::Tiny if place == Place::Accumulator => with_exponent(rng, 0..=6),
        Kind::Tiny if full_range => with_exponent(rng, bias / 2 - 12..=bias / 2 + 4),
        Kind::Tiny => with_exponent(rng, 0..=bias / 3),
        Kind::Vanishing if place == Place::Accumulator && rng.random_range(0..4) > 0 => zero(rng),
        Kind::Vanishing if place == Place::Accumulator => with_exponent(rng, 0..=0),
        Kind::Vanishing if full_range => with_exponent(rng, bias / 2 - 12..=bias / 2 - 1),
        Kind::Vanishing => with_exponent(rng, 0..=bias / 6),
        Kind::Huge if place == Place::Accumulator => with_exponent(rng, largest - 4..=largest - 1),
        Kind::Huge if full_range => with_exponent(rng, bias + bias / 2 - 2..=bias + bias / 2 + 1),
        Kind::Huge => with_exponent(rng, bias + 4..=bias + 7),
        Kind::Ties if rng.random_range(0..if place == Place::Accumulator { 4 } else { 2 }) == 0 => {
            zero(rng)
        }
        // From one down to the least power of two of the format, but not below the bits of a sum.
        Kind::Ties if place == Place::Operand => {
            let least =
                (bias - 1 + u64::from(T::FRACTION)).min(u64::from(T::FRACTION).max(25)) as i32;
            let sign = if rng.random() { 1.0 } else { -1.0 };
            T::from_f64(sign * f64::from(rng.random_range(-least..=0)).exp2())
        }
        Kind::Ties => with_exponent(rng, bias.saturating_sub(25)..=bias),
    }
}

fn zero<T: Float>(rng: &mut Rng) -> T {
    T::from_f64(if rng.random() { 0.0 } else { -0.0 })
}

/// A number with any sign and fraction, and an exponent field in the range.
fn with_exponent<T: Float>(rng: &mut Rng, exponents: RangeInclusive<u64>) -> T {
    let sign = u64::from(rng.random::<bool>()) << (T::EXPONENT + T::FRACTION);
    // Zero fractions make sums that cancel, and ties.
    let fraction =
        if rng.random_range(0..4) == 0 { 0 } else { rng.random_range(0..1 << T::FRACTION) };
    T::from_code(sign | rng.random_range(exponents) << T::FRACTION | fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use std::collections::HashSet;

    #[test]
    fn every_code_of_the_8_bit_formats_occurs() {
        let mut rng = Rng::seed_from_u64(0);
        let e4m3: HashSet<u8> = operands::<F8E4M3>(&mut rng, 40_000, Kind::Special)
            .iter()
            .map(|value| value.to_bits())
            .collect();
        let e5m2: HashSet<u8> = operands::<F8E5M2>(&mut rng, 40_000, Kind::Special)
            .iter()
            .map(|value| value.to_bits())
            .collect();
        assert_eq!((e4m3.len(), e5m2.len()), (256, 256));
    }

    #[test]
    fn wrapping_accumulators_are_near_the_32_bit_limits() {
        let values = accumulators::<i32>(&mut Rng::seed_from_u64(0), 1000, Kind::Wrapping);
        assert!(values.iter().any(|&value| value > i32::MAX - 100_000));
        assert!(values.iter().any(|&value| value < i32::MIN + 100_000));
        assert!(values.iter().all(|value| value.unsigned_abs() >= i32::MAX as u32 - (1 << 18)));
    }
}
