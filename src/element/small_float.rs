//! Floating-point formats of 8 bits and less, in addition to those of `float8`.

use bytemuck::{Pod, Zeroable};
use core::fmt;
use float8::F8E4M3;

/// 4-bit floating point, up to 6 (`.e2m1`).
///
/// In the registers of `kind::mxf4` and `kind::mxf4nvf4`, a register holds eight. `kind::f8f6f4`
/// and `kind::mxf8f6f4` take one in each byte: [`InByte`]. Conversions from `f32` round to nearest,
/// ties to even, and saturate at the largest value.
#[allow(non_camel_case_types, reason = "as in PTX")]
pub type e2m1 = microfloat::f4e2m1fn;
/// 6-bit floating point, up to 28 (`.e3m2`). In registers and in memory, it is the lower bits of a
/// byte.
#[allow(non_camel_case_types, reason = "as in PTX")]
pub type e3m2 = microfloat::f6e3m2fn;
/// 6-bit floating point, up to 7.5 (`.e2m3`). In registers and in memory, it is the lower bits of a
/// byte.
#[allow(non_camel_case_types, reason = "as in PTX")]
pub type e2m3 = microfloat::f6e2m3fn;
/// A scale of block scaling: a power of two from 2^-127 to 2^127, or NaN (all bits set) (`.ue8m0`).
///
/// Conversions from `f32` round to the nearest power, and to the greater one of two that are
/// equally near.
#[allow(non_camel_case_types, reason = "as in PTX")]
pub type ue8m0 = microfloat::f8e8m0fnu;

/// A scale of block scaling: a non-negative e4m3 (`.ue4m3`). Bit 7 is zero.
///
/// ```
/// use ptx_matrix::element::ue4m3;
/// assert_eq!(ue4m3::from_f32(448.0), ue4m3::MAX);
/// assert_eq!(ue4m3::from_f32(1.5).to_f32(), 1.5);
/// assert_eq!(ue4m3::from_bits(0x7f).to_f32().is_nan(), true);
/// ```
#[allow(non_camel_case_types, reason = "as in PTX")]
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct ue4m3(u8);

impl ue4m3 {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// One.
    pub const ONE: Self = Self(0x38);
    /// The largest value, 448.
    pub const MAX: Self = Self(0x7e);

    /// Rounds to nearest, ties to even, and saturates at the largest value. Negative values become
    /// zero, and NaN stays NaN.
    pub fn from_f32(value: f32) -> Self {
        if value <= 0.0 { Self::ZERO } else { Self(F8E4M3::from_f32(value).to_bits() & 0x7f) }
    }

    /// Converts to `f32`, exactly.
    pub fn to_f32(self) -> f32 {
        F8E4M3::from_bits(self.to_bits()).to_f32()
    }

    /// Makes the value of these bits. Bit 7 is dropped.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0x7f)
    }

    /// The value's bits.
    #[inline]
    pub const fn to_bits(self) -> u8 {
        self.0 & 0x7f
    }
}

impl fmt::Debug for ue4m3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_f32(), f)
    }
}

impl From<ue4m3> for f32 {
    fn from(value: ue4m3) -> f32 {
        value.to_f32()
    }
}

/// A 4-bit element in bits 2 to 5 of a byte, for `kind::f8f6f4` and `kind::mxf8f6f4`.
///
/// `ldmatrix` with `.b4x16_p64` loads elements to bits 0 to 3.
/// [`from_low_bits`](Self::from_low_bits) shifts a register of them into place.
///
/// ```
/// use ptx_matrix::element::{Element, InByte, e2m1};
/// let six = InByte::from(e2m1::from_f32(6.0));
/// assert_eq!(six.to_bits(), 0b00_0111_00);
/// assert_eq!(e2m1::from(six).to_f32(), 6.0);
/// ```
#[derive(Clone, Copy, Default, Debug)]
#[repr(transparent)]
pub struct InByte<T>(u8, core::marker::PhantomData<T>);

// SAFETY: it is one byte, and any value of it is valid.
unsafe impl<T: 'static> Zeroable for InByte<T> {}
// SAFETY: as above.
unsafe impl<T: Copy + 'static> Pod for InByte<T> {}

impl InByte<e2m1> {
    /// Converts a register of four elements from bits 0 to 3 of each byte to bits 2 to 5.
    #[inline]
    pub const fn from_low_bits(register: u32) -> u32 {
        (register & 0x0f0f_0f0f) << 2
    }
}

/// Compares the elements: zeros of both signs are equal, and the other bits of the bytes are
/// ignored.
impl PartialEq for InByte<e2m1> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        e2m1::from(*self) == e2m1::from(*other)
    }
}

impl From<e2m1> for InByte<e2m1> {
    #[inline]
    fn from(value: e2m1) -> Self {
        InByte((value.to_bits() & 0xf) << 2, core::marker::PhantomData)
    }
}

