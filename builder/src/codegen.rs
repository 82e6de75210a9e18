//! A target's way from a kernel crate's bitcode to PTX: link, prepare, have each kernel optimised, generate.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use rayon::prelude::*;

use crate::arch::Arch;
use crate::ir::{self, AsmCalls, Module, Prepared};
use crate::kernel_crate::Bitcode;
use crate::optimiser::Optimiser;
use crate::process;
use crate::toolchain::Toolchain;
use crate::traps::merge_traps;

/// One target's way from bitcode to PTX. Intermediate files stay in `scratch`, to be looked at.
pub struct Codegen<'a> {
    pub toolchain: &'a Toolchain,
    pub optimiser: &'a Optimiser<'a>,
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

    /// Has each kernel optimised, and generates PTX of all of them.
    pub fn generate(&self, prepared: &Prepared) -> Result<String> {
        let module = Module::read(&prepared.text);
        let groups = module.groups(&prepared.kernels);
        let optimised = groups.par_iter().map(|kernels| self.optimiser.optimised(&module.unit(kernels)));
        let optimised = optimised.collect::<Result<Vec<_>>>()?;
        let all = self.scratch.join("optimised.bc");
        process::stdout(self.toolchain.llvm_link().command().args(&optimised).arg("-o").arg(&all))?;
        self.optimiser.keep_for(&self.scratch, &optimised)?;
        process::stdout(self.llc().arg(&all).args(["-o", "-"])).map(|ptx| merge_traps(&ptx))
    }

    /// What opt and llc are told, and what is done to the PTX: besides the IR and their versions, all that it depends on.
    pub fn arguments(&self) -> Vec<String> {
        let llc = self.llc();
        let arguments = llc.get_args().map(|word| word.to_string_lossy().into_owned());
        self.optimiser.arguments().into_iter().chain(arguments).chain(["merge_traps".into()]).collect()
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
