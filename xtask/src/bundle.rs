use crate::program::{Program, build_kernels};
use crate::{BENCH, CONFORMANCE, EXEC, MISUSES, TIMINGS, TRIALS};
use anyhow::{Context, Result};
use ptx_matrix_output::outln;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The folder to make (default: target/bundle)
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Copy the folder to the machine with the GPU, and run one of its scripts there:
  run.sh       the conformance run
  bench.sh     the GEMM kernels against cuBLAS
  timings.sh   latency and throughput of each instruction
  trials.sh    random GEMMs against sums in f64
  exec.sh      one instruction on registers and matrices from a file
  sanitize.sh  kernels with one misuse each under compute-sanitizer

Example:
  cargo xtask bundle && scp -r target/bundle gpu-machine: && ssh gpu-machine bundle/run.sh

Exit codes:
  0  the folder is complete
  2  a program or a kernel does not compile, or a file cannot be written";

/// The programs, each with its script's name and text. A script starts the program in its own
/// folder.
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
# Measures the GEMM kernels of ptx-matrix against cuBLAS on this machine's GPU.
# `./bench.sh --help` lists the options.
exec "$(dirname "$0")/bench" "$@"
"#,
    ),
    (
        TIMINGS,
        "timings.sh",
        r#"#!/bin/sh
# Measures how long the instructions take on this machine's GPU.
# `./timings.sh --help` lists the options.
exec "$(dirname "$0")/timings" "$@"
"#,
    ),
    (
        TRIALS,
        "trials.sh",
        r#"#!/bin/sh
# Multiplies random matrices on this machine's GPU, and compares with sums in f64.
# `./trials.sh --help` lists the options.
exec "$(dirname "$0")/trials" "$@"
"#,
    ),
    (
        EXEC,
        "exec.sh",
        r#"#!/bin/sh
# Executes one instruction of ptx-matrix, once, on registers and matrices that a file gives.
# `./exec.sh --help` lists the options.
exec "$(dirname "$0")/exec" "$@"
"#,
    ),
    (
        MISUSES,
        "sanitize.sh",
        r#"#!/bin/sh
# Runs kernels with one misuse each under the tools of compute-sanitizer, and records what these
# say in sanitizer.json.
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
    let kernels = build_kernels([])?;

    // The programs would also run kernels that an earlier bundle left there.
    if folder.join("ptx").exists() {
        fs::remove_dir_all(folder.join("ptx"))?;
    }
    for file in &kernels {
        // Its place below target/ptx: the target and the name.
        let to = folder.join("ptx").join(file.strip_prefix(crate::target().join("ptx"))?);
        let target = to.parent().expect("it is in a folder");
        fs::create_dir_all(target).with_context(|| format!("cannot make {}", target.display()))?;
        copy(file, &to)?;
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
