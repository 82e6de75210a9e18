//! The simulator: runs kernels on the CPU, and reports each misuse with its source line.
//!
//! It returns the bits of the hardware. [`guide`] explains its reports, its limits and its seeds.
//!
//! | item | purpose |
//! | --- | --- |
//! | [`Simulator`] | a device; with a seed, a profile or a trace |
//! | [`CheckedRun`] | `check()`: a test fails with the report |
//! | [`Report`], [`SimError`], [`Finding`], [`Misuse`] | the result of a run, and its errors |
//! | [`Profile`], [`Trace`] | executed instructions, moved bytes and bank conflicts; the schedule |
//!
//! `simulator.rs` has the device, `sweep.rs` runs with many seeds, and `by_name/` executes a form
//! by its name. Programs call these; they call the engine in `engine/`.
//!
//! ```
//! use ptx_matrix::prelude::*;
//!
//! /// The second warp may read before the first has written.
//! #[kernel(threads = 64)]
//! fn race(block: &Block, #[shared] row: SharedTile<u32, 1, 32>, d: GlobalMut<u32>) {
//!     let warp = block.warp();
//!     if warp.index() == 0 {
//!         row.fill(warp, |_, col| col as u32);
//!     } else {
//!         row.for_each(warp, |_, col, value| d.set(col, value));
//!     }
//! }
//!
//! let error = race::simulate(1, &mut [0; 32]).unwrap_err();
//! assert!(error.to_string().contains("sync"), "{error}");
//! ```

pub(crate) mod by_name;
mod simulator;
mod sweep;

#[doc = include_str!("../../docs/SIMULATOR.md")]
pub mod guide {}

pub use crate::engine::{
    Actor, Agent, Ahead, Awaited, BarrierMisuse, BarrierPhase, BarrierState, BarrierUse,
    BytesMoved, Cause, ClusterMisuse, CopyGroup, EarlyEnd, EndedWarp, Executed, Finding, Memory,
    Mistake, Misuse, PHASE_BEFORE_FIRST, PhaseUse, Place, Profile, Report, SHARED_BASE, SharedSite,
    SimError, Trace, TraceEvent, Uncovered, WaitForOver, WaitingLanes, WaitingWarp, WarpOfBlock,
    mark_unwritten, unwritten,
};
#[doc(hidden)]
pub use crate::engine::{MmaArithmetic, NameByte, SharedField, SharedName, name_fields};
#[doc(hidden)]
pub use crate::isa::{Quad, WarpGroupFp8};
pub use crate::lane::AccessKind;
pub use crate::target::{Arch, UnknownArch};
pub use by_name::Execution;
pub use simulator::{CheckedRun, Simulator};
