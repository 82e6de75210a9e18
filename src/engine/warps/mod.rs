//! How warps and lanes take turns, where they wait for each other, and how a run that went wrong
//! ends.

pub(crate) mod block;
pub(crate) mod cluster;
pub(crate) mod context;
pub(crate) mod deadlock;
pub(crate) mod divergence;
pub(crate) mod handover;
pub(crate) mod lanes;
pub(crate) mod mbarrier;
pub(crate) mod polling;
pub(crate) mod registers;
pub(crate) mod schedule;
pub(crate) mod stack;

pub use block::WarpOfBlock;
pub(crate) use context::fail;
pub use divergence::WaitingLanes;
pub(crate) use lanes::{each_lane, taken_in_turn};
pub(crate) use polling::note_access;
