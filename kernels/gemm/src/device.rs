//! What a product needs to know of a device.

use bytemuck::Pod;
use ptx_matrix::launch::{Device, KernelInfo};
use ptx_matrix::sim::{SimError, Simulator};

use ptx_matrix_host::{DeviceBuffer, DeviceLimits, GpuDevice, GpuError, InStream};

/// A device that products run on.
pub trait GemmDevice: Device {
    /// How many multiprocessors it has: what blocks are counted against.
    fn multiprocessors(&self) -> u32;

    /// Whether it has a kernel, and the shared memory for it. PTX for an older GPU leaves out
    /// kernels that such a GPU cannot run.
    fn has(&self, kernel: &KernelInfo) -> bool;

    /// A buffer without elements, for a parameter that is not used. It takes no memory, and nothing
    /// waits for it.
    fn empty<T: Pod>(&self) -> Result<Self::Owned<T>, Self::Error>;
}

/// It stands in for an H200: what is chosen here is what that would run.
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
