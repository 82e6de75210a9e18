//! Turns a kernel crate's bitcode into one target's PTX: links, prepares, optimises each kernel,
//! and generates code.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use rayon::prelude::*;

use crate::arch::Arch;
use crate::ir::{self, KeptCrates, Kernel, Module, Prepared, UnknownCalls, arithmetic};
use crate::kernel_crate::Bitcode;
use crate::newer::without_newer;
use crate::optimiser::{CHECKED, Optimiser};
use crate::process;
use crate::refusal::{Refusal, Refused};
use crate::toolchain::Toolchain;
use crate::traps::merge_traps;

/// One target's code generation, from bitcode to PTX. Intermediate files stay in `scratch`, for
/// inspection.
pub struct Codegen<'a> {
    pub toolchain: &'a Toolchain,
    pub optimiser: &'a Optimiser<'a>,
    pub arch: Arch,
    pub kept: &'a KeptCrates,
    pub plain: bool,
    pub unmarked: bool,
    pub scratch: PathBuf,
}

impl Codegen<'_> {
    /// Links the bitcode, and prepares the module for the optimiser.
    pub fn prepare(&self, bitcode: &Bitcode) -> Result<Prepared> {
        std::fs::create_dir_all(&self.scratch)
            .with_context(|| format!("cannot make {}", self.scratch.display()))?;
        let kernels = self.scratch.join("kernels.bc");
        write(&kernels, &bitcode.kernels)?;
        let mut builtins = Vec::new();
        for (index, module) in bitcode.builtins.iter().enumerate() {
            builtins.push(self.scratch.join(format!("builtins-{index}.bc")));
            write(&builtins[index], module)?;
        }
        let mut linked = self.linked(&kernels, &builtins)?;
        if let Cow::Owned(_) = arithmetic::by_functions(&linked) {
            // The linker takes only the builtins that are called, so the calls of these functions
            // must exist before it runs.
            let asking = self.scratch.join("kernels.ll");
            write(&asking, arithmetic::by_functions(&self.linked(&kernels, &[])?).as_bytes())?;
            linked = self.linked(&asking, &builtins)?;
        }
        let unknown_calls = if self.plain || self.unmarked {
            UnknownCalls::LeaveAsTheyAre
        } else {
            UnknownCalls::MarkConvergent
        };
        ir::prepare(&linked, self.kept, unknown_calls)
    }

    /// Returns the text of a module, linked with the functions that it needs from the others.
    fn linked(&self, module: &Path, others: &[PathBuf]) -> Result<String> {
        let mut link = self.toolchain.llvm_link().command();
        process::stdout(link.args(["--only-needed", "-S", "-o", "-"]).arg(module).args(others))
    }

    /// Optimises each kernel, and generates the PTX of all.
    pub fn generate(&self, prepared: &Prepared) -> Result<String> {
        let module = Module::read(&prepared.text);
        refuse_mutable_statics(&module, &prepared.kernels)?;
        let groups = module.groups(&prepared.kernels);
        let optimised = groups
            .par_iter()
            .map(|kernels| self.optimiser.optimised(&module.unit(kernels)))
            .collect::<Result<Vec<_>>>()?;
        let refusals = self.optimiser.refusals(&optimised, |at| module.unit(&groups[at]))?;
        if !refusals.is_empty() {
            return Err(Refused { arch: self.arch, refusals }.into());
        }
        let files: Vec<PathBuf> = optimised.into_iter().map(|one| one.file).collect();
        let all = self.scratch.join("optimised.bc");
        process::stdout(self.toolchain.llvm_link().command().args(&files).arg("-o").arg(&all))?;
        self.optimiser.keep_for(&self.scratch, &files)?;
        let mut llc = self.llc();
        let output = process::output(llc.arg(&all).args(["-o", "-"]))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let command = process::shown(&llc);
            return Err(cannot_lower(&said, &prepared.kernels).map_or_else(
                || anyhow!("{command} failed ({}):\n{}", output.status, said.trim_end()),
                |refusal| Refused { arch: self.arch, refusals: vec![refusal] }.into(),
            ));
        }
        let ptx = merge_traps(&String::from_utf8_lossy(&output.stdout));
        Ok(without_newer(&ptx, self.arch))
    }

    /// Returns the arguments of opt and llc, and the names of the edits and checks. The PTX depends
    /// only on these, the IR and the tools' versions.
    pub fn arguments(&self) -> Vec<String> {
        let llc = self.llc();
        let arguments = llc.get_args().map(|word| word.to_string_lossy().into_owned());
        self.optimiser
            .arguments()
            .into_iter()
            .chain(arguments)
            .chain(["merge_traps", "without_newer", CHECKED].map(String::from))
            .collect()
    }

    fn llc(&self) -> Command {
        let mut llc = self.toolchain.llc().command();
        llc.arg("-O3")
            .arg(format!("-mcpu={}", self.arch))
            .arg(format!("-mattr={}", self.arch.ptx_version().llvm_feature()));
        llc
    }
}

