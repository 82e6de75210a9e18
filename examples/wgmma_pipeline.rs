//! Warp specialization on Hopper: a producer loads tiles by TMA, a consumer multiplies by `wgmma`.
//! Tiles pass through a ring of stages. `full`: the stage has landed; `empty`: it has been read.
//! To run it: `cargo run --example wgmma_pipeline`

use ptx_matrix::launch::Tensor;
use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::Simulator;

const STAGES: usize = 3; // The producer is at most three steps along K ahead.
const M: usize = 64;
const N: usize = 64;
const K: usize = 512;
// A stage: 64 x 64 elements of A, and of B. `wgmma` and TMA know the 128-byte swizzle.
type TileA = SharedTile<bf16, 64, 64, Swizzle128>;
type TileB = SharedTile<bf16, 64, 64, Swizzle128, ColMajor>;

/// D = A x B: row-major A, column-major B, `k` a multiple of 64.
#[kernel(threads = 256, target = "sm_90a")] // Two warpgroups: warps 0 to 3, and 4 to 7.
fn multiply(
    block: &Block,
    #[shared] stages: SharedRing<(TileA, TileB), STAGES>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, STAGES>, SharedRing<BarrierMemory, STAGES>),
    a: TensorMap<TileA, 2>,
    b: TensorMap<TileB, 2>,
    d: GlobalMut<f32>,
    k: u32,
) {
    // Setup: a phase of `full` ends after 1 arrival and its bytes; of `empty`, after 4, one a warp.
    let (full, empty) = (full.init(block, 1), empty.init(block, 4));
    let (group, warp) = (block.warp_group(), block.warp());
    let mut state = PipelineState::FIRST; // Stage 0 and its phase; `next` moves on.
    if group.index() == 0 {
        // Producer: only warp 0 works; warps 1 to 3 skip the loop.
        let end = if warp.index() == 0 { k as i32 } else { 0 };
        for first_k in (0..end).step_by(64) {
            let ((tile_a, tile_b), full) = (stages.stage(state.index()), full.stage(state.index()));
            empty.stage(state.index()).wait(warp, state.prev_phase()); // Free in round 1.
            warp.elect(|lane| {
                full.arrive_expecting(lane, TileA::BOX_BYTES + TileB::BOX_BYTES); // Announces.
                tile_a.load_tma(lane, a.at([first_k, 0]), full); // [column, row]. Does not wait.
                tile_b.load_tma(lane, b.at([first_k, 0]), full);
            });
            state = state.next();
        }
    } else {
        // Consumer: 128 threads hold 64 x 64 accumulators. A `wgmma` takes 16 elements along K.
        let mut acc = GroupAccumulator::<64, f32>::zero();
        for _ in 0..k / 64 {
            full.stage(state.index()).wait(warp, state.phase()); // The tiles have landed.
            let (tile_a, tile_b) = stages.stage(state.index());
            let mut in_flight = acc.begin(group); // Nothing can read `acc` until `finish`.
            Wgmma::<64, bf16, bf16, f32>::issue(group, &mut in_flight, |issue| {
                for k in 0..4 {
                    issue.accumulate(tile_a.matrix_a((0, k * 16)), tile_b.matrix_b((k * 16, 0)));
                }
            });
            acc = in_flight.finish(group); // Waits: the stage has been read.
            warp.elect(|lane| _ = empty.stage(state.index()).arrive(lane)); // Releases it.
            state = state.next();
        }
        // Epilogue: each lane stores the elements that it holds.
        acc.for_each(group, |row, col, value| d.set(row * N + col, value));
    }
}

fn main() {
    let value = |i: usize| bf16::from_f32((i % 5) as f32 - 2.0);
    let values = |len: usize| (0..len).map(value).collect::<Vec<bf16>>();
    let (a, b) = (values(M * K), values(K * N));
    let (mut d, device) = (vec![0.0; M * N], Simulator::new(0)); // On a GPU: `GpuDevice`, `upload`.
    let map_a = Tensor::<TileA, 2>::new([K, M]).map(&device, &a[..]).unwrap();
    let map_b = Tensor::<TileB, 2>::new([K, N]).map(&device, &b[..]).unwrap();
    multiply::launch(&device, 1, &map_a, &map_b, &mut d[..], K as u32).check();
    let reference = |row: usize, col: usize| -> f32 {
        (0..K).map(|k| a[row * K + k].to_f32() * b[col * K + k].to_f32()).sum() // B: column-major.
    };
    assert!((0..d.len()).all(|i| d[i] == reference(i / N, i % N)));
    println!("all {} elements are right; the first are {:?}", d.len(), &d[..4]);
}
