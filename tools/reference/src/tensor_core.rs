//! Sums of the tensor cores.

use super::number::{Exact, Rounding, exponent, round, sum_of_cut};
use crate::data::Float;
use half::f16;

/// How a GPU puts the terms of a sum below each other.
#[derive(Debug, Clone, Copy)]
pub struct Alignment {
    /// Bits that are kept behind the point of a term with the largest exponent.
    bits: i64,
    /// The largest exponent is at least so much less than the least normal one of D.
    below: i64,
}

/// sm_90.
pub const HOPPER: Alignment = Alignment { bits: 25, below: 7 };
/// As published of sm_120: there is no least exponent.
pub const BLACKWELL: Alignment = Alignment { bits: 25, below: 2000 };
/// `wgmma` of fp8 on sm_90.
const HOPPER_FP8: Alignment = Alignment { bits: 13, below: 2000 };

impl Alignment {
    /// The least exponent of sums in a format.
    pub fn least<C: Float>(self) -> i64 {
        2 - (1 << (C::EXPONENT - 1)) - self.below
    }
}

/// A format that products are summed in.
pub trait Sum: Float {
    /// How the tensor cores round.
    const ROUNDING: Rounding;
    /// What a sum that is not a number returns.
    const NAN_CODE: u64;
}

impl Sum for f16 {
    const ROUNDING: Rounding = Rounding::Nearest;
    const NAN_CODE: u64 = 0x7fff;
}

impl Sum for f32 {
    const ROUNDING: Rounding = Rounding::Cut;
    const NAN_CODE: u64 = 0x7fff_ffff;
}

/// One sum of the tensor cores of some GPU: every term cut toward zero some bits below the largest exponent of all terms, which is not
/// less than some least one, then summed, then rounded. (The products of the formats that it takes are exact in f64.)
pub fn sum_of<A: Float, B: Float, C: Sum>(a: &[A], b: &[B], c: C, alignment: Alignment) -> C {
    let mut terms = Vec::with_capacity(a.len() + 1);
    let mut largest = alignment.least::<C>();
    for (&a, &b) in a.iter().zip(b) {
        let product = a.to_f64() * b.to_f64();
        terms.push(product);
        if product != 0.0 {
            largest = largest.max(exponent(a) + exponent(b));
        }
    }
    terms.push(c.to_f64());
    if c.to_f64() != 0.0 {
        largest = largest.max(exponent(c));
    }
    let special: f64 = terms.iter().filter(|term| !term.is_finite()).sum();
    if special.is_nan() {
        return C::from_code(C::NAN_CODE);
    }
    if special.is_infinite() {
        return C::from_f64(special);
    }
    let sum = sum_of_cut(&terms, largest - alignment.bits);
    round(&sum, C::ROUNDING)
}

/// fp8 in `wgmma`: a sum of which an f32 keeps 13 bits behind the point.
pub fn sum_of_fp8<A: Float, B: Float, C: Sum>(a: &[A], b: &[B], c: C) -> C {
    let sum = sum_of(a, b, c, HOPPER_FP8);
    let unused = C::FRACTION.saturating_sub(13);
    if sum.to_f64().is_finite() { C::from_code(sum.code() >> unused << unused) } else { sum }
}

/// fp8 on sm_90: two sums of the tensor cores, in f16, and an addition. The first sum is of every other pair of products; the
/// other ones are added to it; then C, rounded to the nearest.
pub fn two_tensor_cores<A: Float, B: Float, C: Sum>(a: &[A], b: &[B], c: C) -> C {
    let sum = [0, 2].into_iter().fold(C::from_code(0), |sum, first| {
        let chosen = || (first..a.len()).step_by(4).flat_map(|k| [k, k + 1]);
        let a: Vec<f16> = chosen().map(|k| f16::from_f64(a[k].to_f64())).collect();
        let b: Vec<f16> = chosen().map(|k| f16::from_f64(b[k].to_f64())).collect();
        sum_of(&a, &b, sum, HOPPER)
    });
    let exact = sum.to_f64() + c.to_f64();
    if exact.is_nan() {
        C::from_code(C::NAN_CODE)
    } else if exact.is_infinite() {
        C::from_f64(exact)
    } else {
        round(&(Exact::from(sum.to_f64()) + c.to_f64().into()), Rounding::Nearest)
    }
}
