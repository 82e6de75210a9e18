//! The properties of a device that a GEMM needs.

use ptx_matrix::launch::{Device, KernelInfo};
use ptx_matrix::sim::Simulator;

#[cfg(feature = "host")]
use ptx_matrix_host::{DeviceLimits, GpuDevice, InStream};

/// A device that runs GEMMs.
pub trait GemmDevice: Device {
    /// The number of SMs, for which the grid is sized.
    fn multiprocessors(&self) -> u32;

    /// Whether the device has a kernel, and enough shared memory for it. PTX for an older GPU
    /// leaves out kernels that need a newer one.
    fn has(&self, kernel: &KernelInfo) -> bool;
}

/// The simulator stands in for an H200: it selects the kernel that an H200 would run. A simulator
/// of an older GPU gets the same kernel, and refuses to run it if the GPU lacks its instructions.
impl GemmDevice for Simulator {
    fn multiprocessors(&self) -> u32 {
        132
    }

    fn has(&self, _: &KernelInfo) -> bool {
        true
    }
}

#[cfg(feature = "host")]
fn fits(limits: &DeviceLimits, kernel: &KernelInfo) -> bool {
    kernel.shared_bytes <= limits.shared_bytes
}

#[cfg(feature = "host")]
impl GemmDevice for GpuDevice {
    fn multiprocessors(&self) -> u32 {
        self.gpu().info().multiprocessors
    }

    fn has(&self, kernel: &KernelInfo) -> bool {
        fits(&self.gpu().info().limits, kernel) && self.has_kernel(kernel.name)
    }
}

#[cfg(feature = "host")]
impl GemmDevice for InStream<'_> {
    fn multiprocessors(&self) -> u32 {
        self.stream().info().multiprocessors
    }

    fn has(&self, kernel: &KernelInfo) -> bool {
        fits(&self.stream().info().limits, kernel) && self.has_kernel(kernel.name)
    }
}
