//! Streams: queues of work that a GPU executes in order, while the host continues.

use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use cust::sys::{
    CUstream, CUstreamCaptureStatus, cuStreamCreateWithPriority, cuStreamDestroy_v2,
    cuStreamIsCapturing, cuStreamSynchronize, cuStreamWaitEvent,
};

use crate::buffer::DeviceBuffer;
use crate::context::SharedContext;
use crate::device_info::DeviceInfo;
use crate::driver::{DriverError, During};
use crate::error::GpuError;
use crate::event::Event;
use crate::foreign::{Owner, check_stream};
use crate::launch::{self, KernelFailure, LaunchRequest};
use crate::module::Module;

/// A queue of work for a GPU. Each operation begins when the one before it has ended, and the host
/// does not wait. Only kernels with programmatic dependent launch ([`LaunchRequest::dependent`])
/// may begin before that.
///
/// A [`DeviceBuffer`] belongs to one stream, and all operations on it, the final free included,
/// happen in that stream's order. So a queued kernel finds its buffers as they were at the launch,
/// although their borrows have ended. There is no guard to hold, and none that could leak.
/// [`DeviceBuffer::move_to`] moves a buffer to another stream.
///
/// A clone is another handle to the same stream. The stream is destroyed with its last handle,
/// buffer and event.
#[derive(Clone, Debug)]
pub struct Stream(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    raw: CUstream,
    owner: Owner,
    context: SharedContext,
    /// The kernels launched since the last wait, each once. If the stream fails, one of them is
    /// the cause.
    unwaited: Mutex<Vec<Launched>>,
}

/// A kernel and its latest launch.
#[derive(Debug)]
struct Launched {
    kernel: String,
    grid: [u32; 3],
    threads: u32,
}

