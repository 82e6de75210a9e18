//! A product with a long K, which several blocks share: each multiplies its part of K, and the one
//! that comes last adds the parts of all.
//!
//! ```sh
//! cargo run --example split_k
//! ```

use ptx_matrix::copy::reduction::Add;
use ptx_matrix::prelude::*;
use ptx_matrix::sync::{AcquireRelease, Relaxed};

type A = FragmentA<M16N8K16, bf16>;
type B = FragmentB<M16N8K16, bf16>;
type Sum = Accumulator<M16N8K16, f32>;

/// Elements of D.
const TILE: usize = 16 * 8;

/// D = A x B: A is 16 x K, B is K x 8, all row-major. `parts` has a tile for each block, and
/// `done[0]` is 0 before and after the launch.
#[kernel(threads = 32, target = "sm_80")]
fn multiply(
    block: &Block,
    k: u32,
    a: Global<bf16>,
    b: Global<bf16>,
    parts: GlobalMut<f32>,
    done: GlobalAtomic<u32>,
    d: GlobalMut<f32>,
) {
    let (warp, blocks) = (block.warp(), block.grid().x as usize);
    let (index, k) = (block.index().x as usize, k as usize);
    let steps = (k / 16).div_ceil(blocks);
    let mut sum = Sum::zero();
    for step in (index * steps..k / 16).take(steps) {
        let a = A::from_fn(warp, |row, col| a.get(row * k + step * 16 + col));
        let b = B::from_fn(warp, |row, col| b.get((step * 16 + row) * 8 + col));
        Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut sum, &a, &b);
    }
    sum.for_each(warp, |row, col, value| parts.set(index * TILE + row * 8 + col, value));
    warp.sync(); // before lane 0 releases what all lanes wrote
    let before = warp.each(|lane| match lane.id() {
        0 => done.fetch(lane, Add, 0, 1, AcquireRelease) as usize,
        _ => 0,
    });
    if warp.broadcast(&before) == blocks - 1 {
        warp.sync(); // after it, all lanes see what lane 0 has acquired
        warp.each(|lane| {
            for i in (lane.id()..TILE).step_by(32) {
                let of_part = |part: usize| parts.get(lane, part * TILE + i);
                d.set(i, (0..blocks).map(of_part).sum());
            }
            if lane.id() == 0 {
                done.store(lane, 0, 0, Relaxed); // for the next launch
            }
        });
    }
}

fn main() {
    let (k, blocks) = (1000 / 16 * 16, 7);
    let value = |i: usize| bf16::from_f32((i % 7) as f32 - 3.0);
    let a: Vec<bf16> = (0..16 * k).map(value).collect();
    let b: Vec<bf16> = (0..k * 8).map(value).collect();
    let (mut parts, mut done, mut d) = (vec![0.0; blocks * TILE], [0], [0.0; TILE]);
    for _ in 0..2 {
        multiply::simulate(blocks as u32, k as u32, &a, &b, &mut parts, &mut done, &mut d).check();
    }
    let reference = |row: usize, col: usize| -> f32 {
        (0..k).map(|i| a[row * k + i].to_f32() * b[i * 8 + col].to_f32()).sum()
    };
    assert!((0..TILE).all(|i| d[i] == reference(i / 8, i % 8)) && done == [0]);
    println!("{blocks} blocks: all {TILE} elements are right; the first are {:?}", &d[..4]);
}
