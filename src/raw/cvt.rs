//! Conversions: `cvt` (PTX ISA 9.7.9.21), from pairs of `f32` to pairs of 16-bit numbers (sm_80,
//! PTX 7.0), and back; `mov` from bf16 to `f32` (all targets).

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use half::{bf16, f16};

/// One row for each form: function, PTX, and the rounded type.
macro_rules! forms {
    ($($name:ident $ptx:literal $to:ident;)*) => {$(
        /// Rounds two `f32` to a pair of 16-bit numbers in one register.
        ///
        #[doc = concat!("`", $ptx, " pair, high, low;`")]
        #[inline]
        pub fn $name(low: f32, high: f32) -> u32 {
            #[cfg(target_arch = "nvptx64")]
            return {
                let pair;
                // SAFETY: the instruction only computes.
                unsafe {
                    asm!(concat!($ptx, " {pair}, {high}, {low};"),
                        pair = lateout(reg32) pair, high = in(reg32) high, low = in(reg32) low,
                        options(pure, nomem, nostack));
                }
                pair
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return {
                let round = |number: f32| if number.is_nan() { 0x7fff } else {
                    $to::from_f32(number).to_bits()
                };
                u32::from(round(low)) | u32::from(round(high)) << 16
            };
        }
    )*};
}

forms! {
    cvt_rn_bf16x2_f32 "cvt.rn.bf16x2.f32" bf16;
    cvt_rn_f16x2_f32 "cvt.rn.f16x2.f32" f16;
}

/// Converts an f16 to `f32`, exactly: `cvt.f32.f16 wide, half;`.
#[inline]
pub fn cvt_f32_f16(half: u16) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let wide;
        // SAFETY: the instruction only computes.
        unsafe {
            asm!("cvt.f32.f16 {wide}, {half};", wide = lateout(reg32) wide, half = in(reg16) half,
                options(pure, nomem, nostack));
        }
        wide
    };
    #[cfg(not(target_arch = "nvptx64"))]
    f16::from_bits(half).to_f32()
}

/// Converts a bf16 to `f32`, exactly: `mov.b32 wide, {0, half};`.
///
/// As asm, it differs from [`cvt_f32_f16`] only in the text, so kernels of both are compiled once.
#[inline]
pub fn mov_f32_bf16(half: u16) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let wide;
        // SAFETY: the instruction only computes.
        unsafe {
            asm!("mov.b32 {wide}, {{0, {half}}};", wide = lateout(reg32) wide,
                half = in(reg16) half, options(pure, nomem, nostack));
        }
        wide
    };
    #[cfg(not(target_arch = "nvptx64"))]
    bf16::from_bits(half).to_f32()
}

/// Rounds an `f32` to f16: `cvt.rn.f16.f32 half, wide;`.
#[inline]
pub fn cvt_rn_f16_f32(wide: f32) -> u16 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let half;
        // SAFETY: the instruction only computes.
        unsafe {
            asm!("cvt.rn.f16.f32 {half}, {wide};", half = lateout(reg16) half,
                wide = in(reg32) wide,
                options(pure, nomem, nostack));
        }
        half
    };
    #[cfg(not(target_arch = "nvptx64"))]
    if wide.is_nan() { 0x7fff } else { f16::from_f32(wide).to_bits() }
}
