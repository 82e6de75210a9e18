//! How wide elements are, and what holds them.

use crate::lane::LaneCapture;
use crate::lane::Sealed;
use bytemuck::Pod;

/// The width of an element: which bits it has, which registers hold it in fragments, and how a lane moves it to and from
/// shared memory.
pub trait Width: Sealed + Copy + 'static {
    /// The unsigned integer of this width, or, for what is narrower than a byte, `u8`: in memory, an element has bytes of its own.
    type Bits: Pod + LaneCapture;
    /// A register of a fragment, of 32 bits, or of 64 for 64-bit elements.
    type Register: Pod + LaneCapture;

    /// Bits of one element in a register.
    const BITS: usize;
    /// Bytes of one element in memory.
    const BYTES: usize = size_of::<Self::Bits>();
    /// Elements in a register.
    const PER_REGISTER: usize = 8 * size_of::<Self::Register>() / Self::BITS;
    /// Whether elements lie in registers as they do in memory.
    const FILLS_BYTES: bool = 8 * Self::BYTES == Self::BITS;

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
    /// `address` is that of an aligned element in shared memory of a block of the cluster.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load_cluster(address: u32) -> Self::Bits;
    /// # Safety
    /// `address` is that of an aligned element in shared memory of a block of the cluster.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn store_cluster(address: u32, bits: Self::Bits);
    /// # Safety
    /// `address` is that of as many aligned bytes in shared memory as a register has.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load_register(address: u32) -> Self::Register;
    /// # Safety
    /// As for `load_register`.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn store_register(address: u32, register: Self::Register);
}

/// One row a width: the marker, how wide, its bits, the type in which `raw` moves them, and how it names that; its register, and how it names
/// that.
macro_rules! widths {
    ($($(#[$doc:meta])* $width:ident $wide:literal $bits:ty as $moved:ty, $named:ident; $register:ty, $register_named:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $width;
        impl Sealed for $width {}
        impl Width for $width {
            type Bits = $bits;
            type Register = $register;
            const BITS: usize = $wide;

            #[inline(always)]
            fn unpack(register: $register, slot: usize) -> $bits {
                (register >> (slot * $wide)) as $bits & (<$bits>::MAX >> (<$bits>::BITS - $wide))
            }

            #[inline(always)]
            fn pack(register: &mut $register, slot: usize, bits: $bits) {
                let shift = slot * $wide;
                let mask = (<$bits>::MAX >> (<$bits>::BITS - $wide)) as $register;
                *register = *register & !(mask << shift) | (bits as $register & mask) << shift;
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load_shared(address: u32) -> $bits {
                // SAFETY: the caller's.
                unsafe { crate::raw::${concat(ld_shared_, $named)}(address) as $bits }
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn store_shared(address: u32, bits: $bits) {
                // SAFETY: the caller's.
                unsafe { crate::raw::${concat(st_shared_, $named)}(address, bits as $moved) }
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load_cluster(address: u32) -> $bits {
                // SAFETY: the caller's.
                unsafe { crate::raw::${concat(ld_shared_cluster_, $named)}(address) as $bits }
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn store_cluster(address: u32, bits: $bits) {
                // SAFETY: the caller's.
                unsafe { crate::raw::${concat(st_shared_cluster_, $named)}(address, bits as $moved) }
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load_register(address: u32) -> $register {
                // SAFETY: the caller's.
                unsafe { crate::raw::${concat(ld_shared_, $register_named)}(address) }
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn store_register(address: u32, register: $register) {
                // SAFETY: the caller's.
                unsafe { crate::raw::${concat(st_shared_, $register_named)}(address, register) }
            }
        }
    )*};
}

widths! {
    /// Single bits.
    Bits1 1 u8 as u16, u8; u32, b32;
    /// 4-bit elements.
    Bits4 4 u8 as u16, u8; u32, b32;
    /// 8-bit elements.
    Bits8 8 u8 as u16, u8; u32, b32;
    /// 16-bit elements.
    Bits16 16 u16 as u16, b16; u32, b32;
    /// 32-bit elements.
    Bits32 32 u32 as u32, b32; u32, b32;
    /// 64-bit elements.
    Bits64 64 u64 as u64, b64; u64, b64;
}
