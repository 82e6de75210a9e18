//! Conversions of `cust`'s buffers and streams.

use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use cust::memory::{DeviceBuffer as CustBuffer, DeviceCopy, DevicePointer};
use cust::stream::Stream as CustStream;
use cust::sys::cuStreamSynchronize;

use super::Owner;
use crate::buffer::DeviceBuffer;
use crate::driver::During;
use crate::error::GpuError;
use crate::gpu::Gpu;
use crate::stream::Stream;

impl Gpu {
    /// Wraps a stream of `cust`. The result keeps the stream, which `cust` destroys after the last
    /// handle. `cust` has no stream that wraps one of this crate.
    ///
    /// # Errors
    /// The stream does not belong to this device's primary context.
    pub fn stream_from_cust(&self, stream: &Arc<CustStream>) -> Result<Stream, GpuError> {
        // SAFETY: the owner keeps the stream.
        unsafe { self.stream_from_raw(stream.as_inner().cast(), Arc::clone(stream)) }
    }
}

impl Stream {
    /// Makes a buffer of this stream from a buffer of `cust`, with the same memory. `cust` frees
    /// the memory after the buffer's work, once it is dropped.
    ///
    /// Waits for `cust`'s own copies, which run in the default stream.
    ///
    /// # Errors
    /// The memory belongs to another device, or the driver cannot wait. The memory is then freed.
    pub fn buffer_from_cust<T: Pod + DeviceCopy + Send + Sync>(
        &self,
        buffer: CustBuffer<T>,
    ) -> Result<DeviceBuffer<T>, GpuError> {
        let (address, len) = (buffer.as_device_ptr().as_raw(), buffer.len());
        self.enter()?;
        // SAFETY: the null handle is the default stream. Streams of other libraries do not wait for
        // it.
        unsafe { cuStreamSynchronize(ptr::null_mut()) }.during("waiting for cust's copies")?;
        // SAFETY: the owner keeps the memory, and nobody else can use it: whoever calls `cust`'s
        // `unsafe` asynchronous copies promises to keep the buffer until they have ended.
        unsafe { self.buffer_from_raw(address, len, buffer) }
    }
}

impl<T: Pod + DeviceCopy + Send + Sync> DeviceBuffer<T> {
    /// Makes a buffer of `cust` with the same memory, which `cust` then frees. Waits for all
    /// earlier work in the stream.
    ///
    /// # Errors
    /// The buffer itself, if neither this crate nor `cust` allocated its memory, or a graph
    /// records the stream.
    pub fn into_cust(self) -> Result<CustBuffer<T>, Self> {
        let mut buffer = match self.into_owner::<CustBuffer<T>>() {
            Ok(buffer) => return Ok(buffer),
            Err(buffer) if matches!(buffer.owner(), Owner::Driver) => buffer,
            Err(buffer) => return Err(buffer),
        };
        if buffer.stream().wait_to_free().is_err() {
            return Err(buffer);
        }
        let (address, len) = (DevicePointer::from_raw(buffer.address()), buffer.len());
        *buffer.owner_mut() = Owner::Elsewhere;
        // SAFETY: `cuMemAlloc` returned the memory, as `cust` expects, and only `cust` frees it.
        Ok(unsafe { CustBuffer::from_raw_parts(address, len) })
    }
}
