//! A file to start from.

use super::state::{State, line, words};
use ptx_matrix::LANES;
use ptx_matrix::forms::{Form, HeldMatrix};

/// What a form can be given: matrices of ones, of which a sparse A keeps the first half of each chunk, without scaling, and a C of zeros;
/// to `ldmatrix`, `stmatrix` and `movmatrix`, bytes that all differ.
pub fn example(form: &Form) -> State {
    let mut state = State { form: Some(form.ptx.to_owned()), ..State::default() };
    if form.has_image() {
        let image: Vec<u8> = (0..LANES * 16).map(|at| at as u8).collect();
        state.rows = Some((0..LANES as u32).map(|lane| lane * 16).collect());
        state.image = Some(image.chunks(16).map(line).collect());
    }
    let matrices = form.matrices();
    for operand in form.operands() {
        let of_lanes = |word: &dyn Fn(usize, usize) -> u64| {
            let word = |lane, register| {
                words(&word(lane, register).to_le_bytes()[..form.register_bits / 8], form.register_bits)
            };
            let lane = |lane| (0..operand.registers).map(|register| word(lane, register)).collect::<Vec<_>>().join(" ");
            Some((0..LANES).map(lane).collect())
        };
        let ones = |name: &str| of_lanes(&|_, _| ones(&matrices, name, form.register_bits));
        match operand.name {
            // Bytes that say which they are.
            "a" if form.arrangement.is_some() => {
                state.a =
                    of_lanes(&|lane, register| 0x0302_0100 + 0x0404_0404 * ((lane + LANES * register) as u64 % 64));
            }
            "a" => state.a = ones("A"),
            "b" => state.b = ones("B"),
            "c" => state.c = of_lanes(&|_, _| 0),
            "metadata" => state.metadata = of_lanes(&|_, _| 0x4444_4444),
            "scales_a" => state.scales_a = ones("scales of A"),
            _ => state.scales_b = ones("scales of B"),
        }
    }
    state
}

/// A register of ones, as the elements of this matrix.
fn ones(matrices: &[HeldMatrix], name: &str, register_bits: usize) -> u64 {
    let matrix = matrices.iter().find(|matrix| matrix.name == name).expect("the operand's matrix");
    let width = register_bits / matrix.per_register;
    let one: u64 = match (&*matrix.elements, width) {
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
    (0..matrix.per_register).fold(0, |register, index| register | one << (index * width))
}
