//! The crates that a new workspace depends on: from crates.io, or from a folder.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// The version of the crates, which all have the version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The crates by name, with their folders in a checkout. The last comes with the first one there.
const CRATES: [(&str, &str); 4] = [
    ("ptx-matrix", "."),
    ("ptx-matrix-host", "host"),
    ("ptx-matrix-build", "builder"),
    ("ptx-matrix-macros", "macros"),
];

/// Crates that a workspace may use besides, and their folders in a checkout.
const MORE_CRATES: [(&str, &str); 2] =
    [("ptx-matrix-gemm", "kernels/gemm"), ("ptx-matrix-attention", "kernels/attention")];

/// The version in a manifest's `[dependencies]`, such as `0.1`.
pub fn requirement() -> &'static str {
    VERSION.rsplit_once('.').map_or(VERSION, |(compatible, _)| compatible)
}

/// A folder with the crates.
#[derive(Debug)]
pub struct Folder {
    pub path: PathBuf,
    /// The crates that replace those of crates.io.
    crates: Vec<(&'static str, PathBuf)>,
}

impl Folder {
    /// Finds the crates in a checkout of the project, or in a folder of unpacked packages.
    pub fn read(path: &Path) -> Result<Self> {
        let path =
            path.canonicalize().with_context(|| format!("cannot read {}", path.display()))?;
        let checkout = holds(&path, "ptx-matrix");
        let mut crates = Vec::new();
        for (name, folder) in CRATES {
            let found =
                if checkout { path.join(folder) } else { path.join(format!("{name}-{VERSION}")) };
            if !holds(&found, name) {
                bail!(
                    "{} is neither a checkout of ptx-matrix nor a folder of its unpacked packages: \
                     there is no {name} {VERSION} in {}",
                    path.display(),
                    found.display(),
                );
            }
            crates.push((name, found.components().collect()));
        }
        if checkout {
            // Its crates depend on the macros by path.
            crates.pop();
        }
        Ok(Self { path, crates })
    }

    /// The folder that this program was compiled in, if it still has the crates.
    pub fn of_this_program() -> Option<Self> {
        Self::read(Path::new(env!("CARGO_MANIFEST_DIR")).parent()?).ok()
    }

    /// The section of the workspace's manifest that puts these crates in the place of those of
    /// crates.io.
    pub fn patch(&self) -> String {
        let mut section =
            "\n# Unpublished crates. Without this section, they come from crates.io.\n\
                           [patch.crates-io]\n"
                .to_owned();
        for (name, folder) in &self.crates {
            // Debug escapes quotes and backslashes as TOML does.
            section += &format!("{name} = {{ path = {:?} }}\n", folder.display().to_string());
        }
        // Cargo warns of a patch of a crate that the workspace does not use.
        for (name, folder) in MORE_CRATES {
            let places = [self.path.join(folder), self.path.join(format!("{name}-{VERSION}"))];
            if let Some(found) = places.iter().find(|place| holds(place, name)) {
                let found = found.display().to_string();
                section += &format!("# To depend on it:\n# {name} = {{ path = {found:?} }}\n");
            }
        }
        section
    }
}

/// Whether `folder` has the manifest of the package `name`.
fn holds(folder: &Path, name: &str) -> bool {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    manifest.lines().any(|line| line == format!("name = \"{name}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirement_is_major_and_minor() {
        assert!(VERSION.starts_with(&format!("{}.", requirement())));
        assert_eq!(requirement().split('.').count(), 2);
    }

    #[test]
    fn finds_crates_in_checkout_and_unpacked_packages() {
        let checkout = Folder::of_this_program().unwrap();
        assert_eq!(checkout.crates.len(), 3);
        assert!(checkout.patch().contains("\nptx-matrix-host = { path = \""));
        assert!(checkout.patch().contains("\n# ptx-matrix-gemm = { path = \""));

        let folder = tempfile::tempdir().unwrap();
        let error = Folder::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is neither a checkout of ptx-matrix nor"), "{error}");
        for (name, _) in CRATES {
            let unpacked = folder.path().join(format!("{name}-{VERSION}"));
            fs::create_dir(&unpacked).unwrap();
            fs::write(unpacked.join("Cargo.toml"), format!("[package]\nname = \"{name}\"\n"))
                .unwrap();
        }
        let unpacked = Folder::read(folder.path()).unwrap();
        assert_eq!(unpacked.crates.len(), 4);
        fs::remove_dir_all(folder.path().join(format!("ptx-matrix-host-{VERSION}"))).unwrap();
        let error = Folder::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("there is no ptx-matrix-host {VERSION} in")), "{error}");
    }
}
