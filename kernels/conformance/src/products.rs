//! Whole tiles: one `mma` from shared memory, a 64x64x64 GEMM by four warps, and a 64x128x64 GEMM
//! by a warpgroup.

use core::array::from_fn;
use ptx_matrix::memory::Swizzle;
use ptx_matrix::mma::{GroupAccumulator, Plain, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::target::{AtLeast, BuildTarget, Supports};

/// D = A x B: 16x8x16, row-major.
#[kernel(threads = 32, target = "sm_80")]
pub fn multiply_tile(
    block: &Block,
    #[shared] tile_a: SharedTile<bf16, 16, 16>,
    #[shared] tile_b: SharedTile<bf16, 16, 8>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
) {
    let warp = block.warp();
    tile_a.fill(warp, |row, k| a.get(row * 16 + k));
    tile_b.fill(warp, |k, col| b.get(k * 8 + col));
    block.sync();
    let a = FragmentA::<M16N8K16, bf16>::load(warp, &tile_a, At::<0, 0>);
    let b = FragmentB::<M16N8K16, bf16>::load(warp, &tile_b, At::<0, 0>);
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &a, &b);
    acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
}

/// D = A x B: 64x64x64, row-major; each of four warps computes 32x32.
#[inline]
fn product_64<S: Swizzle, Target: Supports<AtLeast<80>>>(
    block: &Block,
    tile_a: SharedTile<bf16, 64, 64, S>,
    tile_b: SharedTile<bf16, 64, 64, S>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
) {
    tile_a.fill(block, |row, k| a.get(row * 64 + k));
    tile_b.fill(block, |k, col| b.get(k * 64 + col));
    block.sync();

    let warp = block.warp();
    let (top, left) = (warp.index() / 2 * 32, warp.index() % 2 * 32);
    // All addresses first, so that the main loop has only loads and `mma`.
    let rows_a: [[_; 2]; 4] = from_fn(|k| {
        from_fn(|i| FragmentA::<M16N8K16, bf16>::rows(warp, &tile_a, (top + i * 16, k * 16)))
    });
    let rows_b: [[_; 4]; 4] = from_fn(|k| {
        from_fn(|j| FragmentB::<M16N8K16, bf16>::rows(warp, &tile_b, (k * 16, left + j * 8)))
    });
    let mut acc: [[Accumulator<M16N8K16, f32>; 4]; 2] = Zeroable::zeroed();
    for k in 0..4 {
        let a = rows_a[k].map(|rows| FragmentA::load_rows(warp, rows));
        let b = rows_b[k].map(|rows| FragmentB::load_rows(warp, rows));
        for (a, acc) in a.iter().zip(&mut acc) {
            for (b, acc) in b.iter().zip(acc) {
                Mma::<M16N8K16, bf16, bf16, f32, Plain, Target>::accumulate(warp, acc, a, b);
            }
        }
    }

    for (i, acc) in acc.iter().enumerate() {
        for (j, acc) in acc.iter().enumerate() {
            acc.for_each(warp, |row, col, value| {
                d.set((top + i * 16 + row) * 64 + left + j * 8 + col, value)
            });
        }
    }
}

/// One row per swizzle.
macro_rules! products {
    ($($kernel:ident $swizzle:ident;)*) => {$(
        #[kernel(threads = 128, target = "sm_80")]
        pub fn $kernel(
            block: &Block,
            #[shared] tile_a: SharedTile<bf16, 64, 64, $swizzle>,
            #[shared] tile_b: SharedTile<bf16, 64, 64, $swizzle>,
            a: Global<bf16>,
            b: Global<bf16>,
            d: GlobalMut<f32>,
        ) {
            product_64::<_, BuildTarget>(block, tile_a, tile_b, a, b, d);
        }
    )*};
}
products! {
    product_64_unswizzled Unswizzled;
    product_64_swizzle_32 Swizzle32;
    product_64_swizzle_64 Swizzle64;
    product_64_swizzle_128 Swizzle128;
}

/// D = A x B: 64x128x64, row-major, by `wgmma`. The left half of D is stored while the right half
/// is computed.
#[kernel(threads = 128, target = "sm_90a")]
pub fn product_in_halves(
    block: &Block,
    #[shared] tile_a: SharedTile<bf16, 64, 64, Swizzle128>,
    #[shared] left: SharedTile<bf16, 64, 64, Swizzle128>,
    #[shared] right: SharedTile<bf16, 64, 64, Swizzle128>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
) {
    let group = block.warp_group();
    tile_a.fill(group, |row, k| a.get(row * 64 + k));
    left.fill(group, |k, col| b.get(k * 128 + col));
    right.fill(group, |k, col| b.get(k * 128 + 64 + col));
    group.warp().fence_for_bulk();
    group.sync();
    // Separate variables: an array of accumulators that is indexed dynamically would be in memory.
    let mut left_acc = GroupAccumulator::<64, f32>::zero().begin(group);
    let mut right_acc = GroupAccumulator::<64, f32>::zero().begin(group);
    Wgmma::<64, bf16, bf16, f32>::issue(group, &mut left_acc, |issue| {
        (0..4).for_each(|k| {
            issue.accumulate(tile_a.matrix_a((0, k * 16)), left.matrix_b((k * 16, 0)))
        });
    });
    Wgmma::<64, bf16, bf16, f32>::issue(group, &mut right_acc, |issue| {
        (0..4).for_each(|k| {
            issue.accumulate(tile_a.matrix_a((0, k * 16)), right.matrix_b((k * 16, 0)))
        });
    });
    left_acc
        .finish_behind::<1>(group)
        .for_each(group, |row, col, value| d.set(row * 128 + col, value));
    right_acc.finish(group).for_each(group, |row, col, value| d.set(row * 128 + 64 + col, value));
}
