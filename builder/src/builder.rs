//! Builds a kernel crate for several targets.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Error, Result, bail, ensure};

use crate::arch::Arch;
use crate::cache;
use crate::flags;
use crate::ir::KeptCrates;
use crate::kernel_crate::{self, Request};
use crate::lock::FolderLock;
use crate::manifest::{KernelManifest, Manifest};
use crate::optimiser::Optimiser;
use crate::package::{self, Package};
use crate::refusal::Refused;
use crate::sysroot;
use crate::target::Target;
use crate::toolchain::Toolchain;
use crate::watch;

/// Compiles a kernel crate to PTX and cubin.
///
/// ```no_run
/// use ptx_matrix_build::{Arch, Builder};
///
/// let artifacts = Builder::new("kernels").archs([Arch::SM_90A]).build()?;
/// println!("{}", artifacts[0].ptx.display());
/// # anyhow::Ok(())
/// ```
pub struct Builder {
    manifest_dir: PathBuf,
    /// The targets that the caller named.
    archs: Option<Vec<Arch>>,
    target_dir: Option<PathBuf>,
    out_dir: Option<PathBuf>,
    features: Vec<String>,
    kernels_of: Vec<String>,
    plain: bool,
    unmarked: bool,
    deny_local_memory: bool,
    line_info: bool,
    color: bool,
    fetch: bool,
    toolchain: Option<Toolchain>,
    progress: Box<dyn Fn(&str) + Send + Sync>,
}

/// The build's output for one target.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The target.
    pub arch: Arch,
    /// The PTX. The driver can compile it for this target.
    pub ptx: PathBuf,
    /// The machine code that ptxas made from the PTX.
    pub cubin: PathBuf,
    /// The kernels in both files, and their resource usage.
    pub manifest: Manifest,
}

impl Builder {
    /// Creates a build of the crate whose manifest is in `manifest_dir`, for the targets that the
    /// manifest names:
    ///
    /// ```toml
    /// [package.metadata.ptx-matrix]
    /// targets = ["sm_80", "sm_90a"]
    /// ```
    ///
    /// If it names none, the targets are those of [`Arch::ALL`] that the crate has kernels for.
    pub fn new(manifest_dir: impl Into<PathBuf>) -> Self {
        Self {
            manifest_dir: manifest_dir.into(),
            archs: None,
            target_dir: None,
            out_dir: None,
            features: Vec::new(),
            kernels_of: Vec::new(),
            plain: false,
            unmarked: false,
            deny_local_memory: false,
            line_info: false,
            color: false,
            fetch: true,
            toolchain: None,
            // A closed standard error must not fail the build.
            progress: Box::new(|step| _ = writeln!(std::io::stderr(), "{step}")),
        }
    }

    /// Sets the targets; duplicates count once. The crate must have a kernel for each. Without it,
    /// a build for the targets in the crate's manifest deletes what earlier builds made for others.
    #[must_use]
    pub fn archs(mut self, archs: impl IntoIterator<Item = Arch>) -> Self {
        self.archs = Some(archs.into_iter().collect());
        self
    }

