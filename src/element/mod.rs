//! Element types, and how wide they are.

mod tensor_float;

pub use tensor_float::tf32;

use crate::lane::LaneCapture;
use crate::sealed::Sealed;
use crate::target::{AtLeast, BuiltFor};
use bytemuck::Pod;
use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};

/// The width of an element: which bits it has, which registers hold it in fragments, and how a lane moves it to and from
/// shared memory.
pub trait Width: Sealed + Copy + 'static {
    /// The unsigned integer of this width.
    type Bits: Pod + LaneCapture;
    /// A register of a fragment, of 32 bits, or of 64 for 64-bit elements.
    type Register: Pod + LaneCapture;

    /// Bytes of one element.
    const BYTES: usize = size_of::<Self::Bits>();
    /// Elements in a register.
    const PER_REGISTER: usize = size_of::<Self::Register>() / size_of::<Self::Bits>();

    /// The element at `slot` of a register (lowest bits first).
    fn unpack(register: Self::Register, slot: usize) -> Self::Bits;
    /// Puts an element at `slot` of a register.
    fn pack(register: &mut Self::Register, slot: usize, bits: Self::Bits);

    /// # Safety
    /// `address` is that of an aligned element in shared memory.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load_shared(address: u32) -> Self::Bits;
    /// # Safety
    /// `address` is that of an aligned element in shared memory.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn store_shared(address: u32, bits: Self::Bits);
    /// # Safety
    /// `address` is that of as many aligned bytes in shared memory as a register has.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load_register(address: u32) -> Self::Register;
    /// # Safety
    /// As for `load_register`.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn store_register(address: u32, register: Self::Register);
}

/// One row a width: the marker, its bits, the type in which `raw` moves them, `raw`'s load and store; its register, and the load
/// and store of that.
macro_rules! widths {
    ($($(#[$doc:meta])* $width:ident $bits:ty as $moved:ty, $load:ident, $store:ident, $register:ty, $load_register:ident, $store_register:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $width;
        impl Sealed for $width {}
        impl Width for $width {
            type Bits = $bits;
            type Register = $register;

            #[inline(always)]
            fn unpack(register: $register, slot: usize) -> $bits {
                (register >> (slot * 8 * size_of::<$bits>())) as $bits
            }

            #[inline(always)]
            fn pack(register: &mut $register, slot: usize, bits: $bits) {
                let shift = slot * 8 * size_of::<$bits>();
                let mask = (<$bits>::MAX as $register) << shift;
                *register = *register & !mask | (bits as $register) << shift;
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

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load_register(address: u32) -> $register {
                // SAFETY: the caller's.
                unsafe { crate::raw::$load_register(address) }
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn store_register(address: u32, register: $register) {
                // SAFETY: the caller's.
                unsafe { crate::raw::$store_register(address, register) }
            }
        }
    )*};
}

widths! {
    /// 8-bit elements.
    Bits8 u8 as u16, ld_shared_u8, st_shared_u8, u32, ld_shared_b32, st_shared_b32;
    /// 16-bit elements.
    Bits16 u16 as u16, ld_shared_b16, st_shared_b16, u32, ld_shared_b32, st_shared_b32;
    /// 32-bit elements.
    Bits32 u32 as u32, ld_shared_b32, st_shared_b32, u32, ld_shared_b32, st_shared_b32;
    /// 64-bit elements.
    Bits64 u64 as u64, ld_shared_b64, st_shared_b64, u64, ld_shared_b64, st_shared_b64;
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
    tf32: Bits32 "tf32";
    F8E4M3: Bits8 "e4m3";
    F8E5M2: Bits8 "e5m2";
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
pub trait Rounded: Element<Width = Bits16> {
    /// The GPUs that round to it.
    type Needs;

    /// Two of them in a register, the first in the lower half, as `cvt.rn.{f16x2,bf16x2}.f32` rounds them.
    #[doc(hidden)]
    fn round_pair(low: f32, high: f32) -> u32;

    /// The nearest one.
    #[inline(always)]
    fn round(value: f32) -> Self
    where
        Self: BuiltFor<Self::Needs>,
    {
        Self::from_bits(Self::round_pair(value, 0.0) as u16)
    }

    /// The same number as `f32`, which has them all.
    fn widen(self) -> f32;
}

macro_rules! rounded {
    ($($element:ident $least:literal $pair:expr, $widen:expr;)*) => {$(
        impl Rounded for $element {
            type Needs = AtLeast<$least>;

            #[inline(always)]
            fn round_pair(low: f32, high: f32) -> u32 {
                $pair(low, high)
            }

            #[inline(always)]
            fn widen(self) -> f32 {
                $widen(self.to_bits())
            }
        }
    )*};
}
rounded! {
    bf16 80 crate::raw::cvt_rn_bf16x2_f32, |bits| f32::from_bits(u32::from(bits) << 16);
    f16 75 f16_pair, crate::raw::cvt_f32_f16;
}

/// By one instruction where the GPU has it.
#[inline(always)]
fn f16_pair(low: f32, high: f32) -> u32 {
    if cfg!(any(not(target_arch = "nvptx64"), target_feature = "sm_80")) {
        crate::raw::cvt_rn_f16x2_f32(low, high)
    } else {
        u32::from(crate::raw::cvt_rn_f16_f32(low)) | u32::from(crate::raw::cvt_rn_f16_f32(high)) << 16
    }
}
