//! The manifest: a build's description of its kernels.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::arch::{Arch, PtxVersion};
use crate::ir::{Kernel, STATIC_SHARED_LIMIT};
use crate::ptxas::Usage;
use crate::toolchain::Toolchain;
use crate::version::Version;

/// A kernel crate's build for one target. The `.json` file beside the PTX has the same content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The kernel crate's name.
    pub package: String,
    /// The target.
    pub arch: Arch,
    /// The PTX version of the `.ptx` file: the target's, or a higher one if the kernels'
    /// instructions need it.
    pub ptx_version: PtxVersion,
    /// The versions of the tools that built it.
    pub toolchain: ToolVersions,
    /// The kernels, by name.
    pub kernels: Vec<KernelManifest>,
    /// ptxas's warnings that do not fail a build.
    pub remarks: Vec<String>,
}

/// The versions of a build's tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolVersions {
    /// rustc's version.
    pub rustc: Version,
    /// The version of opt and llc.
    pub llvm: Version,
    /// ptxas's version.
    pub ptxas: Version,
}

/// A kernel's launch bounds and resource usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelManifest {
    /// The name for launches.
    pub name: String,
    /// The block size, in threads, that the kernel is compiled for.
    pub threads: Option<u32>,
    /// The number of blocks that must fit on an SM at once.
    pub min_blocks: Option<u32>,
    /// The crate's limit on registers per thread.
    pub max_registers: Option<u32>,
    /// Registers per thread.
    pub registers: u32,
    /// Barriers per block.
    pub barriers: u32,
    /// Bytes of static shared memory: the launch need not provide them.
    pub static_shared: u32,
    /// Bytes of dynamic shared memory that the launch must provide.
    pub dynamic_shared: u32,
    /// Bytes of stack per thread, in local memory.
    pub stack: u32,
    /// Bytes that register spills store.
    pub spill_stores: u32,
    /// Bytes that register spills load.
    pub spill_loads: u32,
}

impl KernelManifest {
    /// The cause of local memory, and the remedy. `None` for a kernel without local memory.
    pub fn why_local_memory(&self) -> Option<&'static str> {
        if self.spill_stores + self.spill_loads > 0 {
            Some("its registers spill; keep fewer values in registers, or allow more registers")
        } else if self.stack > 0 {
            Some(
                "an array is in local memory, of the kernel or of a function that it calls; index \
                 it with constants only, and call a closure for each element in place of a loop",
            )
        } else {
            None
        }
    }
}

impl Manifest {
    /// Returns the kernel of this name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&KernelManifest> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Reads the manifest at `path`. Returns `None` if another version of the builder wrote it.
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
