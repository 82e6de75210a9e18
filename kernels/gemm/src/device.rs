//! The properties of a device that a GEMM needs.

use ptx_matrix::launch::{Device, KernelInfo};
use ptx_matrix::sim::Simulator;

/// A device that runs GEMMs.
pub trait GemmDevice: Device {
    /// The number of SMs, for which the grid is sized.
    fn multiprocessors(&self) -> u32;

    /// Whether the device has a kernel, and enough shared memory for it. PTX for an older GPU
    /// leaves out kernels that need a newer one.
    fn has(&self, kernel: &KernelInfo) -> bool;

    /// How many bytes beyond a multiple of 16 a kernel on this device sees an address.
    fn beyond_16_bytes(&self, address: *const u8) -> usize;
}

/// The simulator stands in for an H200: it selects the kernel that an H200 would run. A simulator
/// of [another GPU](Simulator::gpu) selects among the kernels that this GPU can run.
impl GemmDevice for Simulator {
    fn multiprocessors(&self) -> u32 {
        132
    }

    fn has(&self, kernel: &KernelInfo) -> bool {
        self.can_run(kernel)
    }

    /// 0: simulated memory starts at a multiple of 16 bytes for each buffer.
    fn beyond_16_bytes(&self, _: *const u8) -> usize {
        0
    }
}