// SAFETY: several threads may use the driver's handle of a stream, even at the same time.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Stream {
    pub(crate) fn new(context: &SharedContext) -> Result<Self, GpuError> {
        context.enter()?;
        let (default_flags, default_priority) = (0, 0);
        let mut raw = ptr::null_mut();
        // SAFETY: the function sets the handle behind its pointer.
        unsafe { cuStreamCreateWithPriority(&raw mut raw, default_flags, default_priority) }
            .during("making a stream")?;
        Ok(Self::with(raw, Owner::Driver, context))
    }

    /// # Safety
    ///
    /// The requirements of [`Gpu::stream_from_raw`](crate::Gpu::stream_from_raw) apply.
    pub(crate) unsafe fn from_raw<O: Any + Send + Sync>(
        raw: *mut c_void,
        owner: O,
        context: &SharedContext,
    ) -> Result<Self, GpuError> {
        // SAFETY: the caller passes a stream.
        unsafe { check_stream(context, raw) }?;
        Ok(Self::with(raw.cast(), Owner::keep(owner), context))
    }

    fn with(raw: CUstream, owner: Owner, context: &SharedContext) -> Self {
        Self(Arc::new(Inner { raw, owner, context: context.clone(), unwaited: Mutex::default() }))
    }

    /// Waits for all work in the stream.
    ///
    /// # Errors
    /// A kernel failed: the error names the kernel. A failure breaks the whole context, and the
    /// driver does not name the kernel. If several streams have work, the error may show in another
    /// stream than the kernel's.
    /// While a graph records the stream, nobody can wait: [`GpuError::Captured`].
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.begin()?;
        // SAFETY: the stream exists as long as this handle.
        let waited = unsafe { cuStreamSynchronize(self.as_raw()) }.during("waiting for the stream");
        waited.map_err(|source| self.failure(source))?;
        self.unwaited().clear();
        Ok(())
    }

    /// Enqueues an event, which happens when all work before it has ended.
    ///
    /// # Errors
    /// A graph records the stream ([`GpuError::Captured`]), or an earlier kernel failed.
    pub fn record(&self) -> Result<Event, GpuError> {
        Event::record(self)
    }

    /// Makes all later work in this stream wait for an event, of this stream or another.
    ///
    /// # Errors
    /// A graph records the stream ([`GpuError::Captured`]), or an earlier kernel failed.
    pub fn wait_for(&self, event: &Event) -> Result<(), GpuError> {
        self.begin()?;
        // SAFETY: stream and event exist as long as their handles; the driver keeps the event as
        // long as it needs it.
        unsafe { cuStreamWaitEvent(self.as_raw(), event.as_raw(), 0) }
            .during("waiting for an event")?;
        Ok(())
    }

    /// Copies a slice into a new buffer of this stream. Waits for the copy.
    ///
    /// # Errors
    /// The GPU has too little free memory, a graph records the stream ([`GpuError::Captured`]), or
    /// an earlier kernel failed.
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<DeviceBuffer<T>, GpuError> {
        DeviceBuffer::from_slice(self, data)
    }

    /// Allocates a buffer of `len` elements in this stream, and sets every byte to `byte`.
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload).
    pub fn filled<T: Pod>(&self, len: usize, byte: u8) -> Result<DeviceBuffer<T>, GpuError> {
        let mut buffer = DeviceBuffer::uninitialized(self, len)?;
        buffer.fill(byte)?;
        Ok(buffer)
    }

    /// Allocates a buffer of `len` elements in this stream, with arbitrary values.
    ///
    /// This is safe because of `T: Pod`: all bit patterns in the GPU's memory are values of `T`.
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload).
    pub fn uninitialized<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>, GpuError> {
        DeviceBuffer::uninitialized(self, len)
    }

    /// Makes a buffer of this stream from memory that other code allocated. Copies nothing.
    ///
    /// Dropping the buffer waits for all earlier work in the stream, and then drops `owner`. An
    /// owner that needs no drop, such as `()` or an address, is not waited for. While a graph
    /// records the stream, nobody can wait, and `owner` is leaked.
    /// [`DeviceBuffer::into_owner`] returns the owner.
    ///
    /// # Safety
    ///
    /// - `address` is the device address of `len` elements in one allocation of this GPU.
    /// - The memory is valid while `owner` exists. If `owner` needs no drop, the caller keeps the
    ///   memory until the buffer's work has run, also after the buffer was dropped.
    /// - Until then, other code reads or writes the memory only in this stream, or in work that is
    ///   ordered with this stream's. It does not write while the buffer is borrowed.
    /// - No other buffer has any of these bytes, unless neither is written.
    ///
    /// # Errors
    /// The address is null, misaligned for `T`, not on a GPU, or on another GPU: see
    /// [`ForeignError`](crate::ForeignError). Elements of vector loads and tensor maps have further
    /// alignments, mostly 16 bytes.
    pub unsafe fn buffer_from_raw<T: Pod>(
        &self,
        address: u64,
        len: usize,
        owner: impl Any + Send + Sync,
    ) -> Result<DeviceBuffer<T>, GpuError> {
        // SAFETY: the caller upholds the requirements.
        unsafe { DeviceBuffer::from_raw(self, address, len, owner) }
    }

    /// Checks a launch and enqueues it. [`synchronize`](Self::synchronize) returns its failure, if
    /// any.
    ///
    /// # Safety
    ///
    /// Each parameter must have the meaning that the kernel expects. A pointer must be the address
    /// of memory of this GPU, of the size that the kernel expects. Until the kernel has run, that
    /// memory must stay valid, and only work that is ordered after the kernel may touch it. A
    /// [`DeviceBuffer`] of this stream is such memory. The number and sizes of the parameters are
    /// checked.
    ///
    /// # Errors
    /// The module has no such kernel, the launch does not fit the kernel or the GPU
    /// ([`LaunchError`](crate::LaunchError)), a graph records the stream ([`GpuError::Captured`]),
    /// or an earlier kernel failed.
    pub unsafe fn launch(
        &self,
        module: &Module,
        request: &LaunchRequest<'_>,
    ) -> Result<(), GpuError> {
        // SAFETY: the caller upholds the requirements.
        unsafe { launch::enqueue(self, module, request) }
    }

    /// Returns the number of the stream's device.
    pub fn device(&self) -> u32 {
        self.context().index()
    }

    /// Returns the driver's handle, a `CUstream`, for other libraries.
    pub fn raw(&self) -> *mut c_void {
        self.0.raw.cast()
    }

    /// Returns the properties of the stream's GPU.
    pub fn info(&self) -> &DeviceInfo {
        self.context().info()
    }

    /// Makes the GPU's context current on this thread, for libraries such as cuBLAS that use the
    /// current one.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn enter(&self) -> Result<(), GpuError> {
        self.context().enter()
    }

    /// Makes the context current, before the stream gets work.
    ///
    /// # Errors
    /// Other code records the stream into a graph, which keeps the addresses of kernels and
    /// buffers. Safe code may free these before the graph runs.
    pub(crate) fn begin(&self) -> Result<(), GpuError> {
        self.enter()?;
        if self.is_captured()? { Err(GpuError::Captured) } else { Ok(()) }
    }

    /// Whether other code records the stream into a graph. The context is current.
    fn is_captured(&self) -> Result<bool, DriverError> {
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream exists as long as this handle, and the function sets the status.
        unsafe { cuStreamIsCapturing(self.as_raw(), &raw mut status) }
            .during("asking whether a graph records the stream")?;
        Ok(status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// Returns whether both are the same stream of the driver.
    pub fn is(&self, other: &Stream) -> bool {
        self.raw() == other.raw() && self.device() == other.device()
    }

    pub(crate) fn as_raw(&self) -> CUstream {
        self.0.raw
    }

    pub(crate) fn context(&self) -> &SharedContext {
        &self.0.context
    }

    /// Records a launched kernel.
    pub(crate) fn note(&self, request: &LaunchRequest<'_>) {
        let mut unwaited = self.unwaited();
        // The list is in order of the latest launches.
        if let Some(at) = unwaited.iter().position(|launched| launched.kernel == request.kernel) {
            unwaited[at..].rotate_left(1);
            let last = unwaited.last_mut().expect("it was found");
            (last.grid, last.threads) = (request.grid, request.threads);
        } else {
            let (grid, threads) = (request.grid, request.threads);
            unwaited.push(Launched { kernel: request.kernel.to_owned(), grid, threads });
        }
    }

    /// Turns a driver error from a call that waits for this stream into an error that names the
    /// kernel.
    pub(crate) fn failure(&self, source: DriverError) -> GpuError {
        let mut unwaited = std::mem::take(&mut *self.unwaited());
        let Some(Launched { kernel, grid, threads }) = unwaited.pop() else { return source.into() };
        let earlier = unwaited.into_iter().map(|launched| launched.kernel).collect();
        let device = self.context().info().to_string();
        let failure = KernelFailure { kernel, device, grid, threads, earlier, source };
        // A broken context returns the same failure from every later call.
        // SAFETY: the stream exists as long as this handle.
        if unsafe { cuStreamSynchronize(self.as_raw()) }.during("waiting for the stream").is_err() {
            self.context().lose(&failure);
        }
        GpuError::Kernel(Box::new(failure))
    }

    /// Waits before memory is freed.
    ///
    /// # Errors
    /// A graph records the stream, so that nobody can wait for its earlier work. If the wait fails
    /// for another reason, the context is lost, and the memory with it: that is no error here.
    pub(crate) fn wait_to_free(&self) -> Result<(), GpuError> {
        self.context().enter_to_free();
        let is_captured = || self.is_captured().unwrap_or(false);
        // A wait would break the recording.
        if is_captured() {
            return Err(GpuError::Captured);
        }
        // SAFETY: the stream exists as long as this handle.
        let waited = unsafe { cuStreamSynchronize(self.as_raw()) }.during("waiting for the stream");
        if waited.is_err() && is_captured() { Err(GpuError::Captured) } else { Ok(()) }
    }

    fn unwaited(&self) -> std::sync::MutexGuard<'_, Vec<Launched>> {
        self.0.unwaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        match self.owner {
            Owner::Driver => {
                self.context.enter_to_free();
                // SAFETY: this is the last handle of a stream that this crate created. The driver
                // finishes the queued work.
                let _ = unsafe { cuStreamDestroy_v2(self.raw) };
            }
            // The owner is dropped next.
            Owner::Kept(_) => self.context.enter_to_free(),
            Owner::Elsewhere => {}
        }
    }
}
