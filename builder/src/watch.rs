//! Tells cargo, in a build script, which files and variables must trigger another run.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::builder::Artifact;
use crate::package::Package;

/// The variables that select a toolchain.
const VARIABLES: [&str; 3] = ["PTXAS", "CUDA_HOME", "CUDA_PATH"];

/// The output folder of the running build script, if cargo runs one.
fn out_dir() -> Option<PathBuf> {
    std::env::var_os("CARGO")?;
    std::env::var_os("OUT_DIR").map(PathBuf::from)
}

/// Makes cargo run the build script again when the crate or an output changes.
///
/// `sources` are the files that rustc has read, including those of path dependencies.
pub fn tell_cargo(package: &Package, sources: &BTreeSet<PathBuf>, artifacts: &[Artifact]) {
    let Some(out_dir) = out_dir() else { return };
    let outputs = artifacts.iter().flat_map(|artifact| {
        [artifact.ptx.clone(), artifact.cubin.clone(), artifact.ptx.with_extension("json")]
    });
    // Cargo has also written the lock file, if there was none.
    let outputs: Vec<PathBuf> =
        outputs.chain([package.workspace_root.join("Cargo.lock")]).collect();
    date_back(&outputs, &out_dir);
    let mut watched = sources.clone();
    watched.extend(sources.iter().filter_map(|file| manifest_of(file)));
    watched.insert(package.workspace_root.join("Cargo.toml"));
    for name in ["rust-toolchain.toml", "rust-toolchain"] {
        watched.extend(
            package.folder.ancestors().map(|folder| folder.join(name)).find(|file| file.is_file()),
        );
    }
    // Cargo runs a newly compiled build script anyway. This line is for readers of the output.
    watched.extend(
        std::env::var_os("CARGO_MANIFEST_DIR").map(|folder| Path::new(&folder).join("build.rs")),
    );
    watched.extend(outputs);
    // A missing file would trigger a run every time.
    let files = watched.iter().filter(|file| file.exists());
    let files = files.map(|file| format!("cargo::rerun-if-changed={}\n", file.display()));
    print(files.chain(VARIABLES.map(|name| format!("cargo::rerun-if-env-changed={name}\n"))));
}

/// Makes cargo run the build script again in any case: the script may succeed although the build
/// failed.
pub fn tell_cargo_of_failure() {
    if let Some(out_dir) = out_dir() {
        let missing = out_dir.join("kernels-were-not-built");
        print([format!("cargo::rerun-if-changed={}\n", missing.display())]);
    }
}

/// Prints lines for cargo. An error is ignored: it means that nobody reads them.
fn print(lines: impl IntoIterator<Item = String>) {
    // The script may have printed an unfinished line before.
    let text: String = std::iter::once("\n".to_owned()).chain(lines).collect();
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Sets files that are newer than the build script's start back to that time. Cargo would take
/// newer ones for files that somebody else changed.
fn date_back(files: &[PathBuf], out_dir: &Path) {
    let start = out_dir.with_file_name("invoked.timestamp");
    let Ok(start) = fs::metadata(start).and_then(|started| started.modified()) else { return };
    for file in files {
        if let Ok(file) = File::options().append(true).open(file)
            && file
                .metadata()
                .and_then(|file| file.modified())
                .is_ok_and(|modified| modified > start)
        {
            // On failure, the script runs once more than necessary.
            let _ = file.set_modified(start);
        }
    }
}

/// The manifest of a file's package.
fn manifest_of(file: &Path) -> Option<PathBuf> {
    file.ancestors()
        .skip(1)
        .map(|folder| folder.join("Cargo.toml"))
        .find(|manifest| manifest.is_file())
}

/// Returns the source files in cargo's dep-info file.
pub fn sources(dep_info: &str, folder: &Path) -> BTreeSet<PathBuf> {
    let files = dep_info
        .lines()
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(_, files)| words(files));
    files.map(|file| folder.join(file)).collect()
}

/// Splits at spaces. A backslash keeps the next space in its part.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let word = words.last_mut().expect("there is one from the start");
        match character {
            '\\' if characters.next_if_eq(&' ').is_some() => word.push(' '),
            ' ' => words.push(String::new()),
            _ => word.push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dep_info_names_files_with_spaces() {
        let info = "/t/libk.a: /k/src/lib.rs /k/a\\ b/c.rs src/d.rs\n\n/t/libk.d: /k/src/lib.rs\n";
        let files = ["/k/a b/c.rs", "/k/src/lib.rs", "/w/src/d.rs"].map(PathBuf::from);
        assert_eq!(sources(info, Path::new("/w")), BTreeSet::from(files));
        assert!(sources("", Path::new("/w")).is_empty());
    }
}
