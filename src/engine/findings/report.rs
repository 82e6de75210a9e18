//! What a run leaves.

use crate::engine::findings::{Finding, SimError};
use crate::engine::record::{Profile, Trace};
use crate::target::Arch;
use std::vec::Vec;

/// What a simulated run did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The GPU that the simulator was [told](crate::sim::Simulator::gpu); if none, it has every
    /// instruction, and Hopper's bits.
    pub gpu: Option<Arch>,
    /// Blocks that ran.
    pub blocks: u64,
    /// Warps that ran.
    pub warps: u64,
    /// Races within a warp: one lane reads what another writes, with no
    /// [`Warp::sync`](crate::scope::Warp::sync) between. On today's GPUs a warp mostly goes in
    /// step, but PTX does not promise it. Each pair of lines once.
    ///
    /// And boxes completely outside of their tensor, in a launch that does not copy all of that:
    /// see [`Misuse::BoxOutside`](crate::sim::Misuse::BoxOutside).
    pub warnings: Vec<Finding>,
    /// What they executed and moved, if the simulator was
    /// [asked](crate::sim::Simulator::profiled).
    pub profile: Option<Profile>,
    /// Each warp's instructions, if the simulator was [asked](crate::sim::Simulator::traced).
    pub trace: Option<Trace>,
}

impl Report {
    /// The report, if there is nothing to warn of.
    ///
    /// # Errors
    /// The warnings.
    pub fn check(mut self) -> Result<Self, SimError> {
        SimError::of(std::mem::take(&mut self.warnings), self)
    }
}
