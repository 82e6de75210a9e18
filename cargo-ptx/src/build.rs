//! Builds of kernel crates.

use anyhow::{Context, Result, ensure};
use ptx_matrix_build::{Arch, Artifact, Builder, KernelManifest, Manifest};
use ptx_matrix_output::outln;
use serde::Deserialize;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The options of `build`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The kernel crate (default: that of this folder, or else those of the workspace)
    #[arg(short, long, value_name = "NAME", help_heading = "Package selection")]
    package: Option<String>,
    /// The manifest of the crate or workspace (default: the one of this folder, or above it)
    #[arg(long, value_name = "FILE", help_heading = "Package selection")]
    manifest_path: Option<PathBuf>,
    /// Also build the kernels of this dependency, such as ptx-matrix-gemm; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Package selection")]
    kernels_of: Vec<String>,
    /// Enable these features of the kernel crate, separated by commas
    #[arg(short = 'F', long, value_delimiter = ',', help_heading = "Package selection")]
    features: Vec<String>,

    /// A target, such as sm_90a; may be repeated (default: the `targets` in the crate's manifest,
    /// or else all that it has kernels for)
    #[arg(long = "arch", value_name = "TARGET", help_heading = "Compilation")]
    archs: Vec<Arch>,
    /// Add source lines to PTX and machine code, for profilers
    #[arg(long, help_heading = "Compilation")]
    line_info: bool,
    /// Refuse kernels with local memory, such as spilled registers
    #[arg(long, help_heading = "Compilation")]
    deny_local_memory: bool,
    /// Do not fetch missing tools
    #[arg(long, help_heading = "Compilation")]
    offline: bool,

    /// The output folder, which gets a folder for each target
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out_dir: Option<PathBuf>,
}

const HELP: &str = "Examples:
  cargo ptx build                  the kernels for the crate's targets
  cargo ptx build --arch sm_90a    for Hopper alone
  cargo ptx build -p kernels --kernels-of ptx-matrix-gemm --deny-local-memory

