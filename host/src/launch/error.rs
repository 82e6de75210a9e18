//! Why a launch did not happen, or did not end well.

use thiserror::Error;

use crate::driver::DriverError;
use crate::error::list;

/// A launch that was refused before anything ran.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The module has no kernel of this name.
    #[error("there is no kernel `{kernel}` in this module; its kernels: {}", list(at_hand))]
    NoSuchKernel {
        /// The name asked for.
        kernel: String,
        /// The names of those that there are.
        at_hand: Vec<String>,
    },
    /// The kernel of the PTX is not the program's.
    #[error("kernel `{kernel}` of the PTX is not this program's: {}", differences.join("; "))]
    OtherKernel {
        /// The kernel.
        kernel: String,
        /// In what they differ.
        differences: Vec<String>,
    },
    /// Nothing says whether the kernel of the PTX is the program's.
    #[error(
        "kernel `{kernel}` of the PTX has no fingerprint, by which it is known to be this program's: it was not made by `#[kernel]`"
    )]
    NoFingerprint {
        /// The kernel.
        kernel: String,
    },
    /// The number of parameters is not the kernel's.
    #[error("kernel `{kernel}` takes {expected} parameters and was given {given}")]
    ParamCount {
        /// The kernel.
        kernel: String,
        /// How many the PTX declares.
        expected: usize,
        /// How many there were.
        given: usize,
    },
    /// A parameter does not have the kernel's size.
    #[error("parameter {index} of kernel `{kernel}` has {expected} bytes and was given {given}")]
    ParamSize {
        /// The kernel.
        kernel: String,
        /// Which parameter, from 0.
        index: usize,
        /// The size that the PTX declares.
        expected: usize,
        /// The size that it had.
        given: usize,
    },
    /// The grid is empty or larger than the device allows.
    #[error(
        "kernel `{kernel}`: a grid of {} blocks; each extent has to be from 1 to {}",
        by(*grid),
        by(*limit)
    )]
    Grid {
        /// The kernel.
        kernel: String,
        /// The grid asked for.
        grid: [u32; 3],
        /// The largest grid.
        limit: [u32; 3],
    },
    /// The grid is not one of whole clusters.
    #[error(
        "kernel `{kernel}`: a grid of {} blocks; its clusters have {}, and each extent has to be a multiple of theirs",
        by(*grid),
        by(*cluster)
    )]
    Cluster {
        /// The kernel.
        kernel: String,
        /// The grid asked for.
        grid: [u32; 3],
        /// The blocks of a cluster.
        cluster: [u32; 3],
    },
    /// The block has fewer threads than the kernel is compiled for, or more.
    #[error("kernel `{kernel}`: a block of {threads} threads; its .maxntid is for {expected}")]
    OtherThreads {
        /// The kernel.
        kernel: String,
        /// The number of threads asked for.
        threads: u32,
        /// The number that the kernel counts on.
        expected: u64,
    },
    /// The block is empty or larger than something allows.
    #[error(
        "kernel `{kernel}`: a block of {threads} threads; {limited_by} allows from 1 to {limit}"
    )]
    Threads {
        /// The kernel.
        kernel: String,
        /// The number of threads asked for.
        threads: u32,
        /// The largest number.
        limit: u64,
        /// What sets the limit.
        limited_by: &'static str,
    },
    /// The PTX asks for another block.
    #[error(
        "kernel `{kernel}`: a block of {} threads; its .reqntid asks for {}",
        by([*threads, 1, 1]),
        by(*required)
    )]
    RequiredThreads {
        /// The kernel.
        kernel: String,
        /// The number of threads asked for.
        threads: u32,
        /// What the PTX asks for.
        required: [u32; 3],
    },
    /// The block needs more shared memory than the device has for one.
    #[error(
        "kernel `{kernel}` needs {needed} bytes of shared memory in each block; this device has {available}"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// What the PTX declares and the launch adds, in bytes.
        needed: u64,
        /// What the device has for a block, in bytes.
        available: u32,
    },
    /// The driver refused for a reason of its own.
    #[error("the driver refuses to launch kernel `{kernel}`: {source}")]
    Refused {
        /// The kernel.
        kernel: String,
        /// The driver's status.
        source: DriverError,
    },
}

/// A kernel that failed while it ran.
#[derive(Clone, Debug, Error)]
#[error(
    "kernel `{kernel}` failed on {device}, launched with {} blocks of {threads} threads: {source}{}{}",
    by(*grid),
    likely_cause(source.code),
    or_earlier(earlier)
)]
pub struct KernelFailure {
    /// The kernel.
    pub kernel: String,
    /// The device it ran on.
    pub device: String,
    /// The number of blocks.
    pub grid: [u32; 3],
    /// The number of threads of each block.
    pub threads: u32,
    /// Other kernels that were launched in its stream before and not waited for: it may have been
    /// one of them.
    pub earlier: Vec<String>,
    /// The driver's status.
    pub source: DriverError,
}

fn by([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

/// What the driver's own words leave out, for the failures that a kernel written in Rust meets.
fn likely_cause(code: u32) -> &'static str {
    const ILLEGAL_ADDRESS: u32 = 700;
    const ILLEGAL_INSTRUCTION: u32 = 715;
    const MISALIGNED_ADDRESS: u32 = 716;
    const LAUNCH_FAILED: u32 = 719;
    match code {
        ILLEGAL_ADDRESS | MISALIGNED_ADDRESS => "; compute-sanitizer names the instruction",
        ILLEGAL_INSTRUCTION | LAUNCH_FAILED => {
            "; this is also how a trap ends, which a panic in a kernel becomes"
        }
        _ => "",
    }
}

fn or_earlier(earlier: &[String]) -> String {
    if earlier.is_empty() {
        return String::new();
    }
    format!("; or it was launched before and not waited for: {}", list(earlier))
}
