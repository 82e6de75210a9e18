//! What the engine runs.

use crate::engine::{NameByte, WarpOfBlock};
use crate::lane::Grid;
use crate::target::Arch;

/// A launch, as the engine needs it.
pub(crate) struct Job<'a> {
    /// The kernel's name.
    pub(crate) name: &'static str,
    /// Threads in a block.
    pub(crate) threads: u32,
    /// Blocks that are to fit an SM together; 0 where the kernel does not say.
    pub(crate) min_blocks: u32,
    /// The most registers of a thread; 0 where the kernel does not say.
    pub(crate) max_registers: u32,
    /// Bytes of shared memory.
    pub(crate) shared_bytes: u32,
    /// The blocks of a cluster.
    pub(crate) cluster: Grid,
    /// The blocks of the launch.
    pub(crate) grid: Grid,
    /// The GPU that was named: only what it has may run.
    pub(crate) gpu: Option<Arch>,
    /// Names a byte of the kernel's shared memory.
    pub(crate) name_byte: NameByte,
    /// Runs a warp.
    pub(crate) body: &'a (dyn Fn(WarpOfBlock<'_>) + Sync),
}
