//! Errors of launches that were refused, and of kernels that failed.

use thiserror::Error;

use crate::driver::DriverError;
use crate::error::list;

/// A launch was refused before anything ran.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The module has no kernel of this name.
    #[error("there is no kernel `{kernel}` in this module; its kernels: {}", list(at_hand))]
    NoSuchKernel {
        /// The requested name.
        kernel: String,
        /// The names of the module's kernels.
        at_hand: Vec<String>,
    },
    /// The PTX's kernel is not the program's.
    #[error("kernel `{kernel}` of the PTX is not this program's: {}", differences.join("; "))]
    OtherKernel {
        /// The kernel.
        kernel: String,
        /// The differences between the two.
        differences: Vec<String>,
    },
    /// The PTX's kernel has no fingerprint, so it cannot be compared with the program's.
    #[error(
        "kernel `{kernel}` of the PTX has no fingerprint, by which it is known to be this \
         program's: it was not made by `#[kernel]`"
    )]
    NoFingerprint {
        /// The kernel.
        kernel: String,
    },
    /// The launch has another number of parameters than the kernel.
    #[error("kernel `{kernel}` takes {expected} parameters and was given {given}")]
    ParamCount {
        /// The kernel.
        kernel: String,
        /// The number that the PTX declares.
        expected: usize,
        /// The number in the launch.
        given: usize,
    },
    /// A parameter has another size than the kernel's.
    #[error("parameter {index} of kernel `{kernel}` has {expected} bytes and was given {given}")]
    ParamSize {
        /// The kernel.
        kernel: String,
        /// The parameter's index, from 0.
        index: usize,
        /// The size in bytes that the PTX declares.
        expected: usize,
        /// The size in bytes in the launch.
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
        /// The requested grid.
        grid: [u32; 3],
        /// The largest allowed grid.
        limit: [u32; 3],
    },
    /// The grid is not a whole number of clusters.
    #[error(
        "kernel `{kernel}`: a grid of {} blocks; its clusters have {}, and each extent has to be a \
         multiple of theirs",
        by(*grid),
        by(*cluster)
    )]
    Cluster {
        /// The kernel.
        kernel: String,
        /// The requested grid.
        grid: [u32; 3],
        /// The cluster size, in blocks along each axis.
        cluster: [u32; 3],
    },
    /// The block has fewer or more threads than the kernel is compiled for.
    #[error("kernel `{kernel}`: a block of {threads} threads; its .maxntid is for {expected}")]
    OtherThreads {
        /// The kernel.
        kernel: String,
        /// The requested number of threads.
        threads: u32,
        /// The number that the kernel requires.
        expected: u64,
    },
    /// The block is empty, or larger than a limit.
    #[error(
        "kernel `{kernel}`: a block of {threads} threads; {limited_by} allows from 1 to {limit}"
    )]
    Threads {
        /// The kernel.
        kernel: String,
        /// The requested number of threads.
        threads: u32,
        /// The largest allowed number.
        limit: u64,
        /// The source of the limit.
        limited_by: &'static str,
    },
    /// The PTX requires another block size.
    #[error(
        "kernel `{kernel}`: a block of {} threads; its .reqntid asks for {}",
        by([*threads, 1, 1]),
        by(*required)
    )]
    RequiredThreads {
        /// The kernel.
        kernel: String,
        /// The requested number of threads.
        threads: u32,
        /// The block size that the PTX requires.
        required: [u32; 3],
    },
    /// The block needs more shared memory than the device has for one.
    #[error(
        "kernel `{kernel}` needs {needed} bytes of shared memory in each block; this device has \
         {available}"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// The sum of the PTX's declaration and the launch's request, in bytes.
        needed: u64,
        /// The device's maximum for a block, in bytes.
        available: u32,
    },
    /// The driver refused the launch for another reason.
    #[error("the driver refuses to launch kernel `{kernel}`: {source}")]
    Refused {
        /// The kernel.
        kernel: String,
        /// The driver's status.
        source: DriverError,
    },
}

/// A kernel failed while it ran.
#[derive(Clone, Debug, Error)]
#[error(
    "kernel `{kernel}` failed on {device}, launched with {} blocks of {threads} threads: \
     {source}{}{}",
    by(*grid),
    likely_cause(source.code),
    or_earlier(earlier)
)]
pub struct KernelFailure {
    /// The kernel.
    pub kernel: String,
    /// The device that ran it.
    pub device: String,
    /// The number of blocks.
    pub grid: [u32; 3],
    /// The number of threads in each block.
    pub threads: u32,
    /// Other kernels launched earlier in the stream, without a wait since. One of them may have
    /// failed instead.
    pub earlier: Vec<String>,
    /// The driver's status.
    pub source: DriverError,
}

fn by([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

/// Explains, beyond the driver's own message, the failures that a Rust kernel typically meets.
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
