//! From a kernel crate's bitcode to PTX: link, prepare, optimise, generate.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::arch::Arch;
use crate::flags;
use crate::ir::{self, AsmCalls, Prepared};
use crate::kernel_crate::Bitcode;
use crate::process;
use crate::toolchain::Toolchain;

/// LLVM leaves nested loops over accumulators rolled, and with them the accumulators in local memory. This is enough
/// for the largest tile that fits into registers.
const UNROLL_THRESHOLD: &str = "-unroll-threshold=8000";

/// Each inlined call would leave notes of which of its arguments do not alias, copied again with each level. They are a third
/// of opt's time, and make no difference: what they are about is in registers once all is inlined.
const NO_ALIAS_SCOPES: &str = "-enable-noalias-to-md-conversion=false";

/// One target's way from bitcode to PTX. Intermediate files stay in `scratch`, to be looked at.
pub struct Codegen<'a> {
    pub toolchain: &'a Toolchain,
    pub arch: Arch,
    pub plain: bool,
    pub scratch: PathBuf,
}

impl Codegen<'_> {
    /// Links what belongs together and makes of it what the optimiser may have.
    pub fn prepare(&self, bitcode: &Bitcode) -> Result<Prepared> {
        std::fs::create_dir_all(&self.scratch).with_context(|| format!("cannot make {}", self.scratch.display()))?;
        let kernels = self.scratch.join("kernels.bc");
        write(&kernels, &bitcode.kernels)?;
        // The first module is linked whole; of the others only what it needs.
        let mut link = self.toolchain.llvm_link().command();
        link.args(["--only-needed", "-S", "-o", "-"]).arg(kernels);
        for (index, module) in bitcode.builtins.iter().enumerate() {
            let path = self.scratch.join(format!("builtins-{index}.bc"));
            write(&path, module)?;
            link.arg(path);
        }
        let asm_calls = if self.plain { AsmCalls::LeaveAsTheyAre } else { AsmCalls::MarkConvergent };
        ir::prepare(&process::stdout(&mut link)?, asm_calls)
    }

    /// Optimises and generates PTX.
    pub fn generate(&self, prepared: &Prepared) -> Result<String> {
        let marked = self.scratch.join("prepared.ll");
        write(&marked, prepared.text.as_bytes())?;
        let optimised = self.scratch.join("optimised.bc");
        process::stdout(self.opt(prepared).arg(&marked).arg("-o").arg(&optimised))?;
        process::stdout(self.llc().arg(&optimised).args(["-o", "-"]))
    }

    /// What opt and llc are told: besides the IR and their versions, all that the PTX depends on.
    pub fn arguments(&self, prepared: &Prepared) -> Vec<String> {
        let commands = [self.opt(prepared), self.llc()];
        let arguments = commands.iter().flat_map(Command::get_args);
        arguments.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    fn opt(&self, prepared: &Prepared) -> Command {
        let kernels: Vec<_> = prepared.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        // rustc has optimised the plain compile already. Inlining comes first, so that LLVM finds the reads of thread indices in the
        // kernels, where it knows from the launch bounds how large they get.
        let passes = if self.plain { "internalize,globaldce" } else { "internalize,inline,default<O3>" };
        let mut opt = self.toolchain.opt().command();
        opt.arg(format!("-passes={passes}"))
            .arg(format!("-internalize-public-api-list={}", kernels.join(",")))
            .arg(UNROLL_THRESHOLD)
            .arg(NO_ALIAS_SCOPES)
            .arg(format!("-mtriple={}", flags::TARGET))
            .arg(format!("-mcpu={}", self.arch));
        opt
    }

    fn llc(&self) -> Command {
        let mut llc = self.toolchain.llc().command();
        llc.arg("-O3")
            .arg(format!("-mcpu={}", self.arch))
            .arg(format!("-mattr={}", self.arch.ptx_version().llvm_feature()));
        llc
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
