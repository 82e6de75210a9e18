//! The report on the toolchain.

use anyhow::Result;
use ptx_matrix_build::Toolchain;
use ptx_matrix_output::{errln, outln};
use std::path::Path;
use std::process::ExitCode;

/// The options of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Fetch missing tools into the cache folder
    #[arg(long)]
    fetch: bool,
}

/// The text below the options. `program` is `cargo ptx` or `cargo xtask`.
pub fn help(program: &str) -> String {
    format!(
        "Examples:
  {program} doctor          the tools and where they were found
  {program} doctor --fetch  the same, after missing tools were fetched

Environment:
  PTX_MATRIX_CACHE  the cache folder
  PTXAS             the ptxas to use
  CUDA_HOME         the CUDA toolkit to use

Exit codes:
  0  the toolchain is complete
  1  a tool is missing, or cannot be fetched"
    )
}

/// Reports the tools for the package at `project`, or the missing ones.
///
/// # Errors
/// There is no folder for fetched tools.
pub fn run(arguments: &Arguments, project: &Path, program: &str) -> Result<ExitCode> {
    let store = Toolchain::store()?;
    let found = if arguments.fetch {
        Toolchain::find_or_fetch(project, &store, &|step| errln!("{step}"))
    } else {
        Toolchain::find(project, &store).map_err(Into::into)
    };
    match found {
        Ok(toolchain) => {
            outln!("{toolchain}");
            Ok(ExitCode::SUCCESS)
        }
        Err(missing) => {
            outln!("{missing:#}");
            if !arguments.fetch {
                let store = store.display();
                outln!("or let this project fetch it into {store}: {program} doctor --fetch");
            }
            Ok(ExitCode::FAILURE)
        }
    }
}
