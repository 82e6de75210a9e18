//! Conversions of `cudarc`'s buffers and streams.

use std::sync::Arc;

use bytemuck::Pod;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtrMut};

use super::{ForeignError, Owner, current};
use crate::buffer::DeviceBuffer;
use crate::context::SharedContext;
use crate::error::GpuError;
use crate::gpu::Gpu;
use crate::stream::Stream;

/// Checks that `cudarc` uses the same context.
fn check(context: &SharedContext, theirs: &CudaContext) -> Result<(), GpuError> {
    if current(context)?.addr() == theirs.cu_ctx().addr() {
        return Ok(());
    }
    Err(ForeignError::OtherContext { device: context.index() }.into())
}

fn wrap(context: &SharedContext, stream: &Arc<CudaStream>) -> Result<Stream, GpuError> {
    check(context, stream.context())?;
    // SAFETY: the owner keeps the stream.
    unsafe { Stream::from_raw(stream.cu_stream().cast(), Arc::clone(stream), context) }
}

/// Makes `cudarc`'s stream wait for the slice's earlier work, and `cudarc`'s later work on the
/// slice for this point of the stream. Returns the slice's address.
fn mark<T>(slice: &mut CudaSlice<T>) -> u64 {
    let stream = Arc::clone(slice.stream());
    let (address, _recorded_when_dropped) = slice.device_ptr_mut(&stream);
    address
}

impl Gpu {
    /// Wraps a stream of `cudarc`, and keeps it. Kernels of both run in it in the order of their
    /// launches. While a graph records the stream, this crate puts no work into it:
    /// [`GpuError::Captured`].
    ///
    /// # Errors
    /// The stream does not belong to this device's primary context.
    pub fn stream_from_cudarc(&self, stream: &Arc<CudaStream>) -> Result<Stream, GpuError> {
        wrap(self.stream().context(), stream)
    }
}

impl Stream {
    /// Makes a buffer of this stream from a slice of `cudarc`, with the same memory. Waits for
    /// nothing: this stream waits for the slice's earlier work. `cudarc` frees the memory after
    /// the buffer's work, once it is dropped. [`DeviceBuffer::into_cudarc`] returns the slice.
    ///
    /// # Errors
    /// The slice does not belong to this device's primary context, or a graph records one of the
    /// streams. The slice is then freed.
    pub fn buffer_from_cudarc<T: Pod>(
        &self,
        mut slice: CudaSlice<T>,
    ) -> Result<DeviceBuffer<T>, GpuError> {
        self.begin()?;
        let theirs = wrap(self.context(), slice.stream())?;
        let (address, len) = (mark(&mut slice), slice.len());
        if !self.is(&theirs) {
            self.wait_for(&theirs.record()?)?;
        }
        // SAFETY: the owner keeps the memory, nobody else can use it, and this stream has waited
        // for its earlier work.
        unsafe { self.buffer_from_raw(address, len, slice) }
    }

    /// Wraps this stream for `cudarc`, which does not destroy it.
    ///
    /// # Safety
    ///
    /// A handle of this stream must exist until the result's last clone and slice have been
    /// dropped.
    ///
    /// # Errors
    /// `context` is not the primary context of this stream's device.
    pub unsafe fn to_cudarc(
        &self,
        context: &Arc<CudaContext>,
    ) -> Result<Arc<CudaStream>, GpuError> {
        check(self.context(), context)?;
        // SAFETY: the stream belongs to the context, and the caller keeps it.
        Ok(unsafe { context.wrap_borrowed_stream(self.raw().cast()) })
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// Makes a slice of `cudarc` with the same memory, which `cudarc` then frees. Waits for
    /// nothing: the slice's stream waits for the buffer's earlier work.
    ///
    /// A buffer from `cudarc` becomes the slice that it was, in its own stream. A buffer that this
    /// crate allocated becomes a slice of `stream`.
    ///
    /// # Errors
    /// The buffer itself. Another library owns its memory, it is empty and was not `cudarc`'s,
    /// `stream` belongs to another context, a graph records one of the streams, or the GPU has
    /// failed.
    pub fn into_cudarc(mut self, stream: &Arc<CudaStream>) -> Result<CudaSlice<T>, Self> {
        let is_theirs = self.owner().is::<CudaSlice<T>>();
        if !is_theirs && (!matches!(self.owner(), Owner::Driver) || self.is_empty()) {
            return Err(self);
        }
        if !is_theirs && self.move_to_cudarc(stream).is_err() {
            return Err(self);
        }
        let (address, len) = (self.address(), self.len());
        let mut slice = match self.owner_mut().take::<CudaSlice<T>>() {
            Some(slice) => {
                let theirs = Arc::clone(slice.stream());
                if self.move_to_cudarc(&theirs).is_err() {
                    *self.owner_mut() = Owner::keep(slice);
                    return Err(self);
                }
                slice
            }
            None => {
                *self.owner_mut() = Owner::Elsewhere;
                // SAFETY: the memory has that many elements, every bit pattern is one, and only
                // `cudarc` frees it: `cuMemFree` and `cuMemFreeAsync` both accept it.
                unsafe { stream.upgrade_device_ptr(address, len) }
            }
        };
        mark(&mut slice);
        Ok(slice)
    }

    /// Moves the buffer to a stream of `cudarc`.
    fn move_to_cudarc(&mut self, stream: &Arc<CudaStream>) -> Result<(), GpuError> {
        let theirs = wrap(self.stream().context(), stream)?;
        theirs.begin()?;
        self.move_to(&theirs)
    }
}
