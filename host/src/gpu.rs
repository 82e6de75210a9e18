//! A GPU that is open for work.

use std::ffi::c_void;

use bytemuck::Pod;
use cust::CudaFlags;
use cust::device::Device;

use crate::buffer::DeviceBuffer;
use crate::code::Code;
use crate::context::SharedContext;
use crate::device_info::DeviceInfo;
use crate::driver::{self, During};
use crate::error::GpuError;
use crate::launch::{self, LaunchReport, LaunchRequest};
use crate::module::Module;
use crate::stream::Stream;

/// A GPU that is open for work: memory, kernels and launches.
#[derive(Debug)]
pub struct Gpu {
    stream: Stream,
    context: SharedContext,
}

impl Gpu {
    /// The GPUs of this machine.
    pub fn list() -> Result<Vec<DeviceInfo>, GpuError> {
        (0..start_driver()?).map(|index| Ok(DeviceInfo::of(index, device(index)?)?)).collect()
    }

    /// Opens the GPU of this number.
    pub fn open(index: u32) -> Result<Self, GpuError> {
        let count = start_driver()?;
        if index >= count {
            return Err(GpuError::NoSuchDevice { index, count });
        }
        let device = device(index)?;
        let info = DeviceInfo::of(index, device)?;
        let context = SharedContext::new(device, info)?;
        let stream = Stream::new(&context)?;
        Ok(Self { stream, context })
    }

    /// What this GPU is.
    pub fn info(&self) -> &DeviceInfo {
        self.context.info()
    }

    /// The GPU's own stream: that of [`upload`](Self::upload), [`filled`](Self::filled) and
    /// [`launch`](Self::launch).
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Makes another stream.
    pub fn new_stream(&self) -> Result<Stream, GpuError> {
        Stream::new(&self.context)
    }

    /// A stream that someone else made: a framework's, say, to run kernels among its own.
    ///
    /// # Safety
    ///
    /// It is a `CUstream` of this device's primary context (null is the context's default stream).
    /// It is not destroyed before every clone of the result, and every buffer and event of it,
    /// is dropped; until then nobody captures it into a graph.
    pub unsafe fn stream_from_raw(&self, raw: *mut c_void) -> Stream {
        // SAFETY: the caller's.
        unsafe { Stream::from_raw(raw, &self.context) }
    }

    /// Copies a slice into memory of the GPU.
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<DeviceBuffer<T>, GpuError> {
        self.stream.upload(data)
    }

    /// Takes memory of the GPU for `len` elements, every byte of it `byte`.
    pub fn filled<T: Pod>(&self, len: usize, byte: u8) -> Result<DeviceBuffer<T>, GpuError> {
        self.stream.filled(len, byte)
    }

    /// Takes memory of the GPU for `len` elements, whose contents are arbitrary: for a kernel that
    /// writes before it reads.
    pub fn uninitialized<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>, GpuError> {
        self.stream.uninitialized(len)
    }

    /// Loads kernels: a PTX text, which the driver compiles for this GPU, or
    /// [`BuiltCode`](crate::BuiltCode).
    pub fn load<'a>(&self, kernels: impl Into<Code<'a>>) -> Result<Module, GpuError> {
        Module::load(&self.context, kernels.into(), true)
    }

    /// The same, of kernels that have fingerprints.
    pub(crate) fn load_checked<'a>(
        &self,
        kernels: impl Into<Code<'a>>,
    ) -> Result<Module, GpuError> {
        Module::load(&self.context, kernels.into(), false)
    }

    /// Checks a launch, runs it and waits for its end.
    ///
    /// # Safety
    ///
    /// The parameters must mean what the kernel takes them for: a pointer among them has to be the
    /// address of memory of this GPU that is as large as the kernel believes, and that stays
    /// until this function returns. Their number and sizes are checked.
    pub unsafe fn launch(
        &self,
        module: &Module,
        request: &LaunchRequest<'_>,
    ) -> Result<LaunchReport, GpuError> {
        // SAFETY: the parameters are the caller's, who answers for them.
        unsafe { launch::run(&self.stream, module, request) }
    }
}

/// Starts the driver and says how many devices it has.
fn start_driver() -> Result<u32, GpuError> {
    driver::require()?;
    let count = || {
        cust::init(CudaFlags::empty()).during("cuInit")?;
        Device::num_devices().during("counting the devices")
    };
    count().map_err(GpuError::DriverStart)
}

fn device(index: u32) -> Result<Device, GpuError> {
    Ok(Device::get_device(index).during("finding the device")?)
}
