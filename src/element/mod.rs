//! Element types of matrices, and their widths.
//!
//! | types | PTX |
//! | --- | --- |
//! | [`bf16`], [`struct@f16`], [`tf32`], `f32`, `f64` | floating point |
//! | [`F8E4M3`], [`F8E5M2`] | 8-bit floating point |
//! | [`e3m2`], [`e2m3`], [`e2m1`] | 6 and 4 bits, floating point; [`InByte`]: `e2m1` in a byte |
//! | [`ue8m0`], [`ue4m3`] | scales of block scaling |
//! | `i8`, `u8`, [`s4`], [`u4`], [`b1`] | integers and bits |
//!
//! All of them implement [`Element`]. [`Width`] is the width of an element in bits.
//! [`Element::pack`] packs elements into a register, in the form that the instructions take.
//!
//! ```
//! use ptx_matrix::element::{Element, F8E4M3, bf16, s4};
//!
//! assert_eq!(bf16::pack([bf16::ONE, bf16::ZERO]), 0x0000_3f80);
//! assert_eq!(s4::unpack(0x0000_00f0, 1), s4::new(-1));
//! assert_eq!(F8E4M3::NAME, "e4m3");
//! ```

mod integer;
mod moved;
mod small_float;
mod tensor_float;
mod type_name;
mod width;

pub use bytemuck::Zeroable;
pub use float8::{F8E4M3, F8E5M2};
pub use half::{bf16, f16};
pub use integer::{b1, s4, u4};
#[doc(hidden)]
pub use moved::{Moved, Sent};
pub use small_float::{InByte, e2m1, e2m3, e3m2, ue4m3, ue8m0};
pub use tensor_float::tf32;
pub use type_name::TypeName;
pub use width::{Bits1, Bits4, Bits8, Bits16, Bits32, Bits64, Width};

use crate::lane::LaneCapture;
use crate::lane::Sealed;
use bytemuck::Pod;

/// A type that can be an element of a matrix, in memory or in a fragment.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an element type of matrices")]
pub trait Element: Sealed + Pod + LaneCapture + Send + Sync {
    /// The element's width.
    type Width: Width;
    /// The element's name in PTX.
    const NAME: &'static str;
    /// The element's name in Rust, unique among all element types.
    #[doc(hidden)]
    const TYPE: &'static str;
    /// The driver's number for the type in tensor maps (`CUtensorMapDataType`). A type without a
    /// number of its own has that of the unsigned integer of the same width.
    const TENSOR_DATA_TYPE: u32;

    /// The element's bits.
    #[inline]
    fn to_bits(self) -> <Self::Width as Width>::Bits {
        bytemuck::must_cast(self)
    }

    /// Makes the element of these bits.
    #[inline]
    fn from_bits(bits: <Self::Width as Width>::Bits) -> Self {
        bytemuck::must_cast(bits)
    }

    /// Packs elements into a fragment register, the first in its lowest bits. The remaining bits
    /// are zero.
    ///
    /// ```
    /// use ptx_matrix::element::{Element, s4, u4};
    /// assert_eq!(<u4 as Element>::pack([1, 2, 3].map(u4::new)), 0x321);
    /// assert_eq!(<s4 as Element>::pack(&[s4::new(-1); 8]), u32::MAX);
    /// assert_eq!(<s4 as Element>::unpack(0x0000_00f0, 1), s4::new(-1));
    /// ```
    ///
    /// # Panics
    /// If a register holds fewer elements.
    #[inline]
    fn pack(elements: impl AsRef<[Self]>) -> <Self::Width as Width>::Register {
        let elements = elements.as_ref();
        assert!(
            elements.len() <= Self::Width::PER_REGISTER,
            "too many elements: a register holds {}",
            Self::Width::PER_REGISTER
        );
        let mut register = bytemuck::Zeroable::zeroed();
        for (slot, element) in elements.iter().enumerate() {
            Self::Width::pack(&mut register, slot, element.to_bits());
        }
        register
    }

    /// Unpacks the element at `slot` of a fragment register. Slot 0 is the lowest bits.
    #[inline]
    fn unpack(register: <Self::Width as Width>::Register, slot: usize) -> Self {
        Self::from_bits(Self::Width::unpack(register, slot))
    }
}

/// Defines the elements: type, width, name in PTX, number in tensor maps.
macro_rules! elements {
    ($($element:ty: $width:ident $name:literal $tensor:literal;)*) => {$(
        impl Sealed for $element {}
        impl Element for $element {
            type Width = $width;
            const NAME: &'static str = $name;
            const TYPE: &'static str = stringify!($element);
            const TENSOR_DATA_TYPE: u32 = $tensor;
        }
    )*};
}

elements! {
    f16: Bits16 "f16" 6;
    bf16: Bits16 "bf16" 9;
    f32: Bits32 "f32" 7;
    tf32: Bits32 "tf32" 7;
    F8E4M3: Bits8 "e4m3" 0;
    F8E5M2: Bits8 "e5m2" 0;
    e3m2: Bits8 "e3m2" 0;
    e2m3: Bits8 "e2m3" 0;
    e2m1: Bits4 "e2m1" 0;
    InByte<e2m1>: Bits8 "e2m1" 0;
    ue8m0: Bits8 "ue8m0" 0;
    ue4m3: Bits8 "ue4m3" 0;
    f64: Bits64 "f64" 8;
    s4: Bits4 "s4" 0;
    u4: Bits4 "u4" 0;
    b1: Bits1 "b1" 0;
    i8: Bits8 "s8" 0;
    u8: Bits8 "u8" 0;
    i16: Bits16 "s16" 1;
    u16: Bits16 "u16" 1;
    i32: Bits32 "s32" 3;
    u32: Bits32 "u32" 2;
    i64: Bits64 "s64" 5;
    u64: Bits64 "u64" 4;
}
