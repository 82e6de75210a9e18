//! One target's part of a build: from the kernel crate's bitcode to the output files.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::arch::Arch;
use crate::builder::Artifact;
use crate::codegen::Codegen;
use crate::ir::{KeptCrates, Kernel};
use crate::kernel_crate::Bitcode;
use crate::manifest::{KernelManifest, Manifest, ToolVersions};
use crate::optimiser::Optimiser;
use crate::ptxas::{Job, Report};
use crate::seal;
use crate::stamp::{self, Stamp};
use crate::toolchain::Toolchain;

/// The inputs and the output folder of one target's build.
pub struct Target<'a> {
    pub toolchain: &'a Toolchain,
    pub optimiser: &'a Optimiser<'a>,
    pub package: &'a str,
    pub arch: Arch,
    /// The crates whose kernels the build keeps.
    pub kept: &'a KeptCrates,
    pub plain: bool,
    pub unmarked: bool,
    pub line_info: bool,
    pub scratch: PathBuf,
    pub out_dir: PathBuf,
    pub progress: &'a (dyn Fn(&str) + Send + Sync),
}

impl Target<'_> {
    /// Makes the output files, unless they are up to date. Returns `None` if the crate has no
    /// kernel for the target.
    pub fn build(self, bitcode: &Bitcode) -> Result<Option<Artifact>> {
        let Self { toolchain, arch, package, .. } = self;
        let codegen = self.codegen();
        let job = Job {
            ptxas: toolchain.ptxas(),
            arch,
            ptx: self.file("ptx"),
            cubin: self.file("cubin"),
            line_info: self.line_info,
        };
        let manifest_path = self.file("json");
        let artifact = |manifest| {
            Some(Artifact { arch, ptx: job.ptx.clone(), cubin: job.cubin.clone(), manifest })
        };
        // llvm-link's output depends only on these inputs. If they are unchanged, it need not run.
        // If they differ, its output may still be the same.
        let linked =
            Stamp { path: self.file("linked"), inputs: self.inputs(&codegen, bitcode.parts()) };
        let files = [job.ptx.as_path(), &job.cubin, &manifest_path];
        let kept =
            |stamp: &Stamp| stamp.kept(files).then(|| Manifest::read(&manifest_path)).flatten();
        if let Some(manifest) = kept(&linked) {
            return Ok(artifact(manifest));
        }

        let prepared = codegen.prepare(bitcode).with_context(|| format!("{package} for {arch}"))?;
        if prepared.kernels.is_empty() {
            return Ok(None);
        }
        check_shared_memory(&prepared.kernels, arch, self.progress)?;
        std::fs::create_dir_all(&self.out_dir)
            .with_context(|| format!("cannot make {}", self.out_dir.display()))?;
        let stamp = Stamp {
            path: self.file("stamp"),
            inputs: self.inputs(&codegen, [prepared.text.as_bytes()]),
        };
        let manifest = match kept(&stamp) {
            Some(manifest) => manifest,
            None => {
                (self.progress)(&format!("compiling {package} for {arch}"));
                linked.remove()?;
                stamp.remove()?;
                // A refused kernel has no manifest, and an old manifest must not stay beside it.
                stamp::remove(&manifest_path)?;
                let ptx = codegen.generate(&prepared)?;
                let assembled = job.assemble(ptx)?;
                let manifest = Manifest {
                    package: package.to_owned(),
                    arch,
                    ptx_version: assembled.version,
                    toolchain: ToolVersions::from(toolchain),
                    kernels: kernels(&prepared.kernels, &assembled.report)?,
                    remarks: assembled.report.remarks,
                };
                for remark in &manifest.remarks {
                    (self.progress)(remark);
                }
                refuse_stacks(&manifest.kernels, arch)?;
                manifest.write(&manifest_path)?;
                manifest
            }
        };
        // A plain compile is wrong, so nothing may load it as the program's kernels.
        if !self.plain {
            seal::write(&job.ptx, &job.cubin, &prepared.kernels)?;
        }
        stamp.write(files)?;
        linked.write(files)?;
        Ok(artifact(manifest))
    }

    /// Compiles some of the kernels once more, only to report why they are refused. Makes no files.
    pub fn refuse(self, bitcode: &Bitcode, kernels: &[String]) -> Result<()> {
        let codegen = self.codegen();
        let mut prepared = codegen.prepare(bitcode)?;
        prepared.kernels.retain(|kernel| kernels.contains(&kernel.name));
        codegen.generate(&prepared).map(drop)
    }

    fn codegen(&self) -> Codegen<'_> {
        let Self { toolchain, optimiser, arch, kept, plain, unmarked, ref scratch, .. } = *self;
        Codegen { toolchain, optimiser, arch, kept, plain, unmarked, scratch: scratch.clone() }
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.out_dir.join(format!("{}.{extension}", self.package))
    }

    /// The fingerprint of the given bitcode and of all options that affect the output.
    fn inputs<'p>(
        &self,
        codegen: &Codegen<'_>,
        parts: impl IntoIterator<Item = &'p [u8]>,
    ) -> String {
        let ToolVersions { rustc, llvm, ptxas } = ToolVersions::from(self.toolchain);
        let own = env!("CARGO_PKG_VERSION");
        let crates: Vec<&str> = self.kept.0.iter().map(String::as_str).collect();
        let crates = crates.join(" ");
        let settings = format!("{own} {rustc} {llvm} {ptxas} {} {crates}", self.line_info);
        let arguments = codegen.arguments().join("\0");
        let parts: Vec<&[u8]> = parts.into_iter().collect();
        stamp::of([settings.as_bytes(), arguments.as_bytes()].into_iter().chain(parts))
    }
}

