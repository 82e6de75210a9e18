//! Arithmetic of pairs of 16-bit floats: each result is rounded once.

use half::{bf16, f16};

/// The NaN that each of these instructions returns.
const NAN: u16 = 0x7fff;

/// A 16-bit float.
pub(crate) trait Half {
    fn widen(half: u16) -> f32;
    fn round(value: f32) -> u16;
}

impl Half for f16 {
    fn widen(half: u16) -> f32 {
        f16::from_bits(half).to_f32()
    }
    fn round(value: f32) -> u16 {
        f16::from_f32(value).to_bits()
    }
}

impl Half for bf16 {
    fn widen(half: u16) -> f32 {
        bf16::from_bits(half).to_f32()
    }
    fn round(value: f32) -> u16 {
        bf16::from_f32(value).to_bits()
    }
}

/// a x b + c for each half of the registers.
pub(crate) fn fma<F: Half>(a: u32, b: u32, c: u32) -> u32 {
    by_half([a, b, c], |[a, b, c]| rounded::<F>(fused(F::widen(a), F::widen(b), F::widen(c))))
}

pub(crate) fn add<F: Half>(a: u32, b: u32) -> u32 {
    by_half([a, b], |[a, b]| rounded::<F>(fused(F::widen(a), 1.0, F::widen(b))))
}

pub(crate) fn sub<F: Half>(a: u32, b: u32) -> u32 {
    by_half([a, b], |[a, b]| rounded::<F>(fused(F::widen(a), 1.0, -F::widen(b))))
}

pub(crate) fn mul<F: Half>(a: u32, b: u32) -> u32 {
    // A product is not changed by -0, also if it is a zero.
    by_half([a, b], |[a, b]| rounded::<F>(fused(F::widen(a), F::widen(b), -0.0)))
}

fn by_half<const N: usize>(registers: [u32; N], of: impl Fn([u16; N]) -> u16) -> u32 {
    let [low, high] = [0, 16].map(|shift| of(registers.map(|register| (register >> shift) as u16)));
    u32::from(low) | u32::from(high) << 16
}

fn rounded<F: Half>(value: f32) -> u16 {
    if value.is_nan() { NAN } else { F::round(value) }
}

/// a x b + c of numbers with at most 11 bits, rounded to odd: an inexact result has the neighbour
/// whose last bit is 1. To round it once more, to at most 22 bits, is to round the exact number.
fn fused(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // What the sum lacks (Knuth's two-sum). NaN if the sum is not finite.
    let without_product = sum - product;
    let lost = (product - (sum - without_product)) + (c - without_product);
    let is_even = sum.to_bits() & 1 == 0;
    let sum = match (lost > 0.0) == (sum > 0.0) {
        _ if !is_even || !lost.is_normal() => sum,
        true => f64::from_bits(sum.to_bits() + 1),
        false => f64::from_bits(sum.to_bits() - 1),
    };
    let nearest = sum as f32;
    if sum.is_nan() || f64::from(nearest) == sum {
        return nearest;
    }
    let is_beyond = f64::from(nearest).abs() > sum.abs();
    f32::from_bits((nearest.to_bits() - u32::from(is_beyond)) | 1)
}

/// `prmt.b32`: each digit of the selector chooses a byte of the eight, or, from 8 on, the sign of
/// one, eight times.
pub(crate) fn permute_bytes(low: u32, high: u32, selector: u32) -> u32 {
    let bytes = u64::from(low) | u64::from(high) << 32;
    u32::from_le_bytes([0, 4, 8, 12].map(|shift| {
        let digit = selector >> shift;
        let byte = (bytes >> (8 * (digit & 7))) as u8;
        if digit & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_rounded_once() {
        let [one, least] = [f16::ONE, f16::from_bits(1)].map(|value| u32::from(value.to_bits()));
        // A tie, and the smallest f16 beyond it: 1 + 2^-11 and more.
        let tie = u32::from(f16::from_f32(1.0 / 2048.0).to_bits());
        assert_eq!(add::<f16>(one, tie), one);
        let factor = u32::from(f16::from_f32(1.0 + 1.0 / 1024.0).to_bits());
        assert_eq!(fma::<f16>(factor, tie, one), one + 1, "2^-21 beyond the tie");
        assert_eq!(fma::<f16>(least, least, one), one);
        // bf16: the same with 2^-8, and 2^-133, which is far below the last bit of an f64.
        let [one, tie, least] = [0x3f80, 0x3b80, 1];
        assert_eq!(add::<bf16>(one, tie), one);
        assert_eq!(fma::<bf16>(one, tie, one), one);
        let beyond = fused(1.0 + 1.0 / 256.0, 1.0, bf16::from_bits(least as u16).to_f32());
        assert_eq!(bf16::from_f32(beyond).to_bits(), 0x3f81);
        let below = fused(1.0 + 1.0 / 256.0, 1.0, -bf16::from_bits(least as u16).to_f32());
        assert_eq!(bf16::from_f32(below).to_bits(), 0x3f80);
    }

    #[test]
    fn zeros_keep_their_signs() {
        let [zero, minus] = [0, 0x8000];
        assert_eq!([add::<f16>(minus, minus), add::<f16>(zero, minus)], [minus, zero]);
        assert_eq!([mul::<f16>(minus, zero), mul::<f16>(minus, minus)], [minus, zero]);
        assert_eq!([sub::<bf16>(minus, zero), sub::<bf16>(zero, zero)], [minus, zero]);
        // The least numbers: their product rounds to a zero with its sign.
        assert_eq!(mul::<f16>(0x8001, 1), minus);
    }

    #[test]
    fn bytes_are_chosen_by_digits() {
        assert_eq!(permute_bytes(0x0302_0180, 0x0706_0504, 0x7531), 0x0705_0301);
        assert_eq!(permute_bytes(0x0302_0180, 0, 0x9818), 0x00ff_01ff);
    }
}
