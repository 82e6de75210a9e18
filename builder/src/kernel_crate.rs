//! Compiles a kernel crate and its dependencies to LLVM bitcode.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::arch::Arch;
use crate::archive;
use crate::flags;
use crate::process;
use crate::toolchain::Toolchain;
use crate::watch;

/// Error: rustc refused the kernel crate.
#[derive(Debug, thiserror::Error)]
#[error("`{package}` does not compile for {arch}:\n{}", shortened(stderr))]
pub struct CompileError {
    /// The kernel crate.
    pub package: String,
    /// The target of the failed compilation.
    pub arch: Arch,
    /// The output of cargo and rustc.
    pub stderr: String,
}

/// A dependency that needs the standard library has thousands of errors.
fn shortened(errors: &str) -> String {
    const FIRST: usize = 200;
    const LAST: usize = 10;
    let lines: Vec<&str> = errors.lines().collect();
    let left_out = lines.len().saturating_sub(FIRST + LAST);
    let why = remedy(errors);
    if left_out == 0 {
        return format!("{}{why}", errors.trim_end());
    }
    let (first, last) = (lines[..FIRST].join("\n"), lines[lines.len() - LAST..].join("\n"));
    format!("{first}\n\n[{left_out} lines are left out]\n\n{last}{why}")
}

/// What to do about code that needs the standard library.
fn remedy(errors: &str) -> String {
    const NO_STD: &str = "\nA kernel crate and its dependencies compile without the standard \
                          library: put `#![cfg_attr(target_arch = \"nvptx64\", no_std)]` at the \
                          top of the crate.";
    if errors.contains("can't find crate for `std`") {
        return NO_STD.into();
    }
    let is_missing = |method: &&&str| {
        ["f32", "f64"].iter().any(|float| {
            errors.contains(&format!("no method named `{method}` found for type `{float}`"))
        })
    };
    STD_METHODS.iter().find(is_missing).map_or_else(String::new, |method| {
        format!(
            "\n`{method}` is a method of the standard library, which a GPU lacks. \
             `ptx_matrix::math` has the hardware's approximate functions: e^x is `ex2_approx(x * \
             core::f32::consts::LOG2_E)`. The crate `libm` has precise ones."
        )
    })
}

/// Methods of floats that `FloatMath` lacks.
const STD_METHODS: [&str; 24] = [
    "exp", "exp2", "exp_m1", "ln", "log", "log2", "log10", "ln_1p", "powf", "sin", "cos", "tan",
    "sin_cos", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "hypot",
];

/// The options of a kernel crate's compilation.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub toolchain: &'a Toolchain,
    pub package: &'a str,
    pub manifest_dir: &'a Path,
    pub target_dir: &'a Path,
    pub sysroot: &'a Path,
    /// The flags that let crates use the sysroot's `core`.
    pub permissions: &'a [String],
    pub features: &'a [String],
    pub plain: bool,
    pub line_info: bool,
    pub color: bool,
}

/// A kernel crate's bitcode.
pub struct Bitcode {
    /// The kernels, their dependencies and `core`.
    pub kernels: Vec<u8>,
    /// Functions that the compiler calls by itself, such as `memcmp`. Only those that are called
    /// get linked.
    pub builtins: Vec<Vec<u8>>,
    /// The files that rustc read, including those of path dependencies.
    pub sources: BTreeSet<PathBuf>,
    /// rustc's warnings.
    pub warnings: String,
}

impl Bitcode {
    /// Returns all bitcode to link.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.kernels).chain(&self.builtins).map(Vec::as_slice)
    }
}

