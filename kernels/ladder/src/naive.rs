//! Step 0, naive: one thread computes one element of D = A x B, straight from global memory.
//!
//! Data flow, for each k: `global A, B -> registers -> multiply-add`; at the end, `register ->
//! global D`.
//!
//! Each element of A is loaded by all threads of its row of D, each element of B by all threads of
//! its column. Only the caches reduce this traffic.

use core::convert::identity;
use ptx_matrix::prelude::*;

/// The block's tile of D, M x N: a row for each of its 8 warps, a column for each lane.
pub const BLOCK: (usize, usize) = (8, 32);

/// Row stride and column stride: element (row, column) is at `row * strides.0 + column *
/// strides.1`. Row-major is (columns, 1), column-major (1, rows).
type Strides = (usize, usize);

/// One kernel per line: the elements of A and B, their conversion to a term, the accumulator, its
/// conversion to an element of D.
macro_rules! naive {
    ($($kernel:ident: $element:ident $widen:path, $sum:ident $round:path, $out:ident;)*) => {$(
        /// D = A x B for a row-major D of `m` x `n`; the grid has `n / 32` x `m / 8` blocks,
        /// rounded up.
        #[kernel(threads = 256)]
        pub fn $kernel(
            block: &Block,
            a: Global<$element>,
            b: Global<$element>,
            d: GlobalMut<$out>,
            m: usize,
            n: usize,
            k: usize,
            a_row: usize,
            a_col: usize,
            b_row: usize,
            b_col: usize,
        ) {
            let (a_strides, b_strides): (Strides, Strides) = ((a_row, a_col), (b_row, b_col));
            let row = block.index().y as usize * BLOCK.0 + block.warp().index();
            let left = block.index().x as usize * BLOCK.1;
            block.warp().each(|lane| {
                let col = left + lane.id();
                if row < m && col < n {
                    let mut sum: $sum = Zeroable::zeroed();
                    for i in 0..k {
                        let a = a.get(row * a_strides.0 + i * a_strides.1);
                        let b = b.get(i * b_strides.0 + col * b_strides.1);
                        sum += $widen(a) * $widen(b);
                    }
                    d.set(row * n + col, $round(sum));
                }
            });
        }
    )*};
}

naive! {
    naive_f16_f16: f16 f16::to_f32, f32 f16::from_f32, f16;
    naive_f16_f32: f16 f16::to_f32, f32 identity, f32;
    naive_bf16_bf16: bf16 bf16::to_f32, f32 bf16::from_f32, bf16;
    naive_bf16_f32: bf16 bf16::to_f32, f32 identity, f32;
    naive_f32_f32: f32 identity, f32 identity, f32;
    naive_f64_f64: f64 identity, f64 identity, f64;
    naive_s8_s32: i8 i32::from, i32 identity, i32;
}
