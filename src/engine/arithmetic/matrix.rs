//! Conversions between whole matrices and registers.

use crate::element::{Element, Width};
use crate::fragment::{Layout, Role, ScaledKind, Scales, Selected, put, take};
use crate::lane::LANES;
use std::vec;
use std::vec::Vec;

/// A register that holds elements of type `T`.
pub(super) type Register<T> = <<T as Element>::Width as Width>::Register;

/// The matrix in the registers of all lanes. Not generic over shapes, so that it is compiled once
/// for each element type.
pub(crate) fn gathered<T: Element>(layout: Layout, registers: &[Register<T>]) -> Vec<T> {
    let mut matrix = vec![T::zeroed(); layout.rows() * layout.cols()];
    let (of_lanes, of_elements) = layout.places();
    for (registers, first) in registers.chunks(registers.len() / LANES).zip(of_lanes) {
        for (index, further) in of_elements.iter().enumerate() {
            matrix[first + further] = take::<T>(registers, index);
        }
    }
    matrix
}

/// Writes a matrix to the registers of all lanes.
pub(crate) fn scatter<T: Element>(layout: Layout, matrix: &[T], registers: &mut [Register<T>]) {
    let (places, of_elements) = layout.places();
    let per_lane = registers.len() / LANES;
    for (registers, first) in registers.chunks_mut(per_lane).zip(places) {
        for (index, further) in of_elements.iter().enumerate() {
            put::<T>(registers, index, matrix[first + further]);
        }
    }
}

impl Layout {
    /// The row-major offset of each lane's first element, and the relative offsets of the other
    /// elements. Lane and element use disjoint bits of an offset.
    pub(crate) fn places(self) -> ([usize; LANES], Vec<usize>) {
        let cols = self.cols();
        let place = |(row, col): (usize, usize)| row * cols + col;
        let (mut of_lanes, mut of_elements) = ([0; LANES], vec![0; self.elements()]);
        add_bits(&mut of_lanes, |lane| place(self.position(lane, 0)));
        add_bits(&mut of_elements, |index| place(self.position(0, index)));
        (of_lanes, of_elements)
    }
}

/// Fills a table, whose first element is 0, with the sum of the values of each index's bits.
fn add_bits(table: &mut [usize], value: impl Fn(usize) -> usize) {
    let mut bit = 1;
    while bit < table.len() {
        let value = value(bit);
        let (known, next) = table.split_at_mut(bit);
        next.iter_mut().zip(known).for_each(|(next, known)| *next = *known + value);
        bit *= 2;
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
            let (of_lanes, of_elements) = layout.places();
            assert_eq!(of_elements.len(), layout.elements());
            for (lane, first) in of_lanes.into_iter().enumerate() {
                for (index, further) in of_elements.iter().enumerate() {
                    let (row, col) = layout.position(lane, index);
                    assert_eq!(first + further, row * layout.cols() + col, "{layout}");
                }
            }
        }
    }
}