    /// Sets the target folder. By default it is that of the crate's workspace.
    #[must_use]
    pub fn target_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.target_dir = Some(folder.into());
        self
    }

    /// Sets the output folder, which gets one subfolder for each target. By default it is `ptx` in
    /// the target folder (`ptx-plain` for a plain compile).
    #[must_use]
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// Enables these features of the kernel crate.
    #[must_use]
    pub fn features<S: Into<String>>(mut self, features: impl IntoIterator<Item = S>) -> Self {
        self.features = features.into_iter().map(Into::into).collect();
        self
    }

    /// Also builds the kernels of these dependencies, given by package name. Name the packages
    /// whose kernels the program launches, such as `ptx-matrix-gemm`. The build leaves out the
    /// kernels of other dependencies.
    #[must_use]
    pub fn kernels_of<S: Into<String>>(mut self, packages: impl IntoIterator<Item = S>) -> Self {
        self.kernels_of = packages.into_iter().map(Into::into).collect();
        self
    }

    /// Compiles without the convergence marks and checks. **The result is wrong**: it exists only
    /// for comparison.
    #[must_use]
    pub fn plain(mut self, plain: bool) -> Self {
        self.plain = plain;
        self
    }

    /// Compiles as usual, but marks nothing `convergent`. Tests use it: the checks must refuse the
    /// copies that LLVM then makes.
    #[doc(hidden)]
    #[must_use]
    pub fn unmarked(mut self, unmarked: bool) -> Self {
        self.unmarked = unmarked;
        self
    }

    /// Makes local memory in a kernel an error. Kernels use local memory for spilled registers, and
    /// for arrays that are indexed by a value unknown at compile time.
    #[must_use]
    pub fn deny_local_memory(mut self, deny: bool) -> Self {
        self.deny_local_memory = deny;
        self
    }

    /// Adds source lines to the output, for profilers. The machine code stays the same.
    #[must_use]
    pub fn line_info(mut self, line_info: bool) -> Self {
        self.line_info = line_info;
        self
    }

    /// Colours rustc's messages.
    #[must_use]
    pub fn color(mut self, color: bool) -> Self {
        self.color = color;
        self
    }

    /// Fetches a missing toolchain, once for all projects, into the folder that
    /// `$PTX_MATRIX_CACHE` names, or into the user's cache folder. The default is `true`.
    #[must_use]
    pub fn fetch(mut self, fetch: bool) -> Self {
        self.fetch = fetch;
        self
    }

    /// Uses this toolchain instead of searching for one.
    #[must_use]
    pub fn toolchain(mut self, toolchain: Toolchain) -> Self {
        self.toolchain = Some(toolchain);
        self
    }

    /// Sets the receiver of progress messages: each step that takes time, and rustc's warnings. By
    /// default they go to standard error.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Builds all targets, and returns their artifacts in the order of the targets. The build skips
    /// outputs that are up to date, and makes changed or damaged outputs again.
    ///
    /// In a build script, the build makes cargo run the script again when its inputs or outputs
    /// change. The inputs are the crate and its path dependencies. Cargo then no longer runs the
    /// script again for every file of its own package.
    ///
    /// # Errors
    /// - The toolchain is incomplete, or the crate does not compile.
    /// - The crate has no kernel for a target that was named, or for any target.
    /// - A kernel is refused. The error names the kernel, the reason and, if known, the source
    ///   line.
    pub fn build(&self) -> Result<Vec<Artifact>> {
        let built = self.build_all();
        match &built {
            Ok((package, sources, artifacts)) => watch::tell_cargo(package, sources, artifacts),
            Err(_) => watch::tell_cargo_of_failure(),
        }
        built.map(|(.., artifacts)| artifacts)
    }

    /// Returns the crate, its source files, and the outputs.
    fn build_all(&self) -> Result<(Package, BTreeSet<PathBuf>, Vec<Artifact>)> {
        // The build runs other programs in other folders, so the path must be absolute.
        let manifest_dir = package::absolute(&self.manifest_dir)?;
        let package = package::read(&manifest_dir)?;
        let target_dir = match &self.target_dir {
            Some(folder) => package::absolute(folder)?,
            None => package.target_directory.clone(),
        };
        let work = target_dir.join("ptx-matrix");
        let toolchain = match &self.toolchain {
            Some(toolchain) => toolchain.clone(),
            None => self.find_toolchain(&manifest_dir)?,
        };
        let sysroots = cache::folder()?.join("sysroot");
        let sysroot = sysroot::find_or_build(&sysroots, &toolchain, &self.progress)?;
        let kernels = work.join("kernels");
        // The targets share cargo's folder: each target's library replaces the one before it there.
        let _lock =
            FolderLock::acquire(&kernels, "build-lock", &self.progress).with_context(|| {
                format!(
                    "cannot write to {}; $CARGO_TARGET_DIR names another target folder",
                    target_dir.display()
                )
            })?;
        let permissions = flags::permissions(toolchain.rustc().command())?;
        let request = Request {
            toolchain: &toolchain,
            package: &package.name,
            manifest_dir: &manifest_dir,
            target_dir: &kernels,
            sysroot: &sysroot,
            permissions: &permissions,
            features: &self.features,
            plain: self.plain,
            line_info: self.line_info,
            color: self.color,
        };

        let kind = if self.plain { "ptx-plain" } else { "ptx" };
        let scratch = work.join(kind).join(&package.name);
        let crate_folder = manifest_dir.canonicalize().context("the kernel crate's folder")?;
        let optimiser =
            Optimiser::new(&toolchain, self.plain, scratch.join("kernels"), crate_folder)?;
        let out_dir = match &self.out_dir {
            Some(folder) => package::absolute(folder)?,
            None => target_dir.join(kind),
        };
        let mut kept = KeptCrates([package.library.clone()].into());
        if !self.kernels_of.is_empty() {
            let libraries = package::libraries(&manifest_dir)?;
            for named in &self.kernels_of {
                let Some(library) = libraries.get(named) else {
                    bail!(
                        "the kernels of `{named}` are asked for, which is not a dependency of \
                         `{}`: add it there, or leave the name out",
                        package.name
                    );
                };
                kept.0.insert(library.clone());
            }
        }
        let target = |arch: Arch| Target {
            toolchain: &toolchain,
            optimiser: &optimiser,
            package: &package.name,
            arch,
            kept: &kept,
            plain: self.plain,
            unmarked: self.unmarked,
            line_info: self.line_info,
            scratch: scratch.join(arch.name()),
            out_dir: out_dir.join(arch.name()),
            progress: &*self.progress,
        };

        let targets = self.targets_of(&package);
        let mut sources = BTreeSet::new();
        let artifacts = thread::scope(|scope| {
            let mut running = Vec::new();
            let mut shown = BTreeSet::new();
            // The newest target has the most kernels: the longest job starts first.
            for &arch in targets.archs.iter().rev() {
                let bitcode = kernel_crate::compile(&request, arch)?;
                sources.extend(bitcode.sources.iter().cloned());
                // Older targets compile a part of this code, in which much may be unused. But a
                // target like sm_90a has code of its own.
                let warnings = bitcode.warnings.trim_end();
                let is_asked = shown.is_empty() || arch.is_specific();
                if is_asked && shown.insert(warnings.to_owned()) && !warnings.is_empty() {
                    (self.progress)(warnings);
                }
                // This runs while cargo, which handles one target at a time, compiles for the next.
                let target = target(arch);
                running.push(scope.spawn(move || target.build(&bitcode)));
            }
            let joined = running.into_iter().rev().map(|thread| match thread.join() {
                Ok(artifact) => artifact,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect::<Result<Vec<_>>>()
        });
        let artifacts = artifacts.map_err(|error| self.with_places(error, &request, target))?;
        // Nothing stays of a target that the manifest no longer names.
        if self.archs.is_none() && package.targets.is_some() {
            let mut others = Arch::supported().filter(|arch| !targets.archs.contains(arch));
            others.try_for_each(|arch| target(arch).forget())?;
        }
        optimiser.forget_others(&scratch)?;
        let artifacts = targets.with_kernels(&package.name, artifacts, &self.progress)?;
        if self.deny_local_memory {
            refuse_local_memory(&artifacts)?;
        }
        Ok((package, sources, artifacts))
    }

    /// Adds source lines to the error, if it refuses kernels. An ordinary build has no line
    /// information, which would make it slower and change the code. So this compiles the kernels
    /// once more.
    fn with_places<'t>(
        &self,
        error: Error,
        request: &Request<'_>,
        target: impl Fn(Arch) -> Target<'t>,
    ) -> Error {
        let Some(refused) = error.downcast_ref::<Refused>() else { return error };
        let kernels = refused.without_place();
        if kernels.is_empty() || self.line_info {
            return error;
        }
        (self.progress)("compiling again with line information, to find the lines of the source");
        let request = Request { line_info: true, ..*request };
        let again = kernel_crate::compile(&request, refused.arch)
            .and_then(|bitcode| target(refused.arch).refuse(&bitcode, &kernels));
        match again {
            Err(placed) if placed.is::<Refused>() => placed,
            _ => error,
        }
    }

    /// Returns the targets that [`build`](Self::build) compiles for. The crate may have no kernel
    /// for some of them, unless the caller or the manifest names them.
    ///
    /// # Errors
    /// There is no manifest, or it is wrong.
    pub fn targets(&self) -> Result<Vec<Arch>> {
        Ok(self.targets_of(&package::read(&package::absolute(&self.manifest_dir)?)?).archs)
    }

    fn targets_of(&self, package: &Package) -> Targets {
        let named = self.archs.as_ref().or(package.targets.as_ref());
        let mut archs = Vec::new();
        for &arch in named.map_or(&Arch::ALL[..], Vec::as_slice) {
            if !archs.contains(&arch) {
                archs.push(arch);
            }
        }
        Targets { archs, named: named.is_some() }
    }

    fn find_toolchain(&self, project: &Path) -> Result<Toolchain> {
        let store = Toolchain::store()?;
        if self.fetch {
            Toolchain::find_or_fetch(project, &store, &self.progress)
        } else {
            Ok(Toolchain::find(project, &store)?)
        }
    }
}

