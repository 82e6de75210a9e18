//! All errors of this crate: what was wrong, where, and the remedy if there is one.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::arch::Arch;
use crate::device_info::CudaVersion;
use crate::driver::{DriverError, NoDriver};
use crate::foreign::ForeignError;
use crate::launch::{KernelFailure, LaunchError};
use crate::ptx::PtxError;

/// The reason why an operation on a GPU failed.
#[derive(Clone, Error)]
#[non_exhaustive]
pub enum GpuError {
    /// This machine has no NVIDIA driver.
    #[error(transparent)]
    NoDriver(#[from] NoDriver),
    /// There is a driver, but it does not start.
    #[error("the NVIDIA driver does not start: {0}")]
    DriverStart(#[source] DriverError),
    /// There is no device with this number.
    #[error("there is no device {index}: this machine has {count}, counted from 0")]
    NoSuchDevice {
        /// The requested number.
        index: u32,
        /// The number of devices.
        count: u32,
    },
    /// Other code records the stream into a CUDA graph. The graph would keep the addresses of
    /// buffers and kernels, which may be gone when it runs.
    #[error(
        "a CUDA graph records the stream, and would keep the addresses of buffers that may be \
         freed before it runs: end the capture first"
    )]
    Captured,
    /// None of the available architectures runs on the device.
    #[error(
        "none of the targets of this PTX runs on {device}: {}; build it for the device's own \
         target, or for an older one",
        list(at_hand)
    )]
    NoArch {
        /// The device.
        device: String,
        /// The available architectures.
        at_hand: Vec<Arch>,
    },
    /// Two PTX files for one device have a kernel of the same name.
    #[error(
        "kernel `{kernel}` is loaded already: load its PTX for another `GpuDevice`, or rename one \
         of the two"
    )]
    LoadedTwice {
        /// The kernel's name.
        kernel: String,
    },
    /// No target's folder has the kernels of this crate.
    #[error(
        "no target's folder (such as sm_90a) in {} has `{file}`: build the kernels, or name the \
         folder that has them; PTX there: {}",
        folder.display(),
        list(at_hand)
    )]
    NoKernels {
        /// The missing file.
        file: String,
        /// The folder that contains the targets' folders.
        folder: PathBuf,
        /// The PTX files in these folders, and in the folder itself.
        at_hand: Vec<String>,
    },
    /// A folder with built kernels, or a file in it, cannot be read.
    #[error("cannot read the kernels in {}: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: Arc<io::Error>,
    },
    /// The text is not valid PTX.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The PTX is for other devices.
    #[error(
        "this PTX is for {target}, which {device} does not run; build it for the device's own \
         architecture"
    )]
    WrongTarget {
        /// The architecture of the PTX.
        target: Arch,
        /// The device.
        device: String,
    },
    /// The driver does not accept the PTX.
    #[error("{device}, with a driver for CUDA {driver}, does not load this PTX: {source}\n{log}")]
    Load {
        /// The device.
        device: String,
        /// The newest CUDA version that its driver supports. It limits the PTX's `.version`.
        driver: CudaVersion,
        /// The output of the driver's compiler.
        log: String,
        /// The driver's status.
        source: DriverError,
    },
    /// The driver is too old for the PTX.
    #[error(
        "{device} has a driver for CUDA {driver}, which does not know PTX version {version} of \
         these kernels; install a newer NVIDIA driver, or build the kernels for an older target, \
         whose PTX version is lower"
    )]
    OldDriver {
        /// The device.
        device: String,
        /// The newest CUDA version that its driver supports.
        driver: CudaVersion,
        /// The PTX's `.version`.
        version: String,
    },
    /// Another library's memory or stream cannot be used.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// The launch was refused before anything ran.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A kernel failed while it ran.
    #[error(transparent)]
    Kernel(Box<KernelFailure>),
    /// A kernel failed earlier, and this process can no longer use the device.
    #[error(
        "nothing more can run on this device until the process starts again, because earlier {0}"
    )]
    Lost(#[source] Box<KernelFailure>),
    /// Another driver call failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// The text, for `unwrap` and for the result of `main`.
impl fmt::Debug for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Formats a list as `a, b, c`, or `none`.
pub(crate) fn list<T: ToString>(items: &[T]) -> String {
    if items.is_empty() {
        return "none".to_owned();
    }
    let items: Vec<_> = items.iter().map(T::to_string).collect();
    items.join(", ")
}
