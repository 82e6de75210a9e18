//! Marks: the contents of accumulator registers in flight.
//!
//! A mark is a word that identifies the register and its `wgmma`. In every floating-point
//! accumulator type it is a NaN; as an s32 it is a large number.

use crate::fragment::Registers;
use crate::lane::{LANES, PerLane};
use std::vec::Vec;

/// One register, in all lanes.
pub(super) type Column = [u32; LANES];

/// The registers of a warp's fragment of a matrix.
pub(crate) type Columns = Vec<Column>;

/// Number of `wgmma`s with different marks.
const DIFFERENT: u32 = 1000;

/// The mark of one register of a `wgmma`: a NaN of f32.
pub(super) fn mark(number: u32, register: usize, lane: usize) -> u32 {
    0x7fc0_0000 | (1 + number % DIFFERENT) << 12 | (register as u32) << 5 | lane as u32
}

/// The register that a mark identifies.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    number: u32,
    register: usize,
    pub(super) lane: usize,
}

/// Decodes a mark. `None` if the word is no mark.
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
    /// Whether it is a mark of this `wgmma`, which has `registers` registers.
    pub(super) fn is_of(&self, number: u32, registers: usize) -> bool {
        self.number == 1 + number % DIFFERENT && self.register < registers
    }
}

/// The registers of all lanes, by register.
pub(super) fn columns<R: Registers<Register = u32>>(registers: &PerLane<R>) -> Columns {
    columns_of(bytemuck::cast_slice(registers.array()))
}

/// The reverse of [`columns`].
pub(super) fn of_columns<R: Registers<Register = u32>>(columns: &[Column]) -> PerLane<R> {
    let mut registers = PerLane::splat(R::zeroed());
    fill(bytemuck::cast_slice_mut(registers.array_mut()), columns);
    registers
}

// These are not generic, so that they are compiled once, and with this crate's optimisation.

/// The columns of the words, which are lane by lane.
fn columns_of(words: &[u32]) -> Columns {
    let count = words.len() / LANES;
    let column = |register: usize| std::array::from_fn(|lane| words[lane * count + register]);
    (0..count).map(column).collect()
}

/// The reverse of [`columns_of`].
fn fill(words: &mut [u32], columns: &[Column]) {
    for (lane, words) in words.chunks_exact_mut(columns.len()).enumerate() {
        for (word, column) in words.iter_mut().zip(columns) {
            *word = column[lane];
        }
    }
}
