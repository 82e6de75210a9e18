//! A GPU with PTX loaded, as the device that `#[kernel]`'s launch functions run on.

use bytemuck::Pod;
use ptx_matrix::isa::{TensorEncoding, TensorMapError, TensorMapWords};
use ptx_matrix::launch::{Device, Launch, ParamValue};

use crate::buffer::DeviceBuffer;
use crate::code::Code;
use crate::driver::tensor_map;
use crate::error::GpuError;
use crate::gpu::Gpu;
use crate::launch::{LaunchError, LaunchReport, LaunchRequest};
use crate::module::Module;
use crate::stream::Stream;

/// A GPU and the modules whose kernels it launches, in the GPU's own stream. Each launch is waited
/// for.
#[derive(Debug)]
pub struct GpuDevice {
    gpu: Gpu,
    modules: Vec<Module>,
}

impl GpuDevice {
    /// Loads kernels on a GPU: a PTX text that `ptx-matrix-build` wrote, or
    /// [`BuiltCode`](crate::BuiltCode).
    ///
    /// The PTX has a fingerprint of each kernel: its parameters' types, launch bounds and shared
    /// memory, and a hash of its crate's sources. A launch compares it with
    /// [`KernelInfo::fingerprint`](ptx_matrix::launch::KernelInfo::fingerprint) of the program.
    ///
    /// # Errors
    /// The PTX has no fingerprints, was changed after it was built, is for other GPUs, or the
    /// driver does not compile it.
    pub fn new<'a>(gpu: Gpu, kernels: impl Into<Code<'a>>) -> Result<Self, GpuError> {
        let module = gpu.load_checked(kernels)?;
        Ok(Self { gpu, modules: vec![module] })
    }

    /// Loads the kernels of another PTX file too, as [`new`](Self::new) does.
    ///
    /// # Errors
    /// As with `new`; or one of the kernels has the name of one that is loaded.
    pub fn load<'a>(&mut self, kernels: impl Into<Code<'a>>) -> Result<(), GpuError> {
        let module = self.gpu.load_checked(kernels)?;
        let twice = module.kernels().iter().find(|kernel| self.has_kernel(&kernel.name));
        if let Some(kernel) = twice {
            return Err(GpuError::LoadedTwice { kernel: kernel.name.clone() });
        }
        self.modules.push(module);
        Ok(())
    }

    /// Loads kernels on a GPU: any PTX text, such as one without fingerprints, or a changed one.
    ///
    /// A launch still compares the fingerprint of a kernel that has one.
    ///
    /// # Safety
    /// Each kernel of the PTX that is launched by a function of `#[kernel]` is the one that this
    /// function describes: its parameters mean the same, it relies on no other number of threads,
    /// cluster or shared memory, and it accesses only memory that the source's kernel may access.
    ///
    /// # Errors
    /// It is for other GPUs, or the driver does not compile it.
    pub unsafe fn new_unchecked<'a>(
        gpu: Gpu,
        kernels: impl Into<Code<'a>>,
    ) -> Result<Self, GpuError> {
        let module = gpu.load(kernels)?;
        Ok(Self { gpu, modules: vec![module] })
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The modules, in the order in which they were loaded.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Whether a kernel of this name is loaded.
    pub fn has_kernel(&self, name: &str) -> bool {
        has_kernel(&self.modules, name)
    }

    /// The same kernels, launched in a stream and not waited for.
    pub fn in_stream<'a>(&'a self, stream: &'a Stream) -> InStream<'a> {
        InStream { modules: &self.modules, stream }
    }
}

/// The kernels of a [`GpuDevice`], launched in a stream. The host goes on; [`Stream::synchronize`]
/// waits, and names a kernel that failed.
///
/// The buffers have to belong to the stream; a launch with another's panics.
///
/// ```no_run
/// use ptx_matrix::launch::Device;
/// # use ptx_matrix::prelude::*;
/// # #[kernel(threads = 32)]
/// # fn double(block: &Block, data: GlobalMut<f32>) { let _ = (block, data); }
/// # fn main() -> Result<(), ptx_matrix_host::GpuError> {
/// # use ptx_matrix_host::{Gpu, GpuDevice};
/// # let ptx = std::fs::read_to_string("target/ptx/sm_90a/kernels.ptx").expect("the kernel's PTX");
/// let device = GpuDevice::new(Gpu::open(0)?, &ptx)?;
/// let stream = device.gpu().new_stream()?;
/// let queue = device.in_stream(&stream);
/// let mut data = queue.upload(&[1.0f32; 32])?;
/// for _ in 0..10 {
///     double::launch(&queue, 1, &mut data)?; // put in, one behind the other
/// }
/// assert_eq!(queue.download(&data)?[0], 1024.0); // waits
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InStream<'a> {
    modules: &'a [Module],
    stream: &'a Stream,
}

