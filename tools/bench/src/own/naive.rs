//! The naive step of the ladder.

use anyhow::{Result, bail};
use half::{bf16, f16};
use ptx_matrix_ladder::naive::{
    BLOCK, naive_bf16_bf16, naive_bf16_f32, naive_f16_f16, naive_f16_f32, naive_f32_f32,
    naive_f64_f64, naive_s8_s32,
};

use crate::{Contestant, Element, Gemms, Operands, Problem, Shape, Type};
use ptx_matrix_host::{GpuDevice, Stream};

/// One thread for each element of D.
pub(super) struct Naive<'a> {
    device: &'a GpuDevice,
}

impl<'a> Naive<'a> {
    pub(super) fn new(device: &'a GpuDevice) -> Self {
        Self { device }
    }
}

impl Contestant for Naive<'_> {
    fn name(&self) -> &str {
        "naive"
    }

    fn supports(&self, problem: &Problem) -> bool {
        let rows_of_blocks = problem.shape.m.div_ceil(BLOCK.0);
        let [_, limit, _] = self.device.gpu().info().limits.grid;
        problem.gemms == Gemms::One
            && rows_of_blocks <= limit as usize
            && !matches!(problem.ty.input(), Element::E4m3 | Element::E5m2)
    }

    fn run(&self, stream: &Stream, problem: &Problem, operands: &mut Operands) -> Result<()> {
        let queue = self.device.in_stream(stream);
        let Shape { m, n, k } = problem.shape;
        let grid = (n.div_ceil(BLOCK.1) as u32, m.div_ceil(BLOCK.0) as u32);
        let ((a_row, a_col), (b_row, b_col)) = (problem.a_strides(), problem.b_strides());
        macro_rules! launch {
            ($kernel:ident $input:ty, $output:ty) => {{
                let (a, b) = (operands.a.cast_ref::<$input>(), operands.b.cast_ref::<$input>());
                let d = operands.d.cast_mut::<$output>();
                $kernel::launch(&queue, grid, a, b, d, m, n, k, a_row, a_col, b_row, b_col)?
            }};
        }
        match problem.ty {
            Type::F16 => launch!(naive_f16_f16 f16, f16),
            Type::F16F32 => launch!(naive_f16_f32 f16, f32),
            Type::Bf16 => launch!(naive_bf16_bf16 bf16, bf16),
            Type::Bf16F32 => launch!(naive_bf16_f32 bf16, f32),
            // In f32, which has more bits than tf32.
            Type::Tf32 => launch!(naive_f32_f32 f32, f32),
            Type::F64 => launch!(naive_f64_f64 f64, f64),
            Type::S8 => launch!(naive_s8_s32 i8, i32),
            ty => bail!("no naive kernel for {ty}"),
        }
        Ok(())
    }
}
