//! `cargo xtask layout`: pictures of which lane holds which element.

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
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The instruction, as in PTX; `cargo xtask coverage` lists them
    ///
    /// The drawing shows the matrices in registers. Those of wgmma in shared memory, such as B,
    /// are left out.
    #[arg(required_unless_present = "docs")]
    form: Option<String>,
    /// Draw only this matrix: A, B, C, D, metadata, ...
    #[arg(long, requires = "form", value_name = "NAME")]
    matrix: Option<String>,
    /// Write docs/LAYOUTS.md and the SVG pictures of all forms in docs/layouts/
    #[arg(long, conflicts_with = "form")]
    docs: bool,
}

const AFTER_HELP: &str = "Examples:
  cargo xtask layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
  cargo xtask layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --matrix A
  cargo xtask layout wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
  cargo xtask layout --docs

Exit codes:
  0  drawn, or written
  2  no such form or matrix, or a file cannot be written";

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.docs {
        let (written, removed) = docs::write()?;
        outln!(
            "{written} pictures in docs/layouts, {removed} old ones removed; docs/LAYOUTS.md shows \
             them"
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

/// The indices of a run of elements, as `3` or `4-7`.
fn indices(first: Held, length: usize) -> String {
    if length == 1 {
        first.index.to_string()
    } else {
        format!("{}-{}", first.index, first.index + length - 1)
    }
}