/// Refuses kernels with more shared memory than any GPU of the target has. If a GPU of an older
/// target has that much, the kernel is kept and reported: builds for newer targets include it too.
fn check_shared_memory(kernels: &[Kernel], arch: Arch, progress: &dyn Fn(&str)) -> Result<()> {
    let bytes =
        |kernel: &Kernel| kernel.metadata.as_ref().map_or(0, |metadata| metadata.shared_bytes);
    let beyond: Vec<&Kernel> =
        kernels.iter().filter(|kernel| bytes(kernel) > arch.max_shared()).collect();
    let (along, refused): (Vec<&Kernel>, Vec<&Kernel>) = beyond
        .into_iter()
        .partition(|kernel| arch.up_to().any(|older| bytes(kernel) <= older.max_shared()));
    let most = arch.max_shared();
    let lines = refused.iter().map(|kernel| {
        format!(
            "kernel `{}` has {} bytes of shared memory; a block on a GPU of {arch} has at most \
             {most}",
            kernel.name,
            bytes(kernel)
        )
    });
    ensure!(refused.is_empty(), "{}", lines.collect::<Vec<_>>().join("\n"));
    if !along.is_empty() {
        let names = along.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>().join(", ");
        progress(&format!(
            "these kernels cannot be launched on {arch}, because they have more shared memory \
             than its {most} bytes: {names}"
        ));
    }
    Ok(())
}

/// The bytes of local memory that a thread can have, on any GPU (CUDA programming guide, compute
/// capabilities).
const MAX_STACK: u32 = 512 * 1024;

fn refuse_stacks(kernels: &[KernelManifest], arch: Arch) -> Result<()> {
    let beyond = kernels.iter().filter(|kernel| kernel.stack > MAX_STACK).map(|kernel| {
        let KernelManifest { name, stack, .. } = kernel;
        format!(
            "kernel `{name}` for {arch} has a stack of {stack} bytes; a thread on a GPU has \
                 at most {MAX_STACK}"
        )
    });
    let beyond: Vec<String> = beyond.collect();
    ensure!(beyond.is_empty(), "{}", beyond.join("\n"));
    Ok(())
}

fn kernels(kernels: &[Kernel], report: &Report) -> Result<Vec<KernelManifest>> {
    let mut described = kernels
        .iter()
        .map(|kernel| {
            let usage = report.usage.get(&kernel.name);
            let usage = usage.with_context(|| {
                format!("ptxas reported nothing about kernel `{}`", kernel.name)
            })?;
            Ok(KernelManifest::new(kernel, usage))
        })
        .collect::<Result<Vec<_>>>()?;
    described.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(described)
}
