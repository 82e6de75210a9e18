//! The layout of matrices in their buffers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The order of a matrix: which elements are adjacent in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The elements of a row are adjacent.
    RowMajor,
    /// The elements of a column are adjacent.
    ColMajor,
}

impl Order {
    /// Returns the row stride and the column stride of a matrix without padding.
    pub fn strides(self, rows: usize, cols: usize) -> (usize, usize) {
        match self {
            Order::RowMajor => (cols, 1),
            Order::ColMajor => (1, rows),
        }
    }

    /// Row-major if `row_major`, else column-major.
    pub(crate) const fn of(row_major: bool) -> Self {
        if row_major { Order::RowMajor } else { Order::ColMajor }
    }

    /// The order of the transpose.
    pub const fn transposed(self) -> Self {
        match self {
            Order::RowMajor => Order::ColMajor,
            Order::ColMajor => Order::RowMajor,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::RowMajor => "row-major",
            Order::ColMajor => "column-major",
        })
    }
}

/// An operand of a GEMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The left operand, M x K.
    A,
    /// The right operand, K x N.
    B,
}

impl Operand {
    /// Both operands.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];
}

/// The operands that are repacked before the GEMM.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(from = "[bool; 2]", into = "[bool; 2]")]
pub enum Repacked {
    /// Neither.
    #[default]
    None,
    /// A.
    A,
    /// B.
    B,
    /// A and B.
    Both,
}

impl Repacked {
    /// All cases; those that copy less come first.
    pub const ALL: [Self; 4] = [Self::None, Self::A, Self::B, Self::Both];

    /// Whether an operand is repacked.
    pub const fn has(self, operand: Operand) -> bool {
        match operand {
            Operand::A => matches!(self, Self::A | Self::Both),
            Operand::B => matches!(self, Self::B | Self::Both),
        }
    }

    /// Whether no operand is repacked.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

impl From<[bool; 2]> for Repacked {
    fn from(of: [bool; 2]) -> Self {
        match of {
            [false, false] => Self::None,
            [true, false] => Self::A,
            [false, true] => Self::B,
            [true, true] => Self::Both,
        }
    }
}

impl From<Repacked> for [bool; 2] {
    fn from(of: Repacked) -> Self {
        Operand::BOTH.map(|operand| of.has(operand))
    }
}

/// The layout of a matrix, or of the matrices of a batch, in a buffer. All strides are in elements.
///
/// ```
/// use ptx_matrix_gemm::Layout;
/// // A row-major matrix of 256 columns, from column 64 on. The next matrix of the batch begins
/// // 1000 rows later.
/// let layout = Layout::row_major(256).starting_at(64).batch_stride(1000 * 256);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(super) order: Order,
    pub(super) stride: usize,
    pub(super) start: usize,
    pub(super) batch_stride: usize,
}

impl Layout {
    /// Row-major; `leading_dimension` is the row stride.
    pub const fn row_major(leading_dimension: usize) -> Self {
        Self { order: Order::RowMajor, stride: leading_dimension, start: 0, batch_stride: 0 }
    }

    /// Column-major; `leading_dimension` is the column stride.
    pub const fn col_major(leading_dimension: usize) -> Self {
        Self { order: Order::ColMajor, stride: leading_dimension, start: 0, batch_stride: 0 }
    }

    /// Sets the offset of the first matrix in the buffer. The default is 0.
    pub const fn starting_at(self, element: usize) -> Self {
        Self { start: element, ..self }
    }

    /// Sets the distance from one matrix of a batch to the next. The default is 0: all GEMMs of the
    /// batch use the same matrix.
    pub const fn batch_stride(self, elements: usize) -> Self {
        Self { batch_stride: elements, ..self }
    }

    /// Whether the elements of a row are adjacent; else those of a column.
    pub const fn is_row_major(self) -> bool {
        matches!(self.order, Order::RowMajor)
    }

    /// The leading dimension: the row stride, or the column stride of a column-major matrix.
    pub const fn leading_dimension(self) -> usize {
        self.stride
    }

