//! The folder that all projects of a user share: fetched tools, and `core` for the GPU.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The variable that names the folder.
const VARIABLE: &str = "PTX_MATRIX_CACHE";

/// Returns the folder that `$PTX_MATRIX_CACHE` names, or `ptx-matrix` in the user's cache folder.
pub fn folder() -> Result<PathBuf> {
    chosen(|name| std::env::var_os(name).filter(|value| !value.is_empty()), std::env::home_dir())
}

fn chosen(variable: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Result<PathBuf> {
    if let Some(named) = variable(VARIABLE) {
        return crate::package::absolute(Path::new(&named));
    }
    // A relative path there is to be ignored (XDG base directory specification).
    let named = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    let caches = named.or_else(|| Some(home?.join(usual)));
    Ok(caches
        .with_context(|| {
            format!("$HOME is not set: name a folder for fetched tools in ${VARIABLE}")
        })?
        .join("ptx-matrix"))
}

/// Adds the remedy to an error about a file in the folder.
pub fn unwritable(folder: &Path) -> String {
    format!(
        "cannot write to {}: let ${VARIABLE} name a folder for fetched tools that can be written",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_comes_first_and_then_users_cache() {
        let of = |variables: &[(&str, &str)], home: Option<&str>| {
            let value = |name: &str| {
                variables.iter().find(|(of, _)| *of == name).map(|(_, value)| value.into())
            };
            chosen(value, home.map(PathBuf::from))
        };
        let xdg = ("XDG_CACHE_HOME", "/x");
        assert_eq!(of(&[(VARIABLE, "/c"), xdg], Some("/h")).unwrap(), Path::new("/c"));
        assert_eq!(of(&[xdg], Some("/h")).unwrap(), Path::new("/x/ptx-matrix"));
        let in_home = of(&[("XDG_CACHE_HOME", "relative")], Some("/h")).unwrap();
        assert!(in_home.starts_with("/h") && in_home.ends_with("ptx-matrix"), "{in_home:?}");
        let relative = of(&[(VARIABLE, "c")], None).unwrap();
        assert_eq!(relative, std::env::current_dir().unwrap().join("c"));
        let error = of(&[], None).unwrap_err().to_string();
        assert!(error.contains("name a folder for fetched tools in $PTX_MATRIX_CACHE"), "{error}");
    }
}
