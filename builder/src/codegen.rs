//! Turns a kernel crate's bitcode into one target's PTX: links, prepares, optimises each kernel,
//! and generates code.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use rayon::prelude::*;

use crate::arch::Arch;
use crate::ir::asm::PLACEHOLDERS;
use crate::ir::{
    self, KeptCrates, Kernel, Module, Placeholders, Prepared, Unit, UnknownCalls, arithmetic,
    portable,
};
use crate::kernel_crate::Bitcode;
use crate::newer::without_newer;
use crate::optimiser::{CHECKED, Optimised, Optimiser, read};
use crate::process;
use crate::refusal::{Refusal, Refused};
use crate::stamp;
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
        // `.loc` directives have numbers of files, which one run of llc must assign.
        let is_one = prepared.text.contains("!DICompileUnit(");
        let placeholders = if is_one { Placeholders::None } else { Placeholders::ForNamesAndAsm };
        let compile = |kernels: &Vec<&Kernel>| {
            let unit = module.unit(kernels, placeholders);
            match self.compiled(&unit, is_one) {
                Ok(compiled) => Ok(Ok(compiled)),
                Err(error) => match error.downcast::<Refused>() {
                    Ok(refused) => Ok(Err(refused.refusals)),
                    Err(error) => Err(error.context(unit.kernels.join(", "))),
                },
            }
        };
        let groups = module.groups(&prepared.kernels);
        let compiled = groups.par_iter().map(compile).collect::<Result<Vec<_>>>()?;
        let (mut optimised, mut ptx, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
        for one in compiled {
            match one {
                Err(refused) => refusals.extend(refused),
                Ok((module, text)) => {
                    optimised.push(module);
                    ptx.push(text);
                }
            }
        }
        if !refusals.is_empty() {
            return Err(Refused { arch: self.arch, refusals }.into());
        }
        self.optimiser.keep_for(&self.scratch, &optimised)?;
        let ptx = if is_one {
            self.ptx_of_all(prepared, &optimised)?
        } else {
            ptx.iter().fold(self.head(), |all, ptx| all + body(ptx))
        };
        Ok(without_newer(&merge_traps(&ptx), self.arch))
    }

    /// Optimises and checks a unit, and generates its PTX, if that is not for all units at once.
    fn compiled(&self, unit: &Unit, is_one: bool) -> Result<(Optimised, String)> {
        let optimised = self.optimiser.optimised(unit)?;
        if let Some(refusal) = self.optimiser.refusal(unit, &optimised)? {
            return Err(Refused { arch: self.arch, refusals: vec![refusal] }.into());
        }
        let ptx = if is_one { String::new() } else { self.ptx_of(unit, &optimised)? };
        Ok((optimised, ptx))
    }

    /// Generates the PTX of a unit, unless that was done before for a unit with the same module, or
    /// for a target with the same code.
    fn ptx_of(&self, unit: &Unit, optimised: &Optimised) -> Result<String> {
        let arch = match self.optimiser.is_portable(optimised)? {
            true => self.arch.oldest_alike(),
            false => self.arch,
        };
        let arguments = stamp::of(llc_arguments(arch).iter().map(String::as_bytes));
        let name = format!("{}.{arch}-{}.ptx", optimised.name, &arguments[..8]);
        let ptx = self.optimiser.make(&name, |unfinished| {
            self.llc(arch, &optimised.file, unfinished, &unit.kernels, |said| unit.named(said))
        })?;
        unit.in_ptx(&read(&ptx)?)
    }

    /// The lines before the code.
    fn head(&self) -> String {
        let (version, arch) = (self.arch.ptx_version(), self.arch);
        format!(".version {version}\n.target {arch}{ADDRESS_SIZE}")
    }

    /// Links all units, and generates their PTX.
    fn ptx_of_all(&self, prepared: &Prepared, optimised: &[Optimised]) -> Result<String> {
        let [linked, ptx] = ["optimised.bc", "optimised.ptx"].map(|name| self.scratch.join(name));
        let mut link = self.toolchain.llvm_link().command();
        process::stdout(link.args(optimised.iter().map(|one| &one.file)).arg("-o").arg(&linked))?;
        let kernels: Vec<_> = prepared.kernels.iter().map(|kernel| kernel.name.clone()).collect();
        self.llc(self.arch, &linked, &ptx, &kernels, |said| said)?;
        read(&ptx)
    }

    fn llc(
        &self,
        arch: Arch,
        module: &Path,
        ptx: &Path,
        kernels: &[String],
        named: impl Fn(String) -> String,
    ) -> Result<()> {
        let mut llc = self.toolchain.llc().command();
        let output = process::output(llc.args(llc_arguments(arch)).arg(module).arg("-o").arg(ptx))?;
        if output.status.success() {
            return process::refuse_ignored(&String::from_utf8_lossy(&output.stderr));
        }
        let said = named(String::from_utf8_lossy(&output.stderr).into_owned());
        let command = process::shown(&llc);
        Err(cannot_lower(&said, kernels).map_or_else(
            || anyhow!("{command} failed ({}):\n{}", output.status, said.trim_end()),
            |refusal| Refused { arch: self.arch, refusals: vec![refusal] }.into(),
        ))
    }

    /// Returns the arguments of opt and llc, and the names of the edits and checks. The PTX depends
    /// only on these, the IR and the tools' versions.
    pub fn arguments(&self) -> Vec<String> {
        self.optimiser
            .arguments()
            .into_iter()
            .chain(llc_arguments(self.arch))
            .chain(
                ["merge_traps", "without_newer", PLACEHOLDERS, portable::VERSION, CHECKED]
                    .map(String::from),
            )
            .collect()
    }
}

fn llc_arguments(arch: Arch) -> [String; 3] {
    let version = arch.ptx_version().llvm_feature();
    ["-O3".into(), format!("-mcpu={arch}"), format!("-mattr={version}")]
}

/// The last line of the head of PTX.
const ADDRESS_SIZE: &str = "\n.address_size 64\n";

/// Returns the PTX after its head.
fn body(ptx: &str) -> &str {
    ptx.split_once(ADDRESS_SIZE).map_or(ptx, |(_, body)| body)
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
fn cannot_lower(said: &str, kernels: &[String]) -> Option<Refusal> {
    let error = said
        .lines()
        .find_map(|line| line.split_once("LLVM ERROR: ").map(|(_, error)| error.trim()))?;
    let rest = said.lines().find_map(|line| {
        let (_, function) =
            line.split_once("In function: ").or_else(|| line.split_once("on function '@"))?;
        Some(function.trim_end_matches('\'').trim().to_owned())
    });
    let kernel = rest.filter(|function| kernels.contains(function));
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
    Some(Refusal {
        kernels: kernel.map_or_else(|| kernels.to_vec(), |kernel| vec![kernel]),
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
        let kernels = ["power", "other"].map(String::from);
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
