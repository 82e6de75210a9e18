//! An open GPU.

use std::any::Any;
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

/// An open GPU. It allocates memory, loads kernels and launches them.
#[derive(Debug)]
pub struct Gpu {
    stream: Stream,
    context: SharedContext,
}

impl Gpu {
    /// Lists the GPUs of this machine.
    ///
    /// # Errors
    /// There is no driver, or it does not start.
    pub fn list() -> Result<Vec<DeviceInfo>, GpuError> {
        (0..start_driver()?).map(|index| Ok(DeviceInfo::of(index, device(index)?)?)).collect()
    }

    /// Opens the GPU with this number.
    ///
    /// # Errors
    /// There is no driver, it does not start, or there is no GPU of this number.
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

    /// Returns the GPU's properties.
    pub fn info(&self) -> &DeviceInfo {
        self.context.info()
    }

    /// Returns the GPU's own stream, which [`upload`](Self::upload), [`filled`](Self::filled) and
    /// [`launch`](Self::launch) use.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Creates another stream.
    ///
    /// # Errors
    /// Those of the driver; or an earlier kernel failed ([`GpuError::Lost`]).
    pub fn new_stream(&self) -> Result<Stream, GpuError> {
        Stream::new(&self.context)
    }

    /// Wraps a stream that other code created, such as a framework's, to run kernels in it.
    ///
    /// Never destroys the stream. Drops `owner` with the last clone, buffer and event of the
    /// result. Pass `()` if other code keeps the stream.
    ///
    /// # Safety
    ///
    /// `raw` must be a `CUstream` (null is the default stream). It must exist as long as `owner`,
    /// or, if that needs no drop, until every clone, buffer and event of the result has been
    /// dropped. While a graph records it, launches and copies return [`GpuError::Captured`].
    ///
    /// # Errors
    /// The stream does not belong to this device's primary context.
    pub unsafe fn stream_from_raw(
        &self,
        raw: *mut c_void,
        owner: impl Any + Send + Sync,
    ) -> Result<Stream, GpuError> {
        // SAFETY: the caller upholds the requirements.
        unsafe { Stream::from_raw(raw, owner, &self.context) }
    }

    /// Copies a slice into GPU memory.
    ///
    /// # Errors
    /// The GPU has too little free memory, or an earlier kernel failed.
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<DeviceBuffer<T>, GpuError> {
        self.stream.upload(data)
    }

    /// Allocates GPU memory for `len` elements, and sets every byte to `byte`.
    ///
    /// # Errors
    /// The GPU has too little free memory, or an earlier kernel failed.
    pub fn filled<T: Pod>(&self, len: usize, byte: u8) -> Result<DeviceBuffer<T>, GpuError> {
        self.stream.filled(len, byte)
    }

    /// Allocates GPU memory for `len` elements with arbitrary contents, for a kernel that writes
    /// before it reads.
    ///
    /// # Errors
    /// The GPU has too little free memory, or an earlier kernel failed.
    pub fn uninitialized<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>, GpuError> {
        self.stream.uninitialized(len)
    }

    /// Loads kernels: a PTX text, which the driver compiles for this GPU, or
    /// [`BuiltCode`](crate::BuiltCode).
    ///
    /// # Errors
    /// The text is no PTX, or is for other GPUs; or the driver does not compile it: the error has
    /// the compiler's output.
    pub fn load<'a>(&self, kernels: impl Into<Code<'a>>) -> Result<Module, GpuError> {
        Module::load(&self.context, kernels.into(), true)
    }

    /// Loads kernels that have fingerprints.
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
    /// Each parameter must have the meaning that the kernel expects. A pointer must be the address
    /// of memory of this GPU, of the size that the kernel expects. That memory must stay valid
    /// until this function returns. The number and sizes of the parameters are checked.
    ///
    /// # Errors
    /// The module has no such kernel, the launch does not fit the kernel or the GPU
    /// ([`LaunchError`](crate::LaunchError)), or the kernel failed: the error names it.
    pub unsafe fn launch(
        &self,
        module: &Module,
        request: &LaunchRequest<'_>,
    ) -> Result<LaunchReport, GpuError> {
        // SAFETY: the caller upholds the requirements.
        unsafe { launch::run(&self.stream, module, request) }
    }
}

/// Starts the driver and returns the number of devices.
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
