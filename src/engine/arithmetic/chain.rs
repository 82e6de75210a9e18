//! f64: a chain of fused multiply-adds.

use super::{MmaArithmetic, each_element};
use crate::isa::{Plain, Rm, Rn, Rp, Rz};
use crate::target::Arch;
use std::vec::Vec;

/// The direction in which a sum is rounded to f64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

macro_rules! chains {
    ($($option:ident $rounding:ident;)*) => {$(
        impl MmaArithmetic<f64, f64, $option> for f64 {
            type D = f64;

            fn multiply(_: Arch, a: &[f64], b: &[f64], c: &[f64], n: usize, k: usize) -> Vec<f64> {
                each_element((a, b, c), n, k, |a, b, c| {
                    let step = |sum, (&a, &b)| fused_multiply_add(a, b, sum, Rounding::$rounding);
                    a.iter().zip(b).fold(c, step)
                })
            }
        }
    )*};
}
chains! {
    Plain Nearest;
    Rn Nearest;
    Rz Zero;
    Rm Down;
    Rp Up;
}

/// A fused multiply-add with the hardware's NaNs.
///
/// A NaN operand is returned, made quiet. B's NaN has precedence over the accumulator's, which has
/// precedence over A's. A new NaN has its sign set.
fn fused_multiply_add(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    const QUIET: u64 = 1 << 51;
    if let Some(nan) = [b, c, a].into_iter().find(|value| value.is_nan()) {
        return f64::from_bits(nan.to_bits() | QUIET);
    }
    let sum = a.mul_add(b, c);
    if sum.is_nan() {
        return f64::from_bits(0xfff8_0000_0000_0000);
    }
    if rounding == Rounding::Nearest || !(a.is_finite() && b.is_finite() && c.is_finite()) {
        return sum;
    }
    directed(a, b, c, rounding)
}

/// `(-1)^negative * magnitude * 2^exponent`.
#[derive(Clone, Copy)]
struct Exact {
    negative: bool,
    magnitude: u128,
    exponent: i32,
}

fn exact(value: f64) -> Exact {
    let (field, fraction) =
        ((value.to_bits() >> 52 & 0x7ff) as i32, value.to_bits() & ((1 << 52) - 1));
    let (magnitude, exponent) =
        if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    Exact { negative: value.is_sign_negative(), magnitude: magnitude.into(), exponent }
}

/// `a * b + c` of finite numbers, rounded in the given direction.
fn directed(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    let (x, y, c) = (exact(a), exact(b), exact(c));
    let product = Exact {
        negative: x.negative != y.negative,
        magnitude: x.magnitude * y.magnitude,
        exponent: x.exponent + y.exponent,
    };
    let (large, small) = match (product.magnitude, c.magnitude) {
        (0, 0) => {
            // Zeros of different signs have a negative sum only when rounding down.
            let negative = if product.negative == c.negative {
                c.negative
            } else {
                rounding == Rounding::Down
            };
            return if negative { -0.0 } else { 0.0 };
        }
        (0, _) => (c, product),
        (_, 0) => (product, c),
        _ if top(product) >= top(c) => (product, c),
        _ => (c, product),
    };
    // The larger number has its leading bit at bit 125, so that a carry fits. Bits that the smaller
    // one loses on the right set a sticky bit. (It loses none if the two may cancel: neither has
    // more than 106 bits.)
    let up = large.magnitude.leading_zeros() as i32 - 2;
    let (large_magnitude, exponent) = (large.magnitude << up, large.exponent - up);
    let shift = small.exponent - exponent;
    let small_magnitude = match shift {
        _ if small.magnitude == 0 => 0,
        0.. => small.magnitude << shift,
        -127..0 => small.magnitude >> -shift | u128::from(small.magnitude << (128 + shift) != 0),
        _ => u128::from(small.magnitude != 0),
    };
    let (negative, magnitude) = if large.negative == small.negative {
        (large.negative, large_magnitude + small_magnitude)
    } else if large_magnitude >= small_magnitude {
        (large.negative, large_magnitude - small_magnitude)
    } else {
        (small.negative, small_magnitude - large_magnitude)
    };
    if magnitude == 0 {
        return if rounding == Rounding::Down { -0.0 } else { 0.0 };
    }
    let away = match rounding {
        Rounding::Down => negative,
        Rounding::Up => !negative,
        Rounding::Nearest | Rounding::Zero => false,
    };
    encode(negative, magnitude, exponent, away)
}

