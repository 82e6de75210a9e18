//! `cvt` (PTX ISA 9.7.9.21): pairs of `f32` to pairs of 16-bit numbers (sm_80, PTX 7.0), and back.

use core::arch::asm;

/// One row a form: the function and its PTX.
macro_rules! forms {
    ($($name:ident $ptx:literal;)*) => {$(
        #[doc = concat!("`", $ptx, " pair, high, low;`")]
        #[inline(always)]
        pub fn $name(low: f32, high: f32) -> u32 {
            let pair;
            // SAFETY: it computes a number.
            unsafe {
                asm!(concat!($ptx, " {pair}, {high}, {low};"),
                    pair = lateout(reg32) pair, high = in(reg32) high, low = in(reg32) low, options(pure, nomem, nostack));
            }
            pair
        }
    )*};
}

forms! {
    cvt_rn_bf16x2_f32 "cvt.rn.bf16x2.f32";
    cvt_rn_f16x2_f32 "cvt.rn.f16x2.f32";
}

/// `cvt.f32.f16 wide, half;`
#[inline(always)]
pub fn cvt_f32_f16(half: u16) -> f32 {
    let wide;
    // SAFETY: it computes a number.
    unsafe {
        asm!("cvt.f32.f16 {wide}, {half};", wide = lateout(reg32) wide, half = in(reg16) half,
            options(pure, nomem, nostack));
    }
    wide
}
