//! A convolution as implicit GEMM: TMA in im2col mode loads the pixels, and `wgmma` multiplies
//! them with the filters. 3x3 filters, padding 1, NHWC.
//!
//! ```sh
//! cargo run --example convolution
//! ```

use ptx_matrix::copy::Im2col;
use ptx_matrix::launch::{Im2colTensor, Tensor};
use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::Simulator;

/// Width and height of the image; channels in, and out.
const W: usize = 16;
const H: usize = 8;
const C: usize = 64;
/// A: 64 pixels x 64 channels. B: 64 channels x 64 filters.
type Pixels = SharedTile<bf16, 64, 64, Swizzle128>;
type Filters = SharedTile<bf16, 64, 64, Swizzle128, ColMajor>;

/// A block computes 64 pixels of the output for 64 filters. K is 9 pixels x 64 channels.
#[kernel(threads = 128, target = "sm_90a")]
fn convolution(
    block: &Block,
    #[shared] pixels: Pixels,
    #[shared] filters: Filters,
    #[shared] full: BarrierMemory,
    image: TensorMap<Pixels, 4, Im2col>,
    weights: TensorMap<Filters, 3>,
    out: GlobalMut<f32>,
) {
    let (group, warp, full) = (block.warp_group(), block.warp(), full.init(block, 1));
    let first = block.index().x as usize * 64;
    let (x, y) = ((first % W) as i32 - 1, (first / W) as i32 - 1);
    let (mut acc, mut phase) = (GroupAccumulator::<64, f32>::zero(), Phase::FIRST);
    for tap in 0..9u16 {
        if warp.index() == 0 {
            warp.elect(|lane| {
                full.arrive_expecting(lane, Pixels::BOX_BYTES + Filters::BOX_BYTES);
                pixels.load_tma(lane, image.at([0, x, y, 0], [tap % 3, tap / 3]), full);
                filters.load_tma(lane, weights.at([0, 0, tap as i32]), full);
            });
        }
        phase = full.wait(warp, phase);
        let mut in_flight = acc.begin(group);
        Wgmma::<64, bf16, bf16, f32>::issue(group, &mut in_flight, |issue| {
            for k in 0..4 {
                issue.accumulate(pixels.matrix_a((0, k * 16)), filters.matrix_b((k * 16, 0)));
            }
        });
        acc = in_flight.finish(group);
        group.sync(); // All warps have read the tiles before the next loads.
    }
    acc.for_each(group, |row, col, value| out.set((first + row) * C + col, value));
}

fn main() {
    let value = |i: usize| bf16::from_f32((i % 3) as f32 - 1.0);
    let image: Vec<bf16> = (0..W * H * C).map(value).collect();
    let weights: Vec<bf16> = (0..9 * C * C).map(value).collect();
    let (mut out, device) = (vec![0.0; W * H * C], Simulator::new(0));
    // The filter's first pixel lies on (-1, -1) first, and on (W - 2, H - 2) last.
    let pixels = Im2colTensor::new([C, W, H, 1]).corners([-1; 2], [-1; 2]);
    let pixels = pixels.map(&device, &image[..]).unwrap();
    let filters = Tensor::<Filters, 3>::new([C, C, 9]).map(&device, &weights[..]).unwrap();
    convolution::launch(&device, (W * H / 64) as u32, &pixels, &filters, &mut out[..]).check();

    let reference = |x: usize, y: usize, filter: usize| -> f32 {
        let inside = |tap: usize| (x + tap % 3).checked_sub(1).zip((y + tap / 3).checked_sub(1));
        let taps = (0..9).filter_map(|tap| Some((tap, inside(tap)?)));
        let taps = taps.filter(|&(_, (x, y))| x < W && y < H);
        let of = |(tap, (x, y)): (usize, (usize, usize)), c: usize| {
            image[(y * W + x) * C + c].to_f32() * weights[(tap * C + filter) * C + c].to_f32()
        };
        taps.map(|tap| (0..C).map(|c| of(tap, c)).sum::<f32>()).sum()
    };
    assert!((0..out.len()).all(|i| out[i] == reference(i / C % W, i / C / W, i % C)));
    println!("all {} elements are right; the first are {:?}", out.len(), &out[..4]);
}
