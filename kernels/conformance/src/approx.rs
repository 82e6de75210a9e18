//! Every approximate special function, on registers with arbitrary bits.

use ptx_matrix::math;
use ptx_matrix::prelude::*;

/// Calls a macro with the functions, one row each: the kernel, its target, the PTX, and the
/// function of `math`.
#[macro_export]
macro_rules! special_functions {
    ($with:ident) => {
        $with! {
            ex2_approx_f32 "sm_75" "ex2.approx.f32" ex2_approx;
            ex2_approx_ftz_f32 "sm_75" "ex2.approx.ftz.f32" ex2_approx_ftz;
            lg2_approx_f32 "sm_75" "lg2.approx.f32" lg2_approx;
            lg2_approx_ftz_f32 "sm_75" "lg2.approx.ftz.f32" lg2_approx_ftz;
            rcp_approx_f32 "sm_75" "rcp.approx.f32" rcp_approx;
            rcp_approx_ftz_f32 "sm_75" "rcp.approx.ftz.f32" rcp_approx_ftz;
            rsqrt_approx_f32 "sm_75" "rsqrt.approx.f32" rsqrt_approx;
            rsqrt_approx_ftz_f32 "sm_75" "rsqrt.approx.ftz.f32" rsqrt_approx_ftz;
            sqrt_approx_f32 "sm_75" "sqrt.approx.f32" sqrt_approx;
            sqrt_approx_ftz_f32 "sm_75" "sqrt.approx.ftz.f32" sqrt_approx_ftz;
            tanh_approx_f32 "sm_75" "tanh.approx.f32" tanh_approx;
            sin_approx_f32 "sm_75" "sin.approx.f32" sin_approx;
            sin_approx_ftz_f32 "sm_75" "sin.approx.ftz.f32" sin_approx_ftz;
            cos_approx_f32 "sm_75" "cos.approx.f32" cos_approx;
            cos_approx_ftz_f32 "sm_75" "cos.approx.ftz.f32" cos_approx_ftz;
            ex2_approx_f16x2 "sm_75" "ex2.approx.f16x2" ex2_approx_f16x2;
            tanh_approx_f16x2 "sm_75" "tanh.approx.f16x2" tanh_approx_f16x2;
            ex2_approx_ftz_bf16x2 "sm_90" "ex2.approx.ftz.bf16x2" ex2_approx_ftz_bf16x2;
            tanh_approx_bf16x2 "sm_90" "tanh.approx.bf16x2" tanh_approx_bf16x2;
        }
    };
}

/// An operand in a register.
pub(crate) trait Operand {
    fn from_register(register: u32) -> Self;
    fn register(self) -> u32;
}

impl Operand for f32 {
    #[inline]
    fn from_register(register: u32) -> Self {
        f32::from_bits(register)
    }
    #[inline]
    fn register(self) -> u32 {
        self.to_bits()
    }
}

macro_rules! pairs {
    ($($element:ident)*) => {$(
        impl Operand for [$element; 2] {
            #[inline]
            fn from_register(register: u32) -> Self {
                [$element::from_bits(register as u16), $element::from_bits((register >> 16) as u16)]
            }
            #[inline]
            fn register(self) -> u32 {
                u32::from(self[0].to_bits()) | u32::from(self[1].to_bits()) << 16
            }
        }
    )*};
}
pairs! { f16 bf16 }

macro_rules! kernels {
    ($($kernel:ident $target:literal $ptx:literal $function:ident;)*) => {$(
        #[doc = concat!("`", $ptx, "` of a register in each lane.")]
        #[kernel(threads = 32, target = $target)]
        pub fn $kernel(block: &Block, x: Global<u32>, d: GlobalMut<u32>) {
            let first = block.index().x as usize * 32;
            block.warp().each(|lane| {
                let index = first + lane.id();
                d.set(index, math::$function(Operand::from_register(x.get(index))).register());
            });
        }
    )*};
}
special_functions!(kernels);

/// The simulator's result for a register, by the PTX name.
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(ptx: &str, register: u32) -> u32 {
    macro_rules! values {
        ($($kernel:ident $target:literal $name:literal $function:ident;)*) => {
            match ptx {
                $($name => math::$function(Operand::from_register(register)).register(),)*
                other => unreachable!("`{other}` is no special function"),
            }
        };
    }
    special_functions!(values)
}
