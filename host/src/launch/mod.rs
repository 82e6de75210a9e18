//! Launching a kernel: checked before; then put into a stream, or run, timed and waited for.

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

/// What to launch, and with what.
#[derive(Clone, Copy, Debug)]
pub struct LaunchRequest<'a> {
    /// The kernel's name in the PTX.
    pub kernel: &'a str,
    /// The number of blocks along x, y and z.
    pub grid: [u32; 3],
    /// The number of threads of a block, all along x.
    pub threads: u32,
    /// Shared memory of a block beyond what the PTX declares, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Whether it may begin before the kernels ahead in the stream have ended, as it waits for
    /// them before all else: a kernel of `#[kernel(early = true)]`. One whose PTX does not
    /// wait begins behind them all the same.
    pub early: bool,
    /// The parameters' bytes, each in its natural size.
    pub params: &'a [&'a [u8]],
}

/// A launch that has run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchReport {
    /// The time between two events around the kernel, on the GPU's own clock.
    pub elapsed: Duration,
}
