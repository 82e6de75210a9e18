//! Widths of elements, and the registers that hold them.

use super::{Element, Moved, Sent};
use crate::lane::LaneCapture;
use crate::lane::Sealed;

/// The width of an element: its bits, its registers in fragments, and its loads and stores of
/// shared memory.
pub trait Width: Sealed + Copy + 'static {
    /// The unsigned integer of this width. For widths below a byte it is `u8`: in memory, each
    /// element has its own byte.
    type Bits: Sent + Element;
    /// A register of a fragment: 32 bits, or 64 bits for 64-bit elements.
    type Register: Moved + LaneCapture;

    /// Bits of one element in a register.
    const BITS: usize;
    /// Bytes of one element in memory.
    const BYTES: usize = size_of::<Self::Bits>();
    /// Elements in a register.
    const PER_REGISTER: usize = 8 * size_of::<Self::Register>() / Self::BITS;
    /// Whether elements have the same packing in registers as in memory.
    const FILLS_BYTES: bool = 8 * Self::BYTES == Self::BITS;

    /// Unpacks the element at `slot` of a register. Slot 0 is the lowest bits.
    fn unpack(register: Self::Register, slot: usize) -> Self::Bits;
    /// Packs an element into `slot` of a register.
    fn pack(register: &mut Self::Register, slot: usize, bits: Self::Bits);
}

/// Defines the widths, one row each: marker type, bits of an element, its integer, its register.
macro_rules! widths {
    ($($(#[$doc:meta])* $width:ident $wide:literal $bits:ty; $register:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $width;
        impl Sealed for $width {}
        impl Width for $width {
            type Bits = $bits;
            type Register = $register;
            const BITS: usize = $wide;

            #[inline]
            fn unpack(register: $register, slot: usize) -> $bits {
                (register >> (slot * $wide)) as $bits & (<$bits>::MAX >> (<$bits>::BITS - $wide))
            }

            #[inline]
            fn pack(register: &mut $register, slot: usize, bits: $bits) {
                let shift = slot * $wide;
                let mask = (<$bits>::MAX >> (<$bits>::BITS - $wide)) as $register;
                *register = *register & !(mask << shift) | (bits as $register & mask) << shift;
            }
        }
    )*};
}

widths! {
    /// Single bits.
    Bits1 1 u8; u32;
    /// 4-bit elements.
    Bits4 4 u8; u32;
    /// 8-bit elements.
    Bits8 8 u8; u32;
    /// 16-bit elements.
    Bits16 16 u16; u32;
    /// 32-bit elements.
    Bits32 32 u32; u32;
    /// 64-bit elements.
    Bits64 64 u64; u64;
}
