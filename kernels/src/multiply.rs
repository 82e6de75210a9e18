//! `mma.sync`: one form a kernel, D = A x B + C on row-major matrices in global memory.

use ptx_matrix::*;

/// Hands the kernels to a macro, a row each: its name, the form `Mma<SHAPE, A, B, C>` that it runs, and the oldest GPU that
/// has it.
#[macro_export]
macro_rules! mma_kernels {
    ($with:ident) => {
        $with! {
            mma_m8n8k4_f64_f64_f64     M8N8K4   f64    f64    f64 "sm_80";

            mma_m8n8k16_s8_s8_s32      M8N8K16  i8     i8     i32 "sm_75";
            mma_m8n8k16_s8_u8_s32      M8N8K16  i8     u8     i32 "sm_75";
            mma_m8n8k16_u8_s8_s32      M8N8K16  u8     i8     i32 "sm_75";
            mma_m8n8k16_u8_u8_s32      M8N8K16  u8     u8     i32 "sm_75";

            mma_m16n8k4_tf32_tf32_f32  M16N8K4  tf32   tf32   f32 "sm_80";
            mma_m16n8k4_f64_f64_f64    M16N8K4  f64    f64    f64 "sm_90";

            mma_m16n8k8_f16_f16_f16    M16N8K8  f16    f16    f16 "sm_75";
            mma_m16n8k8_f16_f16_f32    M16N8K8  f16    f16    f32 "sm_75";
            mma_m16n8k8_bf16_bf16_f32  M16N8K8  bf16   bf16   f32 "sm_80";
            mma_m16n8k8_tf32_tf32_f32  M16N8K8  tf32   tf32   f32 "sm_80";
            mma_m16n8k8_f64_f64_f64    M16N8K8  f64    f64    f64 "sm_90";

            mma_m16n8k16_f16_f16_f16   M16N8K16 f16    f16    f16 "sm_80";
            mma_m16n8k16_f16_f16_f32   M16N8K16 f16    f16    f32 "sm_80";
            mma_m16n8k16_bf16_bf16_f32 M16N8K16 bf16   bf16   f32 "sm_80";
            mma_m16n8k16_f64_f64_f64   M16N8K16 f64    f64    f64 "sm_90";
            mma_m16n8k16_s8_s8_s32     M16N8K16 i8     i8     i32 "sm_80";
            mma_m16n8k16_s8_u8_s32     M16N8K16 i8     u8     i32 "sm_80";
            mma_m16n8k16_u8_s8_s32     M16N8K16 u8     i8     i32 "sm_80";
            mma_m16n8k16_u8_u8_s32     M16N8K16 u8     u8     i32 "sm_80";
            mma_m16n8k16_e4m3_e4m3_f16 M16N8K16 F8E4M3 F8E4M3 f16 "sm_89";
            mma_m16n8k16_e4m3_e5m2_f16 M16N8K16 F8E4M3 F8E5M2 f16 "sm_89";
            mma_m16n8k16_e5m2_e4m3_f16 M16N8K16 F8E5M2 F8E4M3 f16 "sm_89";
            mma_m16n8k16_e5m2_e5m2_f16 M16N8K16 F8E5M2 F8E5M2 f16 "sm_89";
            mma_m16n8k16_e4m3_e4m3_f32 M16N8K16 F8E4M3 F8E4M3 f32 "sm_89";
            mma_m16n8k16_e4m3_e5m2_f32 M16N8K16 F8E4M3 F8E5M2 f32 "sm_89";
            mma_m16n8k16_e5m2_e4m3_f32 M16N8K16 F8E5M2 F8E4M3 f32 "sm_89";
            mma_m16n8k16_e5m2_e5m2_f32 M16N8K16 F8E5M2 F8E5M2 f32 "sm_89";

            mma_m16n8k32_s8_s8_s32     M16N8K32 i8     i8     i32 "sm_80";
            mma_m16n8k32_s8_u8_s32     M16N8K32 i8     u8     i32 "sm_80";
            mma_m16n8k32_u8_s8_s32     M16N8K32 u8     i8     i32 "sm_80";
            mma_m16n8k32_u8_u8_s32     M16N8K32 u8     u8     i32 "sm_80";
            mma_m16n8k32_e4m3_e4m3_f16 M16N8K32 F8E4M3 F8E4M3 f16 "sm_89";
            mma_m16n8k32_e4m3_e5m2_f16 M16N8K32 F8E4M3 F8E5M2 f16 "sm_89";
            mma_m16n8k32_e5m2_e4m3_f16 M16N8K32 F8E5M2 F8E4M3 f16 "sm_89";
            mma_m16n8k32_e5m2_e5m2_f16 M16N8K32 F8E5M2 F8E5M2 f16 "sm_89";
            mma_m16n8k32_e4m3_e4m3_f32 M16N8K32 F8E4M3 F8E4M3 f32 "sm_89";
            mma_m16n8k32_e4m3_e5m2_f32 M16N8K32 F8E4M3 F8E5M2 f32 "sm_89";
            mma_m16n8k32_e5m2_e4m3_f32 M16N8K32 F8E5M2 F8E4M3 f32 "sm_89";
            mma_m16n8k32_e5m2_e5m2_f32 M16N8K32 F8E5M2 F8E5M2 f32 "sm_89";
        }
    };
}

macro_rules! kernels {
    ($($kernel:ident $shape:ident $a:ident $b:ident $c:ident $target:literal;)*) => {$(
        #[kernel(threads = 32, target = $target)]
        pub fn $kernel(block: &Block, a: Global<$a>, b: Global<$b>, c: Global<$c>, d: GlobalMut<$c>) {
            let warp = block.warp();
            let a = FragmentA::<$shape, $a>::from_fn(warp, |row, k| a.get(row * $shape::K + k));
            let b = FragmentB::<$shape, $b>::from_fn(warp, |k, col| b.get(k * $shape::N + col));
            let mut acc = Accumulator::<$shape, $c>::from_fn(warp, |row, col| c.get(row * $shape::N + col));
            Mma::<$shape, $a, $b, $c>::accumulate(warp, &mut acc, &a, &b);
            acc.for_each(warp, |row, col, value| d.set(row * $shape::N + col, value));
        }
    )*};
}
mma_kernels!(kernels);

/// The same as `mma_m16n8k8_tf32_tf32_f32`, with whole `f32` as factors: registers whose low 13 bits are not zero.
#[kernel(threads = 32, target = "sm_80")]
pub fn mma_m16n8k8_tf32_whole_registers(
    block: &Block,
    a: Global<f32>,
    b: Global<f32>,
    c: Global<f32>,
    d: GlobalMut<f32>,
) {
    let warp = block.warp();
    let a = FragmentA::<M16N8K8, f32>::from_fn(warp, |row, k| a.get(row * 8 + k));
    let b = FragmentB::<M16N8K8, f32>::from_fn(warp, |k, col| b.get(k * 8 + col));
    let mut acc = Accumulator::<M16N8K8, f32>::from_fn(warp, |row, col| c.get(row * 8 + col));
    let (a, b) = (Fragment::from_registers(a.registers()), Fragment::from_registers(b.registers()));
    Mma::<M16N8K8, tf32, tf32, f32>::accumulate(warp, &mut acc, &a, &b);
    acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
}
