//! Memory of a GPU.

use std::marker::PhantomData;
use std::mem::size_of;

use bytemuck::Pod;
use cust::sys::{
    cuMemcpyDtoDAsync_v2, cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2, cuMemsetD8Async,
};

use crate::driver::During;
use crate::error::GpuError;
use crate::stream::Stream;

/// Elements in the memory of a GPU. Freed when dropped.
///
/// It belongs to a [`Stream`]: copies, kernels and its end are in that stream's order, so that
/// nothing here can overtake a kernel that still runs.
#[derive(Debug)]
// A buffer of other elements is the same memory: see `cast_ref`.
#[repr(transparent)]
pub struct DeviceBuffer<T> {
    memory: Memory,
    element: PhantomData<T>,
}

/// Bytes of a GPU's memory, in a stream's order.
#[derive(Debug)]
struct Memory {
    // As bytes, because cust's own elements have to be `DeviceCopy`, which no `Pod` type outside
    // of cust is. The driver's allocations are aligned to 256 bytes.
    bytes: cust::memory::DeviceBuffer<u8>,
    stream: Stream,
}

impl<T: Pod> DeviceBuffer<T> {
    pub(crate) fn from_slice(stream: &Stream, data: &[T]) -> Result<Self, GpuError> {
        let mut buffer = Self::uninitialized(stream, data.len())?;
        buffer.write(data)?;
        Ok(buffer)
    }

    /// Memory with arbitrary contents.
    pub(crate) fn uninitialized(stream: &Stream, len: usize) -> Result<Self, GpuError> {
        const { assert!(size_of::<T>() > 0, "elements of no size have no place in memory") };
        stream.context().enter()?;
        // No device has `usize::MAX` bytes, so that an overflow ends in the driver's "out of
        // memory".
        let size = len.saturating_mul(size_of::<T>());
        // SAFETY: every bit pattern is a `u8`.
        let bytes = unsafe { cust::memory::DeviceBuffer::uninitialized(size) }
            .during("taking device memory")?;
        Ok(Self { memory: Memory { bytes, stream: stream.clone() }, element: PhantomData })
    }

    /// Copies the elements back to the host, when everything that was put into the stream has been
    /// done.
    pub fn download(&self) -> Result<Vec<T>, GpuError> {
        self.stream().context().enter()?;
        let mut data = bytemuck::zeroed_vec(self.len());
        let bytes: &mut [u8] = bytemuck::cast_slice_mut::<T, u8>(&mut data);
        if !bytes.is_empty() {
            // SAFETY: both have that many bytes, and both are there until the stream was waited
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

    /// Overwrites the elements with as many of the host. Waits for the copy.
    pub fn write(&mut self, data: &[T]) -> Result<(), GpuError> {
        assert!(data.len() == self.len(), "{} elements for a buffer of {}", data.len(), self.len());
        self.stream().context().enter()?;
        let bytes: &[u8] = bytemuck::cast_slice(data);
        if !bytes.is_empty() {
            // SAFETY: both have that many bytes, and both are there until the stream was waited
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

    /// Puts a copy of another buffer of this stream, with as many elements, into the stream.
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
            // SAFETY: both have that many bytes and belong to the stream, which neither is freed
            // before.
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

    /// Sets every byte, so that what a kernel leaves unwritten is seen. Put into the stream, not
    /// waited for.
    pub fn fill(&mut self, byte: u8) -> Result<(), GpuError> {
        self.stream().context().enter()?;
        if !self.is_empty() {
            // SAFETY: the memory has that many bytes and belongs to the stream, which it is not
            // freed before.
            unsafe { cuMemsetD8Async(self.address(), byte, self.size(), self.stream().as_raw()) }
                .during("filling device memory")?;
        }
        Ok(())
    }

    /// Hands the buffer to another stream of its device, which waits for what was put into the old
    /// one.
    pub fn move_to(&mut self, stream: &Stream) -> Result<(), GpuError> {
        let (here, there) = (self.device(), stream.device());
        assert!(here == there, "a buffer of device {here} is handed to a stream of device {there}");
        if !self.stream().is(stream) {
            stream.wait_for(&self.stream().record()?)?;
        }
        self.memory.stream = stream.clone();
        Ok(())
    }

    /// The same memory as elements of another type, whose size divides the buffer's.
    pub fn cast_ref<U: Pod>(&self) -> &DeviceBuffer<U> {
        self.assert_castable::<U>();
        // SAFETY: both types are transparent over `Memory`, its address is aligned to 256 bytes and
        // every bit pattern is a `U`.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// Likewise, to be written.
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

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.size() / size_of::<T>()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.size() == 0
    }
}

impl<T> DeviceBuffer<T> {
    /// The number of the device that has the memory.
    pub fn device(&self) -> u32 {
        self.stream().device()
    }

    /// The stream that it belongs to.
    pub fn stream(&self) -> &Stream {
        &self.memory.stream
    }

    /// The address as a kernel sees it; null if there are no elements.
    pub fn address(&self) -> u64 {
        self.memory.bytes.as_device_ptr().as_raw()
    }

    /// Checks that the buffer belongs to a stream, for work that another library puts in there.
    ///
    /// # Panics
    /// It belongs to another one, or to another GPU.
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
            "work in a stream is given a buffer of another stream: hand it over with `buffer.move_to(&stream)`"
        );
    }

    fn size(&self) -> usize {
        self.memory.bytes.len()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // What was put into the stream may still want the memory, which `cust` frees next; if there
        // is any.
        if !self.bytes.is_empty() {
            self.stream.wait_to_free();
        }
    }
}
