//! Elements as numbers.

use half::{bf16, f16};
use ptx_matrix::element::{Element, F8E4M3, F8E5M2};

/// An element that trials multiply, or multiply into.
pub(super) trait TrialElement: Element {
    /// What is where nothing must be read: not a number, if there is such a thing.
    const POISON: Self;
    /// What rounding to it is off by, at most, as a part of a number, and for numbers near zero.
    const ROUNDING: (f64, f64);

    /// The nearest one; of integers, one for each deviation / 32.
    fn of(value: f64) -> Self;
    /// Its number.
    fn number(self) -> f64;
    /// The number that the tensor cores take it for, as a factor.
    fn factor(self) -> f64 {
        self.number()
    }
}

/// One row an element: what is poison, how many bits rounding keeps and the half of the least
/// number, from and to f64.
macro_rules! elements {
    ($($element:ident $poison:expr, $bits:literal $least:literal, $of:expr, $number:expr $(, $factor:expr)?;)*) => {$(
        impl TrialElement for $element {
            const POISON: Self = $poison;
            const ROUNDING: (f64, f64) = (1.0 / (1u64 << $bits) as f64, $least);

            fn of(value: f64) -> Self {
                let of: fn(f64) -> Self = $of;
                of(value)
            }

            fn number(self) -> f64 {
                let number: fn(Self) -> f64 = $number;
                number(self)
            }

            $(fn factor(self) -> f64 {
                let factor: fn(Self) -> f64 = $factor;
                factor(self)
            })?
        }
    )*};
}
elements! {
    bf16 bf16::NAN, 8 1e-40, bf16::from_f64, bf16::to_f64;
    f16 f16::NAN, 11 3e-8, f16::from_f64, f16::to_f64;
    // As tf32: without its low 13 bits.
    f32 f32::NAN, 24 1e-45, |value| value as f32, f64::from, |x| f32::from_bits(x.to_bits() & !0x1fff).into();
    f64 f64::NAN, 53 0.0, |value| value, |x| x;
    F8E4M3 F8E4M3::NAN, 4 1e-3, |value| F8E4M3::from_f64(value), |x| x.to_f64();
    F8E5M2 F8E5M2::NAN, 3 1e-5, |value| F8E5M2::from_f64(value), |x| x.to_f64();
    i8 99, 1 0.0, |value| if value.fract() == 0.0 { value as i8 } else { (value * 40.0).round() as i8 }, f64::from;
    i32 99_999, 1 0.0, |value| if value.fract() == 0.0 { value as i32 } else { (value * 1e9) as i32 }, f64::from;
}
