//! Memory of a GPU.

use std::marker::PhantomData;
use std::mem::size_of;

use bytemuck::Pod;
use cust::memory::CopyDestination;

use crate::context::SharedContext;
use crate::driver::During;
use crate::error::GpuError;

/// Elements in the memory of a GPU. Freed when dropped.
#[derive(Debug)]
pub struct DeviceBuffer<T> {
    // As bytes, because cust's own elements have to be `DeviceCopy`, which no `Pod` type outside of cust is. The
    // driver's allocations are aligned to 256 bytes.
    bytes: cust::memory::DeviceBuffer<u8>,
    len: usize,
    context: SharedContext,
    element: PhantomData<T>,
}

impl<T: Pod> DeviceBuffer<T> {
    pub(crate) fn from_slice(context: &SharedContext, data: &[T]) -> Result<Self, GpuError> {
        let mut buffer = Self::uninitialized(context, data.len())?;
        let bytes = bytemuck::cast_slice(data);
        buffer.bytes.copy_from(bytes).during("copying to the device")?;
        Ok(buffer)
    }

    pub(crate) fn filled(context: &SharedContext, len: usize, byte: u8) -> Result<Self, GpuError> {
        let mut buffer = Self::uninitialized(context, len)?;
        buffer.fill(byte)?;
        Ok(buffer)
    }

    /// Memory with arbitrary contents.
    pub(crate) fn uninitialized(context: &SharedContext, len: usize) -> Result<Self, GpuError> {
        const { assert!(size_of::<T>() > 0, "elements of no size have no place in memory") };
        context.enter()?;
        // No device has `usize::MAX` bytes, so that an overflow ends in the driver's "out of memory".
        let size = len.saturating_mul(size_of::<T>());
        // SAFETY: every bit pattern is a `u8`.
        let bytes = unsafe { cust::memory::DeviceBuffer::uninitialized(size) }.during("taking device memory")?;
        Ok(Self { bytes, len, context: context.clone(), element: PhantomData })
    }

    /// The number of the device that has the memory.
    pub fn device(&self) -> u32 {
        self.context.index()
    }

    /// Copies the elements back to the host.
    pub fn download(&self) -> Result<Vec<T>, GpuError> {
        self.context.enter()?;
        let mut data = bytemuck::zeroed_vec(self.len);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut::<T, u8>(&mut data);
        self.bytes.copy_to(bytes).during("copying from the device")?;
        Ok(data)
    }

    /// Sets every byte, so that what a kernel leaves unwritten is seen.
    pub fn fill(&mut self, byte: u8) -> Result<(), GpuError> {
        self.context.enter()?;
        self.bytes.set_8(byte).during("filling device memory")?;
        Ok(())
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address as a kernel sees it; null if there are no elements.
    pub fn address(&self) -> u64 {
        self.bytes.as_device_ptr().as_raw()
    }
}

impl<T> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        self.context.enter_to_free();
    }
}
