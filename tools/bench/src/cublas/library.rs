//! Finds cuBLAS on a machine.

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

/// The folders with libraries, in a CUDA toolkit and in the wheels of PyTorch.
const IN_TOOLKIT: [&str; 3] = ["lib64", "lib", "targets/x86_64-linux/lib"];
const IN_PYTHON: [&str; 3] = ["nvidia/cu13/lib", "nvidia/cu12/lib", "nvidia/cublas/lib"];

/// Opens the newest cuBLAS that a driver of this major version supports. The order of places: the
/// loader's path, the folder of the toolkit, Python's packages.
pub(super) fn open(driver: u32) -> Result<Libraries, NoCublas> {
    let versions: Vec<u32> = [13, 12].into_iter().filter(|&version| version <= driver).collect();
    if versions.is_empty() {
        return Err(NoCublas::Driver(driver));
    }
    // Python comes last, because starting it takes a moment.
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

/// The reason why a library does not open.
enum Missing {
    /// The file is not in this place.
    Here,
    /// The file exists, but the loader rejects it, with this message.
    Part(String),
}

fn open_in(folder: &Path, version: u32) -> Result<Libraries, Missing> {
    let open = |name: &str| {
        let path = folder.join(format!("{name}.so.{version}"));
        // SAFETY: NVIDIA's libraries may be opened at any time. They are never closed here.
        unsafe { UnixLibrary::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) }
            .map(Library::from)
            .map_err(|error| {
                missing(
                    &path,
                    error.source().map_or_else(|| error.to_string(), ToString::to_string),
                )
            })
    };
    // cuBLAS looks for this library by name. Once it is open, the loader finds it by that name in
    // any place.
    let lt = open("libcublasLt")?;
    Ok(Libraries { lt, cublas: open("libcublas")? })
}

/// Classifies an error of the loader. Its message begins with the file that cannot be opened: the
/// library, or one that it needs.
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

/// The package folders of the `python3` that a shell would start.
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
    fn missing_library_differs_from_one_that_does_not_load() {
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
    fn driver_for_an_old_cuda_is_a_one_line_error() {
        assert_eq!(open(11).unwrap_err().to_string().lines().count(), 1);
        assert!(matches!(open(11), Err(NoCublas::Driver(11))));
    }
}
