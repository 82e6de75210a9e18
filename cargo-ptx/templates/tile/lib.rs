//! D = A x B with `ldmatrix` and `mma.sync`. `cargo test` runs the kernel on the CPU.

#![cfg_attr(target_arch = "nvptx64", no_std)]

use ptx_matrix::prelude::*;

/// The part of D that a block computes: one `mma` of 16x8x16 at a time. Larger tiles take more
/// fragments.
pub const TILE_M: usize = 16;
pub const TILE_N: usize = 8;
/// The columns of A that are in shared memory at a time.
pub const TILE_K: usize = 16;

/// D = A x B by one warp for each tile: row-major, bf16 into f32. The sizes are multiples of the
/// tile's: see [`grid`].
#[kernel(threads = 32, target = "sm_80")]
pub fn multiply(
    block: &Block,
    #[shared] tile_a: SharedTile<bf16, TILE_M, TILE_K>,
    #[shared] tile_b: SharedTile<bf16, TILE_K, TILE_N>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
    n: u32,
    k: u32,
) {
    let (warp, n, k) = (block.warp(), n as usize, k as usize);
    let first_row = block.index().y as usize * TILE_M;
    let first_col = block.index().x as usize * TILE_N;
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    for first_k in (0..k).step_by(TILE_K) {
        tile_a.fill(warp, |row, col| {
            a.get((first_row + row) * k + first_k + col)
        });
        tile_b.fill(warp, |row, col| {
            b.get((first_k + row) * n + first_col + col)
        });
        block.sync();
        let a = FragmentA::<M16N8K16, bf16>::load(warp, &tile_a, At::<0, 0>); // ldmatrix.x4
        let b = FragmentB::<M16N8K16, bf16>::load(warp, &tile_b, At::<0, 0>); // ldmatrix.x2.trans
        Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &a, &b); // mma.sync
        block.sync(); // Without it, `cargo test` reports a race with the next `fill`.
    }
    acc.for_each(warp, |row, col, value| {
        d.set((first_row + row) * n + first_col + col, value)
    });
}

/// The grid for these sizes: a block for each tile of D.
///
/// # Panics
/// A size is not a multiple of the tile's.
#[cfg(not(target_arch = "nvptx64"))]
pub fn grid(m: usize, n: usize, k: usize) -> (u32, u32) {
    for (name, size, tile) in [("m", m, TILE_M), ("n", n, TILE_N), ("k", k, TILE_K)] {
        assert!(
            size.is_multiple_of(tile),
            "{name} is {size}, and this kernel takes multiples of {tile}; for any size, use \
             the crate `ptx-matrix-gemm`"
        );
    }
    ((n / TILE_N) as u32, (m / TILE_M) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_a_plain_loop() {
        let (m, n, k) = (32, 24, 48);
        let value = |i: usize| bf16::from_f32((i % 7) as f32 - 3.0);
        let a: Vec<bf16> = (0..m * k).map(value).collect();
        let b: Vec<bf16> = (0..k * n).map(value).collect();
        let mut d = vec![0.0; m * n];
        let grid = grid(m, n, k);
        multiply::simulate(grid, &a, &b, &mut d, n as u32, k as u32).check();
        for (i, &value) in d.iter().enumerate() {
            let (row, col) = (i / n, i % n);
            let product = |j: usize| a[row * k + j].to_f32() * b[j * n + col].to_f32();
            let expected: f32 = (0..k).map(product).sum();
            assert_eq!(value, expected, "row {row}, column {col}");
        }
    }
}
