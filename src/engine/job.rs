//! The description of a launch for the engine.

use crate::engine::{LaunchId, NameByte, WarpOfBlock};
use crate::lane::Grid;
use crate::target::Arch;

/// A launch, as the engine needs it.
pub(crate) struct Job<'a> {
    /// The launch of the handles that `body` passes to the kernel.
    pub(crate) launch: LaunchId,
    /// The kernel's name.
    pub(crate) name: &'static str,
    /// Threads in a block.
    pub(crate) threads: u32,
    /// Blocks that must fit on an SM together; 0 if the kernel sets no minimum.
    pub(crate) min_blocks: u32,
    /// Register limit of a thread; 0 if the kernel sets none.
    pub(crate) max_registers: u32,
    /// Bytes of shared memory.
    pub(crate) shared_bytes: u32,
    /// The blocks of a cluster.
    pub(crate) cluster: Grid,
    /// The blocks of the launch.
    pub(crate) grid: Grid,
    /// The GPU that the launch names: only its instructions may run.
    pub(crate) gpu: Option<Arch>,
    /// Names a byte of the kernel's shared memory.
    pub(crate) name_byte: NameByte,
    /// Runs a warp.
    pub(crate) body: &'a (dyn Fn(WarpOfBlock<'_>) + Sync),
}
