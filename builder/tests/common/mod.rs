//! Shared code of the tests: the fixture crates, and a reader of PTX.

// Not every test uses everything.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use ptx_matrix_build::{Artifact, Builder};

/// A build of the fixture crate with its own output folder.
pub fn fixture(out_dir: &Path) -> Builder {
    crate_named("kernels", out_dir)
}

/// A build of a fixture crate, by name, with its own output folder.
pub fn crate_named(name: &str, out_dir: &Path) -> Builder {
    let crate_dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    Builder::new(crate_dir).target_dir(target_dir()).out_dir(out_dir)
}

/// The folder in which the builder keeps intermediate files.
pub fn target_dir() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// One kernel's PTX in the artifact.
pub fn entry(artifact: &Artifact, kernel: &str) -> String {
    let ptx = std::fs::read_to_string(&artifact.ptx).unwrap();
    let start = ptx
        .find(&format!(".entry {kernel}("))
        .unwrap_or_else(|| panic!("no kernel {kernel} in {ptx}"));
    let end = ptx[start..].find("\n}").unwrap();
    ptx[start..start + end].to_owned()
}
