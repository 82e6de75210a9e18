//! The report of a run.

use crate::engine::findings::{Finding, SimError};
use crate::engine::record::{Profile, Trace};
use crate::target::Arch;
use std::vec::Vec;

/// The results of a simulated run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The simulator's [GPU](crate::sim::Simulator::gpu). Without one, all instructions are
    /// available, and results have Hopper's bits.
    pub gpu: Option<Arch>,
    /// Number of blocks that ran.
    pub blocks: u64,
    /// Number of warps that ran.
    pub warps: u64,
    /// Warnings: races within a warp, and boxes outside of their tensor.
    ///
    /// A lane reads a value that another lane writes, with no
    /// [`Warp::sync`](crate::scope::Warp::sync) in between. Today's GPUs mostly run a warp in
    /// lockstep, but PTX does not guarantee it. Each pair of lines appears once.
    ///
    /// Boxes completely outside of their tensor are reported if the launch does not copy the whole
    /// tensor: see [`Misuse::BoxOutside`](crate::sim::Misuse::BoxOutside).
    pub warnings: Vec<Finding>,
    /// Instructions and data movement, if [requested](crate::sim::Simulator::profiled).
    pub profile: Option<Profile>,
    /// Each warp's instructions, if [requested](crate::sim::Simulator::traced).
    pub trace: Option<Trace>,
}

impl Report {
    /// Returns the report if it has no warnings.
    ///
    /// # Errors
    /// The warnings.
    pub fn check(mut self) -> Result<Self, SimError> {
        SimError::of(std::mem::take(&mut self.warnings), self)
    }
}
