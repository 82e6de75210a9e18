//! Element types, and how wide they are.

use crate::lane::LaneCapture;
use crate::sealed::Sealed;
use bytemuck::Pod;
use half::{bf16, f16};

/// The width of an element: which bits it has, and how a lane moves them to and from shared memory.
pub trait Width: Sealed + Copy + 'static {
    /// The unsigned integer of this width.
    type Bits: Pod + LaneCapture;

    /// Bytes of one element.
    const BYTES: usize = size_of::<Self::Bits>();

    /// The element at `slot` of a 32-bit register (lowest bits first).
    fn unpack(register: u32, slot: usize) -> Self::Bits;
    /// Puts an element at `slot` of a 32-bit register.
    fn pack(register: &mut u32, slot: usize, bits: Self::Bits);

    /// # Safety
    /// `address` is that of an aligned element in shared memory.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load_shared(address: u32) -> Self::Bits;
    /// # Safety
    /// `address` is that of an aligned element in shared memory.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn store_shared(address: u32, bits: Self::Bits);
}

/// One row a width: the marker, its bits, the type in which `raw` moves them, `raw`'s load and store.
macro_rules! widths {
    ($($(#[$doc:meta])* $width:ident $bits:ty as $moved:ty, $load:ident, $store:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $width;
        impl Sealed for $width {}
        impl Width for $width {
            type Bits = $bits;

            #[inline(always)]
            fn unpack(register: u32, slot: usize) -> $bits {
                (register >> (slot * 8 * size_of::<$bits>())) as $bits
            }

            #[inline(always)]
            fn pack(register: &mut u32, slot: usize, bits: $bits) {
                let shift = slot * 8 * size_of::<$bits>();
                let mask = (<$bits>::MAX as u32) << shift;
                *register = *register & !mask | (bits as u32) << shift;
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load_shared(address: u32) -> $bits {
                // SAFETY: the caller's.
                unsafe { crate::raw::$load(address) as $bits }
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn store_shared(address: u32, bits: $bits) {
                // SAFETY: the caller's.
                unsafe { crate::raw::$store(address, bits as $moved) }
            }
        }
    )*};
}

widths! {
    /// 8-bit elements.
    Bits8 u8 as u16, ld_shared_u8, st_shared_u8;
    /// 16-bit elements.
    Bits16 u16 as u16, ld_shared_b16, st_shared_b16;
    /// 32-bit elements.
    Bits32 u32 as u32, ld_shared_b32, st_shared_b32;
    /// 64-bit elements. They do not fit a 32-bit register: no fragment of this crate packs them.
    Bits64 u64 as u64, ld_shared_b64, st_shared_b64;
}

/// A type that can be an element of a matrix, in memory or in a fragment.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an element type of matrices")]
pub trait Element: Sealed + Pod + LaneCapture + Send + Sync {
    /// Its width.
    type Width: Width;
    /// Its name in PTX.
    const NAME: &'static str;

    /// Its bits.
    #[inline(always)]
    fn to_bits(self) -> <Self::Width as Width>::Bits {
        bytemuck::cast(self)
    }

    /// The element of these bits.
    #[inline(always)]
    fn from_bits(bits: <Self::Width as Width>::Bits) -> Self {
        bytemuck::cast(bits)
    }
}

macro_rules! elements {
    ($($element:ty: $width:ident $name:literal;)*) => {$(
        impl Sealed for $element {}
        impl Element for $element {
            type Width = $width;
            const NAME: &'static str = $name;
        }
    )*};
}

elements! {
    f16: Bits16 "f16";
    bf16: Bits16 "bf16";
    f32: Bits32 "f32";
    f64: Bits64 "f64";
    i8: Bits8 "s8";
    u8: Bits8 "u8";
    i16: Bits16 "s16";
    u16: Bits16 "u16";
    i32: Bits32 "s32";
    u32: Bits32 "u32";
    i64: Bits64 "s64";
    u64: Bits64 "u64";
}

/// An element that `f32` sums are rounded to, to the nearest, ties to even; what is not a number becomes `0x7fff`.
pub trait Rounded: Element {
    /// Two of them in a register, the first in the lower half, as `cvt.rn.{f16x2,bf16x2}.f32` rounds them.
    #[doc(hidden)]
    fn round_pair(low: f32, high: f32) -> u32;

    /// The same number as `f32`, which has them all.
    fn widen(self) -> f32;
}

macro_rules! rounded {
    ($($element:ident $cvt:ident, $widen:expr;)*) => {$(
        impl Rounded for $element {
            #[inline(always)]
            fn round_pair(low: f32, high: f32) -> u32 {
                #[cfg(target_arch = "nvptx64")]
                return crate::raw::$cvt(low, high);
                #[cfg(not(target_arch = "nvptx64"))]
                return {
                    let round = |number: f32| if number.is_nan() { 0x7fff } else { $element::from_f32(number).to_bits() };
                    u32::from(round(low)) | u32::from(round(high)) << 16
                };
            }

            #[inline(always)]
            fn widen(self) -> f32 {
                #[cfg(target_arch = "nvptx64")]
                return $widen(self.to_bits());
                #[cfg(not(target_arch = "nvptx64"))]
                self.to_f32()
            }
        }
    )*};
}
rounded! {
    bf16 cvt_rn_bf16x2_f32, |bits| f32::from_bits(u32::from(bits) << 16);
    f16 cvt_rn_f16x2_f32, crate::raw::cvt_f32_f16;
}
