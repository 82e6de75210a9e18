//! A convolution as an implicit GEMM: a row of A has the input pixels under the filter, for one
//! output pixel. TMA in im2col mode loads it from the images, one filter pixel at a time, padding
//! included. A is never materialized.

#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::{Device, LaunchError};

use ptx_matrix::copy::Im2col;
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::{Im2colTensor, Tensor};
use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;

/// 64 channels of 64 pixels: rows of A, for one pixel of the filter.
pub type Pixels = SharedTile<bf16, 64, 64, Swizzle128>;
/// The same 64 channels of 64 filters: columns of B.
pub type Filters = SharedTile<bf16, 64, 64, Swizzle128, ColMajor>;

/// Pipeline stages.
const STAGES: usize = 2;

/// Each block computes 64 output pixels, counted through the images, for 64 filters.
#[kernel(threads = 128, target = "sm_90a")]
pub fn convolution(
    block: &Block,
    #[shared] stages: SharedRing<(Pixels, Filters), STAGES>,
    #[shared] full: SharedRing<BarrierMemory, STAGES>,
    images: TensorMap<Pixels, 4, Im2col>,
    filters: TensorMap<Filters, 3>,
    out: GlobalMut<f32>,
    channels: u32,
    filter_width: u32,
    filter_height: u32,
    filter_count: u32,
    out_width: u32,
    out_height: u32,
    stride: u32,
    padding: u32,
) {
    let full = full.init(block, 1);
    let (group, warp) = (block.warp_group(), block.warp());
    let (row, col) = (block.index().x * 64, block.index().y * 64);

    // The filter's position for the first pixel. The bounding box contains all positions.
    let place = |of: u32| (of * stride) as i32 - padding as i32;
    let (x, y) = (place(row % out_width), place(row / out_width % out_height));
    let image = (row / (out_width * out_height)) as i32;

    // K runs over the filter's pixels, with 64 channels of each at a time.
    let slices = channels.div_ceil(64);
    let steps = slices * filter_width * filter_height;
    let load = |step: u32, state: PipelineState<STAGES>| {
        let ((pixels, columns), full) = (stages.stage(state.index()), full.stage(state.index()));
        let (channel, of_filter) = ((step % slices * 64) as i32, step / slices);
        let offsets = [(of_filter % filter_width) as u16, (of_filter / filter_width) as u16];
        if warp.index() == 0 {
            warp.elect(|lane| {
                full.arrive_expecting(lane, Pixels::BOX_BYTES + Filters::BOX_BYTES);
                pixels.load_tma(lane, images.at([channel, x, y, image], offsets), full);
                columns.load_tma(lane, filters.at([channel, col as i32, of_filter as i32]), full);
            });
        }
    };

    let mut acc = GroupAccumulator::<64, f32>::zero();
    let mut state = PipelineState::FIRST;
    load(0, state);
    for step in 0..steps {
        if step + 1 < steps {
            load(step + 1, state.next());
        }
        full.stage(state.index()).wait(warp, state.phase());
        let (pixels, columns) = stages.stage(state.index());
        let mut in_flight = acc.begin(group);
        Wgmma::<64, bf16, bf16, f32>::issue(group, &mut in_flight, |issue| {
            for k in 0..4 {
                issue.accumulate(pixels.matrix_a((0, k * 16)), columns.matrix_b((k * 16, 0)));
            }
        });
        acc = in_flight.finish(group);
        // The stage is refilled after all four warps have multiplied.
        group.sync();
        state = state.next();
    }

    acc.for_each(group, |r, c, sum| {
        let (row, col) = (row as usize + r, col as usize + c);
        let index = row * filter_count as usize + col;
        if col < filter_count as usize && index < out.len() {
            out.set(index, sum);
        }
    });
}

/// A convolution problem: images, and filters with as many channels. Channels are multiples of 8.
#[derive(Debug, Clone, Copy)]
pub struct Convolution {
    /// Channels, width, height and number of the images. Channels are contiguous (NHWC).
    pub images: [usize; 4],
    /// Width and height of the filters.
    pub filter: [usize; 2],
    /// The number of filters.
    pub filters: usize,
    /// Zero padding on each side of an image, in pixels.
    pub padding: usize,
    /// The stride of the filter, in pixels.
    pub stride: usize,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Convolution {
    /// Width and height of the output. Its channels are the filters.
    pub fn out(&self) -> [usize; 2] {
        core::array::from_fn(|d| {
            (self.images[1 + d] + 2 * self.padding - self.filter[d]) / self.stride + 1
        })
    }

    /// Elements of the images, of the filters and of the output.
    pub fn lens(&self) -> [usize; 3] {
        let ([channels, width, height, images], [out_width, out_height]) =
            (self.images, self.out());
        let [across, down] = self.filter;
        [
            channels * width * height * images,
            channels * self.filters * across * down,
            self.filters * out_width * out_height * images,
        ]
    }

    /// Computes the output: for each pixel, all filters. The filters' layout is (filter pixel,
    /// filter, channel), with the channels contiguous.
    ///
    /// # Errors
    /// The tensor map's, or the device's.
    pub fn run<D: Device>(
        &self,
        device: &D,
        images: &D::Buffer<bf16>,
        filters: &D::Buffer<bf16>,
        out: &mut D::Buffer<f32>,
    ) -> Result<D::Report, LaunchError<D::Error>> {
        let ([channels, _, _, count], [across, down], [out_width, out_height]) =
            (self.images, self.filter, self.out());
        let padding = self.padding as i32;
        let upper = self.filter.map(|pixels| padding - (pixels as i32 - 1));
        let places =
            Im2colTensor::new(self.images).corners([-padding; 2], upper).steps([self.stride; 2]);
        let images = places.map(device, images).map_err(LaunchError::TensorMap)?;
        let filters = Tensor::new([channels, self.filters, across * down]).map(device, filters);
        let filters = filters.map_err(LaunchError::TensorMap)?;
        let grid = (
            (out_width * out_height * count).div_ceil(64) as u32,
            self.filters.div_ceil(64) as u32,
        );
        let [channels, across, down, filter_count, out_width, out_height, stride, padding] = [
            channels,
            across,
            down,
            self.filters,
            out_width,
            out_height,
            self.stride,
            self.padding,
        ]
        .map(|number| number as u32);
        convolution::launch(
            device,
            grid,
            &images,
            &filters,
            out,
            channels,
            across,
            down,
            filter_count,
            out_width,
            out_height,
            stride,
            padding,
        )
        .map_err(LaunchError::Device)
    }
}
