//! Pictures of which lane holds which element.

mod picture;
mod terminal;

pub use picture::Picture;

use anyhow::{Context, Result};
use ptx_matrix::forms::{Held, find_any};
use ptx_matrix_output::{out, outln};

/// Prints the matrices of a form, or the one of this name.
///
/// # Errors
/// There is no such form, or no such matrix.
pub fn draw(form: &str, matrix: Option<&str>) -> Result<()> {
    let form = find_any(form)?;
    let mut matrices = form.matrices();
    if let Some(name) = matrix {
        let names =
            matrices.iter().map(|matrix| matrix.name.clone()).collect::<Vec<_>>().join(", ");
        matrices.retain(|matrix| matrix.name.eq_ignore_ascii_case(name));
        let in_memory = if form.ptx().starts_with("wgmma") {
            " in registers; operands in shared memory are not drawn"
        } else {
            ""
        };
        let none = || format!("this form has no matrix `{name}`; it has {names}{in_memory}");
        matrices.first().with_context(none)?;
    }
    outln!("{}", form.ptx());
    for matrix in &matrices {
        out!("\n{}", terminal::draw(&Picture::of(matrix)));
    }
    Ok(())
}

/// The indices of a run of elements, as `3` or `4-7`.
pub fn indices(first: Held, length: usize) -> String {
    if length == 1 {
        first.index.to_string()
    } else {
        format!("{}-{}", first.index, first.index + length - 1)
    }
}
