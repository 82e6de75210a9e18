//! What the instructions are to return, from the definition of the matrices, and by other means than the simulator's:
//! one element at a time, with integers of any size.

use super::data::Float;
use half::f16;
use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};
use std::ops::Neg;

/// `ldmatrix`: the registers of lane after lane, from a row-major matrix of rows of eight elements ("slots").
///
/// Register `i` of lane `l` holds, of the eight slots that lanes `8i..8i+8` name, elements `2(l % 4)` and the next of the
/// one that lane `8i + l / 4` names; with `.trans`, element `l / 4` of those that lanes `8i + 2(l % 4)` and the next name.
pub fn ldmatrix(source: &[u16], slots: &[u32], count: usize, trans: bool) -> Vec<u32> {
    let element = |matrix: usize, row: usize, col: usize| source[slots[matrix * 8 + row] as usize * 8 + col];
    let mut registers = Vec::new();
    for lane in 0..32 {
        for matrix in 0..count {
            let (outer, inner) = (lane / 4, lane % 4 * 2);
            let pair = [inner, inner + 1]
                .map(|inner| if trans { element(matrix, inner, outer) } else { element(matrix, outer, inner) });
            registers.push(u32::from(pair[0]) | u32::from(pair[1]) << 16);
        }
    }
    registers
}

/// `stmatrix`: what the registers of lane after lane make of a matrix of 0xffff.
pub fn stmatrix(registers: &[u32], slots: &[u32], count: usize, trans: bool, len: usize) -> Vec<u16> {
    let mut target = vec![0xffff; len];
    for lane in 0..32 {
        for matrix in 0..count {
            for half in 0..2 {
                let value = (registers[lane * count + matrix] >> (16 * half)) as u16;
                let (outer, inner) = (lane / 4, lane % 4 * 2 + half);
                let (row, col) = if trans { (inner, outer) } else { (outer, inner) };
                target[slots[matrix * 8 + row] as usize * 8 + col] = value;
            }
        }
    }
    target
}

/// D = A x B + C for row-major matrices, each element by `dot(row of A, column of B, element of C)`.
pub fn multiply<F: Copy, C: Copy>(
    (m, n, k): (usize, usize, usize),
    (a, b, c): (&[F], &[F], &[C]),
    dot: impl Fn(&[F], &[F], C) -> C,
) -> Vec<C> {
    let mut d = Vec::with_capacity(m * n);
    for row in 0..m {
        for col in 0..n {
            let column: Vec<F> = (0..k).map(|i| b[i * n + col]).collect();
            d.push(dot(&a[row * k..(row + 1) * k], &column, c[row * n + col]));
        }
    }
    d
}

/// A format that products are summed in.
pub trait Sum: Float {
    /// Rounds `value * 2^-SCALE`.
    fn round(value: &BigInt) -> Self;
    /// What a sum that is not a number returns.
    const NAN: u32;
}

/// Bits behind the point of the fixed-point integers here: less than any product of subnormals, cut to 25 bits, has.
const SCALE: i64 = 400;

impl Sum for f32 {
    const NAN: u32 = 0x7fff_ffff;

    fn round(value: &BigInt) -> f32 {
        let bits = encode(value, 23, -126, false).min(0x7f80_0000) as u32;
        signed(value, f32::from_bits(bits))
    }
}

impl Sum for f16 {
    const NAN: u32 = 0x7fff;

    fn round(value: &BigInt) -> f16 {
        let bits = encode(value, 10, -14, true).min(0x7c00) as u16;
        signed(value, f16::from_bits(bits))
    }
}

/// A magnitude with the sign of the value it was rounded from; a zero is positive.
fn signed<C: Float + Neg<Output = C>>(value: &BigInt, magnitude: C) -> C {
    if value.is_negative() && magnitude.bits32() != 0 { -magnitude } else { magnitude }
}

/// The bits of a magnitude in a format of that fraction and least exponent, cut or rounded to the nearest (ties to
/// even). A magnitude that is too large for the format becomes more than the bits of infinity.
fn encode(value: &BigInt, fraction: i64, least: i64, nearest: bool) -> u64 {
    let magnitude = value.magnitude();
    if magnitude.is_zero() {
        return 0;
    }
    let exponent = (magnitude.bits() as i64 - 1 - SCALE).max(least);
    // One unit in the last place is 2^(exponent - fraction).
    let unit = exponent - fraction + SCALE;
    let quotient = magnitude >> unit;
    let remainder = magnitude - (&quotient << unit);
    let mut significand = quotient.to_u64().expect("at most fraction + 1 bits");
    if nearest {
        let twice = remainder << 1;
        let half = num_bigint::BigUint::from(1u8) << unit;
        if twice > half || twice == half && significand % 2 == 1 {
            significand += 1;
        }
    }
    (((exponent - least) as u64) << fraction) + significand
}

/// The exponent that a number's significand has, written with one bit before the point: that of a subnormal is the least.
fn exponent<F: Float>(value: F) -> i64 {
    let bias = (1 << (F::EXPONENT - 1)) - 1;
    let field = i64::from(value.bits32() >> F::FRACTION & ((1 << F::EXPONENT) - 1));
    field.max(1) - bias
}

/// A finite number times `2^SCALE`. Every product of two fits an f64's exponent, but not its significand.
fn fixed(value: f64) -> BigInt {
    let bits = value.abs().to_bits();
    let field = (bits >> 52) as i64;
    let significand = if field == 0 { bits } else { bits & ((1 << 52) - 1) | 1 << 52 };
    let shift = field.max(1) - 1023 - 52 + SCALE;
    let magnitude = if shift >= 0 { BigInt::from(significand) << shift } else { BigInt::from(significand) >> -shift };
    if value < 0.0 { -magnitude } else { magnitude }
}

/// An element of D as the tensor cores compute it (`docs/NUMERICS.md`): every term cut toward zero 25 bits below the largest
/// exponent of all terms, then summed, then rounded.
pub fn tensor_core<F: Float, C: Sum>(a: &[F], b: &[F], c: C) -> C {
    let pairs = || a.iter().zip(b).map(|(&a, &b)| (a, b));
    let products: Vec<f64> = pairs().map(|(a, b)| a.to_f64() * b.to_f64()).collect();
    let special: f64 = products.iter().filter(|product| !product.is_finite()).sum::<f64>()
        + if c.to_f64().is_finite() { 0.0 } else { c.to_f64() };
    if special.is_nan() {
        return C::from_bits32(C::NAN);
    }
    if special.is_infinite() {
        return C::from_f64(special);
    }
    let exponents = pairs()
        .zip(&products)
        .filter(|(_, product)| **product != 0.0)
        .map(|((a, b), _)| exponent(a) + exponent(b))
        .chain((c.to_f64() != 0.0).then(|| exponent(c)));
    let Some(largest) = exponents.max() else { return C::from_f64(0.0) };
    let last_place = largest - 25 + SCALE;
    let cut = |term: BigInt| match term.sign() {
        Sign::Minus => -((-term >> last_place) << last_place),
        _ => (term >> last_place) << last_place,
    };
    let sum: BigInt = products.iter().map(|&product| cut(fixed(product))).sum();
    C::round(&(sum + cut(fixed(c.to_f64()))))
}

/// An element of D in integers: what any arithmetic returns, where none rounds.
pub fn exact<F: Float, C: Float>(a: &[F], b: &[F], c: C) -> C {
    let integer = |value: f64| value as i64;
    let sum: i64 = a.iter().zip(b).map(|(a, b)| integer(a.to_f64()) * integer(b.to_f64())).sum();
    C::from_f64((sum + integer(c.to_f64())) as f64)
}
