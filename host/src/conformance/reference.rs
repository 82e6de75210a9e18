//! What the instructions are to return, from the definition of the matrices, and by other means than the simulator's:
//! one element at a time, with integers of any size.

use super::data::{Element, Float};
use half::{bf16, f16};
use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};
use ptx_matrix::{F8E4M3, F8E5M2, tf32};

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
pub fn multiply<A, B: Copy, C: Copy>(
    (m, n, k): (usize, usize, usize),
    (a, b, c): (&[A], &[B], &[C]),
    dot: impl Fn(&[A], &[B], C) -> C,
) -> Vec<C> {
    let mut d = Vec::with_capacity(m * n);
    for row in 0..m {
        for col in 0..n {
            let column: Vec<B> = (0..k).map(|i| b[i * n + col]).collect();
            d.push(dot(&a[row * k..(row + 1) * k], &column, c[row * n + col]));
        }
    }
    d
}

/// Elements of A, whose products with those of B are added to those of C.
pub trait Factor<B, C>: Element {
    /// An element of D as the GPU computes it (`docs/NUMERICS.md`).
    fn dot(a: &[Self], b: &[B], c: C) -> C;
}

/// Of which elements by which arithmetic.
macro_rules! dots {
    ($($dot:ident: $($a:ident $b:ident $c:ident),*;)*) => {$($(
        impl Factor<$b, $c> for $a {
            fn dot(a: &[$a], b: &[$b], c: $c) -> $c {
                $dot(a, b, c)
            }
        }
    )*)*};
}
dots! {
    tensor_core: f16 f16 f16, f16 f16 f32, bf16 bf16 f32, tf32 tf32 f32;
    two_tensor_cores: F8E4M3 F8E4M3 f16, F8E4M3 F8E5M2 f16, F8E5M2 F8E4M3 f16, F8E5M2 F8E5M2 f16;
    two_tensor_cores: F8E4M3 F8E4M3 f32, F8E4M3 F8E5M2 f32, F8E5M2 F8E4M3 f32, F8E5M2 F8E5M2 f32;
    fused_chain: f64 f64 f64;
    exact: i8 i8 i32, i8 u8 i32, u8 i8 i32, u8 u8 i32;
}

/// An element of D in integers: what any arithmetic returns, where none rounds.
pub fn exact<A: Element, B: Element, C: Element>(a: &[A], b: &[B], c: C) -> C {
    let sum: i64 = a.iter().zip(b).map(|(a, b)| a.to_integer() * b.to_integer()).sum();
    C::from_integer(sum + c.to_integer())
}

/// A format that products are summed in.
pub trait Sum: Float {
    /// Whether the tensor cores round to the nearest; else they cut.
    const NEAREST: bool;
    /// What a sum that is not a number returns.
    const NAN: u64;
}

impl Sum for f16 {
    const NEAREST: bool = true;
    const NAN: u64 = 0x7fff;
}

impl Sum for f32 {
    const NEAREST: bool = false;
    const NAN: u64 = 0x7fff_ffff;
}

/// Bits behind the point of the fixed-point integers here: more than any product of subnormals, cut to 25 bits, has, and
/// any product of subnormal f64.
const SCALE: i64 = 2200;

/// `value * 2^-SCALE` in a format: cut or rounded to the nearest, ties to even. A zero is positive, and what is too large
/// is infinity.
fn round<C: Float>(value: &BigInt, nearest: bool) -> C {
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
    let mut significand = quotient.to_u64().expect("at most fraction + 1 bits");
    if nearest {
        let twice = remainder << 1;
        let half = num_bigint::BigUint::from(1u8) << unit;
        if twice > half || twice == half && significand % 2 == 1 {
            significand += 1;
        }
    }
    let infinity = ((1 << C::EXPONENT) - 1) << C::FRACTION;
    let code = ((((exponent - least) as u64) << fraction) + significand).min(infinity);
    let negative = value.is_negative() && code != 0;
    C::from_code(code | u64::from(negative) << (C::EXPONENT + C::FRACTION))
}

/// The exponent that a number's significand has, written with one bit before the point: that of a subnormal is the least.
fn exponent<F: Float>(value: F) -> i64 {
    let bias = (1 << (F::EXPONENT - 1)) - 1;
    let field = value.code() >> F::FRACTION & ((1 << F::EXPONENT) - 1);
    field.max(1) as i64 - bias
}

