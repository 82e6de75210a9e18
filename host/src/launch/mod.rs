//! Launches kernels. A launch is checked, and enqueued in a stream. A blocking launch is also
//! timed.

mod check;
mod error;
mod fingerprint;
mod run;

use std::time::Duration;

pub use check::DeviceLimits;
pub(crate) use check::check_cluster_of;
pub use error::{KernelFailure, LaunchError};
pub(crate) use fingerprint::differences;
pub(crate) use run::{enqueue, run};

/// A kernel launch: the kernel, its launch configuration and its parameters.
#[derive(Clone, Copy, Debug)]
pub struct LaunchRequest<'a> {
    /// The kernel's name in the PTX.
    pub kernel: &'a str,
    /// The number of blocks along x, y and z.
    pub grid: [u32; 3],
    /// The number of threads in a block, all along x.
    pub threads: u32,
    /// Dynamic shared memory per block, in bytes, in addition to the PTX's declaration.
    pub dynamic_shared_bytes: u32,
    /// Enables programmatic dependent launch (PDL), for a kernel of `#[kernel(dependent = true)]`.
    /// The kernel may begin before the preceding kernels in the stream have ended, and waits
    /// for them before everything else. A kernel whose PTX does not wait begins after them
    /// anyway.
    pub dependent: bool,
    /// The parameters' bytes, each of its natural size.
    pub params: &'a [&'a [u8]],
}

/// The result of a launch that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchReport {
    /// The time between two events around the kernel, on the GPU's own clock.
    pub elapsed: Duration,
}
