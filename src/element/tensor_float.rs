//! TF32: the range of f32 with the precision of f16.

use bytemuck::{Pod, Zeroable};
use core::fmt;

/// The 19-bit floating-point format of the tensor cores: an f32 with a significand of 10 instead of
/// 23 bits.
///
/// It has 32 bits, those of the f32 of the same value. The lowest 13 are zero. The tensor cores do
/// not round f32 to tf32 themselves: convert a matrix of `f32` element by element.
///
/// ```
/// use ptx_matrix::element::tf32;
/// assert_eq!(tf32::from_f32(1.0).to_f32(), 1.0);
/// assert_eq!(tf32::from_f32(1.0 + 1.0 / 2048.0).to_f32(), 1.0 + 1.0 / 1024.0); // ties away
/// assert_eq!(tf32::from_f32(-1.0 - 0.9 / 2048.0).to_f32(), -1.0);
/// assert!(tf32::from_f32(f32::NAN).to_f32().is_nan());
/// ```
#[allow(non_camel_case_types, reason = "as `f32`, `f16` and `bf16`")]
#[derive(Clone, Copy, Default, PartialEq, PartialOrd, Pod, Zeroable)]
#[repr(transparent)]
pub struct tf32(f32);

/// Low bits of an f32 that tf32 drops.
const DROPPED: u32 = 13;

impl tf32 {
    /// Zero.
    pub const ZERO: Self = tf32(0.0);
    /// One.
    pub const ONE: Self = tf32(1.0);

    /// Rounds to nearest, ties away from zero, like `cvt.rna.tf32.f32` (PTX ISA 9.7.9.21).
    ///
    /// Values beyond the largest one become infinity.
    #[inline]
    pub const fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        // NaN keeps its upper bits, and becomes quiet.
        let bits = if value.is_nan() { bits | 1 << 22 } else { bits + (1 << (DROPPED - 1)) };
        Self::from_bits(bits)
    }

    /// Converts to `f32`, exactly.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        self.0
    }

    /// Makes the value of these 32 bits. The lowest 13 are dropped.
    #[inline]
    pub const fn from_bits(bits: u32) -> Self {
        tf32(f32::from_bits(bits >> DROPPED << DROPPED))
    }

    /// The value's 32 bits.
    #[inline]
    pub const fn to_bits(self) -> u32 {
        self.0.to_bits()
    }
}

impl From<tf32> for f32 {
    fn from(value: tf32) -> f32 {
        value.to_f32()
    }
}

impl From<tf32> for f64 {
    fn from(value: tf32) -> f64 {
        value.to_f32().into()
    }
}

impl fmt::Debug for tf32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for tf32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_itself() {
        for bits in (0..=u32::MAX >> DROPPED).map(|bits| bits << DROPPED) {
            let value = f32::from_bits(bits);
            let rounded = tf32::from_f32(value);
            assert!(
                rounded.to_bits() == bits || value.is_nan() && rounded.to_f32().is_nan(),
                "{bits:#x}"
            );
        }
    }

    #[test]
    fn rounds_to_nearest_ties_away() {
        for bits in (0..0x7f80_0000_u32 >> DROPPED).step_by(7).map(|bits| bits << DROPPED) {
            for sign in [0, 1 << 31] {
                let next = bits + (1 << DROPPED);
                for (add, expected) in [(1, bits), (0xfff, bits), (0x1000, next), (0x1fff, next)] {
                    assert_eq!(
                        tf32::from_f32(f32::from_bits((bits + add) | sign)).to_bits(),
                        expected | sign
                    );
                }
            }
        }
    }

    #[test]
    fn nan_payloads_stay_nan() {
        for bits in [0x7f80_0001, 0x7fff_ffff, 0xff80_1000, 0xffff_ffff] {
            assert!(tf32::from_f32(f32::from_bits(bits)).to_f32().is_nan(), "{bits:#x}");
        }
    }
}
