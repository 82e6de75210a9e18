//! How matrices lie in their buffers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which elements of a matrix are neighbours in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Row after row.
    RowMajor,
    /// Column after column.
    ColMajor,
}

impl Order {
    /// How far apart the rows, and the columns, of a matrix without gaps are.
    pub fn strides(self, rows: usize, cols: usize) -> (usize, usize) {
        match self {
            Order::RowMajor => (cols, 1),
            Order::ColMajor => (1, rows),
        }
    }

    /// The order of a matrix whose rows are lines, or not.
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

/// An operand of the multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The left one, M x K.
    A,
    /// The right one, K x N.
    B,
}

impl Operand {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];
}

/// The operands that are repacked before the multiplication.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(from = "[bool; 2]", into = "[bool; 2]")]
pub enum Repacked {
    /// None: A and B are read as they lie.
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
    /// All cases, the least work first.
    pub const ALL: [Self; 4] = [Self::None, Self::A, Self::B, Self::Both];

    /// Whether it has an operand.
    pub const fn has(self, operand: Operand) -> bool {
        match operand {
            Operand::A => matches!(self, Self::A | Self::Both),
            Operand::B => matches!(self, Self::B | Self::Both),
        }
    }

    /// Whether it has none.
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

/// How a matrix, or those of a batch, lie in a buffer. All distances are in elements.
///
/// ```
/// use ptx_matrix_gemm::Layout;
/// // Columns 64 and on of a row-major matrix of 256 columns; the next product of the batch is 1000 rows further.
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
    /// Row-major; rows lie `leading_dimension` apart.
    pub const fn row_major(leading_dimension: usize) -> Self {
        Self { order: Order::RowMajor, stride: leading_dimension, start: 0, batch_stride: 0 }
    }

    /// Column-major; columns lie `leading_dimension` apart.
    pub const fn col_major(leading_dimension: usize) -> Self {
        Self { order: Order::ColMajor, stride: leading_dimension, start: 0, batch_stride: 0 }
    }

    /// Where in the buffer the matrix, or the first of a batch, starts. At its start, if nothing is
    /// said.
    pub const fn starting_at(self, element: usize) -> Self {
        Self { start: element, ..self }
    }

    /// How far the matrix of the next product of a batch lies behind that of one. 0, if nothing is
    /// said: all take the same.
    pub const fn batch_stride(self, elements: usize) -> Self {
        Self { batch_stride: elements, ..self }
    }

    /// Whether the elements of a row are neighbours; else those of a column.
    pub const fn is_row_major(self) -> bool {
        matches!(self.order, Order::RowMajor)
    }

    /// From one line to the next.
    pub const fn leading_dimension(self) -> usize {
        self.stride
    }

    /// Where the first matrix starts.
    pub const fn start(self) -> usize {
        self.start
    }

    /// From the matrix of one product of a batch to that of the next.
    pub const fn batch(self) -> usize {
        self.batch_stride
    }

    /// The same memory as the transposed matrix.
    pub(super) fn transposed(self) -> Self {
        Self { order: self.order.transposed(), ..self }
    }

    /// Lines (rows, if row-major) of a matrix of this size, and the elements of each.
    pub(super) fn lines(self, (rows, cols): (usize, usize)) -> (usize, usize) {
        match self.order {
            Order::RowMajor => (rows, cols),
            Order::ColMajor => (cols, rows),
        }
    }

    /// The leading dimension as kernels are given it: that of a single line does not matter, and is
    /// one that suits all of them.
    pub(super) fn stride_of(self, size: (usize, usize)) -> usize {
        let (lines, length) = self.lines(size);
        if lines <= 1 { length.next_multiple_of(16) } else { self.stride }
    }
}

/// Matrices of a size in their buffer: those of a batch, or one of each group of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrices {
    /// What they are called.
    pub(super) name: &'static str,
    /// Rows and columns.
    pub(super) size: (usize, usize),
    /// How they lie.
    pub(super) layout: Layout,
    /// How many.
    pub(super) count: usize,
}

impl Matrices {
    /// Whether their lines, in each of them, start at multiples of so many elements.
    pub(super) fn are_aligned(self, elements: usize) -> bool {
        let Layout { stride, start, batch_stride, .. } = self.layout;
        let one_behind_the_other =
            self.layout.lines(self.size).0 <= 1 || stride.is_multiple_of(elements);
        let beside_each_other = self.count <= 1 || batch_stride.is_multiple_of(elements);
        one_behind_the_other && beside_each_other && start.is_multiple_of(elements)
    }

    /// Whether each line can be read in whole pieces of so many elements, the last too. Of lines
    /// that start at multiples of a piece it is one that may not: a single one, which a buffer
    /// has no more of than its elements.
    pub(super) fn have_whole_pieces(self, elements: usize) -> bool {
        let length = self.layout.lines(self.size).1;
        length.is_multiple_of(elements) || length.next_multiple_of(elements) <= self.layout.stride
    }

    /// Whether none is the same as another.
    pub(super) fn are_different(self) -> bool {
        self.count <= 1 || self.layout.batch_stride > 0
    }

    /// How many of them are not the same as another.
    pub(super) fn different(self) -> usize {
        if self.are_different() { self.count } else { 1 }
    }

    /// They as copies, one behind the other from `start` on, in this order, with lines at multiples
    /// of so many elements.
    pub(super) fn copied(self, order: Order, multiple: usize, start: usize) -> Self {
        let layout = Layout { order, stride: 0, start, batch_stride: 0 };
        let (lines, length) = layout.lines(self.size);
        let stride = length.next_multiple_of(multiple);
        let batch_stride = if self.are_different() { lines.saturating_mul(stride) } else { 0 };
        Self { layout: Layout { stride, batch_stride, ..layout }, ..self }
    }

    /// The elements from their start on of those copies, lines whole.
    pub(super) fn copies_len(self) -> usize {
        let lines = self.layout.lines(self.size).0;
        lines.saturating_mul(self.layout.stride).saturating_mul(self.different())
    }

    /// Elements that their buffer has at least, if lines are read in pieces of so many.
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
