//! What a build says about the kernels that it made.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::arch::{Arch, PtxVersion};
use crate::ir::{Kernel, STATIC_SHARED_LIMIT};
use crate::ptxas::Usage;
use crate::toolchain::Toolchain;
use crate::version::Version;

/// One target's build of a kernel crate, as the `.json` file beside its PTX has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The kernel crate's name.
    pub package: String,
    /// The target.
    pub arch: Arch,
    /// The PTX version of the `.ptx` file: the target's, or what the kernels' instructions need if
    /// that is more.
    pub ptx_version: PtxVersion,
    /// What compiled it.
    pub toolchain: ToolVersions,
    /// The kernels, by name.
    pub kernels: Vec<KernelManifest>,
    /// What ptxas warned of, short of what fails a build.
    pub remarks: Vec<String>,
}

/// The versions of the tools that a build used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolVersions {
    /// rustc's.
    pub rustc: Version,
    /// That of opt and llc.
    pub llvm: Version,
    /// ptxas's.
    pub ptxas: Version,
}

/// What a kernel asks for, and what it takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelManifest {
    /// The name to launch it by.
    pub name: String,
    /// The threads of a block that it is compiled for.
    pub threads: Option<u32>,
    /// The blocks that are to fit on a multiprocessor at once.
    pub min_blocks: Option<u32>,
    /// The limit that its crate sets on registers.
    pub max_registers: Option<u32>,
    /// Registers of each thread.
    pub registers: u32,
    /// Barriers of each block.
    pub barriers: u32,
    /// Bytes of shared memory that the kernel has without being given any at launch.
    pub static_shared: u32,
    /// Bytes of shared memory that must be given at launch.
    pub dynamic_shared: u32,
    /// Bytes of each thread's stack, in local memory.
    pub stack: u32,
    /// Bytes stored by register spills.
    pub spill_stores: u32,
    /// Bytes loaded by register spills.
    pub spill_loads: u32,
}

impl Manifest {
    /// The kernel of this name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&KernelManifest> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The manifest at `path`, if it is one of this version of the builder.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl KernelManifest {
    pub(crate) fn new(kernel: &Kernel, usage: &Usage) -> Self {
        let metadata = kernel.metadata.as_ref();
        let shared = metadata.map_or(0, |metadata| metadata.shared_bytes);
        Self {
            name: kernel.name.clone(),
            threads: metadata.and_then(|metadata| metadata.threads),
            min_blocks: metadata.and_then(|metadata| metadata.min_blocks),
            max_registers: metadata.and_then(|metadata| metadata.max_registers),
            registers: usage.registers,
            barriers: usage.barriers,
            static_shared: usage.shared,
            dynamic_shared: if shared > STATIC_SHARED_LIMIT { shared } else { 0 },
            stack: usage.stack,
            spill_stores: usage.spill_stores,
            spill_loads: usage.spill_loads,
        }
    }
}

impl From<&Toolchain> for ToolVersions {
    fn from(toolchain: &Toolchain) -> Self {
        Self {
            rustc: toolchain.rustc().version(),
            llvm: toolchain.llc().version(),
            ptxas: toolchain.ptxas().version(),
        }
    }
}
