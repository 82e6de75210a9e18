//! A GPU with PTX loaded, as the device that `#[kernel]`'s launch functions run on.

use bytemuck::Pod;
use ptx_matrix::launch::{Device, Launch, ParamValue};

use crate::buffer::DeviceBuffer;
use crate::error::GpuError;
use crate::gpu::Gpu;
use crate::launch::{LaunchReport, LaunchRequest};
use crate::module::Module;

/// A GPU and the module whose kernels it launches.
#[derive(Debug)]
pub struct GpuDevice {
    gpu: Gpu,
    module: Module,
}

impl GpuDevice {
    /// Loads a PTX text on a GPU.
    pub fn new(gpu: Gpu, ptx: &str) -> Result<Self, GpuError> {
        let module = gpu.load(ptx)?;
        Ok(Self { gpu, module })
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The device's address in a pointer of the host, where nothing may follow it.
    fn address<T: Pod>(&self, buffer: &DeviceBuffer<T>) -> *mut T {
        let (here, there) = (self.gpu.info().index, buffer.device());
        assert!(here == there, "a kernel on device {here} is given a buffer of device {there}: upload it to its own");
        std::ptr::without_provenance_mut(buffer.address() as usize)
    }
}

// SAFETY: buffers are memory of the GPU, which the kernel, on the GPU, reaches as they are.
unsafe impl Device for GpuDevice {
    type Buffer<T: Pod> = DeviceBuffer<T>;
    type Owned<T: Pod> = DeviceBuffer<T>;
    type Report = LaunchReport;
    type Error = GpuError;

    fn upload<T: Pod>(&self, data: &[T]) -> Result<DeviceBuffer<T>, GpuError> {
        self.gpu.upload(data)
    }

    fn download<T: Pod>(&self, buffer: &DeviceBuffer<T>) -> Result<Vec<T>, GpuError> {
        buffer.download()
    }

    fn slice<T: Pod>(&self, buffer: &DeviceBuffer<T>) -> (*mut T, usize) {
        (self.address(buffer), buffer.len())
    }

    fn slice_mut<T: Pod>(&self, buffer: &mut DeviceBuffer<T>) -> (*mut T, usize) {
        (self.address(buffer), buffer.len())
    }

    unsafe fn launch(&self, launch: Launch<'_>) -> Result<LaunchReport, GpuError> {
        let params: Vec<&[u8]> = launch.params.iter().map(ParamValue::bytes).collect();
        let request = LaunchRequest {
            kernel: launch.kernel.name,
            grid: [launch.grid.x, launch.grid.y, launch.grid.z],
            threads: launch.kernel.threads,
            dynamic_shared_bytes: launch.kernel.dynamic_shared_bytes(),
            params: &params,
        };
        // SAFETY: the caller's.
        unsafe { self.gpu.launch(&self.module, &request) }
    }
}
