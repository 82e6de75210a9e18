//! Remembers the results of each warp's last `mma`s, and finds operands that use one with a wrong
//! layout.
//!
//! Registers are plain words. But if a register of all 32 lanes equals one that an `mma` returned,
//! it is that one. Registers with few different words are excluded, as they may be equal by chance.

use crate::element::Element;
use crate::engine::{findings::Misuse, memory::race::Lanes, warps::context::with_block};
use crate::fragment::Role;
use crate::lane::{LANES, Site};
use core::panic::Location;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::vec;
use std::vec::Vec;

/// Results remembered for each warp.
const REMEMBERED: usize = 128;

/// Number of different nonzero words from which on 32 words do not match by chance.
const TELLING: usize = 16;

/// One 32-bit register, or half of a 64-bit one, in all lanes. `sum` is a hash, which is compared
/// first.
#[derive(Clone, PartialEq, Eq)]
struct Column {
    sum: u64,
    words: [u32; LANES],
}

impl Column {
    fn new(words: [u32; LANES]) -> Self {
        Self { sum: sum(words.into_iter()), words }
    }

    /// Whether enough words differ to identify the register.
    fn is_telling(&self) -> bool {
        let (mut seen, mut different) = ([0; TELLING], 0);
        for word in self.words {
            if word != 0 && !seen.contains(&word) {
                seen[different] = word;
                different += 1;
                if different == TELLING {
                    return true;
                }
            }
        }
        false
    }
}

/// A hash of a register's words.
fn sum(words: impl Iterator<Item = u32>) -> u64 {
    words.fold(0, |sum, word| {
        (sum ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}

/// The matrix in some registers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix {
    role: char,
    element: &'static str,
}

/// The result of an `mma`.
struct MmaResult {
    matrix: Matrix,
    /// Its registers that can be identified.
    columns: Vec<Column>,
    location: &'static Location<'static>,
}

/// The last results of a warp.
#[derive(Default)]
struct WarpResults {
    results: VecDeque<MmaResult>,
    /// The number of remembered registers with each hash.
    sums: FxHashMap<u64, usize>,
}

/// The last results of each warp of a block.
#[derive(Default)]
pub(crate) struct MmaResults(Vec<WarpResults>);

impl Matrix {
    pub(super) const fn of<R: Role, T: Element>() -> Self {
        Matrix { role: R::NAME, element: T::NAME }
    }

    /// Whether registers returned as this matrix may be used as `operand`.
    ///
    /// An accumulator with the element type of A or B is a valid A or B too, with other rows and
    /// columns: kernels use this on purpose. (A tf32 is an f32.)
    fn may_be(&self, operand: &Matrix) -> bool {
        // The accumulators of all shapes have one layout: two with 8 rows make one with 16.
        let as_tf32 =
            operand.role != self.role && (self.element, operand.element) == ("f32", "tf32");
        operand.element == self.element || as_tf32
    }
}

impl MmaResults {
    fn of(&mut self, warp: usize) -> &mut WarpResults {
        if self.0.len() <= warp {
            self.0.resize_with(warp + 1, WarpResults::default);
        }
        &mut self.0[warp]
    }
}

impl WarpResults {
    /// The last result that has one of these registers and must not be used as `operand`.
    fn taken_wrongly(&self, operand: &Operand<'_>) -> Option<&MmaResult> {
        if !operand.sums().any(|sum| self.sums.contains_key(&sum)) {
            return None;
        }
        let columns = operand.columns();
        self.results.iter().rev().find(|result| {
            !result.matrix.may_be(&operand.matrix)
                && columns.iter().any(|column| result.columns.contains(column))
        })
    }

    fn push(&mut self, result: MmaResult) {
        if self.results.len() == REMEMBERED
            && let Some(oldest) = self.results.pop_front()
        {
            for column in oldest.columns {
                if let Entry::Occupied(mut count) = self.sums.entry(column.sum) {
                    *count.get_mut() -= 1;
                    if *count.get() == 0 {
                        count.remove();
                    }
                }
            }
        }
        for column in &result.columns {
            *self.sums.entry(column.sum).or_default() += 1;
        }
        self.results.push_back(result);
    }
}

/// An operand or the result of an `mma`: its registers in all lanes, as words.
pub(crate) struct Operand<'a> {
    pub(super) matrix: Matrix,
    pub(super) words: &'a [u32],
}

impl Operand<'_> {
    /// The hash of each register.
    fn sums(&self) -> impl Iterator<Item = u64> {
        let registers = self.words.len() / LANES;
        (0..registers).map(move |first| sum(self.words[first..].iter().step_by(registers).copied()))
    }

    /// Its registers, of which each is in all lanes.
    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![[0; LANES]; self.words.len() / LANES];
        for (lane, words) in self.words.chunks(columns.len()).enumerate() {
            for (column, &word) in columns.iter_mut().zip(words) {
                column[lane] = word;
            }
        }
        columns.into_iter().map(Column::new).collect()
    }
}

/// Checks the operands of an `mma`. A finding if the registers of one are known as another matrix.
pub(crate) fn check_operands(site: Site, operands: &[Operand<'_>]) {
    if std::thread::panicking() {
        return;
    }
    for operand in operands {
        with_block(|block| {
            let mut results = block.results.borrow_mut();
            let Matrix { role, element } = operand.matrix;
            if let Some(taken) = results.of(block.running()).taken_wrongly(operand) {
                let (result, place) = (taken.matrix.element, taken.location.into());
                let misuse = Misuse::WrongOperand { role, element, result, place };
                block.findings.note(block.access_by(Lanes::Each, site), misuse);
            }
        });
    }
}

/// Remembers the result of an `mma`.
pub(crate) fn remember_result(site: Site, result: &Operand<'_>) {
    let mut columns = result.columns();
    columns.retain(Column::is_telling);
    let result = MmaResult { matrix: result.matrix, columns, location: site.location };
    with_block(|block| {
        block.results.borrow_mut().of(block.running()).push(result);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::tf32;
    use crate::fragment::{RoleA, RoleB, RoleC};
    use half::{bf16, f16};

    #[test]
    fn what_an_accumulator_may_be() {
        let c = Matrix::of::<RoleC, f32>();
        assert!(c.may_be(&Matrix::of::<RoleC, f32>()));
        assert!(c.may_be(&Matrix::of::<RoleA, tf32>()));
        assert!(!c.may_be(&Matrix::of::<RoleC, f16>()));
        assert!(!c.may_be(&Matrix::of::<RoleA, bf16>()));
        assert!(!c.may_be(&Matrix::of::<RoleB, f16>()));
        let c = Matrix::of::<RoleC, f16>();
        assert!(c.may_be(&Matrix::of::<RoleA, f16>()));
        assert!(c.may_be(&Matrix::of::<RoleB, f16>()));
        assert!(!c.may_be(&Matrix::of::<RoleA, bf16>()));
        assert!(!c.may_be(&Matrix::of::<RoleC, f32>()));
    }

    #[test]
    fn few_words_tell_nothing() {
        assert!(!Column::new([0; LANES]).is_telling());
        assert!(!Column::new([0x3f80_0000; LANES]).is_telling());
        assert!(!Column::new(core::array::from_fn(|lane| lane as u32 % 16)).is_telling());
        assert!(Column::new(core::array::from_fn(|lane| lane as u32 % 17)).is_telling());
    }
}
