//! One program of the toolchain.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;
use crate::version::Version;

/// A program, with its version and its environment.
#[derive(Debug, Clone)]
pub struct Tool {
    path: PathBuf,
    version: Version,
    origin: Origin,
}

/// The origin of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A toolchain that rustup manages, by name.
    Rustup(String),
    /// Installed on the system, by its packages or by hand.
    System,
    /// A CUDA toolkit, or the path in `$PTXAS` or `$CUDA_HOME`.
    CudaToolkit,
    /// Fetched by this crate into the named folder.
    Private(PathBuf),
}

impl Tool {
    /// Runs the program at `path` with `argument`. Its version follows `marker` in the output.
    pub(crate) fn probe(
        path: PathBuf,
        origin: Origin,
        argument: &str,
        marker: &str,
    ) -> Result<Self, String> {
        if !path.is_file() {
            return Err(format!("there is no {}", path.display()));
        }
        let mut tool = Self { path, version: Version::new(0, 0, 0), origin };
        let printed =
            process::stdout(tool.command().arg(argument)).map_err(|error| format!("{error:#}"))?;
        tool.version = Version::after(marker, &printed)
            .ok_or_else(|| format!("{} {argument} prints no version", tool.path.display()))?;
        Ok(tool)
    }

    /// Returns the program's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the version that the program prints.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the tool's origin.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns a command that runs the program with its own libraries, and without the variables of
    /// an outer cargo.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = process::clean_command(&self.path);
        if let Origin::Private(root) = &self.origin {
            let folders = library_folders(root);
            command.env("LD_LIBRARY_PATH", joined(&folders));
            command.envs(preloaded(&folders).map(|libraries| ("LD_PRELOAD", libraries)));
        }
        command
    }
}

/// Finds the folders with shared libraries in an unpacked tree of system packages.
pub fn library_folders(root: &Path) -> Vec<PathBuf> {
    let subfolders = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let named = |path: &Path, part: &str| {
        path.file_name().is_some_and(|name| name.to_string_lossy().contains(part))
    };
    let usr_lib = subfolders(root.join("usr/lib"));
    let lib = subfolders(root.join("lib"));
    let multiarch = usr_lib.iter().chain(&lib).filter(|path| named(path, "-linux-gnu")).cloned();
    let llvm = usr_lib.iter().filter(|path| named(path, "llvm-")).map(|path| path.join("lib"));
    multiarch.chain(llvm).collect()
}

/// The libraries to preload: the fetched allocator, and those of the user. `None` without an
/// allocator.
fn preloaded(folders: &[PathBuf]) -> Option<std::ffi::OsString> {
    let mut allocators = folders.iter().map(|folder| folder.join("libjemalloc.so.2"));
    // The loader also separates at spaces.
    let is_one = |path: &PathBuf| !path.as_os_str().as_encoded_bytes().contains(&b' ');
    let allocator = allocators.find(|path| path.is_file()).filter(is_one)?;
    let mut libraries = allocator.into_os_string();
    if let Some(users) = std::env::var_os("LD_PRELOAD") {
        libraries.push(":");
        libraries.push(users);
    }
    Some(libraries)
}

/// Joins the folders to one value of a search-path variable.
pub fn joined(folders: &[PathBuf]) -> std::ffi::OsString {
    // A folder's name cannot hold the separator, because this crate chose all of them.
    std::env::join_paths(folders).unwrap_or_default()
}

/// Returns the folders in `$PATH`, as absolute paths: a tool may run in another folder.
pub fn search_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter_map(|folder| std::path::absolute(folder).ok()).collect()
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rustup(name) => write!(f, "rustup {name}"),
            Self::System => f.write_str("system packages"),
            Self::CudaToolkit => f.write_str("CUDA toolkit"),
            Self::Private(folder) => write!(f, "private copy under {}", folder.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetched_allocator_is_preloaded() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = root.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            folder
        };
        let (empty, filled, spaced) = (folder("empty"), folder("filled"), folder("with space"));
        for folder in [&filled, &spaced] {
            std::fs::write(folder.join("libjemalloc.so.2"), "").unwrap();
        }
        assert_eq!(preloaded(std::slice::from_ref(&empty)), None);
        assert_eq!(preloaded(&[spaced]), None);
        let libraries = preloaded(&[empty, filled.clone()]).unwrap();
        let allocator = filled.join("libjemalloc.so.2");
        assert!(libraries.to_str().unwrap().starts_with(allocator.to_str().unwrap()));
    }
}
