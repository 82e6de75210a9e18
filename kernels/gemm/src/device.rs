//! The properties of a device that a GEMM needs.

use bytemuck::Pod;
use ptx_matrix::launch::{Device, KernelInfo};
use ptx_matrix::sim::{SimError, Simulator};

use ptx_matrix_host::{DeviceBuffer, DeviceLimits, GpuDevice, GpuError, InStream};

/// A device that runs GEMMs.
pub trait GemmDevice: Device {
    /// The number of SMs, for which the grid is sized.
    fn multiprocessors(&self) -> u32;

    /// Whether the device has a kernel, and enough shared memory for it. PTX for an older GPU
    /// leaves out kernels that need a newer one.
    fn has(&self, kernel: &KernelInfo) -> bool;

    /// Makes an empty buffer for an unused parameter. It takes no memory and does not synchronize.
    fn empty<T: Pod>(&self) -> Result<Self::Owned<T>, Self::Error>;
}

/// The simulator stands in for an H200: it selects the kernel that an H200 would run.
impl GemmDevice for Simulator {
    fn multiprocessors(&self) -> u32 {
        132
    }

    fn has(&self, _: &KernelInfo) -> bool {
        true
    }

    fn empty<T: Pod>(&self) -> Result<Vec<T>, SimError> {
        Ok(Vec::new())
    }
}

fn fits(limits: &DeviceLimits, kernel: &KernelInfo) -> bool {
    kernel.shared_bytes <= limits.shared_bytes
}

impl GemmDevice for GpuDevice {
    fn multiprocessors(&self) -> u32 {
        self.gpu().info().multiprocessors
    }

    fn has(&self, kernel: &KernelInfo) -> bool {
        fits(&self.gpu().info().limits, kernel) && self.has_kernel(kernel.name)
    }

    fn empty<T: Pod>(&self) -> Result<DeviceBuffer<T>, GpuError> {
        self.gpu().uninitialized(0)
    }
}

impl GemmDevice for InStream<'_> {
    fn multiprocessors(&self) -> u32 {
        self.stream().info().multiprocessors
    }

    fn has(&self, kernel: &KernelInfo) -> bool {
        fits(&self.stream().info().limits, kernel) && self.has_kernel(kernel.name)
    }

    fn empty<T: Pod>(&self) -> Result<DeviceBuffer<T>, GpuError> {
        self.stream().uninitialized(0)
    }
}
