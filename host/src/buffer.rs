//! Buffers in GPU memory.

use std::marker::PhantomData;
use std::mem::size_of;

use bytemuck::Pod;
use cust::sys::{
    cuMemcpyDtoDAsync_v2, cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2, cuMemsetD8Async,
};

use crate::driver::During;
use crate::error::GpuError;
use crate::stream::Stream;

/// A buffer of elements in GPU memory. Dropping it frees the memory.
///
/// A buffer belongs to a [`Stream`]. Copies, kernels and the final free follow the order of that
/// stream, so none of them can overtake a running kernel.
#[derive(Debug)]
// A buffer of another element type is the same memory: see `cast_ref`.
#[repr(transparent)]
pub struct DeviceBuffer<T> {
    memory: Memory,
    element: PhantomData<T>,
}

/// Bytes of GPU memory, used in a stream's order.
#[derive(Debug)]
struct Memory {
    // Bytes, because cust's own elements must be `DeviceCopy`, and no `Pod` type outside cust is.
    // The driver aligns allocations to 256 bytes.
    bytes: cust::memory::DeviceBuffer<u8>,
    stream: Stream,
}

impl<T: Pod> DeviceBuffer<T> {
    pub(crate) fn from_slice(stream: &Stream, data: &[T]) -> Result<Self, GpuError> {
        let mut buffer = Self::uninitialized(stream, data.len())?;
        buffer.write(data)?;
        Ok(buffer)
    }

    /// Allocates memory with arbitrary contents.
    pub(crate) fn uninitialized(stream: &Stream, len: usize) -> Result<Self, GpuError> {
        const { assert!(size_of::<T>() > 0, "elements of no size have no place in memory") };
        stream.context().enter()?;
        // No device has `usize::MAX` bytes, so an overflow becomes the driver's "out of memory".
        let size = len.saturating_mul(size_of::<T>());
        // SAFETY: every bit pattern is a `u8`.
        let bytes = unsafe { cust::memory::DeviceBuffer::uninitialized(size) }
            .during("taking device memory")?;
        Ok(Self { memory: Memory { bytes, stream: stream.clone() }, element: PhantomData })
    }

    /// Copies the elements to the host. Waits for all earlier work in the stream, and for the copy.
    pub fn download(&self) -> Result<Vec<T>, GpuError> {
        self.stream().context().enter()?;
        let mut data = bytemuck::zeroed_vec(self.len());
        let bytes: &mut [u8] = bytemuck::cast_slice_mut::<T, u8>(&mut data);
        if !bytes.is_empty() {
            // SAFETY: both have that many bytes, and both exist until the stream has been waited
            // for.
            unsafe {
                cuMemcpyDtoHAsync_v2(
                    bytes.as_mut_ptr().cast(),
                    self.address(),
                    bytes.len(),
                    self.stream().as_raw(),
                )
            }
            .during("copying from the device")
            .map_err(|source| self.stream().failure(source))?;
        }
        self.stream().synchronize()?;
        Ok(data)
    }

    /// Overwrites all elements with `data` from the host. Waits for the copy.
    ///
    /// # Panics
    /// `data` has another length than the buffer.
    pub fn write(&mut self, data: &[T]) -> Result<(), GpuError> {
        assert!(data.len() == self.len(), "{} elements for a buffer of {}", data.len(), self.len());
        self.stream().context().enter()?;
        let bytes: &[u8] = bytemuck::cast_slice(data);
        if !bytes.is_empty() {
            // SAFETY: both have that many bytes, and both exist until the stream has been waited
            // for.
            unsafe {
                cuMemcpyHtoDAsync_v2(
                    self.address(),
                    bytes.as_ptr().cast(),
                    bytes.len(),
                    self.stream().as_raw(),
                )
            }
            .during("copying to the device")
            .map_err(|source| self.stream().failure(source))?;
        }
        self.stream().synchronize()
    }

