//! The lane and the register of each element of a form's matrices. A test over all forms compiles
//! the code of all of them, so it is in this package and not beside that code.

use ptx_matrix::forms::{self, HeldMatrix};
use ptx_matrix::lane::LANES;
use std::collections::HashSet;

#[test]
fn every_element_of_every_matrix_is_held_once() {
    for form in forms::all() {
        let matrices = form.matrices();
        let registers = |name: &str| match name {
            "A" | "source" => form.a,
            "B" => form.b,
            "C" => form.c,
            "D" | "result" => form.d,
            "metadata" | "scales of A" | "scales of B" => 1,
            _ => form.arrangement.unwrap().registers(),
        };
        for HeldMatrix { name, rows, cols, per_register, held, .. } in &matrices {
            let places: HashSet<_> = held.iter().map(|held| (held.row, held.col)).collect();
            let holders: HashSet<_> = held.iter().map(|held| (held.lane, held.index)).collect();
            assert_eq!(
                (places.len(), holders.len(), held.len()),
                (rows * cols, rows * cols, rows * cols),
                "{}: {name}",
                form.ptx
            );
            assert!(
                held.iter().all(|held| held.row < *rows && held.col < *cols && held.lane < LANES)
            );
            let last = held.iter().map(|held| held.index / per_register).max().unwrap();
            assert_eq!(last + 1, registers(name), "{}: {name}", form.ptx);
        }
    }
}

#[test]
fn forms_multiply_or_move_matrices() {
    for form in forms::all() {
        let multiplies = form.matrices().iter().any(|matrix| matrix.name == "D");
        assert_eq!(multiplies, form.arrangement.is_none(), "{}", form.ptx);
    }
}
