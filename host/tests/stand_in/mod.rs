//! Runs a program's GPU tests on a stand-in for the driver.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use sha2::{Digest, Sha256};

/// The kernels that the stand-in knows.
pub const KERNELS: &str = include_str!("kernels.ptx");

/// Appends the builder's lines to a PTX, for kernels with these fingerprints, and this machine
/// code.
#[allow(dead_code, reason = "not every program that has this module")]
pub fn sealed(ptx: &str, kernels: &[(&str, &str)], cubin: &[u8]) -> String {
    const HEAD: &str = "// ptx-matrix fingerprints 1\n";
    let hexadecimal =
        |hash: &[u8]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut sealed = ptx.split(HEAD).next().unwrap().to_owned() + HEAD;
    for (name, fingerprint) in kernels {
        sealed += &format!("// kernel {name}: {fingerprint}\n");
    }
    sealed += &format!("// cubin {}\n", hexadecimal(&Sha256::digest(cubin)));
    let text = hexadecimal(&Sha256::digest(&sealed));
    sealed + &format!("// text {text}\n")
}

/// Runs the ignored tests of this program in another process, with the stand-in as `libcuda.so.1`.
#[allow(dead_code, reason = "not every program that has this module")]
pub fn run_ignored_tests() {
    run_ignored_tests_with(&[]);
}

/// Does the same, with the cuBLAS stand-in as these libraries.
pub fn run_ignored_tests_with(cublas: &[&str]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
    fs::create_dir_all(&folder).unwrap();
    build(include_str!("libcuda.rs"), &folder.join("libcuda.so.1"));
    for name in cublas {
        build(include_str!("libcublas.rs"), &folder.join(name));
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--nocapture"])
        .env("LD_LIBRARY_PATH", folder)
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&printed));
}

/// Compiles a stand-in.
fn build(source: &str, library: &Path) {
    let file = library.with_extension("rs");
    fs::write(&file, source).unwrap();
    let status = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=cdylib", "--crate-name=stand_in", "-o"])
        .arg(library)
        .arg(&file)
        .status()
        .unwrap();
    assert!(status.success(), "the stand-in {} does not compile", file.display());
}
