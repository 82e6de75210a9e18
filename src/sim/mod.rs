//! The simulator, as programs use it: launches, reports, and instructions by their names.

pub(crate) mod by_name;
mod simulator;
mod sweep;

#[doc = include_str!("../../docs/SIMULATOR.md")]
pub mod guide {}

pub use crate::engine::{
    Actor, Agent, Awaited, BarrierMisuse, BarrierState, BytesMoved, Cause, ClusterMisuse, EndedWarp, Executed, Finding,
    Memory, Mistake, Misuse, Place, Profile, Report, SHARED_BASE, SharedSite, SimError, Trace, TraceEvent,
    WaitingLanes, WaitingWarp, WarpOfBlock, mark_unwritten,
};
#[doc(hidden)]
pub use crate::engine::{NameByte, Product, SharedField, SharedName, name_fields};
#[doc(hidden)]
pub use crate::isa::{Quad, WarpGroupFp8};
pub use crate::target::{Arch, UnknownArch};
pub use by_name::Execution;
pub use simulator::{CheckedRun, Simulator};
