//! Builds a sysroot with `core` and `compiler_builtins` for the GPU. No Rust release contains one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cache;
use crate::flags;
use crate::lock::FolderLock;
use crate::process;
use crate::stamp;
use crate::toolchain::{Tool, Toolchain};

/// Returns the sysroot under `folder` for this rustc and these flags, and compiles it if it is
/// missing.
///
/// One sysroot serves all targets: a later step removes the target of `core` from its IR.
pub fn find_or_build(
    folder: &Path,
    toolchain: &Toolchain,
    progress: &dyn Fn(&str),
) -> Result<PathBuf> {
    let rustc = toolchain.rustc();
    let version = process::stdout(rustc.command().arg("-vV"))?;
    let recipe = recipe();
    let words = recipe.iter().flat_map(|step| step.iter().map(String::as_str));
    let fingerprint = stamp::of(words.chain([version.as_str()]).map(str::as_bytes));
    let sysroot = folder.join(format!("{}-{}", rustc.version(), &fingerprint[..16]));
    if sysroot.is_dir() {
        return Ok(sysroot);
    }
    let _lock =
        FolderLock::acquire(folder, "lock", progress).with_context(|| cache::unwritable(folder))?;
    if !sysroot.is_dir() {
        progress("compiling core for the GPU (once)");
        let unfinished = folder.join("unfinished");
        if unfinished.exists() {
            std::fs::remove_dir_all(&unfinished)?;
        }
        build(&unfinished, rustc, toolchain.library_source(), &recipe)
            .inspect_err(|_| _ = std::fs::remove_dir_all(&unfinished))
            .context("cannot compile core for the GPU")?;
        std::fs::rename(&unfinished, &sysroot)
            .with_context(|| format!("cannot make {}", sysroot.display()))?;
    }
    Ok(sysroot)
}

/// The steps in order, one per crate: the source below the library folder, and the arguments.
fn recipe() -> [Vec<String>; 2] {
    let step = |source: &str, arguments: &[&str]| {
        let own = [source].into_iter().chain(arguments.iter().copied()).map(str::to_owned);
        own.chain(common_arguments()).collect()
    };
    [
        step("core/src/lib.rs", &["--crate-name=core"]),
        step(
            "compiler-builtins/compiler-builtins/src/lib.rs",
            &[
                "--crate-name=compiler_builtins",
                "--cfg=feature=\"compiler-builtins\"",
                "--cfg=feature=\"mem\"",
                // Since 1.98. Without it, no function has the name by which LLVM calls it.
                "--cfg=feature=\"unmangled-names\"",
            ],
        ),
    ]
}

fn common_arguments() -> impl Iterator<Item = String> {
    let own = [
        "--edition=2024",
        "--crate-type=rlib",
        "--cap-lints=allow",
        "-Zforce-unstable-if-unmarked",
        "-Ccodegen-units=1",
    ];
    own.into_iter()
        .map(str::to_owned)
        .chain([format!("--target={}", flags::TARGET)])
        .chain(flags::convergence_safe())
}

/// The hash of a crate depends on the folder in which it is compiled. So this folder is the same
/// each time: else the crates that were compiled with a sysroot could not be used with the same
/// one made again.
fn build(sysroot: &Path, rustc: &Tool, library: &Path, recipe: &[Vec<String>]) -> Result<()> {
    let libraries = sysroot.join("lib/rustlib").join(flags::TARGET).join("lib");
    std::fs::create_dir_all(&libraries)
        .with_context(|| format!("cannot make {}", libraries.display()))?;
    for step in recipe {
        let (source, arguments) = step.split_first().context("a step without a source")?;
        let mut compile = rustc.command();
        compile.current_dir(library).env("RUSTC_BOOTSTRAP", "1");
        compile.arg(library.join(source)).args(arguments);
        compile.arg("--sysroot").arg(sysroot).arg("--out-dir").arg(&libraries);
        process::stdout(&mut compile)?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::toolchain::Origin;
    use std::os::unix::fs::PermissionsExt;

    /// A script notes the folder in which it runs.
    #[test]
    fn core_is_compiled_in_the_folder_of_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let library = std::fs::canonicalize(folder.path()).unwrap().join("library");
        std::fs::create_dir(&library).unwrap();
        let path = folder.path().join("rustc");
        let script = "#!/bin/sh\necho release: 1.96.0\n[ \"$1\" = -vV ] || pwd >> ran";
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let rustc = Tool::probe(path, Origin::System, "-vV", "release:").unwrap();
        build(&folder.path().join("sysroot"), &rustc, &library, &recipe()).unwrap();
        let ran = std::fs::read_to_string(library.join("ran")).unwrap();
        assert_eq!(ran, format!("{0}\n{0}\n", library.display()));
    }
}
