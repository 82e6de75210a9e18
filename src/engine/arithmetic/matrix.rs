//! Conversions between whole matrices and registers.

use crate::element::{Element, Width};
use crate::fragment::{Layout, Role, ScaledKind, Scales, Selected, put, take};
use crate::lane::LANES;
use std::vec;
use std::vec::Vec;

/// A register that holds elements of type `T`.
pub(super) type Register<T> = <<T as Element>::Width as Width>::Register;

/// The offsets of a layout's elements in a row-major matrix. Lane and element use disjoint bits of
/// an offset, so an offset is a sum.
pub(crate) struct Offsets {
    /// Elements of the matrix.
    len: usize,
    /// Columns of the matrix.
    pub(crate) cols: usize,
    /// Elements of a lane.
    pub(crate) elements: usize,
    /// The offset of each lane's first element.
    of_lanes: [u16; LANES],
    /// The offsets of a lane's elements from its first one.
    of_elements: [u16; Layout::MAX_ELEMENTS],
}

impl Offsets {
    pub(crate) const fn new(layout: Layout) -> Self {
        let (cols, elements) = (layout.cols(), layout.elements());
        let (mut of_lanes, mut of_elements) = ([0; LANES], [0; Layout::MAX_ELEMENTS]);
        let mut lane = 0;
        while lane < LANES {
            let (row, col) = layout.position(lane, 0);
            of_lanes[lane] = (row * cols + col) as u16;
            lane += 1;
        }
        let mut index = 0;
        while index < elements {
            let (row, col) = layout.position(0, index);
            of_elements[index] = (row * cols + col) as u16;
            index += 1;
        }
        Offsets { len: layout.rows() * cols, cols, elements, of_lanes, of_elements }
    }

    /// The offsets of each lane's elements.
    fn by_lane(&self) -> impl Iterator<Item = impl Iterator<Item = usize>> {
        let of_elements = &self.of_elements[..self.elements];
        self.of_lanes.iter().map(move |&first| {
            of_elements.iter().map(move |&further| usize::from(first) + usize::from(further))
        })
    }
}

/// The matrix in the registers of all lanes. Not generic over shapes, so that it is compiled once
/// for each element type.
pub(crate) fn gathered<T: Element>(offsets: &Offsets, registers: &[Register<T>]) -> Vec<T> {
    let mut matrix = vec![T::zeroed(); offsets.len];
    for (registers, offsets) in registers.chunks(registers.len() / LANES).zip(offsets.by_lane()) {
        for (index, place) in offsets.enumerate() {
            matrix[place] = take::<T>(registers, index);
        }
    }
    matrix
}

/// Writes a matrix to the registers of all lanes.
pub(crate) fn scatter<T: Element>(offsets: &Offsets, matrix: &[T], registers: &mut [Register<T>]) {
    let per_lane = registers.len() / LANES;
    for (registers, offsets) in registers.chunks_mut(per_lane).zip(offsets.by_lane()) {
        for (index, place) in offsets.enumerate() {
            put::<T>(registers, index, matrix[place]);
        }
    }
}

impl<R: Role, K: ScaledKind> Scales<R, K> {
    /// The scales of one set, ordered by row of A or column of B.
    pub(crate) fn matrix(&self, selected: Selected) -> Vec<K::Scale> {
        let lines = if R::RUNS_DOWN { 16 } else { 8 };
        let mut scales = vec![bytemuck::Zeroable::zeroed(); lines * K::SCALES];
        for (lane, &register) in self.register.array().iter().enumerate() {
            for byte in 0..4 {
                let (of, line, block) = Self::position(lane, byte);
                if of == selected {
                    scales[line * K::SCALES + block] = K::Scale::unpack(register, byte);
                }
            }
        }
        scales
    }
}

#[cfg(test)]
mod tests {
    use super::Offsets;
    use crate::element::{bf16, u4};
    use crate::fragment::{Accumulator, FragmentA, FragmentB, M8N8K16, M16N8K16, M16N8K64};

    #[test]
    fn places_are_those_of_the_layout() {
        for layout in [
            FragmentA::<M16N8K16, bf16>::LAYOUT,
            FragmentB::<M16N8K64, u4>::LAYOUT,
            Accumulator::<M16N8K16, f32>::LAYOUT,
            Accumulator::<M8N8K16, i32>::LAYOUT,
        ] {
            let offsets = Offsets::new(layout);
            assert_eq!(offsets.elements, layout.elements());
            for (lane, offsets) in offsets.by_lane().enumerate() {
                for (index, place) in offsets.enumerate() {
                    let (row, col) = layout.position(lane, index);
                    assert_eq!(place, row * layout.cols() + col, "{layout}");
                }
            }
        }
    }
}
