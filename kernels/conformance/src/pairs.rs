//! Arithmetic of pairs of 16-bit floats, and `prmt`, on registers with arbitrary bits.

use crate::approx::Operand;
use ptx_matrix::math;
use ptx_matrix::prelude::*;

/// Calls a macro with the functions of pairs, one row each: the kernel, its target, the PTX, the
/// function of `math`, the element, the operation, and its operands.
#[macro_export]
macro_rules! pair_functions {
    ($with:ident) => {
        $with! {
            add_rn_f16x2 "sm_75" "add.rn.f16x2" add_f16x2 f16 Add (a b);
            sub_rn_f16x2 "sm_75" "sub.rn.f16x2" sub_f16x2 f16 Sub (a b);
            mul_rn_f16x2 "sm_75" "mul.rn.f16x2" mul_f16x2 f16 Mul (a b);
            fma_rn_f16x2 "sm_75" "fma.rn.f16x2" fma_f16x2 f16 Fma (a b c);
            add_rn_bf16x2 "sm_90" "add.rn.bf16x2" add_bf16x2 bf16 Add (a b);
            sub_rn_bf16x2 "sm_90" "sub.rn.bf16x2" sub_bf16x2 bf16 Sub (a b);
            mul_rn_bf16x2 "sm_90" "mul.rn.bf16x2" mul_bf16x2 bf16 Mul (a b);
            fma_rn_bf16x2 "sm_80" "fma.rn.bf16x2" fma_bf16x2 bf16 Fma (a b c);
        }
    };
}

macro_rules! kernels {
    ($($kernel:ident $target:literal $ptx:literal $function:ident $element:ident $operation:ident
        ($($operand:ident)+);)*) => {$(
        #[doc = concat!("`", $ptx, "` of registers in each lane: `a`, `b` and `c` in turn.")]
        #[kernel(threads = 32, target = $target)]
        pub fn $kernel(block: &Block, operands: Global<u32>, d: GlobalMut<u32>) {
            let first = block.index().x as usize * 32;
            block.warp().each(|lane| {
                let index = first + lane.id();
                let mut operands = (3 * index..).map(|index| operands.get(index));
                $(let $operand = Operand::from_register(operands.next().unwrap_or_default());)+
                d.set(index, math::$function($($operand),+).register());
            });
        }
    )*};
}
pair_functions!(kernels);

/// `prmt.b32` of registers in each lane: the bytes and the selector in turn.
#[kernel(threads = 32, target = "sm_75")]
pub fn prmt_b32(block: &Block, operands: Global<u32>, d: GlobalMut<u32>) {
    let first = block.index().x as usize * 32;
    block.warp().each(|lane| {
        let index = first + lane.id();
        let [low, high, selector] = [0, 1, 2].map(|i| operands.get(3 * index + i));
        d.set(index, math::permute_bytes(low, high, selector));
    });
}

/// The simulator's result for the registers of a lane, by the PTX name.
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(ptx: &str, registers: [u32; 3]) -> u32 {
    macro_rules! values {
        ($($kernel:ident $target:literal $name:literal $function:ident $element:ident
            $operation:ident ($($operand:ident)+);)*) => {
            match ptx {
                $($name => {
                    let mut registers = registers.into_iter();
                    $(let $operand = Operand::from_register(registers.next().unwrap_or_default());)+
                    math::$function($($operand),+).register()
                })*
                "prmt.b32" => {
                    let [low, high, selector] = registers;
                    math::permute_bytes(low, high, selector)
                }
                other => unreachable!("`{other}` is no function of pairs"),
            }
        };
    }
    pair_functions!(values)
}
