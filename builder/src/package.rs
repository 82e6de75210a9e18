//! What cargo knows about a kernel crate.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process;

/// A kernel crate.
#[derive(Debug)]
pub struct Package {
    /// Its name, as in its manifest.
    pub name: String,
    /// The target folder of its workspace.
    pub target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: PathBuf,
}

/// The target folder of the workspace that `project` belongs to.
pub fn target_directory(project: &Path) -> Result<PathBuf> {
    Ok(metadata(project)?.target_directory)
}

/// The package whose manifest lies in `folder`.
pub fn read(folder: &Path) -> Result<Package> {
    // Before cargo is run in it: "cannot run cargo" would be no help.
    let manifest = canonical(&folder.join("Cargo.toml"))?;
    let metadata = metadata(folder)?;
    let package = metadata
        .packages
        .into_iter()
        .find(|package| canonical(&package.manifest_path).is_ok_and(|path| path == manifest))
        .with_context(|| format!("{} is no package's manifest", manifest.display()))?;
    Ok(Package { name: package.name, target_directory: metadata.target_directory })
}

fn metadata(folder: &Path) -> Result<Metadata> {
    let printed =
        process::stdout(ambient_cargo().args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(folder))
            .with_context(|| format!("{} holds no package that cargo can read", folder.display()))?;
    serde_json::from_str(&printed).context("cannot read the output of cargo metadata")
}

/// Whichever cargo is at hand: it only says where things are, so its version does not matter.
fn ambient_cargo() -> Command {
    process::clean_command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| format!("there is no {}", path.display()))
}
