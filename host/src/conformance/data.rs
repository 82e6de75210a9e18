//! Random data. Integers are distinct in every position, so that a value in the wrong place is never right by
//! chance.

use half::{bf16, f16};
use num_traits::AsPrimitive;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};
use std::ops::RangeInclusive;

pub type Rng = rand_chacha::ChaCha8Rng;

/// `len` different numbers.
pub fn distinct(rng: &mut Rng, len: usize) -> Vec<u16> {
    let mut all: Vec<u16> = (0..=u16::MAX).collect();
    all.partial_shuffle(rng, len).0.to_vec()
}

/// `count` different ones of the numbers below `of`.
pub fn choose(rng: &mut Rng, count: usize, of: u32) -> Vec<u32> {
    let mut all: Vec<u32> = (0..of).collect();
    all.partial_shuffle(rng, count).0.to_vec()
}

/// What the elements of a multiplication are drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Small integers, whose sums are exact in any arithmetic.
    Integers,
    /// Normally distributed.
    Normal,
    /// Exponents over the whole range in which products and sums stay finite.
    Wide,
    /// Zeros, subnormals, the largest numbers, infinities and NaNs among normal ones.
    Special,
    /// Zeros of both signs, and a few other numbers.
    Zeros,
    /// So small that products and sums are subnormal, or nearly.
    Tiny,
    /// So large that sums overflow, or nearly.
    Huge,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::Integers, Kind::Normal, Kind::Wide, Kind::Special, Kind::Zeros, Kind::Tiny, Kind::Huge];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Integers => "small integers",
            Kind::Normal => "normal",
            Kind::Wide => "wide range",
            Kind::Special => "special values",
            Kind::Zeros => "zeros",
            Kind::Tiny => "tiny",
            Kind::Huge => "huge",
        }
    }
}

/// A floating-point element.
pub trait Float: bytemuck::Pod + PartialEq {
    /// Bits of the significand behind the point.
    const FRACTION: u32;
    /// Bits of the exponent.
    const EXPONENT: u32;
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn from_bits32(bits: u32) -> Self;
    fn bits32(self) -> u32;
}

macro_rules! floats {
    ($($float:ident as $bits:ty: $fraction:literal $exponent:literal;)*) => {$(
        impl Float for $float {
            const FRACTION: u32 = $fraction;
            const EXPONENT: u32 = $exponent;
            fn from_f64(value: f64) -> Self {
                value.as_()
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn from_bits32(bits: u32) -> Self {
                <$float>::from_bits(bits as $bits)
            }
            fn bits32(self) -> u32 {
                u32::from(self.to_bits())
            }
        }
    )*};
}
floats! {
    f32 as u32: 23 8;
    f16 as u16: 10 5;
    bf16 as u16: 7 8;
}

/// One random element.
pub fn element<T: Float>(rng: &mut Rng, kind: Kind) -> T {
    let largest = (1 << T::EXPONENT) - 1;
    let bias = largest / 2;
    match kind {
        Kind::Integers => T::from_f64(f64::from(rng.random_range(-8..=8))),
        Kind::Normal => T::from_f64(StandardNormal.sample(rng)),
        // A third of the exponents, around one: the sum of two of them is still an exponent of f32 or f16.
        Kind::Wide => with_exponent(rng, bias - bias / 3..=bias + bias / 3),
        // Most elements are harmless, so that one special value decides a sum.
        Kind::Special => match rng.random_range(0..24) {
            0..4 => zero(rng),
            4..6 => with_exponent(rng, 0..=0),
            6 => with_exponent(rng, 1..=1),
            7 => with_exponent(rng, largest - 1..=largest - 1),
            8 if rng.random_range(0..6) == 0 => {
                T::from_f64(if rng.random() { f64::INFINITY } else { f64::NEG_INFINITY })
            }
            // Of all fractions but one, a NaN.
            9 if rng.random_range(0..8) == 0 => with_exponent(rng, largest..=largest),
            10..14 => with_exponent(rng, 0..=largest - 1),
            _ => element(rng, Kind::Normal),
        },
        Kind::Zeros => match rng.random_range(0..16) {
            0 => element(rng, Kind::Special),
            _ => zero(rng),
        },
        // A product has twice the exponent of its factors, and the range of f32 if they are bf16.
        Kind::Tiny if T::EXPONENT == 8 && T::FRACTION == 7 => with_exponent(rng, bias / 2 - 12..=bias / 2 + 4),
        Kind::Tiny => with_exponent(rng, 0..=6),
        Kind::Huge if T::EXPONENT == 8 && T::FRACTION == 7 => {
            with_exponent(rng, bias + bias / 2 - 2..=bias + bias / 2 + 1)
        }
        Kind::Huge if T::EXPONENT == 5 => with_exponent(rng, bias + 4..=bias + 7),
        Kind::Huge => with_exponent(rng, largest - 4..=largest - 1),
    }
}

fn zero<T: Float>(rng: &mut Rng) -> T {
    T::from_f64(if rng.random() { 0.0 } else { -0.0 })
}

/// A number with any sign and fraction, and one of those exponent fields.
fn with_exponent<T: Float>(rng: &mut Rng, exponents: RangeInclusive<u32>) -> T {
    let sign = u32::from(rng.random::<bool>()) << (T::EXPONENT + T::FRACTION);
    // Round fractions make sums that cancel, and ties.
    let fraction = if rng.random_range(0..4) == 0 { 0 } else { rng.random_range(0..1 << T::FRACTION) };
    T::from_bits32(sign | rng.random_range(exponents) << T::FRACTION | fraction)
}

/// A random matrix.
pub fn matrix<T: Float>(rng: &mut Rng, len: usize, kind: Kind) -> Vec<T> {
    (0..len).map(|_| element(rng, kind)).collect()
}
