//! The simulator: kernels run on the CPU, lane by lane, from the same source as on a GPU.
//!
//! A block's warps run as coroutines on one thread, one at a time, until they wait for each other;
//! which one goes on is drawn from a seed, so a run repeats exactly. The blocks of a launch run in
//! parallel, and what one writes to global memory the others do not see; but those of a cluster
//! take turns as one block's warps do, and share what memory they share on a GPU. In a warp, each
//! lane closure runs once for lane 0, then for lane 1, and so on: a breakpoint in it stops with
//! that lane's values. Collectives compute on all 32 lanes' values at once, and return the bits
//! that the hardware returns. Where a lane closure calls a collective of [`raw`](crate::raw), each
//! lane waits there for all others.
//!
//! What would be undefined, left to chance, or never end on a GPU makes the run a [`SimError`],
//! which names each misuse once, with the line of the kernel's source, the block, the warp and the
//! lane: accesses out of bounds, matrix rows that are not aligned, reads of memory that nothing
//! wrote or that a copy is on its way to, races between warps and between blocks (in whatever order
//! they ran), a `sync` that not all warps reach, a raw collective that not all lanes come to
//! together, registers that an `mma` takes for what they are not, panics. Of races within a warp
//! the [`Report`] warns.
//!
//! On request a run returns what it executed and moved, with the bank conflicts of each line
//! ([`Simulator::profiled`]), and a trace that shows each warp's instructions
//! ([`Simulator::traced`]).

pub(crate) mod arithmetic;
pub(crate) mod findings;
mod job;
pub(crate) mod memory;
pub(crate) mod raw;
pub(crate) mod record;
mod shuffle;
pub(crate) mod special;
pub(crate) mod warps;
pub(crate) mod wgmma;

pub use findings::{
    Actor, Agent, Awaited, BarrierMisuse, BarrierState, Cause, ClusterMisuse, EndedWarp, Finding,
    Memory, Mistake, Misuse, Place, Report, SimError, WaitingWarp,
};
#[doc(hidden)]
pub use findings::{NameByte, SharedField, SharedName, name_fields};
pub use memory::{SHARED_BASE, mark_unwritten};
pub use record::{BytesMoved, Executed, Profile, SharedSite, Trace, TraceEvent};
pub use warps::{WaitingLanes, WarpOfBlock};

#[doc(hidden)]
pub use arithmetic::Product;
pub(crate) use arithmetic::{
    MetadataOrder, ScaledProduct, multiply, multiply_scaled, multiply_sparse,
    multiply_sparse_scaled,
};
pub(crate) use job::Job;
pub(crate) use memory::{
    ElementOf, Slice, bulk, commit_copies, load_matrices, load_shared, note_slice, peer,
    read_constant, read_global, start_copy, store_matrices, store_shared, tensor, transpose_matrix,
    wait_for_copies, write_global,
};
pub(crate) use record::{Traffic, note_collective, note_element, note_lane};
pub(crate) use shuffle::Mode;
pub(crate) use warps::{cluster, each_lane, fail, mbarrier, note_access, registers, taken_in_turn};
