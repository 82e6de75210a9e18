//! `cargo xtask layout`: pictures of which lane holds which element.

mod docs;
mod svg;

use anyhow::Result;
use ptx_matrix_output::outln;
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
    cargo_ptx::layout::draw(
        arguments.form.as_deref().unwrap_or_default(),
        arguments.matrix.as_deref(),
    )?;
    Ok(ExitCode::SUCCESS)
}
