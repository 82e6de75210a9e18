//! What the tensor cores compute, bit for bit, as found on an H200 (`docs/NUMERICS.md`).
//!
//! An element of D is one sum over all products and C. Products are exact. Every term is written with the largest exponent
//! among them and [`FRACTION_BITS`] bits behind the point, cut toward zero; the sum of those is exact; it is cut toward
//! zero to f32, or rounded to the nearest f16.

use crate::fragment::{FragmentShape, RoleA, RoleB, RoleC, Shape};
use crate::{Accumulator, Element, FragmentA, FragmentB};
use half::{bf16, f16};
use std::vec;
use std::vec::Vec;

/// Bits behind the point that a term keeps, next to the largest one.
const FRACTION_BITS: i32 = 25;

/// A floating-point format.
pub(crate) trait Float: Element {
    /// Bits of the significand behind the point.
    const FRACTION: i32;
    /// The least exponent of a normal number.
    const MIN_EXPONENT: i32;
    /// Its bits, in the lowest of 32.
    fn bits(self) -> u32;
}

/// A format that the tensor cores accumulate in.
pub(crate) trait AccumulatorFloat: Float {
    /// `sum * 2^exponent`, as the tensor cores round it.
    fn round(sum: i64, exponent: i32) -> Self;
    /// Infinity of that sign.
    fn infinity(negative: bool) -> Self;
    /// What the tensor core returns for "not a number".
    fn nan() -> Self;
}

/// A finite number: `(-1)^negative * significand * 2^(exponent - fraction)`, the significand with its leading one
/// at bit `fraction` unless the number is subnormal.
#[derive(Clone, Copy)]
enum Number {
    Finite { negative: bool, significand: i64, exponent: i32 },
    Infinite { negative: bool },
    Nan,
}

fn unpack<T: Float>(value: T) -> Number {
    let bits = value.bits();
    let width = 8 * size_of::<T>() as u32;
    let negative = bits >> (width - 1) & 1 == 1;
    let fraction = i64::from(bits & ((1 << T::FRACTION) - 1));
    let field = (bits & ((1 << (width - 1)) - 1)) as i32 >> T::FRACTION;
    let special = 2 * (1 - T::MIN_EXPONENT) + 1;
    if field == special {
        return if fraction == 0 { Number::Infinite { negative } } else { Number::Nan };
    }
    if field == 0 {
        return Number::Finite { negative, significand: fraction, exponent: T::MIN_EXPONENT };
    }
    Number::Finite { negative, significand: fraction | 1 << T::FRACTION, exponent: field + T::MIN_EXPONENT - 1 }
}

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

/// One element of D: the fused sum of `a[k] * b[k]` and `c`.
pub(crate) fn fused_sum<A: Float, B: Float, C: AccumulatorFloat>(pairs: impl Iterator<Item = (A, B)>, c: C) -> C {
    let products = pairs.map(|(a, b)| (product(unpack(a), unpack(b)), A::FRACTION + B::FRACTION));
    let terms: Vec<(Number, i32)> = products.chain([(unpack(c), C::FRACTION)]).collect();

    let mut infinity = None;
    let mut largest = None;
    for (term, _) in &terms {
        match *term {
            Number::Nan => return C::nan(),
            Number::Infinite { negative } if infinity.is_some_and(|other| other != negative) => return C::nan(),
            Number::Infinite { negative } => infinity = Some(negative),
            Number::Finite { significand: 0, .. } => {}
            Number::Finite { exponent, .. } => largest = largest.max(Some(exponent)),
        }
    }
    if let Some(negative) = infinity {
        return C::infinity(negative);
    }
    let Some(largest) = largest else { return C::zeroed() };
    let sum = terms.iter().map(|&(term, fraction)| match term {
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

/// `sum * 2^exponent` cut toward zero to a format, as sign, significand with `fraction` bits behind the point and
/// exponent; and whether what was cut off is more than, or exactly, half of the last place.
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
        return Cut { significand: magnitude << -drop, exponent: result, rest: std::cmp::Ordering::Less };
    }
    let drop = drop.min(63);
    let rest = i128::from(magnitude) & ((1 << drop) - 1);
    Cut { significand: magnitude >> drop, exponent: result, rest: rest.cmp(&(1 << (drop - 1))) }
}

impl Cut {
    /// The bits of the exponent and the significand. A significand that was rounded up to two, or from subnormal to
    /// one, carries into the exponent by itself.
    fn encode(&self, fraction: i32, min_exponent: i32) -> i64 {
        let field = i64::from(self.exponent - min_exponent);
        (field << fraction) + self.significand
    }
}

impl Float for f32 {
    const FRACTION: i32 = 23;
    const MIN_EXPONENT: i32 = -126;

    fn bits(self) -> u32 {
        self.to_bits()
    }
}

impl AccumulatorFloat for f32 {
    fn round(sum: i64, exponent: i32) -> f32 {
        if sum == 0 {
            return 0.0;
        }
        let cut = cut(sum.abs(), exponent, Self::FRACTION, Self::MIN_EXPONENT);
        match cut.encode(Self::FRACTION, Self::MIN_EXPONENT) {
            // What is cut to nothing loses its sign too.
            0 => 0.0,
            bits if bits >= i64::from(f32::INFINITY.to_bits()) => Self::infinity(sum < 0),
            bits => f32::from_bits(bits as u32 | u32::from(sum < 0) << 31),
        }
    }

    fn infinity(negative: bool) -> f32 {
        if negative { f32::NEG_INFINITY } else { f32::INFINITY }
    }

    fn nan() -> f32 {
        f32::from_bits(0x7fff_ffff)
    }
}

impl Float for f16 {
    const FRACTION: i32 = 10;
    const MIN_EXPONENT: i32 = -14;

    fn bits(self) -> u32 {
        u32::from(self.to_bits())
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

    fn infinity(negative: bool) -> f16 {
        if negative { f16::NEG_INFINITY } else { f16::INFINITY }
    }

    fn nan() -> f16 {
        f16::from_bits(0x7fff)
    }
}

impl Float for bf16 {
    const FRACTION: i32 = 7;
    const MIN_EXPONENT: i32 = -126;

    fn bits(self) -> u32 {
        u32::from(self.to_bits())
    }
}

/// `acc += a x b`, on all lanes' registers.
pub(crate) fn multiply_accumulate<S, A: Float, B: Float, C: AccumulatorFloat>(
    acc: &mut Accumulator<S, C>,
    a: &FragmentA<S, A>,
    b: &FragmentB<S, B>,
) where
    S: Shape + FragmentShape<RoleA, A::Width> + FragmentShape<RoleB, B::Width> + FragmentShape<RoleC, C::Width>,
{
    let (a, b, c) = (a.matrix(), b.matrix(), acc.matrix());
    let mut d = vec![C::zeroed(); S::M * S::N];
    for (index, d) in d.iter_mut().enumerate() {
        let (row, col) = (index / S::N, index % S::N);
        *d = fused_sum((0..S::K).map(|k| (a[row * S::K + k], b[k * S::N + col])), c[index]);
    }
    *acc = Accumulator::from_matrix(&d);
}
