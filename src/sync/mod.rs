//! Barriers in shared memory (`mbarrier`), their phases, and rings of them.
//!
//! A barrier counts arrivals and bytes of copies. A phase ends when all have come. Warps wait for a
//! phase.
//!
//! | item | purpose |
//! | --- | --- |
//! | [`BarrierMemory`] | the room for a barrier; its `init` makes the barrier |
//! | [`Barrier`] | arrivals, expected bytes, and waits |
//! | [`Phase`] | the phase that a warp waits for |
//! | [`BarrierRing`], [`Turn`] | a barrier for each stage of a pipeline; the stage and its phase |
//! | [`Look`] | the result of a look at a barrier that does not block |
//! | [`PeerBarrier`], [`PeerBarrierRing`] | barriers of another block of the cluster |
//!
//! ```
//! use ptx_matrix::prelude::*;
//!
//! /// One warp writes, and the other waits for it at a barrier.
//! #[kernel(threads = 64)]
//! fn hand_over(block: &Block, #[shared] row: SharedTile<u32, 1, 32>, #[shared] full: BarrierMemory, d: GlobalMut<u32>) {
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
mod look;
mod peer;
mod ring;

pub use barrier::{Arrival, Barrier, BarrierMemory, Phase};
pub use look::Look;
pub use peer::{PeerBarrier, PeerBarrierRing};
pub use ring::{BarrierRing, Turn};
