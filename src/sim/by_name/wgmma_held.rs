//! The thread of a warpgroup that holds each element of a `wgmma`'s matrices.

use super::HeldMatrix;
use super::held::MatrixForm;
use crate::element::{Bits1, Bits8, Bits16, Bits32};
use crate::fragment::{
    FragmentShape, Layout, M16N8K8, M16N8K16, M16N8K32, M16N8K256, RoleA, RoleC,
};
use crate::isa::WgmmaForm;
use std::vec::Vec;

impl WgmmaForm {
    /// The matrices in the registers of a warpgroup.
    ///
    /// These are A if it is in registers (for a sparse A, its stored elements), D, and the metadata
    /// of a sparse A. Each warp has 16 rows. B is in shared memory, and A may be too.
    ///
    /// ```
    /// use ptx_matrix::forms;
    /// let name = "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16";
    /// let form = forms::all_wgmma().find(|form| form.ptx == name).unwrap();
    /// let [a, d] = &form.matrices()[..] else { panic!() };
    /// assert_eq!((&*a.name, a.rows, a.cols), ("A", 64, 16));
    /// assert_eq!((&*d.name, d.rows, d.cols), ("D", 64, 32));
    /// let at = (3 * 16 + 5, 2 * 8 + 3);
    /// let held = d.held.iter().find(|held| (held.row, held.col) == at).unwrap();
    /// // Thread 117, as `GroupAccumulator::owner` says.
    /// assert_eq!((held.lane, held.index), (3 * 32 + 5 * 4 + 1, 2 * 4 + 1));
    /// ```
    pub fn matrices(&self) -> Vec<HeldMatrix> {
        let [elements_of_d, elements_of_a, _] = self.elements;
        let a = HeldMatrix::of("A", elements_of_a, self.layout_of_a(), 32 / self.element_bits());
        let d = HeldMatrix::of("D", elements_of_d, self.layout_of_d(), 32 / self.bits_of_d())
            .beside(self.n / 8);
        let metadata = (self.selectors > 0).then(|| match self.element_bits() {
            8 => MatrixForm::metadata::<Bits8>().held(),
            16 => MatrixForm::metadata::<Bits16>().held(),
            _ => MatrixForm::metadata::<Bits32>().held(),
        });
        [a, d].into_iter().chain(metadata).map(HeldMatrix::of_group).collect()
    }

    /// The layout of a warp's 16 rows of A.
    pub(super) const fn layout_of_a(&self) -> Layout {
        match self.element_bits() {
            1 => <M16N8K256 as FragmentShape<RoleA, Bits1>>::LAYOUT,
            8 => <M16N8K32 as FragmentShape<RoleA, Bits8>>::LAYOUT,
            16 => <M16N8K16 as FragmentShape<RoleA, Bits16>>::LAYOUT,
            _ => <M16N8K8 as FragmentShape<RoleA, Bits32>>::LAYOUT,
        }
    }

    /// The layout of a warp's 16 rows and 8 columns of D.
    pub(super) const fn layout_of_d(&self) -> Layout {
        match self.bits_of_d() {
            16 => <M16N8K16 as FragmentShape<RoleC, Bits16>>::LAYOUT,
            _ => <M16N8K16 as FragmentShape<RoleC, Bits32>>::LAYOUT,
        }
    }

    /// Bits of an element of D.
    pub(super) const fn bits_of_d(&self) -> usize {
        32 * self.d / (self.n / 2)
    }
}

#[cfg(test)]
mod tests {
    use crate::element::f16;
    use crate::isa;
    use crate::mma::GroupAccumulator;
    use std::vec;

    #[test]
    fn every_element_is_held_once_by_who_the_types_say() {
        for form in isa::all_wgmma() {
            for matrix in form.matrices() {
                let (rows, cols) = (matrix.rows, matrix.cols);
                assert_eq!((rows, rows * cols), (64, matrix.held.len()), "{}", form.ptx);
                let per_lane = matrix.held.len() / 128;
                let mut has_place = vec![false; rows * cols];
                let mut has_element = vec![false; rows * cols];
                for held in &matrix.held {
                    has_place[held.row * cols + held.col] = true;
                    has_element[held.lane * per_lane + held.index] = true;
                }
                assert!(has_place.iter().chain(&has_element).all(|has| *has), "{}", form.ptx);
                for held in matrix.held.iter().filter(|_| matrix.name == "D") {
                    let typed = if matrix.per_register == 2 {
                        GroupAccumulator::<256, f16>::owner(held.row, held.col)
                    } else {
                        GroupAccumulator::<256, f32>::owner(held.row, held.col)
                    };
                    assert_eq!((held.lane, held.index), typed, "{}", form.ptx);
                }
            }
        }
    }
}
