//! Finding cuBLAS on a machine.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::Library;
use libloading::os::unix::{Library as UnixLibrary, RTLD_GLOBAL, RTLD_NOW};

use super::NoCublas;

/// The two libraries of cuBLAS, opened.
#[derive(Debug)]
pub(super) struct Libraries {
    pub(super) cublas: Library,
    pub(super) lt: Library,
}

/// The folders of a CUDA toolkit, and of the wheels that PyTorch brings, in which libraries lie.
const IN_TOOLKIT: [&str; 3] = ["lib64", "lib", "targets/x86_64-linux/lib"];
const IN_PYTHON: [&str; 3] = ["nvidia/cu13/lib", "nvidia/cu12/lib", "nvidia/cublas/lib"];

/// Opens the newest cuBLAS that a driver of this major version runs: by name, as the loader finds
/// it, then in the toolkit's folder, then among Python's packages.
pub(super) fn open(driver: u32) -> Result<Libraries, NoCublas> {
    let versions: Vec<u32> = [13, 12].into_iter().filter(|&version| version <= driver).collect();
    if versions.is_empty() {
        return Err(NoCublas::Driver(driver));
    }
    // Asking Python takes a moment, and is left for when nothing else has it.
    let places: [fn() -> Vec<PathBuf>; 3] = [|| vec![PathBuf::new()], toolkits, python];
    let mut found_but = None;
    for folders in places {
        for folder in folders() {
            for version in &versions {
                match open_in(&folder, *version) {
                    Ok(libraries) => return Ok(libraries),
                    Err(Missing::Here) => {}
                    Err(Missing::Part(reason)) => found_but = Some(reason),
                }
            }
        }
    }
    Err(found_but.map_or(NoCublas::NotFound, NoCublas::Load))
}

/// Why a library does not open.
enum Missing {
    /// It is not where it was looked for.
    Here,
    /// It is, and the loader has a reason not to take it.
    Part(String),
}

fn open_in(folder: &Path, version: u32) -> Result<Libraries, Missing> {
    let open = |name: &str| {
        let path = folder.join(format!("{name}.so.{version}"));
        // SAFETY: NVIDIA's libraries may be opened at any time; they are never closed here.
        unsafe { UnixLibrary::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) }
            .map(Library::from)
            .map_err(|error| {
                missing(
                    &path,
                    error.source().map_or_else(|| error.to_string(), ToString::to_string),
                )
            })
    };
    // cuBLAS needs this one by name, which the loader knows once it is open, wherever it lies.
    let lt = open("libcublasLt")?;
    Ok(Libraries { lt, cublas: open("libcublas")? })
}

/// The loader begins with the name of what it cannot open, which may be something that the library
/// needs.
fn missing(path: &Path, reason: String) -> Missing {
    let it = reason.strip_prefix(&*path.to_string_lossy());
    if it.is_some_and(|rest| rest.starts_with(": cannot open shared object file: No such file")) {
        Missing::Here
    } else {
        Missing::Part(reason)
    }
}

fn toolkits() -> Vec<PathBuf> {
    let named = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let roots = named.chain([PathBuf::from("/usr/local/cuda")]);
    roots.flat_map(|root| IN_TOOLKIT.map(|folder| root.join(folder))).collect()
}

/// Where the Python that a shell would start keeps its packages.
fn python() -> Vec<PathBuf> {
    let asked =
        Command::new("python3").args(["-c", "import sys; print('\\n'.join(sys.path))"]).output();
    let printed = asked
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let roots = printed.lines().filter(|line| !line.is_empty()).map(PathBuf::from);
    roots.flat_map(|root| IN_PYTHON.map(|folder| root.join(folder))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_told_from_what_does_not_load() {
        let folder =
            std::env::temp_dir().join(format!("ptx-matrix-no-cublas-{}", std::process::id()));
        assert!(matches!(open_in(&folder, 13), Err(Missing::Here)));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libcublasLt.so.13"), "not a library").unwrap();
        let Err(Missing::Part(reason)) = open_in(&folder, 13) else { panic!("a text was opened") };
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(reason.contains("libcublasLt.so.13") && reason.lines().count() == 1, "{reason}");
    }

    #[test]
    fn a_driver_for_an_old_cuda_is_told_so() {
        assert_eq!(open(11).unwrap_err().to_string().lines().count(), 1);
        assert!(matches!(open(11), Err(NoCublas::Driver(11))));
    }
}
