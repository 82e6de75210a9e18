//! Approximate special functions (PTX ISA 9.7.3 and 9.7.4). The typed functions are in
//! [`math`](crate::math).

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::special::{self, Function};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// One row for each form: function, PTX, register type, and the simulator's function.
macro_rules! forms {
    ($($name:ident $ptx:literal $register:ident |$x:ident| $simulated:expr;)*) => {$(
        #[doc = concat!("`", $ptx, " d, a;`")]
        #[inline]
        #[track_caller]
        pub fn $name(a: $register) -> $register {
            #[cfg(target_arch = "nvptx64")]
            return {
                let d;
                // SAFETY: the instruction only computes.
                unsafe {
                    asm!(concat!($ptx, " {d}, {a};"), d = lateout(reg32) d, a = in(reg32) a,
                        options(pure, nomem, nostack));
                }
                d
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return {
                crate::engine::note_lane(crate::lane::Site::here(), $ptx);
                let $x = a;
                $simulated
            };
        }
    )*};
}

forms! {
    ex2_approx_f32 "ex2.approx.f32" f32 |x| Function::Ex2.of(x);
    ex2_approx_ftz_f32 "ex2.approx.ftz.f32" f32 |x| Function::Ex2Ftz.of(x);
    lg2_approx_f32 "lg2.approx.f32" f32 |x| Function::Lg2.of(x);
    lg2_approx_ftz_f32 "lg2.approx.ftz.f32" f32 |x| Function::Lg2Ftz.of(x);
    rcp_approx_f32 "rcp.approx.f32" f32 |x| Function::Rcp.of(x);
    rcp_approx_ftz_f32 "rcp.approx.ftz.f32" f32 |x| Function::RcpFtz.of(x);
    rsqrt_approx_f32 "rsqrt.approx.f32" f32 |x| Function::Rsqrt.of(x);
    rsqrt_approx_ftz_f32 "rsqrt.approx.ftz.f32" f32 |x| Function::RsqrtFtz.of(x);
    sqrt_approx_f32 "sqrt.approx.f32" f32 |x| Function::Sqrt.of(x);
    sqrt_approx_ftz_f32 "sqrt.approx.ftz.f32" f32 |x| Function::SqrtFtz.of(x);
    tanh_approx_f32 "tanh.approx.f32" f32 |x| Function::Tanh.of(x);
    sin_approx_f32 "sin.approx.f32" f32 |x| Function::Sin.of(x);
    sin_approx_ftz_f32 "sin.approx.ftz.f32" f32 |x| Function::SinFtz.of(x);
    cos_approx_f32 "cos.approx.f32" f32 |x| Function::Cos.of(x);
    cos_approx_ftz_f32 "cos.approx.ftz.f32" f32 |x| Function::CosFtz.of(x);
    ex2_approx_f16x2 "ex2.approx.f16x2" u32 |x| special::of_f16_pair(Function::Ex2Ftz, x);
    ex2_approx_ftz_bf16x2 "ex2.approx.ftz.bf16x2" u32
        |x| special::of_bf16_pair(Function::Ex2Ftz, x);
    tanh_approx_f16x2 "tanh.approx.f16x2" u32 |x| special::of_f16_pair(Function::Tanh, x);
    tanh_approx_bf16x2 "tanh.approx.bf16x2" u32 |x| special::of_bf16_pair(Function::Tanh, x);
}
