//! Barriers in shared memory (`mbarrier`), their phases, and rings of them.

mod barrier;
mod look;
mod peer;
mod ring;

pub use barrier::{Arrival, Barrier, BarrierMemory, Phase};
pub use look::Look;
pub use peer::{PeerBarrier, PeerBarrierRing};
pub use ring::{BarrierRing, Turn};
