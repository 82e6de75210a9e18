//! Streams: work that a GPU does in order, while the host goes on.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use cust::sys::{
    CUstream, cuStreamCreateWithPriority, cuStreamDestroy_v2, cuStreamSynchronize,
    cuStreamWaitEvent,
};

use crate::buffer::DeviceBuffer;
use crate::context::SharedContext;
use crate::device_info::DeviceInfo;
use crate::driver::{DriverError, During};
use crate::error::GpuError;
use crate::event::Event;
use crate::launch::{self, KernelFailure, LaunchRequest};
use crate::module::Module;

/// A queue of work for a GPU: each piece of it begins when the one before has ended. What is put in
/// is not waited for.
///
/// A [`DeviceBuffer`] belongs to one stream, and whatever is done with it, freeing it included, is
/// done in that stream's order. So a kernel that has not run yet still finds its buffers, as they
/// were when it was launched, although their borrows are over: no guard has to be kept, and nothing
/// is left to go wrong if one were leaked. [`DeviceBuffer::move_to`] hands a buffer to another
/// stream.
///
/// Cloning it gives another handle to the same stream. It is destroyed with the last handle, buffer
/// and event of it.
#[derive(Clone, Debug)]
pub struct Stream(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    raw: CUstream,
    /// Whether dropping it destroys the stream.
    owned: bool,
    context: SharedContext,
    /// The kernels that were launched and not waited for, each once: who may have failed, if the
    /// stream does.
    unwaited: Mutex<Vec<Launched>>,
}

/// A kernel and how it was launched last.
#[derive(Debug)]
struct Launched {
    kernel: String,
    grid: [u32; 3],
    threads: u32,
}

