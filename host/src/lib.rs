//! The GPU side of `ptx-matrix`: load kernels, move data, launch kernels.
//!
//! A program with this crate in it starts on any Linux machine. The NVIDIA driver is opened when it
//! is first needed, and where there is none, [`Gpu::open`] says so in one line.
//!
//! Nothing is left to the driver that can be checked before: the PTX's target against the device,
//! and the kernel's name, parameters, grid, block and shared memory against the PTX, the compiled
//! kernel and the device. A kernel that fails is named in the error.
//!
//! A launch through [`GpuDevice`] is waited for; one through [`GpuDevice::in_stream`] is put into a
//! [`Stream`], and the host goes on.

mod arch;
mod buffer;
mod code;
mod context;
mod device;
mod device_info;
mod driver;
mod error;
mod event;
mod gpu;
mod jit;
mod launch;
mod module;
mod ptx;
mod stream;

pub use arch::{Arch, Capability, NotAnArch, best_arch};
pub use buffer::DeviceBuffer;
pub use code::{BuiltCode, Code};
pub use device::{GpuDevice, InStream};
pub use device_info::{CudaVersion, DeviceInfo};
pub use driver::{DriverError, NoDriver};
pub use error::GpuError;
pub use event::Event;
pub use gpu::Gpu;
pub use launch::{DeviceLimits, KernelFailure, LaunchError, LaunchReport, LaunchRequest};
pub use module::{KernelResources, Module};
pub use ptx::{Entry, Ptx, PtxError, Seal};
pub use stream::Stream;
