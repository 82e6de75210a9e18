//! rustc, cargo and the sources of `core`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fetch;
use crate::process;
use crate::version::Version;

use super::MIN_RUSTC;
use super::llvm::{self, LlvmTools};
use super::tool::{Origin, Tool, search_path};

/// A Rust toolchain that can compile `core` for the GPU.
#[derive(Debug, Clone)]
pub struct RustTools {
    pub rustc: Tool,
    pub cargo: Tool,
    pub library: PathBuf,
    /// That the project is pinned to a toolchain which is not installed, if it is.
    pub passed_over: Option<String>,
}

/// The first Rust toolchain that will do, and its LLVM; else why each one will not.
pub fn find(project: &Path, store: &Path) -> Result<(RustTools, LlvmTools), Vec<String>> {
    let mut reasons = Vec::new();
    let mut tried = Vec::new();
    for candidate in candidates(project, store) {
        let found = candidate.and_then(|(rustc, origin)| {
            if tried.contains(&rustc) {
                return Ok(None);
            }
            tried.push(rustc.clone());
            examine(rustc, origin, store).map(Some)
        });
        match found {
            Ok(Some((rust, llvm))) => {
                let passed_over =
                    reasons.into_iter().find(|reason: &String| reason.contains("is not installed"));
                return Ok((RustTools { passed_over, ..rust }, llvm));
            }
            Ok(None) => {}
            Err(reason) => reasons.push(reason),
        }
    }
    if reasons.is_empty() {
        reasons.push("there is neither rustup nor rustc".to_owned());
    }
    Err(reasons)
}

/// Each rustc there is, in the order of preference, or why it cannot be asked.
fn candidates(
    project: &Path,
    store: &Path,
) -> impl Iterator<Item = Result<(PathBuf, Origin), String>> {
    let outer = std::env::var("RUSTUP_TOOLCHAIN").ok();
    // The project's, then the one that the outer cargo was called with, then the one that the
    // advice to the user names.
    let rustup = [Some(None), outer.map(Some), Some(Some("nightly".to_owned()))];
    let rustup = rustup
        .into_iter()
        .flatten()
        .filter_map(|toolchain| rustup_rustc(project, toolchain.as_deref()));

    // A rustc beside rustup is rustup's proxy, which was asked already.
    let system = search_path().into_iter().filter(|folder| !folder.join("rustup").exists());
    let system = system.map(|folder| (folder.join("rustc"), Origin::System));
    let root = fetch::system_root(store);
    let private = (root.join("usr/bin/rustc"), Origin::Private(root));
    let files = system.chain([private]).filter(|(rustc, _)| rustc.is_file());

    rustup.chain(files.map(Ok))
}

/// The rustc that rustup would run: of the toolchain of this name, else of the one that is selected
/// for `project`. `None` if there is no rustup, or no toolchain of this name.
fn rustup_rustc(
    project: &Path,
    toolchain: Option<&str>,
) -> Option<Result<(PathBuf, Origin), String>> {
    let mut rustup = process::clean_command("rustup");
    rustup.arg("which").current_dir(project);
    if let Some(toolchain) = toolchain {
        rustup.args(["--toolchain", toolchain]);
    }
    let output = process::output(rustup.arg("rustc")).ok()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let error = said
            .lines()
            .find_map(|line| line.strip_prefix("error: "))
            .unwrap_or("rustup selects no toolchain");
        return toolchain.is_none().then(|| Err(error.to_owned()));
    }
    let rustc = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let name = rustc.parent()?.parent()?.file_name()?.to_string_lossy().into_owned();
    Some(Ok((rustc, Origin::Rustup(name))))
}

fn examine(rustc: PathBuf, origin: Origin, store: &Path) -> Result<(RustTools, LlvmTools), String> {
    let rustc = Tool::probe(rustc, origin.clone(), "-vV", "release:")?;
    let named = format!("rustc {} ({origin}, {})", rustc.version(), rustc.path().display());
    if rustc.version() < MIN_RUSTC {
        return Err(format!("{named} is older than {MIN_RUSTC}"));
    }
    let verbose =
        process::stdout(rustc.command().arg("-vV")).map_err(|error| format!("{error:#}"))?;
    let llvm = Version::after("LLVM version:", &verbose)
        .ok_or_else(|| format!("{named} does not name its LLVM"))?;
    let host =
        verbose.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().to_owned();
    let sysroot = sysroot(&mut rustc.command())
        .ok_or_else(|| format!("{named} does not name its sysroot"))?;

    let library = library(&sysroot, &rustc, store);
    let tools = llvm::find(llvm.major(), &sysroot, &host, &origin, store);
    let (library, tools) = match (library, tools) {
        (Some(library), Ok(tools)) => (library, tools),
        (library, tools) => {
            let lacking =
                [library.is_none().then_some("rust-src"), tools.is_err().then_some("llvm-tools")];
            let lacking: Vec<_> = lacking.into_iter().flatten().collect();
            let remedy = match &origin {
                Origin::Rustup(name) => {
                    format!(": rustup component add {} --toolchain {name}", lacking.join(" "))
                }
                _ => tools.err().map(|reason| format!(": {reason}")).unwrap_or_default(),
            };
            return Err(format!("{named} lacks {}{remedy}", lacking.join(" and ")));
        }
    };
    let cargo = cargo(&rustc, store).map_err(|reason| format!("{named} has no cargo: {reason}"))?;
    Ok((RustTools { rustc, cargo, library, passed_over: None }, tools))
}

fn sysroot(rustc: &mut Command) -> Option<PathBuf> {
    let printed = process::stdout(rustc.args(["--print", "sysroot"])).ok()?;
    Some(PathBuf::from(printed.trim()))
}

/// The library sources of exactly this rustc: its own, or fetched for a rustc that came without.
fn library(sysroot: &Path, rustc: &Tool, store: &Path) -> Option<PathBuf> {
    let fetched = fetch::system_root(store).join(format!("usr/src/rustc-{}", rustc.version()));
    let own = sysroot.join("lib/rustlib/src/rust");
    [own, fetched]
        .into_iter()
        .map(|folder| folder.join("library"))
        .find(|library| library.join("core").is_dir())
}

fn cargo(rustc: &Tool, store: &Path) -> Result<Tool, String> {
    let probe = |path, origin| Tool::probe(path, origin, "--version", "cargo ");
    probe(rustc.path().with_file_name("cargo"), rustc.origin().clone()).or_else(|reason| {
        let root = fetch::system_root(store);
        probe(root.join("usr/bin/cargo"), Origin::Private(root)).map_err(|_| reason)
    })
}