Manifest of the kernel crate:
  [package.metadata.ptx-matrix]
  targets = [\"sm_80\", \"sm_90a\"]

Environment:
  CARGO_TARGET_DIR  cargo's target folder, which has the output
  PTX_MATRIX_CACHE  the folder with the fetched tools
  PTXAS, CUDA_HOME  the ptxas to use, or its CUDA toolkit

Exit codes:
  0  everything is built and assembled
  2  no kernel crate, or a kernel does not compile or assemble, or another error";

/// Builds the kernel crates that the arguments name.
///
/// # Errors
/// There is no such crate, the toolchain is incomplete, or a kernel does not build.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Arguments { archs, kernels_of, features, line_info, deny_local_memory, .. } = arguments;
    for folder in kernel_crates(arguments)? {
        let mut builder = Builder::new(folder)
            .kernels_of(kernels_of)
            .features(features)
            .line_info(*line_info)
            .deny_local_memory(*deny_local_memory)
            .fetch(!arguments.offline)
            .color(stderr().is_terminal());
        if !archs.is_empty() {
            builder = builder.archs(archs.iter().copied());
        }
        if let Some(folder) = &arguments.out_dir {
            builder = builder.out_dir(folder);
        }
        builder.build()?.iter().for_each(print);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the kernels of a build, and their resources.
pub fn print(artifact: &Artifact) {
    let Artifact { arch, ptx, manifest, .. } = artifact;
    let Manifest { package, ptx_version, kernels, .. } = manifest;
    let count = match kernels.len() {
        1 => "1 kernel".to_owned(),
        count => format!("{count} kernels"),
    };
    outln!("{package} for {arch}: PTX {ptx_version}, {count}, {}", ptx.display());
    let row = |cells: [&str; 5]| {
        let [kernel, registers, fixed, dynamic, local] = cells;
        outln!("  {kernel:<32} {registers:>9} {fixed:>14} {dynamic:>15} {local:>6}");
    };
    row(["kernel", "registers", "static shared", "dynamic shared", "local"]);
    for kernel in kernels {
        let KernelManifest { name, registers, static_shared, dynamic_shared, stack, .. } = kernel;
        let numbers = [*registers, *static_shared, *dynamic_shared, *stack].map(|n| n.to_string());
        let [registers, fixed, dynamic, local] = numbers.each_ref().map(String::as_str);
        row([name, registers, fixed, dynamic, local]);
    }
    for kernel in kernels {
        if let Some(why) = kernel.why_local_memory() {
            outln!("note: kernel `{}` uses local memory, which is slow: {why}", kernel.name);
        }
    }
}

/// What `cargo metadata` says of a workspace.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

impl Target {
    fn is_library(&self) -> bool {
        self.kind.iter().any(|kind| kind.ends_with("lib"))
    }
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `None` for a normal dependency.
    kind: Option<String>,
    /// The condition on the target.
    target: Option<String>,
}

impl Package {
    /// A program has no library, and a library for the host depends on `ptx-matrix-host`, whatever
    /// the target.
    fn is_kernel_crate(&self) -> bool {
        let depends_on = |name: &str| {
            let mut all = self.dependencies.iter();
            all.any(|of| of.name == name && of.kind.is_none() && of.target.is_none())
        };
        self.has_library() && depends_on("ptx-matrix") && !depends_on("ptx-matrix-host")
    }

    fn has_library(&self) -> bool {
        self.targets.iter().any(Target::is_library)
    }

    /// Whether the library's text has a kernel, or says that it compiles for a GPU. A library
    /// without either is for the host. (Macros of other crates can make kernels, too.)
    fn is_for_gpus(&self) -> bool {
        let library = self.targets.iter().find(|target| target.is_library());
        library.is_some_and(|library| {
            let is_no_std = mentions(&library.src_path, "no_std");
            is_no_std || library.src_path.parent().is_some_and(|src| mentions(src, "kernel("))
        })
    }
}

/// Whether a file, or a Rust file in a folder, contains a text.
fn mentions(path: &Path, text: &str) -> bool {
    if let Ok(entries) = std::fs::read_dir(path) {
        return entries.flatten().map(|entry| entry.path()).any(|inner| {
            let is_rust = inner.extension().is_some_and(|extension| extension == "rs");
            (is_rust || inner.is_dir()) && mentions(&inner, text)
        });
    }
    std::fs::read_to_string(path).is_ok_and(|contents| contents.contains(text))
}

/// The folders of the kernel crates to build.
fn kernel_crates(arguments: &Arguments) -> Result<Vec<PathBuf>> {
    let manifest_path = arguments.manifest_path.as_deref();
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"], manifest_path)?;
    let Metadata { packages } = serde_json::from_str(&metadata).context("cargo metadata")?;
    let here = cargo(&["locate-project", "--message-format", "plain"], manifest_path)?;
    let name = arguments.package.as_deref();
    let chosen = choose(&packages, name, Path::new(here.trim()), Package::is_for_gpus)?;
    Ok(chosen.into_iter().filter_map(|of| Some(of.manifest_path.parent()?.to_owned())).collect())
}

/// The package of this name; or that of the manifest `here`, if it is a kernel crate; or the
/// workspace's kernel crates.
fn choose<'a>(
    packages: &'a [Package],
    name: Option<&str>,
    here: &Path,
    is_for_gpus: impl Fn(&Package) -> bool,
) -> Result<Vec<&'a Package>> {
    let is_kernel_crate = |package: &&Package| package.is_kernel_crate() && is_for_gpus(package);
    let kernel_crates: Vec<_> = packages.iter().filter(is_kernel_crate).collect();
    if let Some(name) = name {
        let names = packages.iter().map(|package| &*package.name).collect::<Vec<_>>().join(", ");
        let found = packages.iter().find(|package| package.name == name);
        let none = || format!("no package `{name}` in the workspace; it has {names}");
        let package = found.with_context(none)?;
        let kernel_crates: Vec<_> = kernel_crates.iter().map(|package| &*package.name).collect();
        ensure!(
            package.has_library(),
            "`{name}` has no library, so it is no kernel crate; the kernel crates are: {}",
            kernel_crates.join(", ")
        );
        return Ok(vec![package]);
    }
    let own: Vec<_> =
        kernel_crates.iter().copied().filter(|package| package.manifest_path == here).collect();
    let chosen = if own.is_empty() { kernel_crates } else { own };
    ensure!(
        !chosen.is_empty(),
        "{} has no kernel crate: a library with `#[kernel]`s that depends on `ptx-matrix`; \
         `cargo ptx new` creates one",
        here.display()
    );
    Ok(chosen)
}

