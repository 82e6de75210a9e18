//! Layouts: which lane holds which element of a matrix.

use crate::lane::LANES;

/// One bit of an element's coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bit {
    /// Bit `.0` of the row.
    Row(u8),
    /// Bit `.0` of the column.
    Col(u8),
}

/// The layout of a fragment: a map from (lane, index) to (row, column).
///
/// `index` counts the elements of one lane. Every layout of the PTX ISA is a permutation of bits:
/// each bit of the lane and of the index is one bit of the row or of the column. A `Layout` lists
/// these bits, lowest first. The map works in both directions.
///
/// ```
/// use ptx_matrix::fragment::{Accumulator, M16N8K16};
/// let layout = Accumulator::<M16N8K16, f32>::LAYOUT;
/// assert_eq!(layout.position(5, 3), (9, 3)); // groupID 1, thread 1 of it, c3
/// assert_eq!(layout.owner(9, 3), (5, 3));
/// assert_eq!(layout.to_string(), "(T32,V4) -> (16,8)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    lane: [Bit; 5],
    index: &'static [Bit],
    coordinates: &'static Coordinates,
}

/// The coordinates of a layout, for the simulator, which asks for those of every element. On the
/// device the bits are constants, from which the compiler computes the coordinates.
///
/// Lane and index set different bits of a coordinate, so it is the bitwise OR of their two entries.
#[derive(PartialEq, Eq)]
pub(super) struct Coordinates {
    of_lanes: [(u8, u8); LANES],
    of_elements: [(u8, u8); Layout::MAX_ELEMENTS],
}

impl Coordinates {
    pub(super) const fn new(lane: &[Bit], index: &[Bit]) -> Self {
        let (mut of_lanes, mut of_elements) = ([(0, 0); LANES], [(0, 0); Layout::MAX_ELEMENTS]);
        let mut number = 0;
        while number < LANES {
            of_lanes[number] = place(lane, number);
            number += 1;
        }
        number = 0;
        while number < 1 << index.len() {
            of_elements[number] = place(index, number);
            number += 1;
        }
        Coordinates { of_lanes, of_elements }
    }
}

/// The part of (row, column) that these bits of a lane or an index set.
const fn place(bits: &[Bit], number: usize) -> (u8, u8) {
    let (mut row, mut col, mut bit) = (0, 0, 0);
    while bit < bits.len() {
        let value = (number >> bit & 1) as u8;
        match bits[bit] {
            Bit::Row(to) => row |= value << to,
            Bit::Col(to) => col |= value << to,
        }
        bit += 1;
    }
    (row, col)
}

impl Layout {
    /// The most elements that a lane holds: A of M16N8K256, in bits.
    pub(crate) const MAX_ELEMENTS: usize = 128;

    pub(super) const fn new(
        lane: [Bit; 5],
        index: &'static [Bit],
        coordinates: &'static Coordinates,
    ) -> Self {
        Layout { lane, index, coordinates }
    }

    /// Elements that each lane holds.
    pub const fn elements(self) -> usize {
        1 << self.index.len()
    }

    /// Rows of the matrix.
    pub const fn rows(self) -> usize {
        1 << self.bits().0
    }

    /// Columns of the matrix.
    pub const fn cols(self) -> usize {
        1 << self.bits().1
    }

    /// The numbers of bits of the row and of the column.
    const fn bits(self) -> (u32, u32) {
        let (mut rows, mut cols, mut bit) = (0, 0, 0);
        while bit < self.lane.len() + self.index.len() {
            match self.bit(bit) {
                Bit::Row(_) => rows += 1,
                Bit::Col(_) => cols += 1,
            }
            bit += 1;
        }
        (rows, cols)
    }

    /// Bit `bit` of (lane, index): first the bits of the lane, then those of the index.
    const fn bit(self, bit: usize) -> Bit {
        if bit < self.lane.len() { self.lane[bit] } else { self.index[bit - self.lane.len()] }
    }

    /// Whether a lane's elements are neighbours in groups of `count`: in a row, or, without
    /// `in_rows`, in a column.
    pub(crate) const fn groups(self, count: usize, in_rows: bool) -> bool {
        let mut bit = 0;
        while 1 << bit < count {
            let neighbours = match self.index[bit] {
                Bit::Row(of) => !in_rows && of == bit as u8,
                Bit::Col(of) => in_rows && of == bit as u8,
            };
            if !neighbours {
                return false;
            }
            bit += 1;
        }
        true
    }

    /// The bit of the index that is this bit of a coordinate, if there is one.
    pub(crate) const fn index_bit(self, of: Bit) -> Option<u32> {
        let mut bit = 0;
        while bit < self.index.len() {
            match (self.index[bit], of) {
                (Bit::Row(this), Bit::Row(of)) | (Bit::Col(this), Bit::Col(of)) if this == of => {
                    return Some(bit as u32);
                }
                _ => bit += 1,
            }
        }
        None
    }

