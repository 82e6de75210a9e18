//! A kernel crate's names and folders, from cargo's metadata.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::arch::Arch;
use crate::process;

/// A kernel crate.
#[derive(Debug)]
pub struct Package {
    /// The package name in the manifest.
    pub name: String,
    /// The library's name in code.
    pub library: String,
    /// The package's folder.
    pub folder: PathBuf,
    /// The workspace's target folder.
    pub target_directory: PathBuf,
    /// The workspace's folder.
    pub workspace_root: PathBuf,
    /// The targets that the manifest names, if it does.
    pub targets: Option<Vec<Arch>>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    target_directory: PathBuf,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<MetadataTarget>,
    /// The manifest's `[package.metadata]`.
    metadata: Option<Tables>,
}

#[derive(Deserialize)]
struct Tables {
    #[serde(rename = "ptx-matrix")]
    ptx_matrix: Option<serde_json::Value>,
}

/// The table `[package.metadata.ptx-matrix]` of a kernel crate's manifest.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    targets: Option<Vec<Arch>>,
}

#[derive(Deserialize)]
struct MetadataTarget {
    name: String,
    kind: Vec<String>,
}

/// Reads the package whose manifest is in `folder`.
pub fn read(folder: &Path) -> Result<Package> {
    // Check this before cargo runs there: "cannot run cargo" would not help.
    let manifest = canonical(&folder.join("Cargo.toml"))?;
    let mut metadata = metadata(folder)?;
    let package = metadata
        .packages
        .drain(..)
        .find(|package| canonical(&package.manifest_path).is_ok_and(|path| path == manifest))
        .with_context(|| format!("{} is not the manifest of a package", manifest.display()))?;
    let Metadata { target_directory, workspace_root, .. } = metadata;
    let library = package.library();
    let targets = targets(package.metadata)
        .with_context(|| format!("[package.metadata.ptx-matrix] of {}", manifest.display()))?;
    Ok(Package {
        name: package.name,
        library,
        folder: folder.to_owned(),
        target_directory,
        workspace_root,
        targets,
    })
}

/// Returns the targets that a manifest names, if it does.
fn targets(metadata: Option<Tables>) -> Result<Option<Vec<Arch>>> {
    let Some(settings) = metadata.and_then(|tables| tables.ptx_matrix) else { return Ok(None) };
    let Settings { targets } = serde_json::from_value(settings)
        .context("write `targets` as a list of targets, such as [\"sm_80\", \"sm_90a\"]")?;
    ensure!(
        targets.as_deref() != Some(&[]),
        "`targets` is empty: name targets, such as \"sm_90a\", or remove the line"
    );
    Ok(targets)
}

/// Returns the library names of all packages that the one in `folder` may be built with, by package
/// name.
pub fn libraries(folder: &Path) -> Result<BTreeMap<String, String>> {
    let packages = all_metadata(folder, &[])?.packages.into_iter();
    Ok(packages.map(|package| (package.name.clone(), package.library())).collect())
}

impl MetadataPackage {
    /// Returns the library's name in code.
    fn library(&self) -> String {
        let is_library =
            |target: &&MetadataTarget| target.kind.iter().any(|kind| kind.ends_with("lib"));
        let name = self.targets.iter().find(is_library).map_or(&self.name, |target| &target.name);
        name.replace('-', "_")
    }
}

fn metadata(folder: &Path) -> Result<Metadata> {
    all_metadata(folder, &["--no-deps"])
}

fn all_metadata(folder: &Path, options: &[&str]) -> Result<Metadata> {
    let mut cargo = ambient_cargo();
    cargo.args(["metadata", "--format-version", "1"]).args(options).current_dir(folder);
    // The variable is relative to this process's folder, and cargo runs in another.
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        cargo.env(
            "CARGO_TARGET_DIR",
            absolute_target(Path::new(&target), std::env::var_os("OUT_DIR").as_deref())?,
        );
    }
    let output = process::output(&mut cargo)?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{}:\n{}", problem(&said, folder), said.trim_end());
    }
    serde_json::from_slice(&output.stdout).context("cannot read the output of cargo metadata")
}