/// Runs cargo, and returns its output.
fn cargo(arguments: &[&str], manifest_path: Option<&Path>) -> Result<String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    if let Some(file) = manifest_path {
        command.arg("--manifest-path").arg(file);
    }
    let output = command.output().context("cannot run cargo")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim_end().trim_start_matches("error: ");
    ensure!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).context("the output of cargo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_crates_are_told_from_programs() {
        let package = |name: &str, kind: &str, dependencies: &str| {
            let text = format!(
                r#"{{"name":"{name}","manifest_path":"/w/{name}/Cargo.toml",
                "targets":[{{"kind":["{kind}"],"src_path":"/w/{name}/src/lib.rs"}}],
                "dependencies":[{dependencies}]}}"#
            );
            serde_json::from_str::<Package>(&text).unwrap()
        };
        let on = |name: &str, kind: &str, target: &str| {
            format!(r#"{{"name":"{name}","kind":{kind},"target":{target}}}"#)
        };
        let kernel = on("ptx-matrix", "null", "null");
        let host = on("ptx-matrix-host", "null", "null");
        let with_planner = kernel.clone() + "," + &on("ptx-matrix-host", "null", "\"cfg(x)\"");
        let packages = [
            package("program", "bin", &format!("{kernel},{host}")),
            package("library", "lib", &format!("{kernel},{host}")),
            package("tested", "lib", &on("ptx-matrix", "\"dev\"", "null")),
            package("kernels", "lib", &kernel),
            package("gemm", "lib", &with_planner),
            package("helper", "lib", &kernel),
        ];
        let is_for_gpus = |package: &Package| package.name != "helper";
        let names = |name, here: &str| -> Vec<&str> {
            let chosen = choose(&packages, name, Path::new(here), is_for_gpus).unwrap();
            chosen.iter().map(|package| &*package.name).collect()
        };
        assert_eq!(names(None, "/w/program/Cargo.toml"), ["kernels", "gemm"]);
        assert_eq!(names(None, "/w/gemm/Cargo.toml"), ["gemm"]);
        assert_eq!(names(Some("tested"), "/w/gemm/Cargo.toml"), ["tested"]);
        let refused = |packages: &[Package], name: Option<&str>| {
            choose(packages, name, Path::new("/w"), is_for_gpus).err().unwrap().to_string()
        };
        let none = refused(&packages[..], Some("other"));
        assert!(none.contains("no package `other`") && none.contains("gemm"), "{none}");
        let none = refused(&packages[..3], None);
        assert!(none.contains("/w has no kernel crate"), "{none}");
    }

    #[test]
    fn libraries_for_the_host_have_neither_kernels_nor_no_std() {
        let folder = tempfile::tempdir().unwrap();
        let src = folder.path().join("src");
        std::fs::create_dir_all(src.join("inner")).unwrap();
        let library = src.join("lib.rs");
        let package = Package {
            name: "some".into(),
            manifest_path: folder.path().join("Cargo.toml"),
            targets: vec![Target { kind: vec!["lib".into()], src_path: library.clone() }],
            dependencies: vec![],
        };
        std::fs::write(&library, "mod inner;").unwrap();
        std::fs::write(src.join("inner/mod.rs"), "pub struct Settings;").unwrap();
        assert!(!package.is_for_gpus());
        std::fs::write(src.join("inner/mod.rs"), "#[kernel(threads = 32)]").unwrap();
        assert!(package.is_for_gpus(), "its author has forgotten `no_std`");
        std::fs::remove_file(src.join("inner/mod.rs")).unwrap();
        std::fs::write(&library, "#![no_std]\nother::kernels!();").unwrap();
        assert!(package.is_for_gpus());
    }
}
