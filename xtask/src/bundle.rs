use crate::conformance::build_program;
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The folder to make. Without it: target/bundle.
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Runs the program that lies beside it.
const SCRIPT: &str = r#"#!/bin/sh
# Runs the conformance of ptx-matrix on this machine's GPU. `./run.sh --help` lists the options.
exec "$(dirname "$0")/conformance" --on gpu "$@"
"#;

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder = arguments.folder.clone().unwrap_or_else(|| crate::target().join("bundle"));
    let program = build_program()?;
    let artifacts = crate::build::builder().build()?;

    // What an earlier bundle left there would be run too.
    if folder.join("ptx").exists() {
        fs::remove_dir_all(folder.join("ptx"))?;
    }
    for artifact in &artifacts {
        let target = folder.join("ptx").join(artifact.arch.name());
        fs::create_dir_all(&target).with_context(|| format!("cannot make {}", target.display()))?;
        copy(&artifact.ptx, &target.join(artifact.ptx.file_name().expect("a file")))?;
    }
    copy(&program, &folder.join("conformance"))?;
    let script = folder.join("run.sh");
    fs::write(&script, SCRIPT)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    println!("{}: copy it to the machine with the GPU and run ./run.sh", folder.display());
    Ok(ExitCode::SUCCESS)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}
