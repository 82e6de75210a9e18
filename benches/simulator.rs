//! The speed of the simulator with all its checks: `cargo bench -p ptx-matrix`.

use core::array::from_fn;
use ptx_matrix::copy::CpAsync;
use ptx_matrix::prelude::*;

type Stage = (SharedTile<bf16, 64, 32, Swizzle64>, SharedTile<bf16, 32, 64, Swizzle128>);

/// D = A x B, row-major; M, N and K are multiples of 64. A block computes 64x64 of D with
/// `cp.async`, `ldmatrix` and `mma`.
#[kernel(threads = 128, target = "sm_80")]
fn product(
    block: &Block,
    #[shared] stages: SharedRing<Stage, 2>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
    n: usize,
    k: usize,
) {
    let warp = block.warp();
    let (block_top, block_left) = (block.index().y as usize * 64, block.index().x as usize * 64);
    let start = |step: usize| {
        if step * 32 < k {
            let (tile_a, tile_b) = stages.part(step % 2);
            tile_a.copy_async(block, a, |row, col| (block_top + row) * k + step * 32 + col);
            tile_b.copy_async(block, b, |row, col| (step * 32 + row) * n + block_left + col);
        }
        CpAsync::<16>::commit(warp);
    };
    start(0);
    let (top, left) = (warp.index() / 2 * 32, warp.index() % 2 * 32);
    let mut acc: [[Accumulator<M16N8K16, f32>; 4]; 2] = Zeroable::zeroed();
    for step in 0..k / 32 {
        CpAsync::<16>::wait::<0>(warp);
        block.sync();
        start(step + 1);
        let (tile_a, tile_b) = stages.part(step % 2);
        for k in [0, 16] {
            let a: [_; 2] =
                from_fn(|i| FragmentA::<M16N8K16, bf16>::load(warp, &tile_a, (top + i * 16, k)));
            let b: [_; 4] =
                from_fn(|j| FragmentB::<M16N8K16, bf16>::load(warp, &tile_b, (k, left + j * 8)));
            for (a, acc) in a.iter().zip(&mut acc) {
                for (b, acc) in b.iter().zip(acc) {
                    Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, acc, a, b);
                }
            }
        }
    }
    let (top, left) = (block_top + top, block_left + left);
    for (i, acc) in acc.iter().enumerate() {
        for (j, acc) in acc.iter().enumerate() {
            acc.for_each(warp, |row, col, value| {
                d.set((top + i * 16 + row) * n + left + j * 8 + col, value)
            });
        }
    }
}

/// The simulator works the same for each element of K, so the times must be proportional to `k`.
#[divan::bench(args = [64, 128, 256, 512], sample_count = 5)]
fn product_256x256(bencher: divan::Bencher, k: usize) {
    let (m, n) = (256, 256);
    let a: Vec<bf16> = (0..m * k).map(|i| bf16::from_f32((i % 7) as f32 - 3.0)).collect();
    let b: Vec<bf16> = (0..k * n).map(|i| bf16::from_f32((i % 5) as f32 - 2.0)).collect();
    let mut d = vec![0.0; m * n];
    bencher.bench_local(|| {
        product::simulate((n as u32 / 64, m as u32 / 64), &a, &b, &mut d, n, k).unwrap()
    });
    let expected: f32 = (0..k).map(|i| a[3 * k + i].to_f32() * b[i * n + 200].to_f32()).sum();
    assert_eq!(d[3 * n + 200], expected);
}

fn main() {
    divan::main();
}
