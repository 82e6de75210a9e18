//! The host side of `ptx-matrix`: loads kernels, moves data, launches kernels.
//!
//! A program with this crate starts on any Linux machine. It opens the NVIDIA driver on first use.
//! Without a driver, [`Gpu::open`] returns a one-line error.
//!
//! Before a launch, the crate checks everything that it can. It checks the PTX's target against the
//! device. It checks the kernel's name, parameters, grid, block and shared memory against the PTX,
//! the compiled kernel and the device. The error of a failed kernel names the kernel.
//!
//! A launch through [`GpuDevice`] waits for the kernel. A launch through [`GpuDevice::in_stream`]
//! enqueues it in a [`Stream`], and the host continues.
//!
//! Kernels also run on memory and in streams of other libraries: [`Stream::buffer_from_raw`],
//! [`Gpu::stream_from_raw`]. Two features convert buffers and streams without a copy:
//!
//! - `cust`: those of `cust` 0.3.
//! - `cudarc`: those of `cudarc` 0.19. Nothing of CUDA is needed to build.

mod arch;
mod buffer;
mod code;
mod context;
mod device;
mod device_info;
mod driver;
mod error;
mod event;
mod foreign;
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
pub use foreign::ForeignError;
pub use gpu::Gpu;
pub use launch::{DeviceLimits, KernelFailure, LaunchError, LaunchReport, LaunchRequest};
pub use module::{KernelResources, Module};
pub use ptx::{Entry, Ptx, PtxError, Seal};
pub use stream::Stream;