/// Resolves a target folder. A relative one starts at this process's folder or, in a build script,
/// at the folder of the cargo that runs it.
fn absolute_target(target: &Path, out_dir: Option<&OsStr>) -> Result<PathBuf> {
    let outer = out_dir
        .map(Path::new)
        .into_iter()
        .flat_map(Path::ancestors)
        .find(|folder| folder.ends_with(target));
    match outer {
        Some(outer) if target.is_relative() => Ok(outer.to_owned()),
        _ => absolute(target),
    }
}

/// Returns the absolute path, which holds in every working folder.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .with_context(|| format!("cannot make `{}` an absolute path", path.display()))
}

/// Describes the problem behind cargo's message about a folder.
fn problem(said: &str, folder: &Path) -> String {
    let folder = folder.display();
    let named = said.split(['\'', '`']).nth(1);
    match named {
        // rustup's message: the cargo that runs is its proxy.
        Some(toolchain) if said.contains("toolchain") && said.contains("is not installed") => {
            format!(
                "{folder} is pinned to the toolchain `{toolchain}`, which is not installed: \
                 rustup toolchain install {toolchain} --component rust-src,llvm-tools"
            )
        }
        _ => format!("{folder} holds no package that cargo can read"),
    }
}

/// Runs any available cargo: it only reports paths, so its version does not matter.
fn ambient_cargo() -> Command {
    process::clean_command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| format!("there is no {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchain_that_is_not_installed_is_named() {
        let said = "error: toolchain 'nightly-2020-01-01-x86_64-unknown-linux-gnu' is not \
                    installed\nhelp: run `rustup toolchain install \
                    nightly-2020-01-01-x86_64-unknown-linux-gnu` to install it\n";
        let expected = "/k is pinned to the toolchain \
                        `nightly-2020-01-01-x86_64-unknown-linux-gnu`, which is not installed: \
                        rustup toolchain install nightly-2020-01-01-x86_64-unknown-linux-gnu \
                        --component rust-src,llvm-tools";
        assert_eq!(problem(said, Path::new("/k")), expected);
        let manifest = "error: failed to parse manifest at `/k/Cargo.toml`";
        assert_eq!(problem(manifest, Path::new("/k")), "/k holds no package that cargo can read");
    }

    #[test]
    fn manifest_may_name_targets() {
        let of = |text: &str| {
            targets(serde_json::from_str(text).unwrap()).map_err(|error| format!("{error:#}"))
        };
        let named = r#"{"ptx-matrix":{"targets":["sm_80","sm_90a"]},"docs":{"rs":1}}"#;
        assert_eq!(of(named), Ok(Some(vec![Arch::SM_80, Arch::SM_90A])));
        for none in ["null", "{}", r#"{"ptx-matrix":{}}"#] {
            assert_eq!(of(none), Ok(None), "{none}");
        }
        for (wrong, says) in [
            (r#"{"ptx-matrix":{"targets":["sm_91"]}}"#, "`sm_91` is not a supported target"),
            (r#"{"ptx-matrix":{"target":["sm_90"]}}"#, "unknown field `target`"),
            (r#"{"ptx-matrix":{"targets":"sm_90"}}"#, "expected a sequence"),
            (r#"{"ptx-matrix":{"targets":[]}}"#, "`targets` is empty: name targets"),
        ] {
            let said = of(wrong).unwrap_err();
            assert!(said.contains(says), "{said}");
        }
    }

    #[test]
    fn relative_target_folder_is_that_of_cargo_that_was_started() {
        let of = |target: &str, out_dir: Option<&str>| {
            absolute_target(Path::new(target), out_dir.map(OsStr::new)).unwrap()
        };
        assert_eq!(of("rel", None), std::env::current_dir().unwrap().join("rel"));
        assert_eq!(of("/t", Some("/w/t/debug/build/k-0/out")), Path::new("/t"));
        assert_eq!(of("a/rel", Some("/w/a/rel/debug/build/k-0/out")), Path::new("/w/a/rel"));
        assert_eq!(
            of("rel", Some("/w/other/debug/build/k-0/out")),
            std::env::current_dir().unwrap().join("rel")
        );
    }
}
