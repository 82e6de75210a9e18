use anyhow::Result;
use ptx_matrix_build::Toolchain;
use ptx_matrix_output::{errln, outln};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Fetch missing tools into target/
    #[arg(long)]
    fetch: bool,
}

const AFTER_HELP: &str = "Examples:
  cargo xtask doctor          the tools and where they were found
  cargo xtask doctor --fetch  the same, after missing tools were fetched

Exit codes:
  0  the toolchain is complete
  1  a tool is missing, or cannot be fetched";

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (project, store) =
        (crate::root().to_owned(), crate::target().join("ptx-matrix").join("toolchain"));
    let found = if arguments.fetch {
        Toolchain::find_or_fetch(&project, &store, &|step| errln!("{step}"))
    } else {
        Toolchain::find(&project, &store).map_err(Into::into)
    };
    match found {
        Ok(toolchain) => {
            outln!("{toolchain}");
            Ok(ExitCode::SUCCESS)
        }
        Err(missing) => {
            outln!("{missing:#}");
            if !arguments.fetch {
                outln!("or let this project fetch it into target/: cargo xtask doctor --fetch");
            }
            Ok(ExitCode::FAILURE)
        }
    }
}
