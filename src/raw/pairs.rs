//! Arithmetic of pairs of 16-bit floats (PTX ISA 9.7.4), and `prmt` (9.7.9.7). The typed functions
//! are in [`math`](crate::math).

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::arithmetic::pairs;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use half::{bf16, f16};

/// One row for each form: function, PTX, the simulator's function, and the operands.
macro_rules! forms {
    ($($(#[$doc:meta])* $name:ident $ptx:literal $simulated:expr, $($operand:ident)+;)*) => {$(
        $(#[$doc])*
        ///
        #[doc = concat!("`", $ptx, " d", $(", ", stringify!($operand),)+ ";`")]
        #[inline]
        #[track_caller]
        pub fn $name($($operand: u32),+) -> u32 {
            #[cfg(target_arch = "nvptx64")]
            return {
                let d;
                // SAFETY: the instruction only computes.
                unsafe {
                    asm!(concat!($ptx, " {d}" $(, ", {", stringify!($operand), "}")+, ";"),
                        d = lateout(reg32) d, $($operand = in(reg32) $operand,)+
                        options(pure, nomem, nostack));
                }
                d
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return {
                crate::engine::note_lane(crate::lane::Site::here(), $ptx);
                $simulated($($operand),+)
            };
        }
    )*};
}

forms! {
    /// a + b for two f16, from sm_75 on.
    add_rn_f16x2 "add.rn.f16x2" pairs::add::<f16>, a b;
    /// a - b for two f16, from sm_75 on.
    sub_rn_f16x2 "sub.rn.f16x2" pairs::sub::<f16>, a b;
    /// a x b for two f16, from sm_75 on.
    mul_rn_f16x2 "mul.rn.f16x2" pairs::mul::<f16>, a b;
    /// a x b + c for two f16, from sm_75 on.
    fma_rn_f16x2 "fma.rn.f16x2" pairs::fma::<f16>, a b c;
    /// a + b for two bf16: sm_90, PTX 7.8.
    add_rn_bf16x2 "add.rn.bf16x2" pairs::add::<bf16>, a b;
    /// a - b for two bf16: sm_90, PTX 7.8.
    sub_rn_bf16x2 "sub.rn.bf16x2" pairs::sub::<bf16>, a b;
    /// a x b for two bf16: sm_90, PTX 7.8.
    mul_rn_bf16x2 "mul.rn.bf16x2" pairs::mul::<bf16>, a b;
    /// a x b + c for two bf16: sm_80, PTX 7.0.
    fma_rn_bf16x2 "fma.rn.bf16x2" pairs::fma::<bf16>, a b c;
    /// Four of the eight bytes of two registers, from sm_75 on. Each hexadecimal digit of `c`
    /// chooses a byte of the result: 0 to 3 from `a`, 4 to 7 from `b`; 8 more repeats the sign of
    /// that byte. The digit of the lowest byte is the lowest one.
    prmt_b32 "prmt.b32" pairs::permute_bytes, a b c;
}
