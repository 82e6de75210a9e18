//! The build of a kernel crate for several targets.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Error, Result, bail, ensure};

use crate::arch::Arch;
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
    archs: Vec<Arch>,
    /// Whether the caller named the targets: then each must have a kernel.
    archs_named: bool,
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

/// One target's output.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The target.
    pub arch: Arch,
    /// The PTX, which the driver can compile for this target.
    pub ptx: PathBuf,
    /// The machine code that ptxas made of it.
    pub cubin: PathBuf,
    /// What is in them.
    pub manifest: Manifest,
}

impl Builder {
    /// A build of the crate whose manifest is in `manifest_dir`, for those of [`Arch::ALL`] that it
    /// has kernels for.
    pub fn new(manifest_dir: impl Into<PathBuf>) -> Self {
        Self {
            manifest_dir: manifest_dir.into(),
            archs: Arch::ALL.to_vec(),
            archs_named: false,
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
            // A build does not fail because nobody reads its steps.
            progress: Box::new(|step| _ = writeln!(std::io::stderr(), "{step}")),
        }
    }

    /// The targets, each once; the crate must have a kernel for each.
    #[must_use]
    pub fn archs(mut self, archs: impl IntoIterator<Item = Arch>) -> Self {
        self.archs.clear();
        self.archs_named = true;
        for arch in archs {
            if !self.archs.contains(&arch) {
                self.archs.push(arch);
            }
        }
        self
    }