// SAFETY: the driver's handle of a stream may be used from any thread, and at the same time from
// several.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Stream {
    pub(crate) fn new(context: &SharedContext) -> Result<Self, GpuError> {
        context.enter()?;
        let (default_flags, default_priority) = (0, 0);
        let mut raw = ptr::null_mut();
        // SAFETY: the function sets the handle that it is given.
        unsafe { cuStreamCreateWithPriority(&raw mut raw, default_flags, default_priority) }
            .during("making a stream")?;
        Ok(Self::with(raw, true, context))
    }

    /// # Safety
    ///
    /// As [`Gpu::stream_from_raw`](crate::Gpu::stream_from_raw).
    pub(crate) unsafe fn from_raw(raw: *mut c_void, context: &SharedContext) -> Self {
        Self::with(raw.cast(), false, context)
    }

    fn with(raw: CUstream, owned: bool, context: &SharedContext) -> Self {
        Self(Arc::new(Inner { raw, owned, context: context.clone(), unwaited: Mutex::default() }))
    }

    /// Waits until everything that was put in has been done. A kernel that failed is named here.
    ///
    /// A failure breaks the whole context, and the driver does not say whose it was: with work in
    /// several streams, it may show in another than that of the kernel.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.context().enter()?;
        // SAFETY: the stream is there as long as this handle.
        let waited = unsafe { cuStreamSynchronize(self.as_raw()) }.during("waiting for the stream");
        waited.map_err(|source| self.failure(source))?;
        self.unwaited().clear();
        Ok(())
    }

    /// Puts in an event, which happens when everything before it has been done.
    pub fn record(&self) -> Result<Event, GpuError> {
        Event::record(self)
    }

    /// Lets what is put in from now on wait for an event, of this stream or another.
    pub fn wait_for(&self, event: &Event) -> Result<(), GpuError> {
        self.context().enter()?;
        // SAFETY: stream and event are there as long as their handles; the driver keeps what it
        // needs of the event.
        unsafe { cuStreamWaitEvent(self.as_raw(), event.as_raw(), 0) }
            .during("waiting for an event")?;
        Ok(())
    }

    /// Copies a slice into memory of the GPU, which belongs to this stream. Waits for the copy.
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<DeviceBuffer<T>, GpuError> {
        DeviceBuffer::from_slice(self, data)
    }

    /// Takes memory for `len` elements, every byte of it `byte`, which belongs to this stream.
    pub fn filled<T: Pod>(&self, len: usize, byte: u8) -> Result<DeviceBuffer<T>, GpuError> {
        let mut buffer = DeviceBuffer::uninitialized(self, len)?;
        buffer.fill(byte)?;
        Ok(buffer)
    }

    /// Takes memory for `len` elements, which belongs to this stream; their values are arbitrary.
    ///
    /// This is safe because of `T: Pod`: whatever bits are in the GPU's memory, they are a value of
    /// it.
    pub fn uninitialized<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>, GpuError> {
        DeviceBuffer::uninitialized(self, len)
    }

    /// Checks a launch and puts it in. What it leads to is told by
    /// [`synchronize`](Self::synchronize).
    ///
    /// # Safety
    ///
    /// The parameters must mean what the kernel takes them for: a pointer among them has to be the
    /// address of memory of this GPU that is as large as the kernel believes, and that stays
    /// until the kernel has run, untouched by what is not ordered after it. A [`DeviceBuffer`]
    /// of this stream is such memory. The number and the sizes of the parameters are checked.
    pub unsafe fn launch(
        &self,
        module: &Module,
        request: &LaunchRequest<'_>,
    ) -> Result<(), GpuError> {
        // SAFETY: the caller's.
        unsafe { launch::enqueue(self, module, request) }
    }

    /// The number of the stream's device.
    pub fn device(&self) -> u32 {
        self.context().index()
    }

    /// The driver's handle, a `CUstream`, which other libraries take.
    pub fn raw(&self) -> *mut c_void {
        self.0.raw.cast()
    }

    /// The GPU that it is of.
    pub fn info(&self) -> &DeviceInfo {
        self.context().info()
    }

    /// Makes its GPU the thread's current one: for other libraries, such as cuBLAS, that work on
    /// that.
    ///
    /// # Errors
    /// The driver's.
    pub fn enter(&self) -> Result<(), GpuError> {
        self.context().enter()
    }

    /// Whether both are the same stream of the driver.
    pub fn is(&self, other: &Stream) -> bool {
        self.raw() == other.raw() && self.device() == other.device()
    }

    pub(crate) fn as_raw(&self) -> CUstream {
        self.0.raw
    }

    pub(crate) fn context(&self) -> &SharedContext {
        &self.0.context
    }

    /// Notes a kernel that was put in.
    pub(crate) fn note(&self, request: &LaunchRequest<'_>) {
        let mut unwaited = self.unwaited();
        // The last one launched is the last in the list.
        if let Some(at) = unwaited.iter().position(|launched| launched.kernel == request.kernel) {
            unwaited[at..].rotate_left(1);
            let last = unwaited.last_mut().expect("it was found");
            (last.grid, last.threads) = (request.grid, request.threads);
        } else {
            let (grid, threads) = (request.grid, request.threads);
            unwaited.push(Launched { kernel: request.kernel.to_owned(), grid, threads });
        }
    }

    /// What it means that the driver answered so to a call that waits for this stream.
    pub(crate) fn failure(&self, source: DriverError) -> GpuError {
        let mut unwaited = std::mem::take(&mut *self.unwaited());
        let Some(Launched { kernel, grid, threads }) = unwaited.pop() else { return source.into() };
        let earlier = unwaited.into_iter().map(|launched| launched.kernel).collect();
        let device = self.context().info().to_string();
        let failure = KernelFailure { kernel, device, grid, threads, earlier, source };
        // A context that a kernel has broken answers every later call with the same failure.
        // SAFETY: the stream is there as long as this handle.
        if unsafe { cuStreamSynchronize(self.as_raw()) }.during("waiting for the stream").is_err() {
            self.context().lose(&failure);
        }
        GpuError::Kernel(Box::new(failure))
    }

    /// Waits before something is freed. If that fails, the context is lost and the memory with it.
    pub(crate) fn wait_to_free(&self) {
        self.context().enter_to_free();
        // SAFETY: the stream is there as long as this handle.
        let _ = unsafe { cuStreamSynchronize(self.as_raw()) };
    }

    fn unwaited(&self) -> std::sync::MutexGuard<'_, Vec<Launched>> {
        self.0.unwaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.owned {
            self.context.enter_to_free();
            // SAFETY: this is the last handle of a stream that was made here. The driver lets what
            // is in it come to its end.
            let _ = unsafe { cuStreamDestroy_v2(self.raw) };
        }
    }
}