    /// The offset of the first matrix.
    pub const fn start(self) -> usize {
        self.start
    }

    /// The batch stride.
    pub const fn batch(self) -> usize {
        self.batch_stride
    }

    /// The layout of the transpose, in the same memory.
    pub(super) fn transposed(self) -> Self {
        Self { order: self.order.transposed(), ..self }
    }

    /// Returns the number of lines (rows, if row-major; else columns) and the elements of each.
    pub(super) fn lines(self, (rows, cols): (usize, usize)) -> (usize, usize) {
        match self.order {
            Order::RowMajor => (rows, cols),
            Order::ColMajor => (cols, rows),
        }
    }

    /// The leading dimension that kernels get. For a single line any value is right: it gets a
    /// multiple of 16, which satisfies the alignment of every kernel.
    pub(super) fn stride_of(self, size: (usize, usize)) -> usize {
        let (lines, length) = self.lines(size);
        if lines <= 1 { length.next_multiple_of(16) } else { self.stride }
    }
}

/// Matrices of one size in one buffer: one for each GEMM of a batch, or for each group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrices {
    /// The name for messages.
    pub(super) name: &'static str,
    /// Rows and columns.
    pub(super) size: (usize, usize),
    /// The layout.
    pub(super) layout: Layout,
    /// The number of matrices.
    pub(super) count: usize,
}

impl Matrices {
    /// Whether all rows (or columns) of all matrices start at multiples of `elements`.
    pub(super) fn are_aligned(self, elements: usize) -> bool {
        let Layout { stride, start, batch_stride, .. } = self.layout;
        let lines_are_aligned =
            self.layout.lines(self.size).0 <= 1 || stride.is_multiple_of(elements);
        let matrices_are_aligned = self.count <= 1 || batch_stride.is_multiple_of(elements);
        lines_are_aligned && matrices_are_aligned && start.is_multiple_of(elements)
    }

    /// Whether each line can be read in whole pieces of `elements`: its length is a multiple of
    /// them, or the leading dimension leaves room for the last piece.
    pub(super) fn have_whole_pieces(self, elements: usize) -> bool {
        let length = self.layout.lines(self.size).1;
        length.is_multiple_of(elements) || length.next_multiple_of(elements) <= self.layout.stride
    }

    /// Whether all matrices are distinct.
    pub(super) fn are_different(self) -> bool {
        self.count <= 1 || self.layout.batch_stride > 0
    }

    /// The number of distinct matrices.
    pub(super) fn different(self) -> usize {
        if self.are_different() { self.count } else { 1 }
    }

    /// The repacked matrices: contiguous from `start` on, in `order`. Each line is padded to a
    /// multiple of `multiple` elements.
    pub(super) fn repacked(self, order: Order, multiple: usize, start: usize) -> Self {
        let layout = Layout { order, stride: 0, start, batch_stride: 0 };
        let (lines, length) = layout.lines(self.size);
        let stride = length.next_multiple_of(multiple);
        let batch_stride = if self.are_different() { lines.saturating_mul(stride) } else { 0 };
        Self { layout: Layout { stride, batch_stride, ..layout }, ..self }
    }

    /// The elements that repacked matrices take, with the padding of their lines.
    pub(super) fn repacked_len(self) -> usize {
        let lines = self.layout.lines(self.size).0;
        lines.saturating_mul(self.layout.stride).saturating_mul(self.different())
    }

    /// The elements that the buffer must have, if lines are read in whole pieces of `piece`.
    pub(super) fn extent(self, piece: usize) -> usize {
        let Layout { stride, start, batch_stride, .. } = self.layout;
        let (lines, length) = self.layout.lines(self.size);
        if lines == 0 || length == 0 || self.count == 0 {
            return 0;
        }
        let length = length.next_multiple_of(piece);
        let before = (self.count - 1).saturating_mul(batch_stride);
        [(lines - 1).saturating_mul(stride), length, before]
            .iter()
            .fold(start, |sum, more| sum.saturating_add(*more))
    }
}