impl InStream<'_> {
    /// The stream.
    pub fn stream(&self) -> &Stream {
        self.stream
    }

    /// The modules, in the order in which they were loaded.
    pub fn modules(&self) -> &[Module] {
        self.modules
    }

    /// Whether a kernel of this name is loaded.
    pub fn has_kernel(&self, name: &str) -> bool {
        has_kernel(self.modules, name)
    }
}

fn has_kernel(modules: &[Module], name: &str) -> bool {
    modules.iter().any(|module| module.has_kernel(name))
}

/// The device's address in a pointer of the host, where nothing may follow it.
fn address<T: Pod>(stream: &Stream, buffer: &DeviceBuffer<T>) -> *mut T {
    buffer.assert_in(stream);
    std::ptr::without_provenance_mut(buffer.address() as usize)
}

/// A tensor map, as the driver encodes it.
fn encode(encoding: &TensorEncoding) -> Result<TensorMapWords, TensorMapError> {
    if !encoding.address.is_multiple_of(16) {
        return Err(TensorMapError::Start { bytes: encoding.address });
    }
    tensor_map::encode(encoding).map_err(|error| TensorMapError::Device(Box::new(error)))
}

/// The launch as this crate's own functions take it, of a kernel of one of the modules.
fn with_request<R>(
    modules: &[Module],
    launch: &Launch<'_>,
    run: impl FnOnce(&Module, &LaunchRequest<'_>) -> Result<R, GpuError>,
) -> Result<R, GpuError> {
    let name = launch.kernel.name;
    let module = modules.iter().find(|module| module.has_kernel(name)).ok_or_else(|| {
        LaunchError::NoSuchKernel {
            kernel: name.to_owned(),
            at_hand: modules
                .iter()
                .flat_map(Module::kernels)
                .map(|entry| entry.name.clone())
                .collect(),
        }
    })?;
    module.check_kernel(launch.kernel)?;
    let params: Vec<&[u8]> = launch.params.iter().map(ParamValue::bytes).collect();
    let request = LaunchRequest {
        kernel: name,
        grid: [launch.grid.x, launch.grid.y, launch.grid.z],
        threads: launch.kernel.threads,
        dynamic_shared_bytes: launch.kernel.dynamic_shared_bytes(),
        early: launch.kernel.early,
        params: &params,
    };
    run(module, &request)
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
        (address(self.gpu.stream(), buffer), buffer.len())
    }

    fn slice_mut<T: Pod>(&self, buffer: &mut DeviceBuffer<T>) -> (*mut T, usize) {
        (address(self.gpu.stream(), buffer), buffer.len())
    }

    fn encode_tensor_map(
        &self,
        encoding: &TensorEncoding,
    ) -> Result<TensorMapWords, TensorMapError> {
        encode(encoding)
    }

    unsafe fn launch(&self, launch: Launch<'_>) -> Result<LaunchReport, GpuError> {
        // SAFETY: the caller's.
        with_request(&self.modules, &launch, |module, request| unsafe {
            self.gpu.launch(module, request)
        })
    }
}

// SAFETY: buffers are memory of the GPU. They belong to the stream, so that everything done with
// them after the launch, their end included, is done after the kernel; and the module, dropped,
// waits for it.
unsafe impl Device for InStream<'_> {
    type Buffer<T: Pod> = DeviceBuffer<T>;
    type Owned<T: Pod> = DeviceBuffer<T>;
    type Report = ();
    type Error = GpuError;

    fn upload<T: Pod>(&self, data: &[T]) -> Result<DeviceBuffer<T>, GpuError> {
        self.stream.upload(data)
    }

    fn download<T: Pod>(&self, buffer: &DeviceBuffer<T>) -> Result<Vec<T>, GpuError> {
        buffer.download()
    }

    fn slice<T: Pod>(&self, buffer: &DeviceBuffer<T>) -> (*mut T, usize) {
        (address(self.stream, buffer), buffer.len())
    }

    fn slice_mut<T: Pod>(&self, buffer: &mut DeviceBuffer<T>) -> (*mut T, usize) {
        (address(self.stream, buffer), buffer.len())
    }

    fn encode_tensor_map(
        &self,
        encoding: &TensorEncoding,
    ) -> Result<TensorMapWords, TensorMapError> {
        encode(encoding)
    }

    unsafe fn launch(&self, launch: Launch<'_>) -> Result<(), GpuError> {
        // SAFETY: the caller's, and the buffers belong to the stream.
        with_request(self.modules, &launch, |module, request| unsafe {
            self.stream.launch(module, request)
        })
    }
}
