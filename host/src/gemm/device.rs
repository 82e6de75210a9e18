//! What a product needs to know of a device.

use bytemuck::Pod;
use ptx_matrix::launch::{Device, KernelInfo};
use ptx_matrix::sim::{SimError, Simulator};

use crate::launch::DeviceLimits;
use crate::{DeviceBuffer, GpuDevice, GpuError, InStream, Module};

/// A device that products run on.
pub trait GemmDevice: Device {
    /// How many multiprocessors it has: what blocks are counted against.
    fn multiprocessors(&self) -> u32;

    /// Whether it has a kernel, and the shared memory for it. PTX for an older GPU leaves out kernels that such a GPU cannot run.
    fn has(&self, kernel: &KernelInfo) -> bool;

    /// A buffer without elements, for a parameter that is not used. It takes no memory, and nothing waits for it.
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

fn has(module: &Module, limits: &DeviceLimits, kernel: &KernelInfo) -> bool {
    kernel.shared_bytes <= limits.shared_bytes && module.kernels().iter().any(|entry| entry.name == kernel.name)
}

impl GemmDevice for GpuDevice {
    fn multiprocessors(&self) -> u32 {
        self.gpu().info().multiprocessors
    }

    fn has(&self, kernel: &KernelInfo) -> bool {
        has(self.module(), &self.gpu().info().limits, kernel)
    }

    fn empty<T: Pod>(&self) -> Result<DeviceBuffer<T>, GpuError> {
        self.gpu().uninitialized(0)
    }
}

impl GemmDevice for InStream<'_> {
    fn multiprocessors(&self) -> u32 {
        self.stream().context().info().multiprocessors
    }

    fn has(&self, kernel: &KernelInfo) -> bool {
        has(self.module(), &self.stream().context().info().limits, kernel)
    }

    fn empty<T: Pod>(&self) -> Result<DeviceBuffer<T>, GpuError> {
        self.stream().uninitialized(0)
    }
}
