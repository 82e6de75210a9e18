//! How warps and lanes take turns, where they wait for each other, and how a run that went wrong ends.

pub(in crate::sim) mod block;
pub(crate) mod cluster;
pub(in crate::sim) mod context;
pub(in crate::sim) mod deadlock;
pub(in crate::sim) mod divergence;
pub(in crate::sim) mod handover;
pub(in crate::sim) mod lanes;
pub(crate) mod mbarrier;
pub(in crate::sim) mod polling;
pub(crate) mod registers;
pub(in crate::sim) mod schedule;
pub(in crate::sim) mod stack;

pub use block::WarpOfBlock;
pub(crate) use context::fail;
pub use divergence::WaitingLanes;
pub(crate) use lanes::{each_lane, taken_in_turn};
pub(crate) use polling::note_access;
