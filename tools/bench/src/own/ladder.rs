//! The steps of the ladder (the GEMM tutorial) after the naive one.

use anyhow::Result;
use half::bf16;
use ptx_matrix::lane::Grid;
use ptx_matrix_ladder::ldmatrix::ldmatrix_bf16;
use ptx_matrix_ladder::pipelined::pipelined_bf16;
use ptx_matrix_ladder::shared::{self, shared_bf16};
use ptx_matrix_ladder::swizzled::swizzled_bf16;
use ptx_matrix_ladder::{self};

use crate::{Contestant, Gemms, Layout, Operands, Problem, Shape, Type};
use ptx_matrix_host::{DeviceBuffer, GpuDevice, GpuError, InStream, Stream};

/// The launch function of a step; it takes the grid, A, B, D, N and K.
type Launch = fn(
    &InStream<'_>,
    Grid,
    &DeviceBuffer<bf16>,
    &DeviceBuffer<bf16>,
    &mut DeviceBuffer<bf16>,
    usize,
    usize,
) -> Result<(), GpuError>;

/// A step of the ladder.
pub(super) struct Step<'a> {
    device: &'a GpuDevice,
    name: &'static str,
    /// The tile of a block in M, N and K.
    tile: (usize, usize, usize),
    launch: Launch,
}

impl<'a> Step<'a> {
    /// The steps in order.
    pub(super) fn all(device: &'a GpuDevice) -> impl Iterator<Item = Self> {
        let steps: [(&'static str, _, Launch); 4] = [
            ("shared", shared::TILE, |q, grid, a, b, d, n, k| {
                shared_bf16::launch(q, grid, a, b, d, n, k)
            }),
            ("ldmatrix", ptx_matrix_ladder::TILE, |q, grid, a, b, d, n, k| {
                ldmatrix_bf16::launch(q, grid, a, b, d, n, k)
            }),
            ("pipelined", ptx_matrix_ladder::TILE, |q, grid, a, b, d, n, k| {
                pipelined_bf16::launch(q, grid, a, b, d, n, k)
            }),
            ("swizzled", ptx_matrix_ladder::TILE, |q, grid, a, b, d, n, k| {
                swizzled_bf16::launch(q, grid, a, b, d, n, k)
            }),
        ];
        steps.into_iter().map(move |(name, tile, launch)| Self { device, name, tile, launch })
    }
}

impl Contestant for Step<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn supports(&self, problem: &Problem) -> bool {
        let (Shape { m, n, k }, tile) = (problem.shape, self.tile);
        let whole_tiles =
            m.is_multiple_of(tile.0) && n.is_multiple_of(tile.1) && k.is_multiple_of(tile.2);
        problem.ty == Type::Bf16
            && problem.layout == Layout::Nn
            && problem.gemms == Gemms::One
            && whole_tiles
    }

    fn run(&self, stream: &Stream, problem: &Problem, operands: &mut Operands) -> Result<()> {
        let Shape { m, n, k } = problem.shape;
        let grid = Grid::from(((n / self.tile.1) as u32, (m / self.tile.0) as u32));
        let (a, b) = (operands.a.cast_ref(), operands.b.cast_ref());
        Ok((self.launch)(&self.device.in_stream(stream), grid, a, b, operands.d.cast_mut(), n, k)?)
    }
}
