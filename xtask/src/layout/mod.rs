//! Pictures of who holds which element.

mod docs;
mod picture;
mod svg;
mod terminal;

use anyhow::{Context, Result};
use picture::Picture;
use ptx_matrix::forms::{Held, find_any};
use ptx_matrix_output::{out, outln};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The instruction, as in PTX, such as mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 or
    /// wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16; `cargo xtask coverage` lists them.
    /// Of wgmma, whose B is in shared memory, it draws what is in registers.
    #[arg(required_unless_present = "docs")]
    form: Option<String>,
    /// Only this matrix of it: A, B, C, D, metadata, ...
    #[arg(long, requires = "form")]
    matrix: Option<String>,
    /// Write the pictures of all forms, as SVG, and the page with them, into docs/.
    #[arg(long, conflicts_with = "form")]
    docs: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.docs {
        let (written, removed) = docs::write()?;
        outln!(
            "{written} pictures in docs/layouts, {removed} old ones removed; docs/LAYOUTS.md shows them"
        );
        return Ok(ExitCode::SUCCESS);
    }
    let form = find_any(arguments.form.as_deref().unwrap_or_default())?;
    let mut matrices = form.matrices();
    if let Some(name) = &arguments.matrix {
        let names =
            matrices.iter().map(|matrix| matrix.name.clone()).collect::<Vec<_>>().join(", ");
        matrices.retain(|matrix| matrix.name.eq_ignore_ascii_case(name));
        let none = || format!("this form has no matrix `{name}`; it has {names}");
        matrices.first().with_context(none)?;
    }
    outln!("{}", form.ptx());
    for matrix in &matrices {
        out!("\n{}", terminal::draw(&Picture::of(matrix)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The first and the last element of a run, as `3` or `4-7`.
fn indices(first: Held, length: usize) -> String {
    if length == 1 {
        first.index.to_string()
    } else {
        format!("{}-{}", first.index, first.index + length - 1)
    }
}
