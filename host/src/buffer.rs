//! Buffers in GPU memory.

use std::any::Any;
use std::marker::PhantomData;
use std::mem::size_of;

use bytemuck::Pod;
use cust::sys::{
    cuMemAlloc_v2, cuMemFree_v2, cuMemcpyDtoDAsync_v2, cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2,
    cuMemsetD8Async,
};

use crate::driver::During;
use crate::error::GpuError;
use crate::foreign::{Owner, check_memory};
use crate::stream::Stream;

/// A buffer of elements in GPU memory. Dropping it frees the memory.
///
/// Another library's memory becomes a buffer with [`Stream::buffer_from_raw`]. Dropping that
/// buffer drops the memory's owner.
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
    address: u64,
    size: usize,
    owner: Owner,
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
        const { assert!(size_of::<T>() > 0, "a buffer's elements need a size of at least 1 byte") };
        stream.context().enter()?;
        // No device has `usize::MAX` bytes, so an overflow becomes the driver's "out of memory".
        let size = len.saturating_mul(size_of::<T>());
        let mut address = 0;
        if size > 0 {
            // SAFETY: the function sets the address behind its pointer.
            unsafe { cuMemAlloc_v2(&raw mut address, size) }.during("allocating device memory")?;
        }
        Ok(Self::with(address, size, Owner::Driver, stream))
    }

    /// # Safety
    /// The requirements of [`Stream::buffer_from_raw`] apply.
    pub(crate) unsafe fn from_raw<O: Any + Send + Sync>(
        stream: &Stream,
        address: u64,
        len: usize,
        owner: O,
    ) -> Result<Self, GpuError> {
        const { assert!(size_of::<T>() > 0, "a buffer's elements need a size of at least 1 byte") };
        let size = check_memory::<T>(stream.context(), address, len)?;
        let address = if size > 0 { address } else { 0 };
        Ok(Self::with(address, size, Owner::keep(owner), stream))
    }

    fn with(address: u64, size: usize, owner: Owner, stream: &Stream) -> Self {
        let memory = Memory { address, size, owner, stream: stream.clone() };
        Self { memory, element: PhantomData }
    }

    /// Returns the owner that [`Stream::buffer_from_raw`] was given. Waits for all earlier work in
    /// the stream.
    ///
    /// # Errors
    /// The buffer itself, if its memory has no owner of this type, or a graph records the stream.
    pub fn into_owner<O: Any>(mut self) -> Result<O, Self> {
        if !self.memory.owner.is::<O>() || self.stream().wait_to_free().is_err() {
            return Err(self);
        }
        self.memory.owner.take().ok_or(self)
    }

    /// Copies the elements to the host. Waits for all earlier work in the stream, and for the copy.
    ///
    /// # Errors
    /// A kernel before it failed: the error names the kernel. Or a graph records the stream
    /// ([`GpuError::Captured`]).
    pub fn download(&self) -> Result<Vec<T>, GpuError> {
        self.stream().begin()?;
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
    ///
    /// # Errors
    /// A kernel before it failed: the error names the kernel. Or a graph records the stream
    /// ([`GpuError::Captured`]).
    pub fn write(&mut self, data: &[T]) -> Result<(), GpuError> {
        assert!(
            data.len() == self.len(),
            "cannot write {} elements to a buffer of {}: both lengths must be equal",
            data.len(),
            self.len()
        );
        self.stream().begin()?;
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
    ///
    /// # Errors
    /// A graph records the stream ([`GpuError::Captured`]), or an earlier kernel failed.
    pub fn copy_from(&mut self, other: &DeviceBuffer<T>) -> Result<(), GpuError> {
        assert!(
            other.len() == self.len(),
            "cannot copy {} elements to a buffer of {}: both lengths must be equal",
            other.len(),
            self.len()
        );
        other.assert_in(self.stream());
        self.stream().begin()?;
        if !self.is_empty() {
            // SAFETY: both have that many elements and belong to the stream. Neither is freed
            // before the copy.
            unsafe {
                cuMemcpyDtoDAsync_v2(
                    self.address(),
                    other.address(),
                    self.len() * size_of::<T>(),
                    self.stream().as_raw(),
                )
            }
            .during("copying on the device")?;
        }
        Ok(())
    }

    /// Enqueues a fill of every byte, for example to reveal elements that a kernel leaves
    /// unwritten. Does not wait for it.
    ///
    /// # Errors
    /// A graph records the stream ([`GpuError::Captured`]), or an earlier kernel failed.
    pub fn fill(&mut self, byte: u8) -> Result<(), GpuError> {
        self.stream().begin()?;
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
    ///
    /// # Errors
    /// A graph records one of the streams ([`GpuError::Captured`]), or an earlier kernel failed.
    pub fn move_to(&mut self, stream: &Stream) -> Result<(), GpuError> {
        let (here, there) = (self.device(), stream.device());
        assert!(
            here == there,
            "a buffer of device {here} cannot move to a stream of device {there}: download it, \
             and upload it there"
        );
        if !self.stream().is(stream) {
            stream.wait_for(&self.stream().record()?)?;
        }
        self.memory.stream = stream.clone();
        Ok(())
    }

    /// Reinterprets the memory as elements of another type.
    ///
    /// # Panics
    /// The size of `U` does not divide the buffer's size in bytes. Or the buffer is another
    /// library's memory, whose address is not aligned for `U`.
    pub fn cast_ref<U: Pod>(&self) -> &DeviceBuffer<U> {
        self.assert_castable::<U>();
        // SAFETY: both types are transparent over `Memory`, its address is aligned for `U`, and
        // every bit pattern is a `U`.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// Reinterprets the memory as mutable elements of another type.
    ///
    /// # Panics
    /// The size of `U` does not divide the buffer's size in bytes. Or the buffer is another
    /// library's memory, whose address is not aligned for `U`.
    pub fn cast_mut<U: Pod>(&mut self) -> &mut DeviceBuffer<U> {
        self.assert_castable::<U>();
        // SAFETY: as in `cast_ref`; and every bit pattern is a `T`.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }

    fn assert_castable<U>(&self) {
        const { assert!(size_of::<U>() > 0, "a buffer's elements need a size of at least 1 byte") };
        let (size, element) = (self.size(), size_of::<U>());
        assert!(
            size.is_multiple_of(element),
            "a buffer of {size} bytes is not a whole number of elements of {element} bytes"
        );
        let (address, align) = (self.address(), align_of::<U>());
        assert!(
            address.is_multiple_of(align as u64),
            "the buffer's address {address:#x} is not aligned to {align} bytes, as the elements \
             must be: copy them to a new buffer"
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
        self.memory.address
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
            "work on device {here} cannot use a buffer of device {there}: upload the data to \
             device {here}"
        );
        let same = self.stream().is(stream);
        assert!(
            same,
            "work in a stream cannot use a buffer of another stream: move it with \
             `buffer.move_to(&stream)`"
        );
    }

    #[cfg(any(feature = "cudarc", feature = "cust"))]
    pub(crate) fn owner(&self) -> &Owner {
        &self.memory.owner
    }

    #[cfg(any(feature = "cudarc", feature = "cust"))]
    pub(crate) fn owner_mut(&mut self) -> &mut Owner {
        &mut self.memory.owner
    }

    fn size(&self) -> usize {
        self.memory.size
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // An empty buffer of this crate has no memory.
        let is_freed = match self.owner {
            Owner::Driver => self.size > 0,
            Owner::Kept(_) => true,
            Owner::Elsewhere => false,
        };
        if !is_freed {
            return;
        }
        // Work in the stream may still use the memory. If nobody can wait for it, the memory stays.
        if self.stream.wait_to_free().is_err() {
            std::mem::forget(std::mem::replace(&mut self.owner, Owner::Elsewhere));
        } else if matches!(self.owner, Owner::Driver) {
            // SAFETY: this crate allocated the memory, and nothing uses it any more.
            let _ = unsafe { cuMemFree_v2(self.address) };
        }
        // A kept owner is dropped next.
    }
}