/// The exponent of the leading bit.
fn top(value: Exact) -> i32 {
    value.exponent + 128 - value.magnitude.leading_zeros() as i32
}

/// A number of f64, rounded toward zero or away from it.
fn encode(negative: bool, magnitude: u128, exponent: i32, away: bool) -> f64 {
    let leading = 127 - magnitude.leading_zeros() as i32;
    let result = (leading + exponent).max(-1022);
    let drop = result - 52 - exponent;
    let (kept, inexact) = match drop {
        ..=0 => (magnitude << -drop, false),
        1..=127 => (magnitude >> drop, magnitude << (128 - drop) != 0),
        _ => (0, true),
    };
    // A significand that is rounded up to 2, or from subnormal to 1, carries into the exponent.
    let kept = kept as u64 + u64::from(inexact && away);
    let largest = f64::MAX.to_bits();
    let bits = ((i64::from(result + 1022) << 52) as u64).saturating_add(kept);
    let bits = if bits > largest { if away { largest + 1 } else { largest } } else { bits };
    f64::from_bits(bits | u64::from(negative) << 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares each direction with the neighbours of the nearest number. The error of the nearest
    /// number determines the expected neighbour.
    #[test]
    fn directions_are_beside_the_nearest() {
        let mut random = fastrand::Rng::with_seed(3);
        for round in 0..200_000 {
            let spread = [3, 40, 1000][round % 3];
            let mut draw = || {
                let exponent = 1023 - spread / 2 + random.u64(..spread);
                f64::from_bits(random.u64(..) & 0x800f_ffff_ffff_ffff | exponent << 52)
            };
            let (a, b, c) = (draw(), draw(), draw());
            // In half of the cases the sum nearly cancels.
            let c = if round % 2 == 0 { -(a * b) * (1.0 + c.abs().min(1.0) * 1e-15) } else { c };
            let nearest = a.mul_add(b, c);
            let [zero, down, up] = [Rounding::Zero, Rounding::Down, Rounding::Up]
                .map(|r| fused_multiply_add(a, b, c, r));
            assert!(down <= up, "{a:e} {b:e} {c:e}");
            assert!(
                nearest == down || nearest == up,
                "{a:e} {b:e} {c:e}: {nearest:e} {down:e} {up:e}"
            );
            assert!(down == up || down.next_up() == up);
            assert_eq!(zero, if nearest > 0.0 { down } else { up });
            // Inexact sums differ. A double-double of the product and the sum shows which sums are
            // exact.
            let exact = (a * b).is_normal() && c.is_normal() && {
                let product = a * b;
                let low = a.mul_add(b, -product);
                let sum = product + c;
                let rest = (product - (sum - c)) + (c - (sum - (sum - c))) + low;
                rest == 0.0 && low == 0.0
            };
            if exact {
                assert_eq!(down, up);
            }
        }
    }

    #[test]
    fn ends() {
        let to = |a: f64, b: f64, c: f64, rounding| fused_multiply_add(a, b, c, rounding);
        assert_eq!(to(f64::MAX, 2.0, 0.0, Rounding::Zero), f64::MAX);
        assert_eq!(to(f64::MAX, 2.0, 0.0, Rounding::Up), f64::INFINITY);
        assert_eq!(to(-f64::MAX, 2.0, 0.0, Rounding::Up), -f64::MAX);
        assert_eq!(to(-f64::MAX, 2.0, 0.0, Rounding::Down), f64::NEG_INFINITY);
        let least = f64::from_bits(1);
        assert_eq!(to(least, 0.5, 0.0, Rounding::Up), least);
        assert_eq!(to(least, 0.5, 0.0, Rounding::Zero).to_bits(), 0);
        assert_eq!(to(least, -least, 0.0, Rounding::Zero).to_bits(), 1 << 63);
        assert_eq!(to(1.0, 1.0, -1.0, Rounding::Down).to_bits(), 1 << 63);
        assert_eq!(to(1.0, 1.0, -1.0, Rounding::Up).to_bits(), 0);
        assert_eq!(to(1.0, 0.0, -0.0, Rounding::Down).to_bits(), 1 << 63);
        assert_eq!(to(1.0, 0.0, -0.0, Rounding::Zero).to_bits(), 0);
        assert_eq!(to(least, least, 1.0, Rounding::Up), 1.0f64.next_up());
        assert_eq!(
            to(least, least, -1.0, Rounding::Up),
            -1.0f64.next_down().abs().mul_add(0.0, 1.0).next_down()
        );
    }
}
