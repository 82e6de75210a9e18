//! A GPU with loaded PTX, on which the launch functions of `#[kernel]` run.

use bytemuck::Pod;
use ptx_matrix::isa::{TensorEncoding, TensorMapError, TensorMapWords};
use ptx_matrix::launch::{Device, Launch};

use crate::buffer::DeviceBuffer;
use crate::code::Code;
use crate::driver::tensor_map;
use crate::error::GpuError;
use crate::gpu::Gpu;
use crate::launch::{LaunchError, LaunchReport, LaunchRequest};
use crate::module::Module;
use crate::stream::Stream;

/// A GPU with loaded modules. Launches run in the GPU's own stream, and the host waits for each.
#[derive(Debug)]
pub struct GpuDevice {
    gpu: Gpu,
    modules: Vec<Module>,
}

impl GpuDevice {
    /// Loads kernels on a GPU: a PTX text from `ptx-matrix-build`, or
    /// [`BuiltCode`](crate::BuiltCode).
    ///
    /// The PTX has a fingerprint of each kernel: its parameters' types, launch bounds and shared
    /// memory, and a hash of its crate's sources. A launch compares it with
    /// [`KernelInfo::fingerprint`](ptx_matrix::launch::KernelInfo::fingerprint) of the program.
    ///
    /// # Errors
    /// The PTX has no fingerprints, was changed after it was built, or is for other GPUs; or the
    /// driver does not compile it.
    pub fn new<'a>(gpu: Gpu, kernels: impl Into<Code<'a>>) -> Result<Self, GpuError> {
        let module = gpu.load_checked(kernels)?;
        Ok(Self { gpu, modules: vec![module] })
    }

    /// Loads the kernels of another PTX file too, as [`new`](Self::new) does.
    ///
    /// # Errors
    /// Those of `new`; or one of the kernels has the name of a loaded kernel.
    pub fn load<'a>(&mut self, kernels: impl Into<Code<'a>>) -> Result<(), GpuError> {
        let module = self.gpu.load_checked(kernels)?;
        let twice = module.kernels().iter().find(|kernel| self.has_kernel(&kernel.name));
        if let Some(kernel) = twice {
            return Err(GpuError::LoadedTwice { kernel: kernel.name.clone() });
        }
        self.modules.push(module);
        Ok(())
    }

    /// Loads kernels on a GPU from any PTX text, even one without fingerprints, or a changed one.
    ///
    /// A launch still checks the fingerprint of each kernel that has one.
    ///
    /// # Safety
    /// Each kernel that a `#[kernel]` function launches must match that function's description. Its
    /// parameters have the same meaning. It relies on the same number of threads, cluster and
    /// shared memory. It accesses only memory that the source's kernel may access.
    ///
    /// # Errors
    /// The PTX is for other GPUs, or the driver does not compile it.
    pub unsafe fn new_unchecked<'a>(
        gpu: Gpu,
        kernels: impl Into<Code<'a>>,
    ) -> Result<Self, GpuError> {
        let module = gpu.load(kernels)?;
        Ok(Self { gpu, modules: vec![module] })
    }

    /// Returns the GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Returns the modules, in the order in which they were loaded.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Returns whether a kernel of this name is loaded.
    pub fn has_kernel(&self, name: &str) -> bool {
        has_kernel(&self.modules, name)
    }

    /// Returns a device with the same kernels that launches in a stream, without waiting.
    pub fn in_stream<'a>(&'a self, stream: &'a Stream) -> InStream<'a> {
        InStream { modules: &self.modules, stream }
    }
}

/// The kernels of a [`GpuDevice`], launched in a stream. The host continues at once.
/// [`Stream::synchronize`] waits, and names a kernel that failed.
///
/// The buffers must belong to the stream. A launch panics for a buffer of another stream.
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
///     double::launch(&queue, 1, &mut data)?; // enqueues the kernel and returns
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
    /// Returns the stream.
    pub fn stream(&self) -> &Stream {
        self.stream
    }

    /// Returns the modules, in the order in which they were loaded.
    pub fn modules(&self) -> &[Module] {
        self.modules
    }

    /// Returns whether a kernel of this name is loaded.
    pub fn has_kernel(&self, name: &str) -> bool {
        has_kernel(self.modules, name)
    }
}

fn has_kernel(modules: &[Module], name: &str) -> bool {
    modules.iter().any(|module| module.has_kernel(name))
}

/// The device address as a host pointer, which the host must not dereference.
fn address<T: Pod>(stream: &Stream, buffer: &DeviceBuffer<T>) -> *mut T {
    buffer.assert_in(stream);
    // After a swap of two views by `cast_mut`, the memory may be another buffer's.
    let (address, align) = (buffer.address(), align_of::<T>());
    assert!(
        address.is_multiple_of(align as u64),
        "the buffer's address {address:#x} is not aligned to the {align} bytes of its elements"
    );
    std::ptr::without_provenance_mut(buffer.address() as usize)
}

/// Encodes a tensor map with the driver.
fn encode(encoding: &TensorEncoding) -> Result<TensorMapWords, TensorMapError> {
    if !encoding.address.is_multiple_of(16) {
        return Err(TensorMapError::Start { bytes: encoding.address });
    }
    tensor_map::encode(encoding).map_err(|error| TensorMapError::Device(Box::new(error)))
}

/// Converts a launch to this crate's request, and passes it to `run` with the kernel's module.
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
    let params: Vec<&[u8]> = launch.params.iter().collect();
    let request = LaunchRequest {
        kernel: name,
        grid: [launch.grid.x, launch.grid.y, launch.grid.z],
        threads: launch.kernel.threads,
        dynamic_shared_bytes: launch.kernel.dynamic_shared_bytes(),
        dependent: launch.kernel.dependent,
        params: &params,
    };
    run(module, &request)
}

// SAFETY: buffers are GPU memory, and the kernel on the GPU accesses them at their own addresses.
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
        // SAFETY: the caller upholds the requirements.
        with_request(&self.modules, &launch, |module, request| unsafe {
            self.gpu.launch(module, request)
        })
    }
}

// SAFETY: buffers are GPU memory. They belong to the stream, so all later work on them, the final
// free included, happens after the kernel. A dropped module waits for its kernels.
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
        // SAFETY: the caller upholds the requirements, and the buffers belong to the stream.
        with_request(self.modules, &launch, |module, request| unsafe {
            self.stream.launch(module, request)
        })
    }
}
