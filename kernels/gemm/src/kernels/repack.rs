//! Repacks A and B for a faster GEMM kernel: with aligned rows or columns, or in the other order.
//!
//! A "line" here is a row of a row-major matrix, or a column of a column-major one.

use ptx_matrix::memory::{GlobalMatrix, GlobalMatrixMut};
use ptx_matrix::prelude::*;

#[cfg(not(target_arch = "nvptx64"))]
use crate::slices::{OnSlices, Slice};

/// Lines of a block's tile, and elements of each.
const SIDE: usize = 64;
/// Lines per warp.
const LINES_EACH: usize = 8;
/// Elements of a line per lane, at a distance of 32.
const ELEMENTS_EACH: usize = SIDE / 32;

/// The tile that a block transposes.
type Tile<T> = SharedTile<T, SIDE, SIDE, Swizzle128>;

/// A matrix and its repacked form, both seen as lines.
struct Layouts<'k, T> {
    from: GlobalMatrix<'k, T>,
    /// The same matrix, or its transpose. Its lines may be longer: the padding is zero.
    to: GlobalMatrixMut<'k, T>,
    transposes: bool,
}

/// Repacks tile `index` of a matrix.
#[inline]
fn repack<T: Element>(block: &Block, tile: Tile<T>, layouts: &Layouts<'_, T>, index: usize) {
    let Layouts { from, to, transposes } = *layouts;
    let tiles_per_line = to.cols().div_ceil(SIDE);
    // The first element that this block writes.
    let (top, left) = (index / tiles_per_line * SIDE, index % tiles_per_line * SIDE);
    let (first_line, first) = if transposes { (left, top) } else { (top, left) };
    assert!(block.threads() * LINES_EACH == SIDE * 32, "the block's warps do all lines");
    let warp = block.warp();
    let line = warp.index() * LINES_EACH;
    // All loads of a lane are issued before the first result is used.
    let read = warp.each(|lane| {
        core::array::from_fn(|i| {
            core::array::from_fn(|j| {
                let (row, col) = (first_line + line + i, first + j * 32 + lane.id());
                if row < from.rows() && col < from.cols() {
                    from.get(row, col)
                } else {
                    T::zeroed()
                }
            })
        })
    });
    // A lane writes to the same pattern of places that it read.
    let write = |lane: Lane<'_>, i: usize, j: usize, element: T| {
        let (row, col) = (top + line + i, left + j * 32 + lane.id());
        if row < to.rows() && col < to.cols() {
            to.set(row, col, element);
        }
    };
    if !transposes {
        each(warp, &read, write);
        return;
    }
    each(warp, &read, |lane, i, j, element| tile.set((line + i, j * 32 + lane.id()), element));
    block.sync();
    warp.each(|lane| {
        for i in 0..LINES_EACH {
            for j in 0..ELEMENTS_EACH {
                write(lane, i, j, tile.get(lane, (j * 32 + lane.id(), line + i)));
            }
        }
    });
}

/// The elements that a lane holds.
type Held<T> = PerLane<[[T; ELEMENTS_EACH]; LINES_EACH]>;

