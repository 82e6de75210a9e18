//! Running a program's tests that need a GPU on a stand-in for the driver.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kernels that the stand-in knows.
pub const KERNELS: &str = include_str!("kernels.ptx");

/// Runs the ignored tests of this program in another process, where `libcuda.so.1` is the stand-in.
pub fn run_ignored_tests() {
    let folder = build();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--nocapture"])
        .env("LD_LIBRARY_PATH", folder)
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&printed));
}

/// Compiles the stand-in and says in which folder it lies.
fn build() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
    fs::create_dir_all(&folder).unwrap();
    let status = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=cdylib", "-o"])
        .arg(folder.join("libcuda.so.1"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in/libcuda.rs"))
        .status()
        .unwrap();
    assert!(status.success(), "the stand-in does not compile");
    folder
}
