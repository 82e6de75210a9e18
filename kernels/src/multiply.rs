//! `mma.sync`: one form a kernel, D = A x B + C on row-major matrices in global memory.

use ptx_matrix::*;

/// One row a form: its shape, the elements of A and B, of C and D, and the oldest GPU that has it.
macro_rules! products {
    ($($kernel:ident $shape:ident $factor:ident $sum:ident $target:literal;)*) => {$(
        #[kernel(threads = 32, target = $target)]
        pub fn $kernel(
            block: &Block,
            a: Global<$factor>,
            b: Global<$factor>,
            c: Global<$sum>,
            d: GlobalMut<$sum>,
        ) {
            let warp = block.warp();
            let a = FragmentA::<$shape, $factor>::from_fn(warp, |row, k| a.get(row * $shape::K + k));
            let b = FragmentB::<$shape, $factor>::from_fn(warp, |k, col| b.get(k * $shape::N + col));
            let mut acc = Accumulator::<$shape, $sum>::from_fn(warp, |row, col| c.get(row * $shape::N + col));
            Mma::<$shape, $factor, $factor, $sum>::accumulate(warp, &mut acc, &a, &b);
            acc.for_each(warp, |row, col, value| d.set(row * $shape::N + col, value));
        }
    )*};
}

products! {
    mma_m16n8k8_f16_f16 M16N8K8 f16 f16 "sm_75";
    mma_m16n8k8_f16_f32 M16N8K8 f16 f32 "sm_75";
    mma_m16n8k8_bf16_f32 M16N8K8 bf16 f32 "sm_80";
    mma_m16n8k16_f16_f16 M16N8K16 f16 f16 "sm_80";
    mma_m16n8k16_f16_f32 M16N8K16 f16 f32 "sm_80";
    mma_m16n8k16_bf16_f32 M16N8K16 bf16 f32 "sm_80";
}