/// Refuses mutable statics in crates with `#[kernel]`s. Their types keep lane-dependent values
/// apart from uniform ones, and a static would bypass them.
fn refuse_mutable_statics(module: &Module<'_>, kernels: &[Kernel]) -> Result<()> {
    if !kernels.iter().any(|kernel| kernel.metadata.is_some()) {
        return Ok(());
    }
    let statics = module.mutable_statics(kernels);
    let refused = statics.iter().map(|(name, kernels)| {
        let names = kernels.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let uses = if kernels.len() == 1 { "uses" } else { "use" };
        let kernels = if kernels.len() == 1 { "kernel" } else { "kernels" };
        format!(
            "{kernels} {names} {uses} the mutable static `{:#}`",
            rustc_demangle::demangle(name)
        )
    });
    let refused: Vec<String> = refused.collect();
    ensure!(
        refused.is_empty(),
        "{}: through it, a value of one lane could reach warp scope, where values are the same in \
         all lanes; let the kernel take a `GlobalMut` instead",
        refused.join("\n")
    );
    Ok(())
}

/// Explains llc's message about an operation that it cannot lower, without its stack trace.
fn cannot_lower(said: &str, kernels: &[Kernel]) -> Option<Refusal> {
    let error = said
        .lines()
        .find_map(|line| line.split_once("LLVM ERROR: ").map(|(_, error)| error.trim()))?;
    let rest = said.lines().find_map(|line| {
        let (_, function) =
            line.split_once("In function: ").or_else(|| line.split_once("on function '@"))?;
        Some(function.trim_end_matches('\'').trim().to_owned())
    });
    let kernel = rest.filter(|function| kernels.iter().any(|kernel| kernel.name == *function));
    let operation =
        match error.split_once("Cannot select: ").and_then(|(_, node)| node.split_once(" = ")) {
            Some((result, node)) => {
                let kind = result.rsplit(' ').next().unwrap_or_default();
                format!("`{}` of {kind}", node.split([' ', '<']).next().unwrap_or(node))
            }
            None => format!("an operation: {error}"),
        };
    // With line information, the message ends with the place.
    let place = error
        .rsplit_once(", ")
        .filter(|(_, place)| place.contains(".rs:"))
        .map(|(_, place)| place.to_owned());
    let all = || kernels.iter().map(|kernel| kernel.name.clone()).collect();
    Some(Refusal {
        kernels: kernel.map_or_else(all, |kernel| vec![kernel]),
        reason: format!(
            "LLVM has no PTX for {operation}; compute it with a function in plain Rust"
        ),
        place,
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_llcs_abort_the_operation_and_the_kernel_are_told() {
        let kernels = ["power", "other"].map(|name| Kernel {
            name: name.into(),
            metadata: None,
            fingerprint: None,
        });
        let said = "LLVM ERROR: Cannot select: 0x55: f32 = fpow 0x56, 0x57\n  0x56: f32 = \
                    load\nIn function: power\n\
                    PLEASE submit a bug report\nStack dump:\n0.\tProgram arguments: llc\n";
        let refusal = cannot_lower(said, &kernels).unwrap();
        assert_eq!(refusal.kernels, ["power"]);
        assert!(
            refusal.reason.starts_with("LLVM has no PTX for `fpow` of f32;"),
            "{}",
            refusal.reason
        );
        let said = "LLVM ERROR: unsupported library call operation\nStack dump:\n1.\tRunning pass \
                    \'NVPTX DAG->DAG\' on function \'@other\'\n";
        let refusal = cannot_lower(said, &kernels).unwrap();
        assert_eq!(refusal.kernels, ["other"]);
        assert!(
            refusal.reason.contains("unsupported library call operation"),
            "{}",
            refusal.reason
        );
        assert_eq!(cannot_lower("llc: error: no such file\n", &kernels), None);
    }
}
