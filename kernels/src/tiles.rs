//! Whole tiles: one `mma`, and a 64x64x64 product through shared memory.

use core::array::from_fn;
use ptx_matrix::*;

/// D = A x B for one fragment of each: 16x8x16, row-major, bf16 into f32.
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
    tile_a.fill(warp, |row, col| a.get(row * 16 + col));
    tile_b.fill(warp, |row, col| b.get(row * 8 + col));
    block.sync();
    let a = FragmentA::<M16N8K16, bf16>::load(warp, &tile_a, At::<0, 0>);
    let b = FragmentB::<M16N8K16, bf16>::load(warp, &tile_b, At::<0, 0>);
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &a, &b);
    acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
}

/// D = A x B, 64x64x64, by four warps of 32x32 each.
#[inline(always)]
fn product_64<S: Swizzle>(
    block: &Block,
    tile_a: SharedTile<bf16, 64, 64, S>,
    tile_b: SharedTile<bf16, 64, 64, S>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
) {
    tile_a.fill(block, |row, col| a.get(row * 64 + col));
    tile_b.fill(block, |row, col| b.get(row * 64 + col));
    block.sync();
    let warp = block.warp();
    let (top, left) = (warp.index() / 2 * 32, warp.index() % 2 * 32);
    // All addresses first, so that the main loop is nothing but loads and products.
    let rows_a: [[_; 2]; 4] =
        from_fn(|k| from_fn(|i| FragmentA::<M16N8K16, bf16>::rows(warp, &tile_a, (top + i * 16, k * 16))));
    let rows_b: [[_; 4]; 4] =
        from_fn(|k| from_fn(|j| FragmentB::<M16N8K16, bf16>::rows(warp, &tile_b, (k * 16, left + j * 8))));
    let mut acc: [[Accumulator<M16N8K16, f32>; 4]; 2] = Zeroable::zeroed();
    for k in 0..4 {
        let a = rows_a[k].map(|rows| FragmentA::load_rows(warp, rows));
        let b = rows_b[k].map(|rows| FragmentB::load_rows(warp, rows));
        for i in 0..2 {
            for j in 0..4 {
                Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc[i][j], &a[i], &b[j]);
            }
        }
    }
    for i in 0..2 {
        for j in 0..4 {
            acc[i][j].for_each(warp, |row, col, value| d.set((top + i * 16 + row) * 64 + left + j * 8 + col, value));
        }
    }
}

#[kernel(threads = 128, target = "sm_80")]
pub fn product_64_swizzle_128(
    block: &Block,
    #[shared] tile_a: SharedTile<bf16, 64, 64, Swizzle128>,
    #[shared] tile_b: SharedTile<bf16, 64, 64, Swizzle128>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
) {
    product_64(block, tile_a, tile_b, a, b, d);
}
#[kernel(threads = 128, target = "sm_80")]
pub fn product_64_unswizzled(
    block: &Block,
    #[shared] tile_a: SharedTile<bf16, 64, 64>,
    #[shared] tile_b: SharedTile<bf16, 64, 64>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
) {
    product_64(block, tile_a, tile_b, a, b, d);
}