    /// Enqueues a copy from another buffer of this stream. Does not wait for it.
    ///
    /// # Panics
    /// The buffers differ in length, or `other` belongs to another stream.
    pub fn copy_from(&mut self, other: &DeviceBuffer<T>) -> Result<(), GpuError> {
        assert!(
            other.len() == self.len(),
            "a copy of {} elements into a buffer of {}",
            other.len(),
            self.len()
        );
        other.assert_in(self.stream());
        self.stream().context().enter()?;
        if !self.is_empty() {
            // SAFETY: both have that many bytes and belong to the stream. Neither is freed before
            // the copy.
            unsafe {
                cuMemcpyDtoDAsync_v2(
                    self.address(),
                    other.address(),
                    self.size(),
                    self.stream().as_raw(),
                )
            }
            .during("copying on the device")?;
        }
        Ok(())
    }

    /// Enqueues a fill of every byte, for example to reveal elements that a kernel leaves
    /// unwritten. Does not wait for it.
    pub fn fill(&mut self, byte: u8) -> Result<(), GpuError> {
        self.stream().context().enter()?;
        if !self.is_empty() {
            // SAFETY: the memory has that many bytes and belongs to the stream. It is not freed
            // before the fill.
            unsafe { cuMemsetD8Async(self.address(), byte, self.size(), self.stream().as_raw()) }
                .during("filling device memory")?;
        }
        Ok(())
    }

    /// Moves the buffer to another stream of its device. The new stream waits for all earlier work
    /// in the old one.
    ///
    /// # Panics
    /// `stream` belongs to another device.
    pub fn move_to(&mut self, stream: &Stream) -> Result<(), GpuError> {
        let (here, there) = (self.device(), stream.device());
        assert!(here == there, "a buffer of device {here} is handed to a stream of device {there}");
        if !self.stream().is(stream) {
            stream.wait_for(&self.stream().record()?)?;
        }
        self.memory.stream = stream.clone();
        Ok(())
    }

    /// Reinterprets the memory as elements of another type.
    ///
    /// # Panics
    /// The size of `U` does not divide the buffer's size in bytes.
    pub fn cast_ref<U: Pod>(&self) -> &DeviceBuffer<U> {
        self.assert_castable::<U>();
        // SAFETY: both types are transparent over `Memory`, its address is aligned to 256 bytes and
        // every bit pattern is a `U`.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// Reinterprets the memory as mutable elements of another type.
    ///
    /// # Panics
    /// The size of `U` does not divide the buffer's size in bytes.
    pub fn cast_mut<U: Pod>(&mut self) -> &mut DeviceBuffer<U> {
        self.assert_castable::<U>();
        // SAFETY: as in `cast_ref`; and every bit pattern is a `T`.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }

    fn assert_castable<U>(&self) {
        const { assert!(size_of::<U>() > 0, "elements of no size have no place in memory") };
        let (size, element) = (self.size(), size_of::<U>());
        assert!(
            size.is_multiple_of(element),
            "{size} bytes are not a whole number of elements of {element} bytes"
        );
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.size() / size_of::<T>()
    }

    /// Returns whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.size() == 0
    }
}

impl<T> DeviceBuffer<T> {
    /// Returns the number of the device that holds the memory.
    pub fn device(&self) -> u32 {
        self.stream().device()
    }

    /// Returns the stream that the buffer belongs to.
    pub fn stream(&self) -> &Stream {
        &self.memory.stream
    }

    /// Returns the device address of the first element. It is null if there are no elements.
    pub fn address(&self) -> u64 {
        self.memory.bytes.as_device_ptr().as_raw()
    }

    /// Checks that the buffer belongs to a stream. Call it before another library enqueues work on
    /// the buffer there.
    ///
    /// # Panics
    /// The buffer belongs to another stream, or to another GPU.
    #[track_caller]
    pub fn assert_in(&self, stream: &Stream) {
        let (here, there) = (stream.device(), self.device());
        assert!(
            here == there,
            "work on device {here} is given a buffer of device {there}: upload it to its own"
        );
        let same = self.stream().is(stream);
        assert!(
            same,
            "work in a stream is given a buffer of another stream: hand it over with \
             `buffer.move_to(&stream)`"
        );
    }

    fn size(&self) -> usize {
        self.memory.bytes.len()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Work in the stream may still use the memory, which `cust` frees next. An empty buffer has
        // no memory.
        if !self.bytes.is_empty() {
            self.stream.wait_to_free();
        }
    }
}
