//! The arguments of a GEMM kernel, as plain data. All sizes and strides are in elements.

use super::epilogue::EpilogueArgs;
use super::number::Output;
use ptx_matrix::prelude::*;

/// The problem shape: M, N, K, the batch, split-K and the cluster's direction. It is also the
/// tile scheduler of ordinary GEMMs.
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
    /// K of each split but the last, a multiple of the tile's K; not 0. Without split-K, at least
    /// `k`. With `k` = 0 there is no tile, and D keeps its values.
    pub k_per_split: u32,
    /// Whether the blocks of a cluster have tiles adjacent along N; else along M.
    pub cluster_along_n: bool,
}

/// The place of a matrix, or of each of a batch, in its buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, KernelArgs)]
#[repr(C)]
pub struct MatrixArgs {
    /// The first element.
    pub offset: usize,
    /// The distance from one matrix of the batch to the next.
    pub batch_stride: usize,
    /// The leading dimension: the row stride, or the column stride of a column-major matrix.
    pub ld: u32,
    /// Whether the elements of a row are adjacent.
    pub row_major: bool,
}

impl MatrixArgs {
    /// The first element of a matrix of the batch.
    #[inline]
    pub fn start(&self, batch: usize) -> usize {
        self.offset + batch * self.batch_stride
    }
}

/// The arguments of a kernel that loads operand tiles by `cp.async`, or through registers.
#[derive(Clone, Copy, KernelArgs)]
pub struct AsyncArgs<'k, I: Element, O: Output> {
    /// A.
    pub a: Global<'k, I>,
    /// B.
    pub b: Global<'k, I>,
    /// One row past the last of each group, in a grouped GEMM.
    pub group_ends: Global<'k, u32>,
    /// The epilogue's arguments.
    pub epilogue: EpilogueArgs<'k, O>,
    /// The layout of A.
    pub a_layout: MatrixArgs,
    /// The layout of B.
    pub b_layout: MatrixArgs,
    /// The sizes.
    pub shape: ProblemShape,
}
