//! What the registers of a warp are: the results of its last `mma`s, and whether an operand takes
//! one of them for what it cannot be.
//!
//! Registers are plain words. But 32 of them that are the same, lane by lane, as those that an
//! `mma` returned are those, if they are not as few different words as chance would bring together.

use crate::element::Element;
use crate::engine::{findings::Misuse, memory::race::Lanes, warps::context::with_block};
use crate::fragment::{Fragment, FragmentShape, Registers, Role};
use crate::lane::{LANES, Site};
use core::panic::Location;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::vec;
use std::vec::Vec;

/// Results that are remembered of each warp.
const REMEMBERED: usize = 128;

/// Words other than zero, and than each other, from which on 32 are not the same by chance.
const TELLING: usize = 16;

/// One register of 32 bits, or half of one of 64, in all lanes. What is the same has the same sum,
/// which is compared first.
#[derive(Clone, PartialEq, Eq)]
struct Column {
    sum: u64,
    words: [u32; LANES],
}

impl Column {
    fn new(words: [u32; LANES]) -> Self {
        let mut sum = 0_u64;
        for word in words {
            sum = (sum ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        Self { sum, words }
    }

    /// Whether the words are different enough to be known again.
    fn is_telling(&self) -> bool {
        let mut words = self.words;
        words.sort_unstable();
        let mut before = 0;
        let mut different = 0;
        for word in words {
            different += usize::from(word != before);
            before = word;
        }
        different >= TELLING
    }
}

/// What registers hold.
#[derive(Debug, Clone, Copy)]
struct Matrix {
    role: char,
    element: &'static str,
}

/// What an `mma` returned.
struct MmaResult {
    matrix: Matrix,
    /// Those that are telling.
    columns: Vec<Column>,
    location: &'static Location<'static>,
}

/// The last results of a warp.
#[derive(Default)]
struct WarpResults {
    results: VecDeque<MmaResult>,
    /// How many columns of them have a sum: what has another is in none of them.
    sums: FxHashMap<u64, usize>,
}

/// The last results of each warp of a block.
#[derive(Default)]
pub(crate) struct MmaResults(Vec<WarpResults>);

impl Matrix {
    fn of<R: Role, T: Element>() -> Self {
        Matrix { role: R::NAME, element: T::NAME }
    }

    /// Whether registers that were returned as this may be taken as `operand`. An accumulator of
    /// the elements that A or B is of (a tf32 is an f32) is a matrix of them too, of other rows
    /// and columns: kernels use it so on purpose.
    fn may_be(&self, operand: &Matrix) -> bool {
        // The registers of accumulators of all shapes lie alike: two of 8 rows make one of 16.
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
    /// The last that has one of these columns and may not be taken as `operand`.
    fn taken_wrongly(&self, operand: &Matrix, columns: &[Column]) -> Option<&MmaResult> {
        if !columns.iter().any(|column| self.sums.contains_key(&column.sum)) {
            return None;
        }
        self.results.iter().rev().find(|result| {
            !result.matrix.may_be(operand)
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

fn columns<N: Registers>(registers: &[N; LANES]) -> Vec<Column> {
    let words =
        registers.each_ref().map(|registers| bytemuck::cast_slice::<_, u32>(registers.as_ref()));
    let mut columns = vec![[0; LANES]; words[0].len()];
    for (lane, words) in words.into_iter().enumerate() {
        for (column, &word) in columns.iter_mut().zip(words) {
            column[lane] = word;
        }
    }
    columns.into_iter().map(Column::new).collect()
}

/// An `mma` takes the fragment: a finding, if its registers are known to be something else.
pub(crate) fn check_operand<R: Role, S: FragmentShape<R, T::Width>, T: Element>(
    site: Site,
    fragment: &Fragment<R, S, T>,
) {
    if !std::thread::panicking() {
        check_columns(site, Matrix::of::<R, T>(), &columns(fragment.registers().array()));
    }
}

fn check_columns(site: Site, operand: Matrix, columns: &[Column]) {
    with_block(|block| {
        let mut results = block.results.borrow_mut();
        if let Some(taken) = results.of(block.running()).taken_wrongly(&operand, columns) {
            let (role, element, result) = (operand.role, operand.element, taken.matrix.element);
            let misuse =
                Misuse::WrongOperand { role, element, result, place: taken.location.into() };
            block.findings.note(block.access_by(Lanes::Each, site), misuse);
        }
    });
}

/// An `mma` has returned the fragment.
pub(crate) fn remember_result<R: Role, S: FragmentShape<R, T::Width>, T: Element>(
    site: Site,
    fragment: &Fragment<R, S, T>,
) {
    let mut columns = columns(fragment.registers().array());
    columns.retain(Column::is_telling);
    remember(MmaResult { matrix: Matrix::of::<R, T>(), columns, location: site.location });
}

fn remember(result: MmaResult) {
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
