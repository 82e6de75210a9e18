//! Example input files.

use super::{Instruction, Problem, State};

/// An input for a form with the options of `chosen`.
///
/// - Multiplications: matrices of ones, and a C of zeros. A sparse A keeps the first half of each
///   chunk. Scales are one.
/// - `ldmatrix`, `stmatrix` and `movmatrix`: bytes that all differ.
///
/// # Errors
/// The form does not take these options.
pub fn example<I: Instruction>(form: &I, chosen: &State) -> Result<State, Problem> {
    let options = chosen.options(form)?;
    let mut state = State { form: Some(form.about().ptx.to_owned()), ..chosen.clone() };
    form.example_beside_operands(&options, &mut state);
    for operand in form.takes(&options) {
        *state.operand(operand.name) = Some(operand.lines(form.example(&operand)));
    }
    Ok(state)
}

/// Metadata that keep the first half of each chunk.
pub(super) const FIRST_HALVES: u64 = 0x4444_4444;

/// A word of `bits` bits, filled with ones of an element type of `width` bits.
pub(super) fn ones(elements: &str, width: usize, bits: usize) -> u64 {
    let one: u64 = match (elements, width) {
        ("f16", _) => 0x3c00,
        ("bf16", _) => 0x3f80,
        ("f32" | "tf32", _) => 0x3f80_0000,
        ("f64", _) => 0x3ff0_0000_0000_0000,
        ("e4m3" | "ue4m3", _) => 0x38,
        ("e5m2", _) => 0x3c,
        ("e3m2", _) => 0x0c,
        ("e2m3", _) => 0x08,
        ("e2m1", 8) => 0x2 << 2,
        ("e2m1", _) => 0x2,
        ("ue8m0", _) => 0x7f,
        // Integers and bits.
        _ => 1,
    };
    (0..bits / width).fold(0, |word, index| word | one << (index * width))
}
