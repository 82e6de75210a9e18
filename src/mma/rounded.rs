//! 16-bit element types to which f32 is rounded.

use crate::element::{Bits16, Element};
use crate::target::{AtLeast, BuiltFor};
use half::{bf16, f16};

/// A 16-bit element type to which `f32` accumulators are rounded: to nearest, ties to even.
///
/// NaN becomes `0x7fff`.
pub trait Rounded: Element<Width = Bits16> {
    /// The targets that have the conversion.
    type Needs;

    /// Rounds two values into one register, the first into the lower half, as
    /// `cvt.rn.{f16x2,bf16x2}.f32` does.
    #[doc(hidden)]
    fn round_pair(low: f32, high: f32) -> u32;

    /// Rounds to the nearest value.
    #[inline]
    fn round(value: f32) -> Self
    where
        Self: BuiltFor<Self::Needs>,
    {
        Self::from_bits(Self::round_pair(value, 0.0) as u16)
    }

    /// Converts to `f32`, exactly.
    fn widen(self) -> f32;
}

macro_rules! rounded {
    ($($element:ident $least:literal $pair:expr, $widen:expr;)*) => {$(
        impl Rounded for $element {
            type Needs = AtLeast<$least>;

            #[inline]
            fn round_pair(low: f32, high: f32) -> u32 {
                $pair(low, high)
            }

            #[inline]
            fn widen(self) -> f32 {
                $widen(self.to_bits())
            }
        }
    )*};
}
rounded! {
    bf16 80 crate::raw::cvt_rn_bf16x2_f32, crate::raw::mov_f32_bf16;
    f16 75 crate::machine::f16_pair, crate::raw::cvt_f32_f16;
}