impl From<InByte<e2m1>> for e2m1 {
    #[inline]
    fn from(value: InByte<e2m1>) -> e2m1 {
        e2m1::from_bits(value.0 >> 2 & 0xf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The value of a code, from the definition: sign, exponent, fraction.
    fn number(bits: u8, exponent: u32, fraction: u32) -> f64 {
        let bias = (1 << (exponent - 1)) - 1;
        let field = i32::from(bits >> fraction) & ((1 << exponent) - 1);
        let digits = f64::from(bits & ((1 << fraction) - 1)) / f64::from(1 << fraction);
        let magnitude = if field == 0 {
            digits * 2f64.powi(1 - bias)
        } else {
            (1.0 + digits) * 2f64.powi(field - bias)
        };
        if bits >> (exponent + fraction) & 1 == 1 { -magnitude } else { magnitude }
    }

    /// Checks that every code has its value, and that every f32 with 12 leading bits rounds to the
    /// nearest value, ties to the even code. These f32 include all ties and their neighbours.
    fn check(
        exponent: u32,
        fraction: u32,
        codes: u8,
        to: impl Fn(u8) -> f32,
        from: impl Fn(f32) -> u8,
    ) {
        let numbers: Vec<f64> = (0..codes).map(|bits| number(bits, exponent, fraction)).collect();
        for bits in 0..codes {
            assert_eq!(
                f64::from(to(bits)).to_bits(),
                numbers[usize::from(bits)].to_bits(),
                "{bits:#x}"
            );
            assert_eq!(from(to(bits)), bits, "{bits:#x}");
        }
        for upper in 0..=u16::MAX {
            let value = f32::from_bits(u32::from(upper) << 16);
            if value.is_nan() {
                continue;
            }
            let of_sign = |bits: &u8| {
                numbers[usize::from(*bits)].is_sign_negative() == value.is_sign_negative()
            };
            let distance =
                |bits: &u8| (numbers[usize::from(*bits)] - f64::from(value).clamp(-1e3, 1e3)).abs();
            let nearest = (0..codes).filter(of_sign).min_by(|a, b| {
                distance(a).total_cmp(&distance(b)).then_with(|| (a & 1).cmp(&(b & 1)))
            });
            if let Some(nearest) = nearest {
                assert_eq!(from(value), nearest, "{value}");
            }
        }
    }

    #[test]
    fn every_code_and_every_rounding_of_the_formats_without_nan() {
        check(
            2,
            1,
            16,
            |bits| e2m1::from_bits(bits).to_f32(),
            |value| e2m1::from_f32(value).to_bits(),
        );
        check(
            3,
            2,
            64,
            |bits| e3m2::from_bits(bits).to_f32(),
            |value| e3m2::from_f32(value).to_bits(),
        );
        check(
            2,
            3,
            64,
            |bits| e2m3::from_bits(bits).to_f32(),
            |value| e2m3::from_f32(value).to_bits(),
        );
    }

    #[test]
    fn every_code_and_every_rounding_of_ue4m3() {
        check(
            4,
            3,
            0x7f,
            |bits| ue4m3::from_bits(bits).to_f32(),
            |value| ue4m3::from_f32(value.max(0.0)).to_bits(),
        );
        assert!(
            ue4m3::from_bits(0x7f).to_f32().is_nan() && ue4m3::from_f32(f32::NAN).to_f32().is_nan()
        );
        assert_eq!(ue4m3::from_f32(-1.0), ue4m3::ZERO);
    }

    #[test]
    fn every_code_of_ue8m0_is_a_power_of_two() {
        for bits in 0..u8::MAX {
            let power = 2f64.powi(i32::from(bits) - 127);
            assert_eq!(f64::from(ue8m0::from_bits(bits).to_f32()), power);
            assert_eq!(ue8m0::from_f32(power as f32).to_bits(), bits);
            if bits > 0 && bits < 254 {
                assert_eq!(ue8m0::from_f32(power as f32 * 1.49).to_bits(), bits);
                assert_eq!(ue8m0::from_f32(power as f32 * 1.5).to_bits(), bits + 1);
            }
        }
        assert!(ue8m0::from_bits(u8::MAX).to_f32().is_nan());
        assert_eq!(ue8m0::from_f32(f32::NAN).to_bits(), u8::MAX);
    }

    #[test]
    fn every_e2m1_goes_into_a_byte_and_back() {
        for bits in 0..16 {
            let value = e2m1::from_bits(bits);
            assert_eq!(InByte::from(value).0, bits << 2);
            assert_eq!(e2m1::from(InByte::from(value)).to_bits(), bits);
            let low = u32::from(bits) * 0x0101_0101;
            assert_eq!(InByte::<e2m1>::from_low_bits(low | 0xf0f0_f0f0), low << 2);
        }
    }
}
