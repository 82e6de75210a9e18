//! One warp multiplies 16x8x16 matrices: `ldmatrix`, `mma.sync`, and a store from registers.
//!
//! ```sh
//! cargo run --example tile_product
//! ```

use ptx_matrix::prelude::*;

/// D = A x B: A is 16x16, B is 16x8, all row-major; bf16 with f32 accumulators.
#[kernel(threads = 32, target = "sm_80")]
fn multiply_tile(
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
    let a = FragmentA::<M16N8K16, bf16>::load(warp, &tile_a, At::<0, 0>); // ldmatrix.x4
    let b = FragmentB::<M16N8K16, bf16>::load(warp, &tile_b, At::<0, 0>); // ldmatrix.x2.trans
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &a, &b); // mma.sync.m16n8k16
    acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
}

fn main() {
    let value = |i: usize| bf16::from_f32((i % 7) as f32 - 3.0);
    let a: Vec<bf16> = (0..16 * 16).map(value).collect();
    let b: Vec<bf16> = (0..16 * 8).map(value).collect();
    let mut d = [0.0; 16 * 8];
    multiply_tile::simulate(1, &a, &b, &mut d).check();

    let reference = |row: usize, col: usize| -> f32 {
        (0..16).map(|k| a[row * 16 + k].to_f32() * b[k * 8 + col].to_f32()).sum()
    };
    assert!((0..d.len()).all(|i| d[i] == reference(i / 8, i % 8)));
    println!("all {} elements are right; the first are {:?}", d.len(), &d[..4]);
}
