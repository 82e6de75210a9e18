//! The simulator's engine: runs kernels on the CPU, lane by lane, from the source that a GPU runs.
//!
//! `raw/` and `machine/` call it for each instruction, and `sim/` for each launch. Its folders:
//!
//! - `warps/`: scheduling of warps and lanes, barriers, deadlocks;
//! - `memory/`: shared and global memory, copies, TMA, races;
//! - `arithmetic/`: the tensor cores of each GPU, bit for bit;
//! - `wgmma/`: `wgmma`s in flight;
//! - `special/`: approximate special functions;
//! - `raw/`: the functions of [`raw`](crate::raw), in one lane;
//! - `findings/`: misuses and their messages;
//! - `record/`: profile and trace.
//!
//! The loose files are `job.rs` and `launch_id.rs` (a launch), and `shuffle.rs`.
//!
//! # Order of execution
//!
//! - The warps of a block are coroutines on one thread. One runs at a time, until it waits. A seed
//!   determines which warp runs next, so a run repeats exactly.
//! - The blocks of a launch run in parallel. None sees the others' writes to global memory.
//! - The blocks of a cluster are scheduled together, like the warps of one block. They share the
//!   memory that they share on a GPU.
//! - Within a warp, a lane closure runs for lane 0, then for lane 1, and so on. A breakpoint in it
//!   stops with that lane's values.
//! - A collective computes on the values of all 32 lanes at once, and returns the hardware's bits.
//!   If a lane closure calls a collective of [`raw`](crate::raw), each lane waits there for all
//!   others.
//!
//! # Errors
//!
//! A run ends with a [`SimError`] if a GPU's behaviour would be undefined, random or endless. The
//! error names each misuse once, with source line, block, warp and lane:
//!
//! - accesses out of bounds, and unaligned matrix rows;
//! - reads of unwritten memory, and of memory with a copy in flight;
//! - races between warps and between blocks, whatever the order of the run;
//! - a `sync` that some warps do not reach;
//! - a raw collective that the lanes do not reach together;
//! - registers of the wrong layout as operands of `mma`;
//! - panics.
//!
//! Most races within a warp are only warnings in the [`Report`].
//!
//! # Records
//!
//! [`Simulator::profiled`] returns instruction counts, bytes moved and the bank conflicts of each
//! source line. [`Simulator::traced`] returns a trace of each warp's instructions.

/// Defines a description of forms, which leads to their arithmetic.
///
/// A static is compiled with this crate in any case: once for all kernels, and optimised. Unit
/// tests use few of the descriptions, so there it is a constant.
macro_rules! description {
    ($name:ident: $type:ty = $description:expr) => {
        #[cfg(not(test))]
        static $name: $type = $description;
        #[cfg(test)]
        const $name: $type = $description;
    };
}
pub(crate) use description;

pub(crate) mod arithmetic;
pub(crate) mod findings;
mod job;
mod launch_id;
pub(crate) mod memory;
pub(crate) mod raw;
pub(crate) mod record;
mod shuffle;
pub(crate) mod special;
pub(crate) mod warps;
pub(crate) mod wgmma;

pub use findings::{
    Actor, Agent, Ahead, Awaited, BarrierMisuse, BarrierPhase, BarrierState, BarrierUse, Cause,
    ClusterMisuse, CopyGroup, EarlyEnd, EndedWarp, Finding, Memory, Mistake, Misuse,
    PHASE_BEFORE_FIRST, PhaseUse, Place, Report, SimError, Uncovered, WaitForOver, WaitingWarp,
};
#[doc(hidden)]
pub use findings::{NameByte, SharedField, SharedName, name_fields};
pub use memory::{SHARED_BASE, mark_unwritten, unwritten::unwritten};
pub use record::{BytesMoved, Executed, Profile, SharedSite, Trace, TraceEvent};
pub use warps::{WaitingLanes, WarpOfBlock};

#[doc(hidden)]
pub use arithmetic::MmaArithmetic;
pub(crate) use arithmetic::{MetadataOrder, MmaDescription, ScaledMmaArithmetic};
pub(crate) use job::Job;
#[doc(hidden)]
pub use launch_id::{Binding, LaunchId};
pub(crate) use memory::{
    ElementOf, InTile, Slice, bulk, check_swizzle, commit_copies, load_constant, load_matrices,
    load_shared, note_row, note_slice, note_written, peer, read_constant, read_global, start_copy,
    store_matrices, store_shared, tensor, transpose_matrix, wait_for_copies, write_global,
};
pub(crate) use record::{note_collective, note_lane};
pub(crate) use shuffle::Mode;
pub(crate) use warps::{cluster, each_lane, fail, mbarrier, registers, taken_in_turn};
