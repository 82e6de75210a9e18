//! A block's shared memory: stages of tiles of A and B, strips of D, and barriers.
//!
//! A barrier for each stage, `full`, is told when its tiles have come; another, `empty`, by each consumer when it has read them.

use ptx_matrix::*;

/// It.
pub struct Memory<A, B, Strip, const STRIPS: usize, const STAGES: usize, const CONSUMERS: usize> {
    /// The tiles on their way, and those that are multiplied.
    pub stages: SharedRing<(A, B), STAGES>,
    /// What goes to D, for each consumer.
    pub strips: SharedRing<SharedRing<Strip, STRIPS>, CONSUMERS>,
    /// Whether a stage's tiles have come.
    pub full: SharedRing<BarrierMemory, STAGES>,
    /// Whether they have been multiplied.
    pub empty: SharedRing<BarrierMemory, STAGES>,
}