/// The targets of a build.
struct Targets {
    archs: Vec<Arch>,
    /// The caller or the manifest named them, so each must have a kernel.
    named: bool,
}

impl Targets {
    /// Keeps the targets that have kernels.
    fn with_kernels(
        &self,
        package: &str,
        built: Vec<Option<Artifact>>,
        progress: &dyn Fn(&str),
    ) -> Result<Vec<Artifact>> {
        let missing: Vec<_> =
            self.archs.iter().zip(&built).filter(|(_, built)| built.is_none()).collect();
        let names: Vec<_> = missing.iter().map(|(arch, _)| arch.name()).collect();
        let names = names.join(", ");
        ensure!(
            missing.is_empty() || !self.named && missing.len() < built.len(),
            "{package} has no kernel for {names}: leave these targets out, or write a kernel \
             whose `target` they have"
        );
        if !missing.is_empty() {
            progress(&format!("{package} has no kernel for {names}"));
        }
        Ok(built.into_iter().flatten().collect())
    }
}

fn refuse_local_memory(artifacts: &[Artifact]) -> Result<()> {
    let kernels = artifacts.iter().flat_map(|artifact| {
        artifact.manifest.kernels.iter().map(|kernel| (artifact.arch, kernel))
    });
    let local: Vec<_> = kernels
        .filter_map(|(arch, kernel)| {
            let KernelManifest { name, stack, registers, .. } = kernel;
            let why = kernel.why_local_memory()?;
            Some(format!(
                "kernel `{name}` for {arch} has {stack} bytes of stack, at {registers} registers: \
                 {why}"
            ))
        })
        .collect();
    ensure!(
        local.is_empty(),
        "kernels use local memory, which this build refuses:\n{}",
        local.join("\n")
    );
    Ok(())
}
