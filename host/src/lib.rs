//! The GPU side of `ptx-matrix`: load PTX, move data, launch kernels.
//!
//! A program with this crate in it starts on any Linux machine. The NVIDIA driver is opened when it is first needed, and
//! where there is none, [`Gpu::open`] says so in one line.
//!
//! Nothing is left to the driver that can be checked before: the PTX's target against the device, and the kernel's name,
//! parameters, grid, block and shared memory against the PTX, the compiled kernel and the device. A kernel that fails is
//! named in the error.

#[cfg(feature = "conformance")]
pub mod conformance;

mod arch;
mod buffer;
mod context;
mod device;
mod device_info;
mod driver;
mod error;
mod gpu;
mod jit;
mod launch;
mod module;
mod ptx;

pub use arch::{Arch, Capability, NotAnArch, best_arch};
pub use buffer::DeviceBuffer;
pub use device::GpuDevice;
pub use device_info::{CudaVersion, DeviceInfo};
pub use driver::{DriverError, NoDriver};
pub use error::GpuError;
pub use gpu::Gpu;
pub use launch::{DeviceLimits, KernelFailure, LaunchError, LaunchReport, LaunchRequest};
pub use module::{KernelResources, Module};
pub use ptx::{Entry, Ptx, PtxError};