    /// Whether each register of `count` elements is a matrix of `ldmatrix`, of eight rows of four
    /// registers.
    ///
    /// Lane `l` then holds register `l % 4` of row `l / 4`, or, without `in_rows`, of column `l /
    /// 4`.
    pub(crate) const fn is_of_matrices(self, count: usize, in_rows: bool) -> bool {
        let within = count.ilog2() as u8;
        let mut bit = 0;
        while bit < self.lane.len() {
            let (along, to) =
                if bit < 2 { (true, within + bit as u8) } else { (false, bit as u8 - 2) };
            let held = match self.lane[bit] {
                Bit::Row(of) => along != in_rows && of == to,
                Bit::Col(of) => along == in_rows && of == to,
            };
            if !held {
                return false;
            }
            bit += 1;
        }
        self.groups(count, in_rows)
    }

    /// The (row, column) of element `index` of `lane`.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn position(self, lane: usize, index: usize) -> (usize, usize) {
        let (row, col) = self.coordinates.of_lanes[lane % LANES];
        let (down, right) = self.coordinates.of_elements[index % self.elements()];
        ((row | down) as usize, (col | right) as usize)
    }

    /// The (row, column) of element `index` of `lane`.
    #[cfg(target_arch = "nvptx64")]
    #[inline]
    pub const fn position(self, lane: usize, index: usize) -> (usize, usize) {
        let (mut row, mut col) = (0, 0);
        let mut bit = 0;
        while bit < self.lane.len() + self.index.len() {
            let value =
                if bit < self.lane.len() { lane >> bit } else { index >> (bit - self.lane.len()) };
            match self.bit(bit) {
                // `<<` would check the distance on the CPU.
                Bit::Row(to) => row |= (value & 1).wrapping_shl(to as u32),
                Bit::Col(to) => col |= (value & 1).wrapping_shl(to as u32),
            }
            bit += 1;
        }
        (row, col)
    }

    /// The (lane, index) that holds the element at (row, column).
    #[cfg_attr(target_arch = "nvptx64", inline)]
    pub const fn owner(self, row: usize, col: usize) -> (usize, usize) {
        let (mut lane, mut index) = (0, 0);
        let mut bit = 0;
        while bit < self.lane.len() + self.index.len() {
            let value = match self.bit(bit) {
                Bit::Row(from) => row >> from,
                Bit::Col(from) => col >> from,
            };
            if bit < self.lane.len() {
                lane |= (value & 1) << bit;
            } else {
                index |= (value & 1) << (bit - self.lane.len());
            }
            bit += 1;
        }
        (lane, index)
    }
}

impl core::fmt::Debug for Layout {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Layout { lane, index, .. } = self;
        f.debug_struct("Layout").field("lane", lane).field("index", index).finish()
    }
}

/// Formats in CuTe's notation: `(T32,V4) -> (16,8)`, 32 threads of 4 values to 16 rows of 8
/// columns.
impl core::fmt::Display for Layout {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "(T32,V{}) -> ({},{})", self.elements(), self.rows(), self.cols())
    }
}

/// Names for the bits: `R3` is bit 3 of the row.
pub(super) mod bits {
    use super::Bit;

    pub const R0: Bit = Bit::Row(0);
    pub const R1: Bit = Bit::Row(1);
    pub const R2: Bit = Bit::Row(2);
    pub const R3: Bit = Bit::Row(3);
    pub const R4: Bit = Bit::Row(4);
    pub const R5: Bit = Bit::Row(5);
    pub const R6: Bit = Bit::Row(6);
    pub const R7: Bit = Bit::Row(7);
    pub const C0: Bit = Bit::Col(0);
    pub const C1: Bit = Bit::Col(1);
    pub const C2: Bit = Bit::Col(2);
    pub const C3: Bit = Bit::Col(3);
    pub const C4: Bit = Bit::Col(4);
    pub const C5: Bit = Bit::Col(5);
    pub const C6: Bit = Bit::Col(6);
    pub const C7: Bit = Bit::Col(7);
}

/// A layout of these bits.
macro_rules! layout {
    ([$($lane:expr),*] [$($index:expr),*]) => {
        Layout::new(
            [$($lane),*],
            &[$($index),*],
            &const { Coordinates::new(&[$($lane),*], &[$($index),*]) },
        )
    };
}
pub(super) use layout;

/// Defines the layouts, one row each: shape, role, width, registers, then the coordinate bits of
/// the lane's bits and of the index's bits. Lowest bits come first, and `R3` is bit 3 of the row.
macro_rules! layouts {
    (
        $(
            $shape:ident $role:ident $width:ident $registers:literal [$($lane:ident)*]
                [$($index:ident)*];
        )*
    ) => {$(
        impl FragmentShape<$role, $width> for $shape {
            type Registers = [<$width as Width>::Register; $registers];
            const LAYOUT: Layout = layout!([$($lane),*] [$($index),*]);
        }
    )*
        /// All layouts, each with the number of elements in its registers.
        #[cfg(test)]
        const ALL: &[(&str, Layout, usize)] = &[$((
            concat!(stringify!($shape), " ", stringify!($role), " ", stringify!($width)),
            <$shape as FragmentShape<$role, $width>>::LAYOUT,
            $registers * <$width as Width>::PER_REGISTER,
        )),*];
    };
}
pub(super) use layouts;
