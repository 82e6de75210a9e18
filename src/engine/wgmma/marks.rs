//! What registers hold while they are in flight: words by which they are known again, not numbers
//! in any of the types that accumulators have but s32, and in that large ones.

use crate::fragment::Registers;
use crate::lane::{LANES, PerLane};
use std::vec::Vec;

/// One register, in all lanes.
pub(super) type Column = [u32; LANES];

/// The registers of a warp's part of a matrix.
pub(crate) type Columns = Vec<Column>;

/// Multiplications whose marks differ.
const DIFFERENT: u32 = 1000;

/// The mark of one register of a multiplication: a NaN of f32.
pub(super) fn mark(number: u32, register: usize, lane: usize) -> u32 {
    0x7fc0_0000 | (1 + number % DIFFERENT) << 12 | (register as u32) << 5 | lane as u32
}

/// What a mark is of.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    number: u32,
    register: usize,
    pub(super) lane: usize,
}

/// What a word is a mark of, if it is one.
pub(super) fn marked(word: u32) -> Option<Mark> {
    let number = word >> 12 & 0x3ff;
    let is_mark = word >> 22 == 0x7fc0_0000 >> 22 && (1..=DIFFERENT).contains(&number);
    is_mark.then_some(Mark {
        number,
        register: (word >> 5 & 0x7f) as usize,
        lane: word as usize % LANES,
    })
}

impl Mark {
    /// Whether it is a mark of this multiplication, which has so many registers.
    pub(super) fn is_of(&self, number: u32, registers: usize) -> bool {
        self.number == 1 + number % DIFFERENT && self.register < registers
    }
}

pub(super) fn columns<R: Registers<Register = u32>>(registers: &PerLane<R>) -> Columns {
    (0..R::COUNT)
        .map(|register| registers.array().each_ref().map(|of| of.as_ref()[register]))
        .collect()
}

pub(super) fn of_columns<R: Registers<Register = u32>>(columns: &[Column]) -> PerLane<R> {
    PerLane::from_array(std::array::from_fn(|lane| {
        let mut registers = R::zeroed();
        registers
            .as_mut()
            .iter_mut()
            .zip(columns)
            .for_each(|(register, column)| *register = column[lane]);
        registers
    }))
}
