//! Random data. Integers are distinct in every position, so that a value in the wrong place is never right by
//! chance.

use half::{bf16, f16};
use num_traits::AsPrimitive;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};

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
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Integers, Kind::Normal, Kind::Wide, Kind::Special];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Integers => "small integers",
            Kind::Normal => "normal",
            Kind::Wide => "wide range",
            Kind::Special => "special values",
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
    let width = 1 + T::EXPONENT + T::FRACTION;
    match kind {
        Kind::Integers => T::from_f64(f64::from(rng.random_range(-8..=8))),
        Kind::Normal => T::from_f64(StandardNormal.sample(rng)),
        Kind::Wide => {
            // A third of the exponents, around one: the sum of two of them is still an exponent of f32 or f16.
            let bias = (1 << (T::EXPONENT - 1)) - 1;
            let exponent = rng.random_range(bias - bias / 3..=bias + bias / 3);
            let fraction = rng.random_range(0..1 << T::FRACTION);
            let negative = rng.random_range(0..=1);
            T::from_bits32(negative << (width - 1) | exponent << T::FRACTION | fraction)
        }
        Kind::Special => {
            let largest = (1 << T::EXPONENT) - 1;
            // Most elements are harmless, so that one special value decides a sum.
            let (exponent, fraction) = match rng.random_range(0..24) {
                0..4 => (0, 0),
                4..6 => (0, rng.random_range(0..1 << T::FRACTION)),
                6 => (1, rng.random_range(0..1 << T::FRACTION)),
                7 => (largest - 1, rng.random_range(0..1 << T::FRACTION)),
                8 if rng.random_range(0..6) == 0 => (largest, 0),
                9 if rng.random_range(0..8) == 0 => (largest, rng.random_range(1..1 << T::FRACTION)),
                10..12 => (rng.random_range(0..largest), 0),
                12..14 => (rng.random_range(0..largest), rng.random_range(0..1 << T::FRACTION)),
                _ => return element(rng, Kind::Normal),
            };
            T::from_bits32(rng.random_range(0..=1) << (width - 1) | exponent << T::FRACTION | fraction)
        }
    }
}

/// A random matrix.
pub fn matrix<T: Float>(rng: &mut Rng, len: usize, kind: Kind) -> Vec<T> {
    (0..len).map(|_| element(rng, kind)).collect()
}
