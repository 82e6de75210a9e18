//! GPUs as devices of GEMMs. Nothing else here needs the GPU runtime.

use ptx_matrix::launch::KernelInfo;
use ptx_matrix_host::{DeviceLimits, GpuDevice, InStream};

use crate::GemmDevice;

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

    fn beyond_16_bytes(&self, address: *const u8) -> usize {
        address.addr() % 16
    }
}

impl GemmDevice for InStream<'_> {
    fn multiprocessors(&self) -> u32 {
        self.stream().info().multiprocessors
    }

    fn has(&self, kernel: &KernelInfo) -> bool {
        fits(&self.stream().info().limits, kernel) && self.has_kernel(kernel.name)
    }

    fn beyond_16_bytes(&self, address: *const u8) -> usize {
        address.addr() % 16
    }
}
