//! Finds rustc, cargo and the sources of `core`.

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
    /// Set if the project is pinned to a toolchain that is not installed: the message.
    pub passed_over: Option<String>,
}

/// Finds the first usable Rust toolchain and its LLVM. The error gives the reason against each
/// candidate.
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

/// Every available rustc, in order of preference, or the reason why it does not run.
fn candidates(
    project: &Path,
    store: &Path,
) -> impl Iterator<Item = Result<(PathBuf, Origin), String>> {
    let outer = std::env::var("RUSTUP_TOOLCHAIN").ok();
    // In order: the project's, the one of the outer cargo, and nightly.
    let rustup = [Some(None), outer.map(Some), Some(Some("nightly".to_owned()))];
    let rustup = rustup
        .into_iter()
        .flatten()
        .filter_map(|toolchain| rustup_rustc(project, toolchain.as_deref()));

    // A rustc beside rustup is rustup's proxy, and `rustup` above covers it.
    let system = search_path().into_iter().filter(|folder| !folder.join("rustup").exists());
    let system = system.map(|folder| (folder.join("rustc"), Origin::System));
    let root = fetch::system_root(store);
    let private = (root.join("usr/bin/rustc"), Origin::Private(root));
    let files = system.chain([private]).filter(|(rustc, _)| rustc.is_file());

    rustup.chain(files.map(Ok))
}

/// Returns the rustc that rustup would run: from the toolchain of this name, else from the one that
/// `project` selects. `None` if rustup or the toolchain is missing.
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
        .ok_or_else(|| format!("{named} does not print the version of its LLVM"))?;
    let host =
        verbose.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().to_owned();
    let sysroot = sysroot(&mut rustc.command())
        .ok_or_else(|| format!("{named} does not print its sysroot"))?;

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

/// Finds the library sources of exactly this rustc: its own, or the fetched ones for a rustc
/// without sources.
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