/// Calls `visit(lane, line, index, element)` for each element that a lane holds.
#[inline]
fn each<T: Element>(
    warp: Warp<'_>,
    held: &Held<T>,
    visit: impl Fn(Lane<'_>, usize, usize, T) + LaneCapture,
) {
    warp.each(|lane| {
        for (i, elements) in lane.get(held).iter().enumerate() {
            for (j, &element) in elements.iter().enumerate() {
                visit(lane, i, j, element);
            }
        }
    });
}

/// How one matrix, or each of a batch, is repacked. All sizes and strides are in elements.
#[derive(Clone, Copy, Debug, Default, KernelArgs)]
#[repr(C)]
pub struct Repack {
    /// The first element of the first matrix, before and after.
    pub offset: usize,
    /// See [`offset`](Self::offset).
    pub offset_to: usize,
    /// The batch stride, before and after.
    pub batch_stride: usize,
    /// See [`batch_stride`](Self::batch_stride).
    pub batch_stride_to: usize,
    /// Matrices of the batch, or groups. Zero if there is nothing to repack.
    pub count: u32,
    /// Lines: rows of a row-major matrix, columns of a column-major one.
    pub lines: u32,
    /// Elements of a line.
    pub length: u32,
    /// Elements of a repacked line, with the zero padding.
    pub length_to: u32,
    /// The leading dimension, before and after.
    pub ld: u32,
    /// See [`ld`](Self::ld).
    pub ld_to: u32,
    /// Whether the other dimension becomes contiguous (a transpose).
    pub transposes: bool,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Repack {
    /// The tiles of one matrix: one block each.
    fn tiles(&self) -> u32 {
        let lines = if self.transposes { self.length } else { self.lines };
        if self.count > 0 {
            lines.div_ceil(SIDE as u32) * self.length_to.div_ceil(SIDE as u32)
        } else {
            0
        }
    }
}

/// The arguments of a `repack_*` kernel.
#[derive(Clone, Copy, KernelArgs)]
pub struct RepackArgs<'k, T: Element> {
    /// The matrices A.
    pub a: Global<'k, T>,
    /// The matrices B.
    pub b: Global<'k, T>,
    /// The destination of both.
    pub to: GlobalMut<'k, T>,
    /// How A is repacked.
    pub of_a: Repack,
    /// How B is.
    pub of_b: Repack,
    /// Blocks along x for each matrix A; the blocks from there on are for B.
    pub tiles_of_a: u32,
}

/// Repacks matrices A and B. The grid has the tiles of a matrix along x, and the matrices along y.
#[kernel(threads = 256, dependent = true, instances(
    repack_bf16(target = "sm_80") = <bf16>,
    repack_f16 = <f16>,
    repack_f32(target = "sm_80") = <f32>,
    repack_f64(target = "sm_80") = <f64>,
    repack_s8(target = "sm_80") = <i8>,
    repack_e4m3(target = "sm_89") = <F8E4M3>,
    repack_e5m2(target = "sm_89") = <F8E5M2>,
))]
pub fn repack_operands<T: Element>(block: &Block, #[shared] tile: Tile<T>, args: RepackArgs<T>) {
    let (index, matrix) = (block.index().x, block.index().y);
    let is_a = index < args.tiles_of_a;
    let of = if is_a { args.of_a } else { args.of_b };
    if matrix >= of.count {
        return;
    }
    let matrix = matrix as usize;
    let (lines, length) = (of.lines as usize, of.length as usize);
    let lines_to = if of.transposes { length } else { lines };
    let from = if is_a { args.a } else { args.b }.skip(of.offset + matrix * of.batch_stride);
    let to = args.to.skip(of.offset_to + matrix * of.batch_stride_to);
    let layouts = Layouts {
        from: GlobalMatrix::new(from, lines, length, of.ld as usize),
        to: GlobalMatrixMut::new(to, lines_to, of.length_to as usize, of.ld_to as usize),
        transposes: of.transposes,
    };
    repack(block, tile, &layouts, if is_a { index } else { index - args.tiles_of_a } as usize);
}

/// Returns the grid and the arguments of a repacking.
#[cfg(not(target_arch = "nvptx64"))]
pub fn repack_args<'a, 'b, T: Element>(
    (a, of_a): (&'a Slice<'b, T>, Repack),
    (b, of_b): (&'a Slice<'b, T>, Repack),
    to: &'a mut Slice<'b, T>,
) -> ((u32, u32), RepackArgsHost<'a, T, OnSlices<'b>>) {
    let (tiles_of_a, tiles_of_b) = (of_a.tiles(), of_b.tiles());
    let grid = (tiles_of_a + tiles_of_b, of_a.count.max(of_b.count));
    (grid, RepackArgsHost { a, b, to, of_a, of_b, tiles_of_a })
}
