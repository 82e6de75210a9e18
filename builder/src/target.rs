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
        // The prepared module depends only on these inputs and on the builder's code. If they are
        // unchanged, llvm-link need not run. If they differ, the module may still be the same.
        let parts = bitcode.parts().chain([SOURCES.as_bytes()]);
        let linked = Stamp { path: self.file("linked"), inputs: self.inputs(&codegen, parts) };
        let files = [job.ptx.as_path(), &job.cubin, &manifest_path];
        let kept =
            |stamp: &Stamp| stamp.kept(files).then(|| Manifest::read(&manifest_path)).flatten();
        if let Some(manifest) = kept(&linked) {
            return Ok(artifact(manifest));
        }

        let mut prepared =
            codegen.prepare(bitcode).with_context(|| format!("{package} for {arch}"))?;
        refuse_shared_memory(&mut prepared.kernels, arch, self.progress)?;
        if prepared.kernels.is_empty() {
            self.forget()?;
            return Ok(None);
        }
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

    /// Removes what an earlier build made for the target. A program would load it, and the launch
    /// would fail, because it was built from other sources.
    pub fn forget(&self) -> Result<()> {
        ["linked", "stamp", "json", "cubin", "ptx"]
            .into_iter()
            .try_for_each(|extension| stamp::remove(&self.file(extension)))
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
        let settings =
            format!("{own} {rustc} {llvm} {ptxas} {} {} {crates}", self.line_info, self.unmarked);
        let arguments = codegen.arguments().join("\0");
        let parts: Vec<&[u8]> = parts.into_iter().collect();
        stamp::of([settings.as_bytes(), arguments.as_bytes()].into_iter().chain(parts))
    }
}

/// The fingerprint of the builder's sources, which its build script computes: of the passes that
/// prepare a module, whose versions nothing else tells apart.
const SOURCES: &str = env!("PTX_MATRIX_BUILD_SOURCES");

/// Refuses kernels with more shared memory than a block on a GPU of the target can have.
///
/// A kernel for older targets may be too large for this one: a GPU of sm_80 has more shared memory
/// than one of sm_89. The build leaves out such a kernel, and says so. If no older target has as
/// much either, the build fails.
fn refuse_shared_memory(
    kernels: &mut Vec<Kernel>,
    arch: Arch,
    progress: &dyn Fn(&str),
) -> Result<()> {
    let bytes =
        |kernel: &Kernel| kernel.metadata.as_ref().map_or(0, |metadata| metadata.shared_bytes);
    let most = arch.max_shared();
    let refused: Vec<Kernel> = kernels.extract_if(.., |kernel| bytes(kernel) > most).collect();
    let line = |kernel: &Kernel, remedy: &str| {
        format!(
            "kernel `{}` has {} bytes of shared memory; a block on a GPU of {arch} has at most \
             {most}: {remedy}",
            kernel.name,
            bytes(kernel)
        )
    };
    let (left_out, wrong): (Vec<Kernel>, Vec<Kernel>) = refused
        .into_iter()
        .partition(|kernel| arch.up_to().any(|older| bytes(kernel) <= older.max_shared()));
    let lines = wrong.iter().map(|kernel| {
        line(kernel, "use smaller tiles or fewer stages, or name a newer `target` in `#[kernel]`")
    });
    ensure!(wrong.is_empty(), "{}", lines.collect::<Vec<_>>().join("\n"));
    for kernel in &left_out {
        progress(&line(
            kernel,
            "the build for this target leaves it out; give it smaller tiles or fewer stages to \
             run there",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::KernelMetadata;
    use std::cell::RefCell;

    fn kernel(name: &str, shared_kib: u32) -> Kernel {
        let metadata = KernelMetadata {
            threads: None,
            min_blocks: None,
            max_registers: None,
            shared_bytes: shared_kib * 1024,
            shared_align: 16,
            grid_constants: Vec::new(),
            cluster: None,
        };
        Kernel { name: name.into(), metadata: Some(metadata), fingerprint: None }
    }

    /// The names of the kernels that stay, or the refusal; and the lines for the user.
    fn refused(arch: Arch, kibs: &[u32]) -> (Result<Vec<String>, String>, Vec<String>) {
        let lines = RefCell::new(Vec::new());
        let mut kernels: Vec<Kernel> =
            kibs.iter().map(|kib| kernel(&format!("of_{kib}"), *kib)).collect();
        let result =
            refuse_shared_memory(&mut kernels, arch, &|line| lines.borrow_mut().push(line.into()));
        let stay = kernels.into_iter().map(|kernel| kernel.name).collect();
        (result.map(|()| stay).map_err(|error| error.to_string()), lines.into_inner())
    }

    #[test]
    fn kernel_beyond_its_targets_shared_memory_is_not_built() {
        for (arch, most) in
            [(Arch::SM_75, 64), (Arch::SM_80, 163), (Arch::SM_90A, 227), (Arch::SM_100A, 227)]
        {
            assert_eq!(refused(arch, &[most]).0, Ok(vec![format!("of_{most}")]));
            let error = refused(arch, &[most, 228]).0.unwrap_err();
            let expected = format!(
                "kernel `of_228` has 233472 bytes of shared memory; a block on a GPU of {arch} has \
                 at most {}: use smaller tiles or fewer stages, or name a newer `target` in \
                 `#[kernel]`",
                most * 1024
            );
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn kernel_that_fits_only_older_targets_is_left_out() {
        for (arch, kibs, stay) in [
            (Arch::SM_86, [99, 120, 163], "of_99"),
            (Arch::SM_89, [48, 100, 163], "of_48"),
            (Arch::SM_120A, [99, 192, 227], "of_99"),
        ] {
            let (kept, lines) = refused(arch, &kibs);
            assert_eq!(kept, Ok(vec![stay.to_owned()]));
            let expected = format!(
                "kernel `of_{}` has {} bytes of shared memory; a block on a GPU of {arch} has at \
                 most 101376: the build for this target leaves it out",
                kibs[1],
                kibs[1] * 1024
            );
            assert!(lines.len() == 2 && lines[0].starts_with(&expected), "{lines:?}");
        }
        let error = refused(Arch::SM_89, &[192]).0.unwrap_err();
        assert!(error.starts_with("kernel `of_192` has 196608 bytes"), "{error}");
    }
}
