//! D = A x B on Hopper: a producer loads tiles by TMA, a consumer multiplies them by `wgmma`.
//! `cargo test` runs the kernel on the CPU.

#![cfg_attr(target_arch = "nvptx64", no_std)]

use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;

/// The part of D that a block computes.
pub const TILE_M: usize = 64;
pub const TILE_N: usize = 64;
/// The columns of A in a stage: a row has 128 bytes.
pub const TILE_K: usize = 64;
const STAGES: usize = 3;

pub type TileA = SharedTile<bf16, TILE_M, TILE_K, Swizzle128>;
pub type TileB = SharedTile<bf16, TILE_K, TILE_N, Swizzle128, ColMajor>;

/// D = A x B: row-major A and D, column-major B, bf16 into f32. The sizes are multiples of the
/// tile's: see [`grid`].
///
/// ```text
///   warpgroup 0, producer:  wait empty[s] -> TMA loads into stage s, which complete full[s]
///   warpgroup 1, consumer:  wait full[s]  -> wgmma on stage s       -> arrive at empty[s]
/// ```
#[kernel(threads = 256, target = "sm_90a")]
pub fn multiply(
    block: &Block,
    #[shared] stages: SharedRing<(TileA, TileB), STAGES>,
    #[shared] (full, empty): (
        SharedRing<BarrierMemory, STAGES>,
        SharedRing<BarrierMemory, STAGES>,
    ),
    a: TensorMap<TileA, 2>,
    b: TensorMap<TileB, 2>,
    d: GlobalMut<f32>,
    n: u32,
    k: u32,
) {
    // A phase of `full` takes the producer's arrival and its bytes; one of `empty`, four warps.
    let (full, empty) = (full.init(block, 1), empty.init(block, 4));
    let (group, warp) = (block.warp_group(), block.warp());
    let first_row = block.index().y as usize * TILE_M;
    let first_col = block.index().x as usize * TILE_N;
    let steps = k as usize / TILE_K;
    let mut state = PipelineState::FIRST;
    if group.index() == 0 {
        // Producer: its first warp.
        for step in 0..if warp.index() == 0 { steps } else { 0 } {
            let ((tile_a, tile_b), full) = (stages.stage(state.index()), full.stage(state.index()));
            empty.stage(state.index()).wait(warp, state.prev_phase());
            warp.elect(|lane| {
                let first_k = (step * TILE_K) as i32;
                full.arrive_expecting(lane, TileA::BOX_BYTES + TileB::BOX_BYTES);
                tile_a.load_tma(lane, a.at([first_k, first_row as i32]), full);
                tile_b.load_tma(lane, b.at([first_k, first_col as i32]), full);
            });
            state = state.next();
        }
    } else {
        // Consumer.
        let mut acc = GroupAccumulator::<TILE_N, f32>::zero();
        for _ in 0..steps {
            full.stage(state.index()).wait(warp, state.phase());
            let (tile_a, tile_b) = stages.stage(state.index());
            let mut in_flight = acc.begin(group);
            Wgmma::<TILE_N, bf16, bf16, f32>::issue(group, &mut in_flight, |issue| {
                for k in (0..TILE_K).step_by(16) {
                    issue.accumulate(tile_a.matrix_a((0, k)), tile_b.matrix_b((k, 0)));
                }
            });
            acc = in_flight.finish(group);
            warp.elect(|lane| _ = empty.stage(state.index()).arrive(lane));
            state = state.next();
        }
        // Epilogue.
        let n = n as usize;
        acc.for_each(group, |row, col, value| {
            d.set((first_row + row) * n + first_col + col, value)
        });
    }
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
    use ptx_matrix::launch::{Device, Tensor};
    use ptx_matrix::sim::Simulator;

    #[test]
    fn equals_a_plain_loop() {
        let (m, n, k) = (128, 64, 320);
        let value = |i: usize| bf16::from_f32((i % 5) as f32 - 2.0);
        let a: Vec<bf16> = (0..m * k).map(value).collect();
        let b: Vec<bf16> = (0..k * n).map(value).collect();
        let device = Simulator::default();
        let (on_device_a, on_device_b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
        let mut d = device.upload(&vec![0.0f32; m * n]).unwrap();
        // The contiguous dimension comes first: both are K-major.
        let map_a = Tensor::<TileA, 2>::new([k, m])
            .map(&device, &on_device_a)
            .unwrap();
        let map_b = Tensor::<TileB, 2>::new([k, n])
            .map(&device, &on_device_b)
            .unwrap();
        let grid = grid(m, n, k);
        multiply::launch(&device, grid, &map_a, &map_b, &mut d, n as u32, k as u32).check();
        for (i, value) in device.download(&d).unwrap().into_iter().enumerate() {
            let (row, col) = (i / n, i % n);
            let product = |j: usize| a[row * k + j].to_f32() * b[col * k + j].to_f32();
            let expected: f32 = (0..k).map(product).sum();
            assert_eq!(value, expected, "row {row}, column {col}");
        }
    }
}
