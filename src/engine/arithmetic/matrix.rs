//! Conversions between whole matrices and fragments or scales.

use crate::element::Element;
use crate::fragment::{
    Fragment, FragmentShape, Layout, Role, ScaledKind, Scales, Selected, put, take,
};
use crate::lane::{LANES, PerLane};
use std::vec;
use std::vec::Vec;

impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> Fragment<R, S, T> {
    pub(crate) fn matrix(&self) -> Vec<T> {
        let mut matrix = vec![T::zeroed(); Self::ROWS * Self::COLS];
        let (of_lanes, of_elements) = S::LAYOUT.places();
        for (registers, first) in self.registers.array().iter().zip(of_lanes) {
            for (index, further) in of_elements.iter().enumerate() {
                matrix[first + further] = take::<T>(registers.as_ref(), index);
            }
        }
        matrix
    }

    pub(crate) fn from_matrix(matrix: &[T]) -> Self {
        let mut of_lanes: [S::Registers; LANES] = bytemuck::Zeroable::zeroed();
        let (places, of_elements) = S::LAYOUT.places();
        for (registers, first) in of_lanes.iter_mut().zip(places) {
            for (index, further) in of_elements.iter().enumerate() {
                put::<T>(registers.as_mut(), index, matrix[first + further]);
            }
        }
        Self::from_registers(PerLane::from_array(of_lanes))
    }
}

impl Layout {
    /// The row-major offset of each lane's first element, and the relative offsets of the other
    /// elements. Lane and element use disjoint bits of an offset.
    pub(crate) fn places(self) -> ([usize; LANES], Vec<usize>) {
        let place = |lane: usize, index: usize| {
            let (row, col) = self.position(lane, index);
            row * self.cols() + col
        };
        (
            core::array::from_fn(|lane| place(lane, 0)),
            (0..self.elements()).map(|index| place(0, index)).collect(),
        )
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