    /// The target folder to use instead of that of the crate's workspace.
    #[must_use]
    pub fn target_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.target_dir = Some(folder.into());
        self
    }

    /// The folder that gets a folder for each target. Otherwise it is `ptx` in the target folder
    /// (`ptx-plain` for a plain compile).
    #[must_use]
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// The features of the kernel crate to switch on.
    #[must_use]
    pub fn features<S: Into<String>>(mut self, features: impl IntoIterator<Item = S>) -> Self {
        self.features = features.into_iter().map(Into::into).collect();
        self
    }

    /// The dependencies whose kernels are built too, by the names of their packages: those that the
    /// program launches beside the crate's own, such as `ptx-matrix-gemm`. The kernels of other
    /// dependencies are left out.
    #[must_use]
    pub fn kernels_of<S: Into<String>>(mut self, packages: impl IntoIterator<Item = S>) -> Self {
        self.kernels_of = packages.into_iter().map(Into::into).collect();
        self
    }

    /// Compiles as if inline asm needed no care. **The result is wrong**: it is there to be
    /// compared with.
    #[must_use]
    pub fn plain(mut self, plain: bool) -> Self {
        self.plain = plain;
        self
    }

    /// Compiles as ever, but marks nothing `convergent`: to be refused for the copies that LLVM
    /// makes then.
    #[doc(hidden)]
    #[must_use]
    pub fn unmarked(mut self, unmarked: bool) -> Self {
        self.unmarked = unmarked;
        self
    }

    /// Makes it an error that a kernel uses local memory: for registers that are spilled, or an
    /// array that is not in registers, as it is indexed by what is not known when it is
    /// compiled.
    #[must_use]
    pub fn deny_local_memory(mut self, deny: bool) -> Self {
        self.deny_local_memory = deny;
        self
    }

    /// Adds the lines of the source to the output, for profilers. The code stays the same.
    #[must_use]
    pub fn line_info(mut self, line_info: bool) -> Self {
        self.line_info = line_info;
        self
    }

    /// Whether rustc's messages have colours.
    #[must_use]
    pub fn color(mut self, color: bool) -> Self {
        self.color = color;
        self
    }

    /// Whether a toolchain that is missing is fetched; it is, unless told otherwise.
    #[must_use]
    pub fn fetch(mut self, fetch: bool) -> Self {
        self.fetch = fetch;
        self
    }

    /// The toolchain to use, where the caller has found one already.
    #[must_use]
    pub fn toolchain(mut self, toolchain: Toolchain) -> Self {
        self.toolchain = Some(toolchain);
        self
    }

    /// Who is told of each step that takes time, and of rustc's warnings. Otherwise they go to
    /// standard error.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Builds, in the order of the targets. What is up to date is not made again; an output that
    /// was changed or damaged is.
    ///
    /// In a build script, cargo is told to run it again when the crate, a path dependency of it, or
    /// an output changes. With that cargo no longer runs it again for every file of its own
    /// package.
    pub fn build(&self) -> Result<Vec<Artifact>> {
        let built = self.build_all();
        match &built {
            Ok((package, sources, artifacts)) => watch::tell_cargo(package, sources, artifacts),
            Err(_) => watch::tell_cargo_of_failure(),
        }
        built.map(|(.., artifacts)| artifacts)
    }

    /// The crate, the files that it was compiled of, and the outputs.
    fn build_all(&self) -> Result<(Package, BTreeSet<PathBuf>, Vec<Artifact>)> {
        // Other programs are run in other folders.
        let manifest_dir = package::absolute(&self.manifest_dir)?;
        let package = package::read(&manifest_dir)?;
        let target_dir = match &self.target_dir {
            Some(folder) => package::absolute(folder)?,
            None => package.target_directory.clone(),
        };
        let work = target_dir.join("ptx-matrix");
        let toolchain = match &self.toolchain {
            Some(toolchain) => toolchain.clone(),
            None => self.find_toolchain(&manifest_dir, &work.join("toolchain"))?,
        };
        let sysroot = sysroot::find_or_build(&work.join("sysroot"), &toolchain, &self.progress)?;
        let kernels = work.join("kernels");
        // The targets share cargo's folder, and its library for one is replaced by that for the
        // next.
        let _lock = FolderLock::acquire(&kernels, "build-lock")?;
        let request = Request {
            toolchain: &toolchain,
            manifest_dir: &manifest_dir,
            target_dir: &kernels,
            sysroot: &sysroot,
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
                        "kernels_of names `{named}`, which is no dependency of `{}`",
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

        let mut sources = BTreeSet::new();
        let artifacts = thread::scope(|scope| {
            let mut running = Vec::new();
            // The newest have most kernels: what takes longest comes first.
            for (index, &arch) in self.archs.iter().rev().enumerate() {
                let bitcode = kernel_crate::compile(&request, arch)?;
                sources.extend(bitcode.sources.iter().cloned());
                // Once is enough, and on the older targets much of a crate is unused.
                if index == 0 && !bitcode.warnings.trim().is_empty() {
                    (self.progress)(bitcode.warnings.trim_end());
                }
                // While cargo compiles for the next target, which it does one at a time.
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
        optimiser.forget_others(&scratch)?;
        let artifacts = self.with_kernels(&package.name, artifacts)?;
        if self.deny_local_memory {
            refuse_local_memory(&artifacts)?;
        }
        Ok((package, sources, artifacts))
    }

    /// The error, with the lines of the source if it is of kernels that are refused. For that they
    /// are compiled once more: with line information a build takes longer, and makes other code.
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
        (self.progress)("compiling with line information, to say where in the source");
        let request = Request { line_info: true, ..*request };
        let again = kernel_crate::compile(&request, refused.arch)
            .and_then(|bitcode| target(refused.arch).refuse(&bitcode, &kernels));
        match again {
            Err(placed) if placed.is::<Refused>() => placed,
            _ => error,
        }
    }

    /// The targets that have kernels; those without are left out, unless they were asked for.
    fn with_kernels(&self, package: &str, built: Vec<Option<Artifact>>) -> Result<Vec<Artifact>> {
        let missing: Vec<_> =
            self.archs.iter().zip(&built).filter(|(_, built)| built.is_none()).collect();
        let names: Vec<_> = missing.iter().map(|(arch, _)| arch.name()).collect();
        let names = names.join(", ");
        ensure!(
            missing.is_empty() || !self.archs_named && missing.len() < built.len(),
            "{package} has no kernel for {names}"
        );
        if !missing.is_empty() {
            (self.progress)(&format!("{package} has no kernel for {names}"));
        }
        Ok(built.into_iter().flatten().collect())
    }

    fn find_toolchain(&self, project: &Path, store: &Path) -> Result<Toolchain> {
        if self.fetch {
            Toolchain::find_or_fetch(project, store, &self.progress)
        } else {
            Ok(Toolchain::find(project, store)?)
        }
    }
}

fn refuse_local_memory(artifacts: &[Artifact]) -> Result<()> {
    let kernels = artifacts.iter().flat_map(|artifact| {
        artifact.manifest.kernels.iter().map(|kernel| (artifact.arch, kernel))
    });
    let local: Vec<_> = kernels
        .filter(|(_, kernel)| kernel.stack + kernel.spill_stores + kernel.spill_loads > 0)
        .map(|(arch, kernel)| {
            let KernelManifest { name, stack, spill_stores, spill_loads, registers, .. } = kernel;
            let spilled = spill_stores + spill_loads > 0;
            let why = if spilled { "registers are spilled" } else { "an array is not in registers" };
            format!("kernel `{name}` for {arch}: {why}: {stack} bytes of stack, at {registers} registers")
        })
        .collect();
    ensure!(local.is_empty(), "kernels use local memory:\n{}", local.join("\n"));
    Ok(())
}
