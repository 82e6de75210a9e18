//! The arguments of a GEMM kernel, as plain data. All sizes and distances are in elements.

use super::epilogue::EpilogueArgs;
use super::number::Output;
use ptx_matrix::prelude::*;

/// M, N and K, the batch, and how the work is divided.
#[derive(Clone, Copy, Debug, KernelArgs)]
#[repr(C)]
pub struct ProblemShape {
    /// Rows of A and D.
    pub m: u32,
    /// Columns of B and D.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// GEMMs of the batch.
    pub batches: u32,
    /// K of each split but the last: a multiple of the tile's. Without split-K, at least `k`.
    pub k_per_split: u32,
    /// Whether the blocks of a cluster have tiles that are adjacent along N; else along M.
    pub cluster_along_n: bool,
}

/// Where a matrix, or each of a batch, lies in its buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, KernelArgs)]
#[repr(C)]
pub struct MatrixArgs {
    /// The first element.
    pub offset: usize,
    /// From one matrix of the batch to the next.
    pub batch_stride: usize,
    /// The leading dimension: from a row to the next, or, of a column-major matrix, a column.
    pub ld: u32,
    /// Whether the elements of a row are adjacent.
    pub row_major: bool,
}

impl MatrixArgs {
    /// Where a matrix of the batch starts.
    #[inline(always)]
    pub fn start(&self, batch: usize) -> usize {
        self.offset + batch * self.batch_stride
    }
}

/// The arguments of a kernel that loads its operand tiles by `cp.async`, or through registers.
#[derive(Clone, Copy, KernelArgs)]
pub struct AsyncArgs<'k, I: Element, O: Output> {
    /// A.
    pub a: Global<'k, I>,
    /// B.
    pub b: Global<'k, I>,
    /// The row behind the last of each group of a grouped GEMM.
    pub group_ends: Global<'k, u32>,
    /// What the epilogue needs.
    pub epilogue: EpilogueArgs<'k, O>,
    /// Where A lies.
    pub a_layout: MatrixArgs,
    /// Where B lies.
    pub b_layout: MatrixArgs,
    /// The sizes.
    pub shape: ProblemShape,
}
