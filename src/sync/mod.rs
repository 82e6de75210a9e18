//! Barriers in shared memory (`mbarrier`), their phases, and rings of them; named barriers (`bar`).
//!
//! A barrier counts arrivals and the bytes of copies. A phase ends when all have come. Warps wait
//! for a phase.
//!
//! | item | purpose |
//! | --- | --- |
//! | [`BarrierMemory`] | eight bytes of shared memory; its `init` makes the barrier |
//! | [`Barrier`] | arrivals, expected bytes, and waits |
//! | [`Phase`] | the phase that a warp waits for |
//! | [`BarrierRing`] | a barrier for each stage of a pipeline |
//! | [`PipelineState`] | the state of a pipeline: stage and phase |
//! | [`BarrierToken`] | the token of a test of a barrier that does not block |
//! | [`NamedBarrier`] | a barrier for some of a block's warps, without shared memory |
//! | [`PeerBarrier`], [`PeerBarrierRing`] | barriers of another block of the cluster |
//! | [`Relaxed`], [`Acquire`], [`Release`], [`AcquireRelease`] | orders of atomic operations |
//!
//! Barriers need sm_90, but for `NamedBarrier`, which each GPU has. The copies that complete bytes
//! on them are in [`copy`](crate::copy), and the barriers of a whole block, warpgroup or cluster in
//! [`scope`](crate::scope).
//!
//! ```
//! use ptx_matrix::prelude::*;
//!
//! /// One warp writes a row, and the other reads it after a barrier.
//! #[kernel(threads = 64)]
//! fn hand_over(
//!     block: &Block,
//!     #[shared] row: SharedTile<u32, 1, 32>,
//!     #[shared] full: BarrierMemory,
//!     d: GlobalMut<u32>,
//! ) {
//!     let full = full.init(block, 32); // A phase takes 32 arrivals.
//!     let warp = block.warp();
//!     if warp.index() == 0 {
//!         row.fill(warp, |_, col| col as u32);
//!         warp.each(|lane| full.arrive(lane));
//!     } else {
//!         full.wait(warp, Phase::FIRST);
//!         row.for_each(warp, |_, col, value| d.set(col, value));
//!     }
//! }
//!
//! let mut d = [0; 32];
//! hand_over::simulate(1, &mut d).check();
//! assert_eq!(d[31], 31);
//! ```

mod barrier;
mod memory_order;
mod named;
mod peer;
mod ring;
mod token;

pub use barrier::{Arrival, Barrier, BarrierMemory, Phase};
pub use memory_order::{
    Acquire, AcquireRelease, LoadOrder, MemoryOrder, Relaxed, Release, StoreOrder,
};
pub use named::NamedBarrier;
pub use peer::{PeerBarrier, PeerBarrierRing};
pub use ring::{BarrierRing, PipelineState};
pub use token::BarrierToken;
