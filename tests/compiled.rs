//! The libraries that cargo has compiled for the workspace's tests. A test that runs the compiler
//! reuses them.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The project's folder, without `..`, because paths are compared with those of the compiler.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The libraries that the tests are linked with, by crate name.
pub fn libraries() -> BTreeMap<String, PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    // `cargo xtask test` compiles with another compiler than rustc.
    if let Ok(config) = std::env::var("PTX_MATRIX_TESTS_CONFIG") {
        cargo.args(["--config", &config]);
    }
    // These are the arguments of `cargo xtask test`, so everything is compiled already.
    let output = cargo
        .args([
            "build",
            "--workspace",
            "--all-features",
            "--tests",
            "--quiet",
            "--message-format=json",
        ])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo");
    assert!(output.status.success(), "the workspace's tests do not compile");
    let mut libraries = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let files = message["filenames"]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter_map(Value::as_str);
        let library = files
            .map(PathBuf::from)
            .find(|file| file.extension().is_some_and(|it| it == "rlib" || it == "so"));
        if let (Some(library), Some(name)) = (library, message["target"]["name"].as_str()) {
            libraries.insert(name.replace('-', "_"), library);
        }
    }
    libraries
}

/// The compiler, in the project's folder, with these libraries and their dependencies.
pub fn rustc<'l>(libraries: impl IntoIterator<Item = (&'l String, &'l PathBuf)>) -> Command {
    // The `rustc` next to this cargo, which has compiled the libraries.
    let mut rustc = Command::new(Path::new(env!("CARGO")).with_file_name("rustc"));
    rustc.current_dir(root()).arg("--edition=2024");
    for (name, path) in libraries {
        rustc.arg("--extern").arg(format!("{name}={}", path.display()));
        rustc.arg("-L").arg(format!("dependency={}", path.parent().unwrap().display()));
    }
    rustc
}