/// A finite number times `2^SCALE`.
fn fixed(value: f64) -> BigInt {
    let bits = value.abs().to_bits();
    let field = (bits >> 52) as i64;
    let significand = if field == 0 { bits } else { bits & ((1 << 52) - 1) | 1 << 52 };
    let magnitude = BigInt::from(significand) << (field.max(1) - 1023 - 52 + SCALE);
    if value < 0.0 { -magnitude } else { magnitude }
}

/// One sum of the tensor cores: every term cut toward zero 25 bits below the largest exponent of all terms, which is at
/// least -133, then summed, then rounded. (The products of the formats that it takes are exact in f64.)
pub fn tensor_core<A: Float, B: Float, C: Sum>(a: &[A], b: &[B], c: C) -> C {
    let pairs = || a.iter().zip(b).map(|(&a, &b)| (a, b));
    let products: Vec<f64> = pairs().map(|(a, b)| a.to_f64() * b.to_f64()).collect();
    let special: f64 = products.iter().filter(|product| !product.is_finite()).sum::<f64>()
        + if c.to_f64().is_finite() { 0.0 } else { c.to_f64() };
    if special.is_nan() {
        return C::from_code(C::NAN);
    }
    if special.is_infinite() {
        return C::from_f64(special);
    }
    let exponents = pairs()
        .zip(&products)
        .filter(|(_, product)| **product != 0.0)
        .map(|((a, b), _)| exponent(a) + exponent(b))
        .chain((c.to_f64() != 0.0).then(|| exponent(c)));
    let largest = exponents.max().map_or(-133, |largest| largest.max(-133));
    let last_place = largest - 25 + SCALE;
    let cut = |term: BigInt| match term.sign() {
        Sign::Minus => -((-term >> last_place) << last_place),
        _ => (term >> last_place) << last_place,
    };
    let sum: BigInt = products.iter().map(|&product| cut(fixed(product))).sum();
    round(&(sum + cut(fixed(c.to_f64()))), C::NEAREST)
}

/// fp8 on sm_90: two sums of the tensor cores, in f16, and an addition. The first sum is of every other pair of products; the
/// other ones are added to it; then C, rounded to the nearest.
fn two_tensor_cores<A: Float, B: Float, C: Sum>(a: &[A], b: &[B], c: C) -> C {
    let sum = [0, 2].into_iter().fold(C::from_code(0), |sum, first| {
        let chosen = || (first..a.len()).step_by(4).flat_map(|k| [k, k + 1]);
        let a: Vec<f16> = chosen().map(|k| f16::from_f64(a[k].to_f64())).collect();
        let b: Vec<f16> = chosen().map(|k| f16::from_f64(b[k].to_f64())).collect();
        tensor_core(&a, &b, sum)
    });
    let exact = sum.to_f64() + c.to_f64();
    if exact.is_nan() {
        C::from_code(C::NAN)
    } else if exact.is_infinite() {
        C::from_f64(exact)
    } else {
        round(&(fixed(sum.to_f64()) + fixed(c.to_f64())), true)
    }
}

/// f64: one product after the other is added to C, each sum rounded once, to the nearest.
fn fused_chain(a: &[f64], b: &[f64], c: f64) -> f64 {
    a.iter().zip(b).fold(c, |c, (&a, &b)| fused_multiply_add(a, b, c))
}

fn fused_multiply_add(a: f64, b: f64, c: f64) -> f64 {
    let quiet = |nan: f64| f64::from_bits(nan.to_bits() | 1 << 51);
    let special = match (a.is_nan(), b.is_nan(), c.is_nan()) {
        (_, true, _) => Some(quiet(b)),
        (_, _, true) => Some(quiet(c)),
        (true, ..) => Some(quiet(a)),
        // A product of finite numbers adds nothing to an infinite C, even where f64 has no number for it.
        _ if a.is_finite() && b.is_finite() => (!c.is_finite()).then_some(c),
        _ => Some(a * b + c),
    };
    if let Some(special) = special {
        let arisen = special.is_nan() && !(a.is_nan() || b.is_nan() || c.is_nan());
        return if arisen { f64::from_bits(0xfff8 << 48) } else { special };
    }
    let product: BigInt = (fixed(a) * fixed(b)) >> SCALE;
    let sum = product + fixed(c);
    // IEEE 754: a zero keeps the sign of what was rounded to it, and an exact one is negative if both terms are.
    let both_negative = c.is_sign_negative() && a.is_sign_negative() != b.is_sign_negative();
    let negative = if sum.is_zero() { both_negative } else { sum.is_negative() };
    let rounded: f64 = round(&sum, true);
    if negative { -rounded.abs() } else { rounded }
}
