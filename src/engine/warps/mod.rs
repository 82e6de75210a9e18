//! Scheduling of warps and lanes, barriers, deadlocks, and the end of a failed run.
//!
//! | file | contents |
//! | --- | --- |
//! | `schedule.rs` | the warps of a cluster as coroutines; the loop that resumes them |
//! | `launch.rs`, `atomic_turns.rs` | launches whose clusters take turns; their waits |
//! | `lanes.rs` | the lanes of a lane closure; collectives that lanes reach separately |
//! | `context.rs` | the running block, warp and lane of this thread |
//! | `block.rs` | the state of a block and of a cluster |
//! | `named_barrier.rs`, `cluster.rs` | `bar` with a number of threads, `barrier.cluster` |
//! | `mbarrier.rs` | mbarriers |
//! | `registers.rs` | `setmaxnreg` |
//! | `divergence.rs` | lanes that diverge |
//! | `phase_order.rs` | operations on mbarriers that may belong to another phase |
//! | `deadlock.rs`, `polling.rs` | waits without end, loops without end |
//! | `barrier_history.rs` | the operations on an mbarrier, remembered for reports |
//! | `handover.rs` | the mistake behind a misuse of memory that mbarriers guard |
//! | `arrival_counts.rs` | the mistake with the number of arrivals at an mbarrier |
//! | `stack.rs` | stack overflow |
//!
//! `sim/` starts the schedule, and `machine/` and `raw` call the other functions, one for each
//! instruction.

mod arrival_counts;
pub(crate) mod atomic_turns;
mod barrier_history;
pub(crate) mod block;
pub(crate) mod cluster;
pub(crate) mod context;
pub(crate) mod deadlock;
pub(crate) mod divergence;
pub(crate) mod handover;
pub(crate) mod lanes;
pub(crate) mod launch;
pub(crate) mod mbarrier;
mod named_barrier;
mod phase_order;
pub(crate) mod polling;
pub(crate) mod registers;
pub(crate) mod schedule;
pub(crate) mod stack;

pub use block::WarpOfBlock;
pub(crate) use context::fail;
pub use divergence::WaitingLanes;
pub(crate) use lanes::{each_lane, taken_in_turn};