/// Compiles for one target. Calls for the same target folder must not overlap.
pub fn compile(request: &Request<'_>, arch: Arch) -> Result<Bitcode> {
    let output = process::output(&mut cargo(request, arch))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(CompileError { package: request.package.to_owned(), arch, stderr }.into());
    }
    process::refuse_ignored(&stderr)?;
    let library = static_library(&String::from_utf8_lossy(&output.stdout))
        .context("cargo reported no static library for the kernel crate")?;
    let archive = std::fs::read(&library).with_context(|| format!("cannot read {library}"))?;
    let (kernels, builtins) =
        split(&archive).with_context(|| format!("unexpected contents of {library}"))?;
    let dep_info = Path::new(&library).with_extension("d");
    let dep_info = std::fs::read_to_string(&dep_info)
        .with_context(|| format!("cannot read {}, the list of sources", dep_info.display()))?;
    let sources = watch::sources(&dep_info, request.manifest_dir);
    Ok(Bitcode { kernels, builtins, sources, warnings: stderr })
}

/// The crate type is a static library, because it needs no linker. Also, cargo keeps it under one
/// hash per set of flags, so the targets do not rebuild each other. No other output has both
/// properties. For this target, rustc puts bitcode into the library.
fn cargo(request: &Request<'_>, arch: Arch) -> Command {
    let Request { toolchain, manifest_dir, target_dir, sysroot, permissions, .. } = *request;
    let Request { features, plain, line_info, color, .. } = *request;
    let mut flags = flags::kernel_crate(sysroot, arch, plain, line_info);
    flags.extend_from_slice(permissions);
    let mut cargo = toolchain.cargo().command();
    cargo
        .current_dir(manifest_dir)
        .env("RUSTC", toolchain.rustc().path())
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .args(["rustc", "--quiet", "--release", "--lib", "--crate-type=staticlib"])
        .arg(format!("--target={}", flags::TARGET))
        .arg("--target-dir")
        .arg(target_dir)
        .arg("--message-format=json-render-diagnostics")
        .arg(if color { "--color=always" } else { "--color=never" });
    if !features.is_empty() {
        cargo.arg("--features").arg(features.join(","));
    }
    cargo.args(["--", "-Clto=fat"]);
    cargo
}

/// Finds the static library in cargo's messages. Only the kernel crate becomes one.
fn static_library(messages: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Message {
        #[serde(default)]
        target: Target,
        #[serde(default)]
        filenames: Vec<String>,
    }
    #[derive(Deserialize, Default)]
    struct Target {
        crate_types: Vec<String>,
    }
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let mut libraries = messages.filter(|message| message.target.crate_types == ["staticlib"]);
    libraries.find_map(|message| message.filenames.into_iter().next())
}

/// Returns the kernel crate's bitcode, and that of `compiler_builtins`, which rustc keeps out of
/// its whole-program IR.
fn split(archive: &[u8]) -> Result<(Vec<u8>, Vec<Vec<u8>>)> {
    const BITCODE: &[u8] = b"BC\xC0\xDE";
    let members = archive::members(archive)?;
    let bitcode = members.iter().filter(|member| member.bytes.starts_with(BITCODE));
    let (builtins, kernels): (Vec<_>, Vec<_>) =
        bitcode.partition(|member| member.name.starts_with("compiler_builtins"));
    ensure!(kernels.len() == 1, "it has {} modules of bitcode instead of one", kernels.len());
    Ok((kernels[0].bytes.to_vec(), builtins.iter().map(|member| member.bytes.to_vec()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_about_the_standard_library_come_with_a_remedy() {
        let lacks_exp = "error[E0599]: no method named `exp` found for type `f32` in the current";
        assert!(
            shortened(lacks_exp).contains("e^x is `ex2_approx(x * core::f32::consts::LOG2_E)`")
        );
        assert!(shortened("error[E0463]: can't find crate for `std`").contains("no_std"));
        let other = "error[E0599]: no method named `expand` found for type `f32`";
        assert_eq!(shortened(other), other);
    }

    #[test]
    fn finds_the_library_among_the_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"crate_types":["lib"],"#,
            r#""name":"half"},"filenames":["/t/libhalf.rlib"]}"#,
            "\n",
            r#"{"reason":"build-script-executed","package_id":"x","env":[],"out_dir":"/t/out"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["staticlib"],"#,
            r#""crate_types":["staticlib"],"name":"k"},"filenames":["/t/libk.a"]}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(static_library(messages).as_deref(), Some("/t/libk.a"));
        assert_eq!(static_library(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
