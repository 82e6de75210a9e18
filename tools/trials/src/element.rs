//! Conversions between elements and numbers.

use half::{bf16, f16};
use ptx_matrix::element::{Element, F8E4M3, F8E5M2};

/// An element type of A, B or D in trials.
pub(super) trait TrialElement: Element {
    /// The value of elements that must not be read: NaN, if the type has one.
    const POISON: Self;
    /// The largest rounding error: relative, and absolute for numbers near zero.
    const ROUNDING: (f64, f64);

    /// Converts to the nearest element. Integer types keep integers, and scale other numbers up.
    fn of(value: f64) -> Self;
    /// The value.
    fn number(self) -> f64;
    /// The value that the tensor cores use for an element of A or B.
    fn operand(self) -> f64 {
        self.number()
    }
}

/// A row for each element: poison, the bits that rounding keeps, half of the least number, and the
/// conversions from and to f64.
macro_rules! elements {
    ($($element:ident $poison:expr, $bits:literal $least:literal, $of:expr,
        $number:expr $(, $operand:expr)?;)*) => {$(
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

            $(fn operand(self) -> f64 {
                let operand: fn(Self) -> f64 = $operand;
                operand(self)
            })?
        }
    )*};
}
elements! {
    bf16 bf16::NAN, 8 1e-40, bf16::from_f64, bf16::to_f64;
    f16 f16::NAN, 11 3e-8, f16::from_f64, f16::to_f64;
    // As tf32: without the low 13 bits.
    f32 f32::NAN, 24 1e-45, |value| value as f32, f64::from,
        |x| f32::from_bits(x.to_bits() & !0x1fff).into();
    f64 f64::NAN, 53 0.0, |value| value, |x| x;
    F8E4M3 F8E4M3::NAN, 4 1e-3, |value| F8E4M3::from_f64(value), |x| x.to_f64();
    F8E5M2 F8E5M2::NAN, 3 1e-5, |value| F8E5M2::from_f64(value), |x| x.to_f64();
    i8 99, 1 0.0,
        |value| if value.fract() == 0.0 { value as i8 } else { (value * 40.0).round() as i8 },
        f64::from;
    i32 99_999, 1 0.0,
        |value| if value.fract() == 0.0 { value as i32 } else { (value * 1e9) as i32 },
        f64::from;
}
