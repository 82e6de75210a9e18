use crate::kernels::Kernels;
use crate::program::Program;
use crate::{BENCH, CONFORMANCE, EXEC, MISUSES, TIMINGS, TRIALS};
use anyhow::{Context, Result};
use ptx_matrix_output::outln;
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

/// A program, the script that runs it, and that script: it starts what lies beside it.
const PROGRAMS: [(Program, &str, &str); 6] = [
    (
        CONFORMANCE,
        "run.sh",
        r#"#!/bin/sh
# Runs the conformance of ptx-matrix on this machine's GPU. `./run.sh --help` lists the options.
exec "$(dirname "$0")/conformance" --on gpu "$@"
"#,
    ),
    (
        BENCH,
        "bench.sh",
        r#"#!/bin/sh
# Measures the GEMM kernels of ptx-matrix against cuBLAS on this machine's GPU. `./bench.sh --help` lists the options.
exec "$(dirname "$0")/bench" "$@"
"#,
    ),
    (
        TIMINGS,
        "timings.sh",
        r#"#!/bin/sh
# Measures how long the instructions take on this machine's GPU. `./timings.sh --help` lists the options.
exec "$(dirname "$0")/timings" "$@"
"#,
    ),
    (
        TRIALS,
        "trials.sh",
        r#"#!/bin/sh
# Multiplies random matrices on this machine's GPU, and compares with sums in f64. `./trials.sh --help` lists the options.
exec "$(dirname "$0")/trials" "$@"
"#,
    ),
    (
        EXEC,
        "exec.sh",
        r#"#!/bin/sh
# Executes one instruction of ptx-matrix, once, on registers and matrices that a file gives. `./exec.sh --help` lists the options.
exec "$(dirname "$0")/exec" "$@"
"#,
    ),
    (
        MISUSES,
        "sanitize.sh",
        r#"#!/bin/sh
# Runs kernels with one misuse each under the tools of compute-sanitizer, and records what these say in sanitizer.json.
# An argument, if there is one, is where compute-sanitizer is.
folder="$(dirname "$0")"
exec "$folder/misuses" sanitize --ptx "$folder/ptx" --record sanitizer.json --logs sanitizer \
    --sanitizer "${1:-compute-sanitizer}"
"#,
    ),
];

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder = arguments.folder.clone().unwrap_or_else(|| crate::target().join("bundle"));
    let programs: Vec<PathBuf> =
        PROGRAMS.iter().map(|(program, ..)| program.build()).collect::<Result<_>>()?;
    let mut artifacts = Vec::new();
    for kernels in Kernels::ALL {
        artifacts.extend(kernels.builder().build()?);
    }

    // What an earlier bundle left there would be run too.
    if folder.join("ptx").exists() {
        fs::remove_dir_all(folder.join("ptx"))?;
    }
    for artifact in &artifacts {
        let target = folder.join("ptx").join(artifact.arch.name());
        fs::create_dir_all(&target).with_context(|| format!("cannot make {}", target.display()))?;
        for file in [&artifact.ptx, &artifact.cubin] {
            copy(file, &target.join(file.file_name().expect("a file")))?;
        }
    }
    for (built, (program, script, text)) in programs.iter().zip(PROGRAMS) {
        copy(built, &folder.join(program.name))?;
        let script = folder.join(script);
        fs::write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    }
    let scripts = PROGRAMS.map(|(_, script, _)| format!("./{script}")).join(", ");
    outln!("{}: copy it to the machine with the GPU and run one of {scripts}", folder.display());
    Ok(ExitCode::SUCCESS)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}
